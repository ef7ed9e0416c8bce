/** An Elysia app on a real port, for tests: under Bun and, with Elysia's adapter, under Node and Deno. */

import { once } from 'node:events'
import type { Server } from 'node:http'
import net from 'node:net'
import { it } from 'node:test'
import { node } from '@elysiajs/node'
import { type AnyElysia, Elysia } from 'elysia'

/** Whether the tests run under Bun, and not under Node or Deno. */
export const underBun = typeof Bun !== 'undefined'

/** A test that stops its app. It runs under Bun only, because Elysia's adapter for Node has no `app.stop()`. */
export function itUnderBun(name: string, run: () => Promise<void>): void {
  if (underBun) it(name, run)
}

/** An Elysia app for the runtime of this test run. */
export function newApp(): Elysia {
  return underBun ? new Elysia() : new Elysia({ adapter: node() })
}

/** An app that listens. */
export interface Listening {
  readonly port: number
  readonly url: string
  /** Stops the app; requests that are still running are cut off. */
  stop(): Promise<unknown>
}

/** The server that Elysia's adapter uses: one of Node, or under Deno one of Deno. */
interface AdapterServer {
  readonly node?: { readonly server: Server }
  readonly deno?: {
    readonly server: { readonly addr: { readonly port: number }; shutdown(): Promise<void> }
  }
}

/** Makes an app listen on a free port. */
export async function listen(app: AnyElysia): Promise<Listening> {
  const server = await new Promise<unknown>((resolve) => app.listen(0, resolve))
  if (underBun) {
    const port = app.server?.port as number
    return { port, url: `http://localhost:${port}`, stop: () => app.stop(true) }
  }
  const { node, deno } = server as AdapterServer
  if (node === undefined) {
    const { addr, shutdown } = deno!.server
    // Deno's `shutdown()` waits for running requests, and nothing can cut them off.
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

/** A socket that sends a handwritten request, so that a test can read slowly or hang up. */
export function ask(port: number, head: string, body = ''): net.Socket {
  const socket = net.connect({ port, host: 'localhost' })
  socket.on('error', () => {})
  socket.write(`${head} HTTP/1.1\r\nhost: localhost\r\n`)
  if (body !== '') socket.write(`content-type: application/json\r\ncontent-length: ${body.length}\r\n`)
  socket.write(`\r\n${body}`)
  return socket
}

/** The status and the parsed JSON body of an answer; `undefined` if there is no body. */
export async function fetchJson(url: string, path: string, init?: RequestInit) {
  const response = await fetch(url + path, init)
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}

/** A request with a JSON body. */
export function sending(method: string, body: unknown): RequestInit {
  return { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}
