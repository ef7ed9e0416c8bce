/** `connectRpc()`: an Elysia plugin by which clients in other languages call the services of its app. */
import { type AnyElysia, Elysia } from 'elysia'
import { Clients, follow, openDoor, requestIdOf, signalOf, stopWith, turnOf } from 'elysia-microservices/kit'
import { type ConnectRpcContext, type ConnectRpcOptions, connectOptions } from './options.ts'
import { Answering, type Asked } from './server/answering.ts'
import { ClientEnd } from './server/client-end.ts'
import { ConnectDoor } from './server/door.ts'
import { callableMethods } from './server/methods.ts'

/** The fields of an Elysia handler's context that are used here. */
interface Context extends ConnectRpcContext {
  readonly body?: unknown
  readonly set: { readonly headers: Record<string, string | number | undefined> }
  readonly server?: { timeout?(request: Request, seconds: number): void } | null
}

/** The longest idle timeout that Bun accepts, in seconds; 0 means no timeout. */
const MAX_IDLE = 255
/** Seconds that Bun waits longer than the call, so that the caller gets an answer and not a closed connection. */
const IDLE_MARGIN = 5
/** The body as Elysia has it: it is read here, and not by Elysia. */
const UNREAD = Object.freeze({})

/**
 * Makes an Elysia plugin by which programs in other languages call the services of its app, on the app's own port: as
 * clients of Connect or gRPC-Web that are generated from a `.proto`, or with curl and JSON. Only the methods of
 * `proto` can be called.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { connectRpc } from '@elysia-microservices/connect'
 * import { loadProto } from '@elysia-microservices/protobuf'
 * import { Elysia } from 'elysia'
 * import { type Message, microservice } from 'elysia-microservices'
 *
 * const orders = microservice().message('shop.v1.Orders/GetTotal', ({ data }: Message<{ id: string }>) => ({
 *   total: data.id.length
 * }))
 * const proto = await loadProto({ files: 'shop.proto' })
 * new Elysia().use(orders).use(connectRpc({ proto })).listen(3000)
 * ```
 */
export function connectRpc(options: ConnectRpcOptions): Elysia {
  const checked = connectOptions(options)
  const methods = callableMethods(checked)
  const clients = new Clients({})
  const remote = checked.client && new ClientEnd(clients.take(checked.client))
  const door = new ConnectDoor(checked, methods, remote)
  const answering = new Answering(door, checked)
  const isWhole = checked.headers !== undefined
  const plugin = new Elysia()
  for (const callable of methods) {
    const { method, streams } = callable
    const path = `/${method.path}`
    const post = (context: Context) => answering.post(callable, askedOf(context))
    const get = (context: Context) => answering.get(callable, askedOf(context))
    add(plugin, 'POST', path, handlerOf(streams ? inTurn(post) : post, isWhole))
    if (method.noSideEffects && !streams) add(plugin, 'GET', path, handlerOf(get, isWhole))
  }
  // All starts share this object, so that an app that listens again stops its calls only once.
  const stopping = { before: () => remote?.stop() }
  if (remote !== undefined) clients.endWith(plugin)
  follow(
    plugin,
    {
      started(app) {
        if (remote !== undefined) {
          remote.start()
          return stopWith(app, stopping)
        }
        openDoor(app, door)
        void app.modules.then(() => door.allServicesKnown())
      },
      stopped() {}
    },
    'connectRpc()'
  )
  return plugin
}

type Handler = (context: Context) => Promise<Response>

function add(plugin: AnyElysia, method: 'GET' | 'POST', path: string, handler: Handler): void {
  plugin.route(method, path, handler as never, { parse: () => UNREAD, detail: { hide: true } } as object)
}

/**
 * The route's handler. Elysia reads its source to see which parts of the context it uses, and makes only these. A
 * function of the user may use any part, so with such a function the whole context is made.
 */
function handlerOf(answer: Handler, isWhole: boolean): Handler {
  if (isWhole) return (context) => answer(context)
  return ({ request, set, body, server }) => answer({ request, set, body, server } as Context)
}

/** Waits until the response can be sent: over one connection of Node, streams run one after the other. */
function inTurn(answer: Handler): Handler {
  return async (context) => {
    await turnOf(context.request)
    return answer(context)
  }
}

function askedOf(context: Context): Asked {
  const { request, server } = context
  return {
    request,
    context,
    isUnread: context.body === UNREAD,
    id: requestIdOf(context),
    signal: signalOf(request),
    arrivedAt: performance.now(),
    // Bun closes a connection that is idle for 30 s (Elysia's default), even if a request waits for its answer.
    begins: ({ streams }, timeout) => server?.timeout?.(request, idleOf(streams, timeout))
  }
}

/**
 * Seconds for which a connection may be silent. A stream may be silent for any time. A call without a deadline may take
 * the longest time that Bun has: without any limit the connection would stay open for ever after its answer.
 */
function idleOf(streams: boolean, timeout: number | undefined): number {
  if (streams) return 0
  const seconds = timeout === undefined ? MAX_IDLE : Math.ceil(timeout / 1000) + IDLE_MARGIN
  return seconds > MAX_IDLE ? 0 : seconds
}
