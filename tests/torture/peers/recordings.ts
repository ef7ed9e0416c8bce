/** Records what client and server send in valid conversations, over sockets in memory. */
import { type Message, microservice, RpcError } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { MemoryPort } from './in-memory.ts'
import { type Recording, split } from './mutator.ts'
import { SILENT } from './tally.ts'

/** The service that is fuzzed. None of its handlers returns a large answer, whatever the request is. */
export function fuzzedService(port: MemoryPort, options: object = {}) {
  return microservice({ transport: 'tcp', ...port.serverOptions(), logger: SILENT, ...options })
    .message('echo', ({ data }: Message<unknown>) => data)
    .message('later', async ({ data }: Message<unknown>) => {
      await new Promise((resolve) => setImmediate(resolve))
      return data
    })
    .message('count', function* ({ data }: Message<number>) {
      for (let n = 0; n < Math.min(data, 50); n++) yield n
    })
    .message('sum', async ({ data }: Message<AsyncIterable<number>>) => {
      let total = 0
      if (typeof data === 'object') for await (const value of data) total += Number(value)
      return total
    })
    .message('fail', () => {
      throw new RpcError({ code: 'REFUSED', message: 'no' })
    })
    .event('note', () => {})
}

/** Makes every kind of call of our client. */
export async function converse(
  client: UntypedClient,
  protocol: 'nest' | 'rsocket',
  expect: (call: () => Promise<unknown>, expected: unknown) => Promise<unknown>
): Promise<void> {
  const fails = () =>
    client.request('fail').catch((error: unknown) => {
      if (!(error instanceof RpcError) || error.code !== 'REFUSED') throw error
    })
  const data = { text: 'aé€😀', list: [1, null, { a: false }] }
  await Promise.all([
    expect(() => client.request('echo', data, { headers: { traceparent: '00-1' } }), data),
    expect(() => client.request('later', 'x'.repeat(200), { timeout: 10_000 }), 'x'.repeat(200)),
    expect(() => collect(client.stream('count', 3)), [0, 1, 2]),
    expect(fails, undefined),
    expect(() => client.emit('note', data), undefined),
    ...(protocol === 'rsocket' ? [expect(() => client.request('sum', numbers()), 6)] : [])
  ])
}

async function* numbers(): AsyncGenerator<number> {
  yield* [1, 2, 3]
}

async function collect(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

/** Records clients: plain, with fragments, with leases, and with a token for resuming. */
export async function record(): Promise<Recording[]> {
  const port = new MemoryPort()
  const service = fuzzedService(port, {
    rsocket: { resume: true },
    limits: { inFlightPerConnection: 100 }
  })
  await service.listen()
  const recordings: Recording[] = []
  for (const [protocol, options] of [
    ['nest', {}],
    ['rsocket', {}],
    ['rsocket', { fragmentSize: 64 }],
    ['rsocket', { rsocket: { lease: true, resume: true, credentials: { type: 'bearer', token: 't' } } }]
  ] as const) {
    const said: Buffer[] = []
    const sockets = port.clientOptions(undefined, (bytes) => said.push(bytes))
    const client = connect({ protocol, ...sockets, logger: SILENT, ...options })
    await converse(client, protocol, (call) => call())
    await client.close()
    recordings.push({ protocol, frames: split(protocol, Buffer.concat(said)) })
  }
  await service.stop()
  return recordings
}
