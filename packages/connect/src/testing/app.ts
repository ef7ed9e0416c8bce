/** Apps on real ports, for tests on every runtime. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { node } from '@elysiajs/node'
import { type AnyElysia, Elysia } from 'elysia'

/** Whether the tests run under Bun, and not under Node or Deno. */
export const underBun = typeof Bun !== 'undefined'

/** An Elysia app for the runtime of this test run. */
export function newApp(config: ConstructorParameters<typeof Elysia>[0] = {}): Elysia {
  return (
    underBun ? new Elysia(config as never) : new Elysia({ ...config, adapter: node() } as never)
  ) as never
}

/** An app that listens. */
export interface Listening extends AsyncDisposable {
  readonly port: number
  readonly url: string
  stop(isCut?: boolean): Promise<unknown>
}

/** Makes an app listen on a free port. It stops at the end of its scope. */
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
    url: `http://localhost:${port}`,
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
