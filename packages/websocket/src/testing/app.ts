/** Apps on real ports and their clients, for tests on every runtime. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CodecName } from '@elysia-microservices/transport'
import { node } from '@elysiajs/node'
import { type AnyElysia, Elysia } from 'elysia'
import { WebSocket } from 'ws'
import { connect, type WebClientOf, type WebSocketClientOptions } from '../client.ts'

const underBun = typeof Bun !== 'undefined'
/** The class `WebSocket`: that of the runtime, or of the package `ws` on Node 20, which has none. */
export const type = (globalThis as { WebSocket?: object }).WebSocket ?? WebSocket

/** An Elysia app for the runtime of this test run. */
export function newApp(): Elysia {
  return underBun ? new Elysia() : new Elysia({ adapter: node() })
}

/** An app that listens. */
export interface Listening {
  readonly port: number
  /** The address of the door, in the form `ws://…/rsocket`. */
  readonly url: string
  /** Stops the app. Calls in flight are cut off, unless `isCut` is false. */
  stop(isCut?: boolean): Promise<unknown>
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes an app listen on a free port. */
export async function listen(app: AnyElysia): Promise<Listening> {
  const server = await new Promise<unknown>((resolve) => app.listen(0, resolve))
  const port = underBun ? app.server?.port : await portOf(server as AdaptersServer)
  let stopping: Promise<unknown> | undefined
  const stop = (isCut = true) => {
    stopping ??= app.stop(isCut)
    return stopping
  }
  return {
    port: port as number,
    url: `ws://localhost:${port}/rsocket`,
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
    }
  }
}

/** The server that Elysia's adapter uses. */
interface AdaptersServer {
  readonly raw: {
    readonly node?: { readonly server: Server }
    readonly deno?: { readonly server: { readonly addr: { readonly port: number } } }
  }
}

async function portOf({ raw: { node: onNode, deno } }: AdaptersServer): Promise<number | undefined> {
  if (onNode === undefined) return deno?.server.addr.port
  const { server } = onNode
  if (!server.listening) await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A client that is closed at the end of its scope. */
export type Disposable<Client> = Client & AsyncDisposable

/** Makes a client of an app. */
export function clientOf<Service>(
  { url }: { readonly url: string },
  options: WebSocketClientOptions<CodecName> = {}
): Disposable<WebClientOf<Service>> {
  const all = { url, WebSocket: type, logger: { error() {}, warn() {} }, ...options }
  // The answers of these tests are the same with every codec.
  const client = connect<Service>(all as WebSocketClientOptions)
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

/** A WebSocket without a client, as an attacker would use it. */
export class Bare {
  readonly socket: InstanceType<typeof WebSocket>
  readonly messages: Buffer[] = []
  /** Resolves with the code with which the socket was closed; 0 if the upgrade was refused. */
  readonly closed: Promise<number>
  /** The HTTP status with which the upgrade was refused. */
  status: number | undefined

  constructor(url: string, protocols: string[] = [], headers: Record<string, string> = {}) {
    this.socket = new WebSocket(url, protocols, { headers })
    this.socket.on('message', (message: Buffer) => this.messages.push(message))
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code) => resolve(this.status === undefined ? code : 0))
      this.socket.on('unexpected-response', (_request, { statusCode }) => {
        this.status = statusCode
        this.socket.terminate()
        resolve(0)
      })
      this.socket.on('error', () => {})
    })
  }

  /** Resolves when the socket is open. */
  async opened(): Promise<this> {
    if (this.socket.readyState === WebSocket.CONNECTING) await once(this.socket, 'open')
    return this
  }
}
