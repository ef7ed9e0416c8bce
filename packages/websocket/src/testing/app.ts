/** Apps on real ports and clients of them, on every runtime. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { node } from '@elysiajs/node'
import { type AnyElysia, Elysia } from 'elysia'
import { WebSocket } from 'ws'
import { connect, type WebClientOf, type WebSocketClientOptions } from '../client.ts'

const underBun = typeof Bun !== 'undefined'
/** The class that connects: Node 20 has none. */
export const type = (globalThis as { WebSocket?: object }).WebSocket ?? WebSocket

/** An Elysia app for the runtime the tests run under. */
export function newApp(): Elysia {
  return underBun ? new Elysia() : new Elysia({ adapter: node() })
}

/** An app that listens. */
export interface Listening {
  readonly port: number
  /** `ws://…/rsocket` */
  readonly url: string
  /** Cuts off what still runs, unless it may end. */
  stop(isCut?: boolean): Promise<unknown>
  [Symbol.asyncDispose](): Promise<void>
}

/** Lets an app listen on a free port. */
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

/** The server by which Elysia's adapter listens. */
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

/** A client that closes with its scope. */
export type Disposable<Client> = Client & AsyncDisposable

/** Makes a client of an app. */
export function clientOf<Service>(
  { url }: { readonly url: string },
  options: WebSocketClientOptions = {}
): Disposable<WebClientOf<Service>> {
  const client = connect<Service>({ url, WebSocket: type, logger: { error() {}, warn() {} }, ...options })
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

/** A bare WebSocket, as an attacker has it. */
export class Bare {
  readonly socket: InstanceType<typeof WebSocket>
  readonly messages: Buffer[] = []
  /** The code with which it was closed; 0: it was refused. */
  readonly closed: Promise<number>
  /** The status that refused it. */
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

  /** Resolves when it is open. */
  async opened(): Promise<this> {
    if (this.socket.readyState === WebSocket.CONNECTING) await once(this.socket, 'open')
    return this
  }
}
