/**
 * Tests codecs over real sockets: which values arrive unchanged, and that both ends of a codec with state stay in step.
 */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { RecordingLogger } from '@elysia-microservices/rsocket/testing'
import { isInCheck } from '@elysia-microservices/test-support'
import {
  type Dispatcher,
  type IncomingMessage,
  OptionError,
  PatternNotFoundError,
  RejectedError
} from '@elysia-microservices/transport/kit'
import type { TcpClient } from './client/client.ts'
import type { TcpServerOptions } from './options/server-options.ts'
import type { TestOptions } from './options/shared-options.ts'
import { newClient, newServer } from './testing/ends.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const handlers: Readonly<Record<string, (message: IncomingMessage) => unknown>> = {
  echo: ({ data }) => data,
  never: () => new Promise(() => {}),
  broken: () => ({ bad: () => 1, [`k${Math.random()}`]: 1 }),
  async *shapes({ data }) {
    for (let n = 0; n < (data as number); n++)
      yield { [`key${n % 100}`]: { n, list: [{ [`deep${n % 9}`]: 1 }] } }
  },
  async sum({ data }) {
    let total = 0
    for await (const { n } of data as AsyncIterable<{ n: number }>) total += n
    return total
  },
  async first({ data }) {
    for await (const value of data as AsyncIterable<unknown>) return value
    return undefined
  }
}
const dispatcher: Dispatcher = {
  routes: () => [],
  request(message) {
    const handler = handlers[String(message.route)]
    if (handler === undefined) throw PatternNotFoundError.of(message.pattern)
    return handler(message)
  },
  event: () => undefined
}

/** @param both options for client and server */
async function start(
  codec: 'json' | 'msgpack' | 'bytes',
  both: TestOptions = {},
  options: TcpServerOptions = {}
): Promise<TcpClient> {
  const logger = new RecordingLogger()
  const server = newServer({ host: '127.0.0.1', port: 0, ...both, ...options }, logger)
  await server.start(dispatcher)
  cleanups.push(() => server.stop({ drain: 0 }))
  const client = newClient({ ...both, host: '127.0.0.1', port: server.address!.port, codec }, logger)
  cleanups.push(() => client.close())
  return client
}

/** Returns the first `count` values of a stream, and then cancels the stream. */
function take(client: TcpClient, pattern: string, data: unknown, count: number): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const values: unknown[] = []
    const call = client.stream(pattern, data, {
      next(value) {
        values.push(value)
        if (values.length !== count) return
        call.cancel()
        resolve(values)
      },
      complete: () => resolve(values),
      error: reject
    })
  })
}

const ROUNDS = isInCheck ? 15 : 60

for (const codec of ['msgpack'] as const) {
  describe(`over a socket, ${codec}`, () => {
    it('keeps what JSON does not', async () => {
      const client = await start(codec)
      const value = {
        at: new Date(1_700_000_000_123),
        map: new Map<unknown, unknown>([[1, new Set(['a', 2n])]]),
        left: undefined,
        floats: new Float32Array([0.5]),
        big: 2n ** 80n
      }
      assert.deepEqual(await client.request('echo', value), value)
    })

    it('carries bytes', async () => {
      const client = await start(codec)
      const bytes = new Uint8Array(100_000).fill(7)
      const received = (await client.request('echo', { bytes })) as { bytes: Uint8Array }
      assert.ok(received.bytes instanceof Uint8Array)
      assert.equal(Buffer.compare(received.bytes, bytes), 0)
    })

    it('says what it cannot carry, and where', async () => {
      const client = await start(codec)
      await assert.rejects(
        client.request('echo', { list: [() => 1] }),
        (error) => error instanceof OptionError && error.path === 'data.list[0]'
      )
    })

    for (const fragmentSize of [64, 0xffffff]) {
      it(`stays in step while calls fail, are refused, canceled and left; frames of ${fragmentSize} bytes`, async () => {
        const client = await start(codec, { fragmentSize }, { limits: { inFlightPerConnection: 20 } })
        const settled: Promise<unknown>[] = []
        for (let round = 0; round < ROUNDS; round++) {
          const shape = (kind: string) => ({ [`${kind}${round}`]: { [`inner${round % 7}`]: round } })
          const abort = new AbortController()
          const canceled = client.request('never', shape('canceled'), { signal: abort.signal })
          settled.push(canceled.catch(() => 'canceled'))
          settled.push(client.request('nobody', shape('nobody')).catch(() => 'not found'))
          settled.push(client.request('echo', { ...shape('cannot'), bad: () => 1 }).catch(() => 'not sent'))
          settled.push(client.request('broken', shape('broken')).catch(() => 'broken'))
          settled.push(take(client, 'shapes', 300, 1 + (round % 5)))
          settled.push(
            client.request('first', inputs(round)).catch((error) => assert.ok(error instanceof RejectedError))
          )
          abort.abort()
          const value = [shape('echo'), { list: [shape('list'), new Date(round)] }]
          assert.deepEqual(await retried(() => client.request('echo', value)), value)
        }
        await Promise.all(settled)
        assert.equal(await retried(() => client.request('sum', inputs(10))), 45)
        assert.equal((await take(client, 'shapes', 500, 0)).length, 500)
      })
    }
  })
}

/** Repeats a request that is refused because of limits.inFlightPerConnection. */
async function retried(ask: () => Promise<unknown>): Promise<unknown> {
  while (true) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof RejectedError)) throw error
    }
  }
}

async function* inputs(count: number): AsyncGenerator<{ n: number; [key: string]: number }> {
  for (let n = 0; n < count; n++) yield { n, [`input${count}-${n % 3}`]: n }
}
