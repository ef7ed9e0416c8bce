/** Stops parts of an app together with the app: some before its HTTP server, some after it. */
import type { Server } from 'node:http'
import { consoleLogger, ListenError } from '@elysia-microservices/transport/kit'
import { isReplacedWorker, serverSignals, stopOnSignals } from '@elysia-microservices/workers'
import type { AnyElysia } from 'elysia'
import { moveAwayOnBun, moveAwayOnNode } from './moving-away.ts'
import { endQueuedResponses } from './queued-responses.ts'
import { stopHooks } from './stop-hooks.ts'

/**
 * A part that stops together with an app. Both methods are called at every stop, so again if the app listens and
 * stops again.
 */
export interface Stopping {
  /**
   * Called before HTTP stops. The returned promise is awaited after HTTP has stopped, because each of them may wait
   * for the other.
   */
  before?(app: AnyElysia): unknown
  /** Called when HTTP has stopped. */
  after?(app: AnyElysia): unknown
}

const all = new WeakMap<AnyElysia, Set<Stopping>>()
/** A stop that is under way. */
interface Running {
  readonly stopped: Promise<void>
  cut(http: HttpEnd): Promise<void>
}

const running = new WeakMap<AnyElysia, Running>()
/** Milliseconds that HTTP may take once its connections are cut. On Deno the stop of HTTP never resolves then. */
const CUT = 500
/** Milliseconds that the app's `onStop` hooks may take. */
const HOOKS = 5_000

/**
 * Registers a part that stops together with an app. The app's stop then also waits for the promises of the app's
 * `onStop` hooks, which Elysia does not await.
 */
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
      moveAway: () => moveAwayOnBun(app),
      stop: () => stop(closeActiveConnections)
    })
    return app
  }
}

/** The HTTP server of an app that is stopping. */
interface HttpEnd {
  /** Whether open connections are cut at once. */
  readonly isCut: boolean
  /** Cuts the open connections of a server that is stopping. */
  cut(): unknown
  /** Makes clients connect to another worker, while the app still answers. */
  moveAway(): Promise<void>
  stop(): Promise<unknown>
}

/** Stops an app. If a stop is under way, a second one waits for the first, and can only cut its connections. */
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
  const stopNow = () => stopOnce(app, stop)
  const isMoving = isReplacedWorker() && !http.isCut
  const ending = isMoving ? Promise.race([http.moveAway(), isGivenUp]).then(stopNow) : stopNow()
  const stopped = ending.finally(() => running.delete(app))
  running.set(app, { stopped, cut })
  return stopped
}

async function stopOnce(app: AnyElysia, stop: () => Promise<unknown>): Promise<void> {
  const here = [...(all.get(app) ?? [])]
  const begun = Promise.all(here.map(async ({ before }) => before?.(app)))
  // `begun` is awaited after HTTP has stopped, and its failure is thrown there. Until then the rejection must not
  // count as unhandled.
  begun.catch(() => {})
  const hooks = stopHooks(app)
  try {
    // Deno's server closes its WebSockets as soon as it begins to stop, and their calls in flight would be lost. So
    // the parts stop first.
    if ('Deno' in globalThis) await begun.catch(() => {})
    await stop()
    // Elysia's adapter for Node calls the hooks only when the process has nothing left to do. `process.exit()`
    // would come before that.
    if (onNode.has(app)) hooks.call()
  } finally {
    await begun
    await within(hooks.ended(), () =>
      consoleLogger.error(
        `The app stops without waiting longer for its onStop() hooks, which have not ended within ${HOOKS} ms`
      )
    )
    await Promise.all(here.map(({ after }) => after?.(app)))
  }
}

/** Waits for a promise for at most {@link HOOKS} milliseconds, and calls `late` if it has not settled by then. */
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

/** The server that Elysia's adapter for Node passes to the callback of `listen`. */
interface NodeServer {
  readonly raw: {
    /** The server of `node:http`. */
    readonly node?: { readonly server?: Server }
    close(closeActiveConnections?: boolean): Promise<void>
  }
}

/** Whether `app.stop()` works. On Node it does for apps that `stopOnNode` has prepared. */
export function canStop(app: AnyElysia): boolean {
  return Boolean(app.server) || onNode.has(app)
}

const onNode = new WeakSet<AnyElysia>()
const nodeServers = new WeakMap<AnyElysia, Server>()

/**
 * The server of `node:http` by which an app listens; `undefined` on other runtimes, and for apps that have no
 * follower (see follow.ts).
 */
export function nodeServerOf(app: AnyElysia): object | undefined {
  return nodeServers.get(app)
}

/**
 * Prepares an app on Node, before it listens, with what the adapter leaves out: `app.stop()`, the end of the process
 * when a signal has stopped the app or its port is taken, and the end of pipelined requests whose client has left. Parts
 * of {@link stopWith} stop however the server is closed, also when the adapter closes it.
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
        if (raw.node?.server !== undefined) {
          nodeServers.set(app, raw.node.server)
          endIfUnopened(raw.node.server, server.url.origin)
          endQueuedResponses(raw.node.server)
        }
        let end = async () => {}
        raw.close = (closeActiveConnections) =>
          stopAround(app, {
            isCut: closeActiveConnections === true,
            cut: () => close.call(raw, true),
            async moveAway() {
              const http = nodeServers.get(app)
              if (http !== undefined) end = await moveAwayOnNode(http)
            },
            async stop() {
              await close.call(raw, closeActiveConnections)
              await end()
            }
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

/**
 * Ends the process if the server cannot listen. The adapter drops this error, which on other runtimes `app.listen()`
 * throws: without HTTP, the services of the app would run on and look healthy, or the process would end with code 0. A
 * program that listens to errors of the server itself decides instead.
 */
function endIfUnopened(server: Server, where: string): void {
  const failed = (error: Error) => {
    server.off('listening', opened)
    if (server.listenerCount('error') > 0) return
    consoleLogger.error('The app cannot listen; the process ends', new ListenError(where, error))
    process.exit(1)
  }
  const opened = () => server.off('error', failed)
  server.once('error', failed).once('listening', opened)
}
