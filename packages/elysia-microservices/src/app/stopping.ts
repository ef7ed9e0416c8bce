/** Lets parts of an app end with it, some before its HTTP server and some after. */
import { consoleLogger } from '@elysia-microservices/transport/kit'
import { serverSignals, stopOnSignals } from '@elysia-microservices/workers'
import type { AnyElysia } from 'elysia'
import { stopHooks } from './stop-hooks.ts'

/** Something that ends with an app. Both are called again where the app listens and stops again. */
export interface Stopping {
  /** Begins before HTTP ends, and is waited for after: HTTP may be what it waits for, or wait for it. */
  before?(app: AnyElysia): unknown
  /** Comes when HTTP has ended. */
  after?(app: AnyElysia): unknown
}

const all = new WeakMap<AnyElysia, Set<Stopping>>()
/** A stop that runs. */
interface Running {
  readonly stopped: Promise<void>
  cut(http: HttpEnd): Promise<void>
}

const running = new WeakMap<AnyElysia, Running>()
/** Milliseconds that HTTP may take when it is cut; on Deno it never ends then. */
const CUT = 500
/** Milliseconds that the app's own stop hooks may take. */
const HOOKS = 5_000

/** Lets the end of an app do both, and wait for what the app's own stop hooks have begun: Elysia awaits none of them. */
export function stopWith(app: AnyElysia, stopping: Stopping): void {
  const known = all.get(app)
  if (known !== undefined) return void known.add(stopping)
  all.set(app, new Set([stopping]))
  if (onNode.has(app)) return
  const { stop } = app
  app.stop = async (closeActiveConnections) => {
    await stopAround(app, {
      isCut: closeActiveConnections === true,
      cut: () => app.server?.stop(true),
      stop: () => stop(closeActiveConnections)
    })
    return app
  }
}

/** The HTTP server of an app that is stopping. */
interface HttpEnd {
  /** Whether open connections are cut. */
  readonly isCut: boolean
  /** Cuts the open connections of a server that is stopping. */
  cut(): unknown
  stop(): Promise<unknown>
}

/** A second stop waits for the first, and can only hurry it. */
async function stopAround(app: AnyElysia, http: HttpEnd): Promise<void> {
  const present = running.get(app)
  if (present !== undefined) {
    if (http.isCut) await present.cut(http)
    return present.stopped
  }
  let giveUp = () => {}
  const isGivenUp = new Promise<void>((resolve) => {
    giveUp = resolve
  })
  const cut = async (hurried: HttpEnd) => {
    setTimeout(giveUp, CUT)
    await hurried.cut()
  }
  const stop = () => Promise.race([http.stop(), isGivenUp])
  const stopped = stopOnce(app, stop).finally(() => running.delete(app))
  running.set(app, { stopped, cut })
  return stopped
}

async function stopOnce(app: AnyElysia, stop: () => Promise<unknown>): Promise<void> {
  const here = [...(all.get(app) ?? [])]
  const begun = Promise.all(here.map(async ({ before }) => before?.(app)))
  // A failure is thrown below, when HTTP has ended.
  begun.catch(() => {})
  const hooks = stopHooks(app)
  try {
    // Deno's server cuts its WebSockets off when it begins to stop, with what is in flight there.
    if ('Deno' in globalThis) await begun.catch(() => {})
    await stop()
    // Elysia's adapter for Node calls them only when nothing is left to do, which no `process.exit()` waits for.
    if (onNode.has(app)) hooks.call()
  } finally {
    await begun
    await within(hooks.ended(), () =>
      consoleLogger.error(`The app stops before its onStop() has ended, which took longer than ${HOOKS} ms`)
    )
    await Promise.all(here.map(({ after }) => after?.(app)))
  }
}

/** Waits for it for a while. */
async function within(ended: Promise<unknown>, late: () => void): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const isLate = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      late()
      resolve()
    }, HOOKS)
  })
  await Promise.race([ended, isLate]).finally(() => clearTimeout(timer))
}

/** The server that Elysia's adapter for Node hands to the callback of `listen`. */
interface NodeServer {
  readonly raw: {
    /** Of `node:http`. */
    readonly node?: { readonly server?: object }
    close(closeActiveConnections?: boolean): Promise<void>
  }
}

/** Whether `app.stop()` works: on Node it does for apps that {@link stopOnNode} has seen. */
export function canStop(app: AnyElysia): boolean {
  return Boolean(app.server) || onNode.has(app)
}

const onNode = new WeakSet<AnyElysia>()
const nodeServers = new WeakMap<AnyElysia, object>()

/** The server of `node:http` that an app listens by; `undefined` on other runtimes, and for apps that nobody follows. */
export function nodeServerOf(app: AnyElysia): object | undefined {
  return nodeServers.get(app)
}

/**
 * Gives an app on Node, before it listens, what the adapter leaves out: `app.stop()`, and the end of the process when
 * the app has stopped at a signal that the adapter listens to. What ends with the app ends in whichever way its server
 * is closed, also by the adapter itself.
 */
export function stopOnNode(app: AnyElysia): void {
  if (onNode.has(app)) return
  onNode.add(app)
  const { listen } = app
  app.listen = (options, callback) => {
    const signals = serverSignals(() => {
      listen(options, (server) => {
        const { raw } = server as never as NodeServer
        const { close } = raw
        if (raw.node?.server !== undefined) nodeServers.set(app, raw.node.server)
        raw.close = (closeActiveConnections) =>
          stopAround(app, {
            isCut: closeActiveConnections === true,
            cut: () => close.call(raw, true),
            stop: () => close.call(raw, closeActiveConnections)
          })
        app.stop = async (closeActiveConnections) => {
          await raw.close(closeActiveConnections)
          return app
        }
        callback?.(server)
      })
    })
    if (signals.length > 0) stopOnSignals({ signals, logger: consoleLogger, stop: () => app.stop() })
    return app
  }
}
