/** `websocket()`: an Elysia plugin by which pages call the services of its app, on the app's own port. */
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

/** The fields of an Elysia handler's context that are used here. */
interface Context {
  readonly request: Request
  readonly server?: unknown
}

/**
 * Makes an Elysia plugin by which pages and other programs call the services of its app, with RSocket over
 * WebSocket on the app's own port. Clients can call only the patterns that `expose` names.
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
 * Makes the plugin of a door.
 * @param isOwn services of the app do not answer at this door; it has its own handlers
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
        if (!isOwn) {
          openDoor(app, door)
          void app.modules.then(() => door.allServicesKnown())
        }
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
    // The headers are copied, because Bun's own object cannot be used after the request has been answered.
    headers: new Headers(request.headers),
    // On a socket for both IPv4 and IPv6, an IPv4 address has the prefix `::ffff:`.
    address: peer?.address?.replace(/^::ffff:(?=\d+\.)/, ''),
    port: peer?.port
  }
  if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket')
    return refused(426, 'This path accepts only WebSockets: see @elysia-microservices/websocket')
  const refusal = await door.refusal(entering)
  if (refusal !== undefined) return refused(refusal.status, refusal.reason)
  const isIn =
    bun === undefined ? upgradeOnNode(door, request, entering) : upgradeOnBun(door, bun, request, entering)
  if (isIn) return undefined
  const upgrade = upgradeOnDeno(door, request, entering, limits)
  if (upgrade !== undefined) return upgrade
  door.leave(entering)
  return refused(400, 'The request is not an upgrade to a WebSocket')
}

function refused(status: number, reason: string): Response {
  return new Response(reason, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })
}

function isBunServer(server: unknown): server is BunServer {
  return typeof Bun !== 'undefined' && typeof (server as BunServer | null | undefined)?.upgrade === 'function'
}

/**
 * Limits the size of messages. Bun buffers a whole message before this library sees it, by default up to 16 MB, and
 * has only one limit for the whole app.
 */
function boundMessages(app: AnyElysia, { limits }: CheckedOptions): void {
  const { config } = app as unknown as { config: { websocket?: object } }
  config.websocket = {
    maxPayloadLength: limits.receiveBuffer,
    // Bun drops messages beyond this limit. `limits.sendBuffer` disconnects the client before that.
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
  // If the plugin is used behind a prefix, only the app knows the whole path.
  const paths = app.routes.flatMap((route) => (route.handler === (handler as never) ? [route.path] : []))
  listenForUpgrades(server, app as never, paths, limits)
}
