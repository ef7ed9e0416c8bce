/** Streams of messages that are compressed a thousandfold: memory is bounded by what a reader takes, and not by the window. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until, within } from '@elysia-microservices/test-support'
import { type IncomingMessage, StreamValues } from '@elysia-microservices/transport/kit'
import { grpc } from './grpc.ts'
import type { GrpcMethods, MessageCodec } from './methods.ts'
import { dispatcherOf, METHODS } from './testing/service.ts'

const logger = { error() {}, warn() {} }
const COUNT = 150
/** A message that may be ahead of its reader, by the bytes that it has when it is not compressed any more. */
const AHEAD = 40
const LETTERS = 'x'.repeat(100_000)
const values = async function* (made: () => void) {
  for (let at = 0; at < COUNT; at++) {
    made()
    yield LETTERS
  }
}

/** A client and a service that compress; `read` are the messages that either end has read. */
async function compressing(handlers: Parameters<typeof dispatcherOf>[0]) {
  const counts = { read: 0 }
  const counted = (codec: MessageCodec): MessageCodec => ({
    encode: (value) => codec.encode(value),
    decode(bytes) {
      counts.read++
      return codec.decode(bytes)
    }
  })
  const proto: GrpcMethods = {
    method(path) {
      const method = METHODS.method(path)
      return method && { ...method, input: counted(method.input), output: counted(method.output) }
    }
  }
  const options = { proto, host: '127.0.0.1', compression: true }
  const transport = grpc({ ...options, port: 0 })
  const server = transport.server({ name: 'test', version: undefined, logger })
  await server.start(dispatcherOf(handlers))
  const client = grpc({ ...options, port: transport.address!.port }).client({
    logger,
    timeout: 60_000,
    dispatcher: undefined
  })
  return {
    client,
    counts,
    async [Symbol.asyncDispose]() {
      await client.close()
      await server.stop({ drain: 0 })
    }
  }
}

describe('a stream of compressed messages', () => {
  it('to a slow handler is read as the handler takes it', async () => {
    let go = () => {}
    const may = new Promise<void>((resolve) => {
      go = resolve
    })
    await using pair = await compressing({
      async Up({ data }: IncomingMessage) {
        let count = 0
        for await (const value of data as AsyncIterable<string>) {
          if (count++ === 0) await may
          assert.equal(value.length, LETTERS.length)
        }
        return String(count)
      }
    })
    let made = 0
    const answer = pair.client.request(
      'test.Kinds/Up',
      values(() => made++)
    )
    await until('all are sent', () => made === COUNT)
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.ok(pair.counts.read <= AHEAD, `${pair.counts.read} messages were read`)
    go()
    assert.equal(await within(answer, 'the answer'), String(COUNT))
  })

  it('to a slow reader is read as the reader takes it', async () => {
    let made = 0
    await using pair = await compressing({ Down: () => values(() => made++) })
    const stream = new StreamValues((receiver) => pair.client.stream('test.Kinds/Down', 'x', receiver))
    const reader = stream[Symbol.asyncIterator]()
    assert.equal(((await within(reader.next(), 'a value')).value as string).length, LETTERS.length)
    await until('all are sent', () => made === COUNT)
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.ok(pair.counts.read <= AHEAD, `${pair.counts.read} messages were read`)
    let count = 1
    while ((await within(reader.next(), 'a value')).done !== true) count++
    assert.equal(count, COUNT)
  })
})
