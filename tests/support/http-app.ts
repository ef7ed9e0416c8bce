/** A real app on a real port: on Bun directly, on Node and Deno with Elysia's adapter. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { node } from '@elysiajs/node'
import { type AnyElysia, Elysia } from 'elysia'
import { underBun } from '../workspace.ts'

/** An Elysia app for the runtime of the tests. */
export function newApp(): Elysia {
  return underBun ? new Elysia() : new Elysia({ adapter: node() })
}

/** The server of the adapter. */
interface Raw {
  readonly node?: { readonly server: Server }
  readonly deno?: { readonly server: { readonly addr: { readonly port: number } } }
}

/** Starts an app on a free port. `stop` ends the app at once, with all requests. */
export async function listen(app: AnyElysia): Promise<{ readonly url: string; stop(): Promise<unknown> }> {
  const server = await new Promise<unknown>((resolve) => app.listen(0, resolve))
  if (underBun) return { url: `http://localhost:${app.server?.port}`, stop: () => app.stop(true) }
  const { deno, node: onNode } = (server as { readonly raw: Raw }).raw
  if (deno !== undefined)
    return { url: `http://localhost:${deno.server.addr.port}`, stop: () => app.stop(true) }
  const http = (onNode as NonNullable<Raw['node']>).server
  if (!http.listening) await once(http, 'listening')
  return {
    url: `http://localhost:${(http.address() as AddressInfo).port}`,
    async stop() {
      http.close()
      http.closeAllConnections()
    }
  }
}
