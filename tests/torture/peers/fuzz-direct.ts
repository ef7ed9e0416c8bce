/**
 * A program: feeds mutated frames to sessions without sockets, in the two directions. Arguments: how many frames,
 * the seed. Prints a line of JSON; a crash or a hang is seen by the test that started it.
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

/** Of all frames, how many go to servers; the others go to clients. */
const TO_SERVERS = 0.8
/** Conversations between two questions of an honest client, which also lets timers and promises have their turn. */
const BETWEEN = 100
/** Clients at the same time. */
const CLIENTS = 50
/** Milliseconds; what never comes is what it is for. */
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
      // Some of them in two chunks: the rest waits in the session.
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

/** Clients whose server is right and whose connection changes what it says. */
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
    // A stream whose end was changed has none: it ends with its client.
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
if (({} as { polluted?: unknown }).polluted !== undefined) throw new Error('A prototype was changed')
console.log(JSON.stringify(result))
process.exit()
