/**
 * A reader that stops reading: the bytes of a stream that are produced in advance are limited, over every transport.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isMissing, until, within } from '@elysia-microservices/test-support'
import type { ClientTransport, ServerTransport, Transport } from '@elysia-microservices/transport'
import { StreamValues } from '@elysia-microservices/transport/kit'
import { clientOf, TRANSPORTS, type TransportUnderTest } from './transports.ts'

const KIBIBYTE = 1024
const VALUE = 64 * KIBIBYTE
const ALL = 200
/** The most bytes that may be in flight, at the reader, and produced before both ends notice that nobody reads. */
const MOST = (1024 + 256 + 512) * KIBIBYTE

/** A service that counts the values it produces. */
class Blocks {
  made = 0

  async start(transport: Transport): Promise<ServerTransport> {
    const logger = { error() {}, warn() {} }
    const server = transport.server({ name: 'unread', version: undefined, logger })
    await server.start({
      routes: () => ['blocks', 'echo'].map((route) => ({ kind: 'message', route })),
      request: ({ route, data }) => (route === 'blocks' ? this.#blocks() : data),
      event() {}
    })
    return server
  }

  async *#blocks(): AsyncGenerator<string> {
    for (let n = 0; n < ALL; n++) {
      this.made++
      yield String(n).padEnd(VALUE, 'x')
    }
  }
}

async function withBlocks(
  { open }: TransportUnderTest,
  test: (client: ClientTransport, blocks: Blocks) => Promise<void>
): Promise<void> {
  const carried = await open()
  const blocks = new Blocks()
  const server = await blocks.start(carried.server())
  const client = clientOf(carried.client())
  try {
    await test(client, blocks)
  } finally {
    await client.close()
    await server.stop({ drain: 0 })
    await carried.close()
  }
}

/** Waits for a number of requests and answers, which come behind everything that was sent before. */
async function settled(client: ClientTransport): Promise<void> {
  for (let n = 0; n < 300; n++) assert.equal(await client.request('echo', n), n)
}

for (const transport of TRANSPORTS) {
  const { name, missing } = transport
  // NestJS's protocol over TCP cannot pause the other side.
  if (name === "Nest's wire" || isMissing(`unread values over ${name}`, missing)) continue

  describe(`a stream over ${name}`, () => {
    it('is not produced further ahead of a reader that stops than the limit of bytes allows', () =>
      withBlocks(transport, async (client, blocks) => {
        const values = new StreamValues<string>((receiver) => client.stream('blocks', undefined, receiver))
        assert.equal((await within(values.next(), 'the first value')).value?.length, VALUE)
        await settled(client)
        assert.ok(blocks.made * VALUE <= MOST, `${blocks.made} values`)
        let next = 1
        for (;;) {
          const { done, value } = await within(values.next(), `value ${next}`)
          if (done) break
          assert.equal(Number.parseInt(value, 10), next++)
        }
        assert.equal(next, ALL)
      }))

    it('delivers all values that its reader requests itself, however large they are', () =>
      withBlocks(transport, async (client, blocks) => {
        const demand = 100
        let count = 0
        let end: unknown
        const receiver = {
          next: () => void count++,
          complete: () => (end = 'complete'),
          error: (error: Error) => (end = error)
        }
        const call = client.stream('blocks', undefined, receiver, { demand })
        await until('all values have come', () => count >= demand)
        await settled(client)
        assert.deepEqual([count, end], [demand, undefined])
        assert.ok(blocks.made <= demand + 1, `${blocks.made} values`)
        call.cancel()
      }))
  })
}
