/** `websocket()`: an Elysia plugin that lets pages call the services of its app, by the app's own port. */
import type { Server } from 'node:http'
import type { Pattern } from '@elysia-microservices/transport'
import { type AnyElysia, Elysia } from 'elysia'
import { follow, nodeServerOf, openDoor } from 'elysia-microservices/kit'
import type { Exposing } from './exposing.ts'
import { type CheckedOptions, type WebSocketOptions, webSocketOptions } from './options.ts'
import { type BunServer, upgradeOnBun } from './server/bun.ts'
import { peerOnDeno, upgradeOnDeno } from './server/deno.ts'
import { type Entering, WebSocketDoor } from './server/door.ts'
import { listenForUpgrades, peerOnNode, upgradeOnNode } from './server/node.ts'

/** The context of an Elysia handler, as far as it is used here. */
interface Context {
  readonly request: Request
  readonly server?: unknown
}

/**
 * Makes an Elysia plugin by which pages, and other programs, call the services of its app: RSocket over WebSocket on the
 * app's own port. Only what `expose` names can be called.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { websocket } from '@elysia-microservices/websocket'
 * import { Elysia } from 'elysia'
 * import { microservice } from 'elysia-microservices'
 *
 * const shop = microservice({ transport: 'tcp' }).message('shop.items', () => ['tea'])
 * new Elysia().use(shop).use(websocket({ expose: ['shop.*'] })).listen(3000)
 * ```
 */
export function websocket<const Expose extends readonly Pattern[]>(
  options: WebSocketOptions<Expose>
): Elysia & Exposing<Expose> {
  const checked = webSocketOptions(options)
  return pluginOf(checked, new WebSocketDoor(checked))
}

/**
 * The plugin of a door.
 * @param isOwn no service of the app answers at this door, only what the door was given
 */
export function pluginOf(checked: CheckedOptions, door: WebSocketDoor, isOwn = false): Elysia {
  const enter = ({ request, server }: Context) => answer(door, checked, request, server)
  const plugin = new Elysia().get(checked.path, enter as never, { detail: { hide: true } })
  follow(
    plugin,
    {
      found(app) {
        if (!isOwn) boundMessages(app, checked)
      },
      started(app) {
        if (!isOwn) openDoor(app, door)
        const server = nodeServerOf(app)
        if (server !== undefined) openOnNode(server as Server, app, enter, checked)
      },
      stopped() {}
    },
    'websocket()'
  )
  return plugin as never
}

async function answer(
  door: WebSocketDoor,
  { limits }: CheckedOptions,
  request: Request,
  server: unknown
): Promise<Response | undefined> {
  const bun = isBunServer(server) ? server : undefined
  const peer = bun === undefined ? (peerOnNode(request) ?? peerOnDeno(request)) : bun.requestIP(request)
  const entering: Entering = {
    url: request.url,
    // Bun's own are gone when the request has been answered.
    headers: new Headers(request.headers),
    // One of IPv4 may come as a socket of both families has it.
    address: peer?.address?.replace(/^::ffff:(?=\d+\.)/, ''),
    port: peer?.port
  }
  if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket')
    return refused(426, 'Here a WebSocket is expected: see @elysia-microservices/websocket')
  const refusal = await door.refusal(entering)
  if (refusal !== undefined) return refused(refusal.status, refusal.reason)
  const isIn =
    bun === undefined ? upgradeOnNode(door, request, entering) : upgradeOnBun(door, bun, request, entering)
  if (isIn) return undefined
  const upgrade = upgradeOnDeno(door, request, entering, limits.receiveBuffer)
  return upgrade ?? refused(400, 'This is no upgrade to a WebSocket')
}

function refused(status: number, reason: string): Response {
  return new Response(reason, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })
}

function isBunServer(server: unknown): server is BunServer {
  return typeof Bun !== 'undefined' && typeof (server as BunServer | null | undefined)?.upgrade === 'function'
}

/** Bun keeps a whole message before anybody sees it, 16 MB by default, and its bound is one of the whole app. */
function boundMessages(app: AnyElysia, { limits }: CheckedOptions): void {
  const { config } = app as unknown as { config: { websocket?: object } }
  config.websocket = {
    maxPayloadLength: limits.receiveBuffer,
    // Messages beyond it are dropped; `limits.sendBuffer` cuts a client off before that.
    backpressureLimit: 4 * limits.sendBuffer,
    ...config.websocket
  }
}

function openOnNode(
  server: Server,
  app: AnyElysia,
  handler: (context: Context) => unknown,
  { limits }: CheckedOptions
): void {
  // Where the plugin is used behind a prefix, only the app knows the whole path.
  const paths = app.routes.flatMap((route) => (route.handler === (handler as never) ? [route.path] : []))
  listenForUpgrades(server, app as never, paths, limits.receiveBuffer)
}
