/** WebSockets as a transport with server and client, for the tests that all transports share. Not for users. */
import { clientResponder } from '@elysia-microservices/rsocket'
import type { CodecName, ServerTransport, Transport } from '@elysia-microservices/transport/kit'
import type { Elysia } from 'elysia'
import { WebSocketClient } from './client/client.ts'
import { checked, type WebSocketClientOptions } from './client/connect.ts'
import { type CheckedOptions, type WebSocketOptions, webSocketOptions } from './options.ts'
import { WebSocketDoor } from './server/door.ts'
import { Exposed } from './server/exposed.ts'
import { pluginOf } from './websocket.ts'

export type { WebSocketDoor as Door } from './server/door.ts'
export type { RawListener } from './server/server-socket.ts'
export { subprotocolOf, TURNS } from './wire/messages.ts'

/** An app that listens. */
export interface ListeningApp {
  /** The URL at which the app listens, such as `http://localhost:3000`. */
  readonly url: string
  stop(): Promise<unknown>
}

/**
 * Exposes all handlers of a service, whatever their patterns, because these tests are about the transport and not
 * about `expose`.
 */
class Everything extends Exposed {
  override takes(): boolean {
    return true
  }
}

/** A door behind which all handlers are exposed. */
export function openDoor(options: Omit<WebSocketOptions, 'expose'> = {}): WebSocketDoor {
  const checked = webSocketOptions({ ...options, expose: ['>'] })
  return doorOf(checked)
}

function doorOf(options: CheckedOptions): WebSocketDoor {
  return new WebSocketDoor(options, {
    newService: (dispatcher) => new Everything(options.expose, dispatcher)
  })
}

/**
 * A transport that makes an app for each server.
 * @param listen makes an app with the plugin, and makes it listen
 */
export function webSocketTransport(
  listen: (plugin: Elysia) => Promise<ListeningApp>,
  serverOptions: Omit<WebSocketOptions, 'expose'> = {},
  clientOptions: Omit<WebSocketClientOptions<CodecName>, 'url'> = {}
): Transport & { readonly url: string } {
  let url = ''
  return {
    name: 'websocket',
    traits: {
      wildcards: false,
      hearsNobody: true,
      shares: 'caller',
      headers: true,
      channels: true,
      answerHeaders: true
    },
    get url() {
      return url
    },
    server(context): ServerTransport {
      const options = webSocketOptions({ ...serverOptions, expose: ['>'] })
      const door = doorOf(options)
      const server = door.newServer(context)
      let app: ListeningApp | undefined
      return {
        ...server,
        async start(dispatcher) {
          await server.start(dispatcher)
          app = await listen(pluginOf(options, door))
          url = `${app.url}/rsocket`
        },
        async stop(stopping) {
          await server.stop(stopping)
          const stopped = app?.stop()
          app = undefined
          await stopped
        }
      }
    },
    client: (context) => newClient({ ...clientOptions, url }, context)
  }
}

/** A client that also answers calls of its server. */
export function newClient(
  options: WebSocketClientOptions<CodecName>,
  context: Parameters<Transport['client']>[0]
): WebSocketClient {
  const { logger: _l, timeout: _t, waitForConnection: _w, onStatus: _o, ...init } = checked(options)
  const { dispatcher } = context
  return new WebSocketClient(
    { ...init, responder: dispatcher && clientResponder('websocket', dispatcher) },
    context
  )
}
