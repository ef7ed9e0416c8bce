/** Endless answers and channels whose connection is cut and resumed: the source goes on, and the loop has its turns. */
import { Link, until } from '@elysia-microservices/test-support'
import type { Transport } from '@elysia-microservices/transport'
import { newClient, webSocketTransport } from '@elysia-microservices/websocket/testing'
import { tcp } from 'elysia-microservices/tcp'
import type { Carried, TransportUnderTest } from '../../calls/transports.ts'
import { listen, newApp } from '../../support/http-app.ts'
import { WebSocket } from '../../support/web-socket.ts'
import { type Case, caseOf } from './case.ts'
import { Setting } from './setting.ts'
import { PULLED } from './sources.ts'

/** A server that lets lost connections be resumed, and its clients. */
interface Resuming {
  readonly transport: Transport
  port(): number
  client(port: number): Transport
}

const RESUMING: Readonly<Record<string, () => Resuming>> = {
  RSocket() {
    const transport = tcp({ host: '127.0.0.1', port: 0, rsocket: { resume: true } })
    return {
      transport,
      port: () => transport.address!.port,
      client: (port) => tcp({ host: '127.0.0.1', port, rsocket: { resume: true } })
    }
  },
  WebSocket() {
    const transport = webSocketTransport(async (plugin) => listen(newApp().use(plugin)))
    return {
      transport,
      port: () => Number(new URL(transport.url).port),
      client: (port) => ({
        ...transport,
        client: (context) => newClient({ url: `ws://127.0.0.1:${port}/rsocket`, WebSocket }, context)
      })
    }
  }
}

/** The connections of clients lead through a link, which the case cuts. */
class CutConnections implements Carried {
  readonly #ends: Resuming
  #link: Link | undefined
  #port = 0

  constructor(ends: Resuming) {
    this.#ends = ends
  }

  server(): Transport {
    const { transport, port } = this.#ends
    return {
      ...transport,
      server: (context) => {
        const server = transport.server(context)
        const start = server.start.bind(server)
        return Object.assign(server, {
          start: async (dispatcher: Parameters<typeof start>[0]) => {
            await start(dispatcher)
            this.#link = await Link.start(port())
            this.#port = this.#link.port
          }
        })
      }
    }
  }

  client(): Transport {
    return this.#ends.client(this.#port)
  }

  endpoint(): undefined {}

  async lose(): Promise<void> {
    this.#link?.cutAll()
  }

  /** @returns allows connections again */
  async cut(): Promise<() => Promise<void>> {
    await this.#link?.stop()
    return async () => {
      this.#link = await Link.start(this.#ends.port(), this.#port)
    }
  }

  async close(): Promise<void> {
    await this.#link?.stop()
  }
}

/** Resolves when the reader has got values that were made after this call. */
async function goesOn(setting: Setting, made: () => number): Promise<void> {
  const before = made()
  await until('the source goes on after the connection was lost', () => setting.got > before)
}

/** The cases of a transport; none, if its connections cannot be resumed. */
export function casesOfResuming({ name }: Pick<TransportUnderTest, 'name'>): Case[] {
  const newEnds = RESUMING[name]
  if (newEnds === undefined) return []
  const calls = [
    ['an answer', (setting: Setting) => setting.ask()],
    ['a channel', (setting: Setting) => setting.send('all')]
  ] as const
  return PULLED.flatMap((kind) =>
    calls.map(([what, start]) =>
      caseOf(`${what}, cut and resumed`, kind, async (watched) => {
        const carried = new CutConnections(newEnds())
        const setting = await Setting.open({ open: async () => carried }, watched.source)
        try {
          const call = start(setting)
          await setting.runs()
          for (let n = 0; n < 3; n++) {
            await carried.lose()
            await goesOn(setting, () => watched.source.made)
          }
          // Without a connection, the source stands still.
          const restore = await carried.cut()
          await watched.stands()
          await restore()
          await goesOn(setting, () => watched.source.made)
          if (setting.ended !== undefined) throw new Error(`the call has ended: ${setting.ended}`)
          call.cancel()
          await watched.ends()
          await setting.serves()
        } finally {
          await setting.close()
        }
      })
    )
  )
}
