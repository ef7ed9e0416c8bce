/** A real app on a real port, for tests: under Bun and, with Elysia's adapter, under Node and Deno. */

import { once } from 'node:events'
import type { Server } from 'node:http'
import net from 'node:net'
import { it } from 'node:test'
import { node } from '@elysiajs/node'
import { type AnyElysia, Elysia } from 'elysia'

/** Whether this is Bun; else Node or Deno. */
export const underBun = typeof Bun !== 'undefined'

/** A test of an app that stops: under Node, Elysia's adapter has no `app.stop()` that could be called. */
export function itUnderBun(name: string, run: () => Promise<void>): void {
  if (underBun) it(name, run)
}

/** An Elysia app for the runtime the tests run under. */
export function newApp(): Elysia {
  return underBun ? new Elysia() : new Elysia({ adapter: node() })
}

/** An app that listens. */
export interface Listening {
  readonly port: number
  readonly url: string
  /** Ends it; what still runs is cut off. */
  stop(): Promise<unknown>
}

/** The server of Elysia's adapter: one of Node, or under Deno one of Deno. */
interface AdapterServer {
  readonly node?: { readonly server: Server }
  readonly deno?: {
    readonly server: { readonly addr: { readonly port: number }; shutdown(): Promise<void> }
  }
}

/** Lets an app listen on a free port. */
export async function listen(app: AnyElysia): Promise<Listening> {
  const server = await new Promise<unknown>((resolve) => app.listen(0, resolve))
  if (underBun) {
    const port = app.server?.port as number
    return { port, url: `http://localhost:${port}`, stop: () => app.stop(true) }
  }
  const { node, deno } = server as AdapterServer
  if (node === undefined) {
    const { addr, shutdown } = deno!.server
    // It waits for what still runs, and nothing cuts that off.
    return { port: addr.port, url: `http://localhost:${addr.port}`, stop: async () => void shutdown() }
  }
  const http = node.server
  if (!http.listening) await once(http, 'listening')
  const { port } = http.address() as net.AddressInfo
  return {
    port,
    url: `http://localhost:${port}`,
    async stop() {
      http.close()
      http.closeAllConnections()
    }
  }
}

/** A client that writes a request by hand: it can read slowly, or hang up. */
export function ask(port: number, head: string, body = ''): net.Socket {
  const socket = net.connect({ port, host: 'localhost' })
  socket.on('error', () => {})
  socket.write(`${head} HTTP/1.1\r\nhost: localhost\r\n`)
  if (body !== '') socket.write(`content-type: application/json\r\ncontent-length: ${body.length}\r\n`)
  socket.write(`\r\n${body}`)
  return socket
}

/** Status and body of an answer of JSON; `undefined` for no body. */
export async function fetchJson(url: string, path: string, init?: RequestInit) {
  const response = await fetch(url + path, init)
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}

/** A request with a body of JSON. */
export function sending(method: string, body: unknown): RequestInit {
  return { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}
