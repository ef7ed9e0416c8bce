/**
 * A program that passes mutated frames to servers and clients without sockets. Arguments: the number of frames, and
 * the seed. Prints a line of JSON; the test that started it notices a crash or a hang.
 */
import { connect } from 'elysia-microservices/client'
import type { TcpServerStats } from 'elysia-microservices/tcp'
import { MemoryPort } from './in-memory.ts'
import { memory } from './memory.ts'
import './strict.ts'
import { randomFrom } from '@elysia-microservices/test-support'
import { Mutator } from './mutator.ts'
import { converse, fuzzedService, record } from './recordings.ts'
import { ANYTHING, type Report, SILENT, Tally } from './tally.ts'

/** The share of frames that is sent to servers; the others are sent to clients. */
const TO_SERVERS = 0.8
/** Conversations between two requests of a well-behaved client, which also let timers and promises run. */
const BETWEEN = 100
/** The number of clients at the same time. */
const CLIENTS = 50
/** The timeout of calls in milliseconds, for answers that never arrive. */
const TIMEOUT = 30

/** The output of this program. */
export interface FuzzResult {
  readonly server: { mutated: number; honest: Report; settledMb: number; endMb: number; left: number }
  readonly client: { mutated: number; calls: Report }
}

const [frames, seed] = process.argv.slice(2).map(Number) as [number, number]
const random = randomFrom(seed)

async function server(): Promise<FuzzResult['server']> {
  const mutator = new Mutator(await record(), random)
  const port = new MemoryPort()
  const service = fuzzedService(port, {
    rsocket: { resume: { window: 50 } },
    limits: { receiveBuffer: 1024 * 1024 }
  })
  await service.listen()
  const honest = new Tally()
  const clients = (['nest', 'rsocket'] as const).map((protocol) =>
    connect({ protocol, ...port.clientOptions(), logger: SILENT, retry: false, reconnect: false })
  )
  const count = frames * TO_SERVERS
  let settledMb = 0
  for (let conversation = 0; mutator.mutated < count; conversation++) {
    const peer = port.connect(() => {})
    for (const bytes of mutator.conversation(6).frames) {
      if (peer.closed) break
      // Some frames are split into two chunks, so that the session has to wait for the rest.
      const middle = random() < 0.2 ? Math.floor(random() * bytes.length) : 0
      if (middle > 0) peer.listener.data(Buffer.from(bytes.subarray(0, middle)))
      if (!peer.closed) peer.listener.data(Buffer.from(bytes.subarray(middle)))
    }
    peer.destroy()
    if (conversation % BETWEEN === 0) {
      await new Promise((resolve) => setImmediate(resolve))
      const data = { conversation, text: '€😀' }
      for (const client of clients) await honest.expect(() => client.request('echo', data), data)
    }
    if (settledMb === 0 && mutator.mutated > count / 4) settledMb = memory().rssMb
  }
  for (const client of clients) await client.close()
  await new Promise((resolve) => setTimeout(resolve, 200))
  const [stats] = service.stats() as readonly [TcpServerStats]
  const { connections, streams, inFlight } = stats
  await service.stop()
  const left = connections.current + streams + inFlight.current
  return { mutated: mutator.mutated, honest: honest.report(true), settledMb, endMb: memory().rssMb, left }
}

/** Runs clients whose server is correct, and whose connection changes the server's bytes. */
async function client(): Promise<FuzzResult['client']> {
  const port = new MemoryPort()
  const service = fuzzedService(port, { limits: { inFlightPerConnection: 100 } })
  await service.listen()
  const calls = new Tally()
  const mutator = new Mutator(await record(), random)
  const count = frames * (1 - TO_SERVERS)
  const attacked = async () => {
    const protocol = random() < 0.5 ? 'nest' : 'rsocket'
    const change = (bytes: Buffer) => (random() < 0.5 ? bytes : mutator.mutate(protocol, bytes))
    const caller = connect({
      protocol,
      ...port.clientOptions(change),
      logger: SILENT,
      timeout: TIMEOUT,
      rsocket: { lease: random() < 0.3 },
      retry: false,
      reconnect: false
    })
    const settled = converse(caller, protocol, (call) => calls.expect(call, ANYTHING))
    // A stream whose last frame was changed never ends: it ends together with its client.
    const enough = new Promise((resolve) => setTimeout(resolve, 3 * TIMEOUT))
    await Promise.race([settled, enough])
    await caller.close()
    await settled
  }
  const workers = Array.from({ length: CLIENTS }, async () => {
    while (mutator.mutated < count) await attacked()
  })
  await Promise.all(workers)
  await service.stop()
  return { mutated: mutator.mutated, calls: calls.report(false) }
}

const result: FuzzResult = { server: await server(), client: await client() }
if (({} as { polluted?: unknown }).polluted !== undefined) throw new Error('Object.prototype was changed')
console.log(JSON.stringify(result))
process.exit()
