/** What the end of an app waits for besides HTTP. */
import type { AnyElysia } from 'elysia'

/** Something that ends with an app. Both are called again where the app listens and stops again. */
export interface Stopping {
  /** Begins before HTTP ends, and is waited for after: HTTP may be what it waits for, or wait for it. */
  before?(app: AnyElysia): unknown
  /** Comes when HTTP has ended. */
  after?(app: AnyElysia): unknown
}

const all = new WeakMap<AnyElysia, Set<Stopping>>()

/** Lets the end of an app do both. Elysia awaits no stop hook, and calls them when the server has stopped. */
export function stopWith(app: AnyElysia, stopping: Stopping): void {
  const known = all.get(app)
  if (known !== undefined) return void known.add(stopping)
  all.set(app, new Set([stopping]))
  if (onNode.has(app)) return
  const { stop } = app
  app.stop = (closeActiveConnections) => stopAround(app, () => stop(closeActiveConnections))
}

async function stopAround<Result>(app: AnyElysia, stop: () => Promise<Result>): Promise<Result> {
  const here = [...(all.get(app) ?? [])]
  const begun = Promise.all(here.map(async ({ before }) => before?.(app)))
  // A failure is thrown below, when HTTP has ended.
  begun.catch(() => {})
  try {
    return await stop()
  } finally {
    await begun
    await Promise.all(here.map(({ after }) => after?.(app)))
  }
}

/** The server that Elysia's adapter for Node hands to the callback of `listen`. */
interface NodeServer {
  readonly raw: { close(closeActiveConnections?: boolean): Promise<void> }
}

/** Whether `app.stop()` works: on Node it does for apps that {@link stopOnNode} has seen. */
export function canStop(app: AnyElysia): boolean {
  return Boolean(app.server) || onNode.has(app)
}

const onNode = new WeakSet<AnyElysia>()

/**
 * Gives an app on Node, before it listens, what the adapter leaves out: `app.stop()`. What ends with the app ends in
 * whichever way its server is closed, also by the adapter itself, which does it at SIGTERM.
 */
export function stopOnNode(app: AnyElysia): void {
  if (onNode.has(app)) return
  onNode.add(app)
  const { listen } = app
  app.listen = (options, callback) =>
    listen(options, (server) => {
      const { raw } = server as never as NodeServer
      const { close } = raw
      raw.close = (closeActiveConnections) => stopAround(app, () => close.call(raw, closeActiveConnections))
      app.stop = async (closeActiveConnections) => {
        await raw.close(closeActiveConnections)
        return app
      }
      callback?.(server)
    })
}
