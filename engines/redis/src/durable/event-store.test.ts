import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Publisher } from '@elysia-microservices/engine'
import { runs, Timeouts } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import type { RedisConnection } from '../connection/redis-connection.ts'
import { type Appended, type EntryBatch, PASSED, type Stored } from '../driver.ts'
import { OverFake } from '../testing/over-fake.ts'
import { refused } from '../testing/over-store.ts'
import { idOf, streamOf } from '../words/keys.ts'
import type { OutgoingEntry } from './event.ts'
import { EventStore } from './event-store.ts'

const PATTERNS = ['a', 'b', 'c']

/** A command on its way to the server, and its answer on the way back. */
interface Command {
  readonly batch: EntryBatch
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

/** A server that stores batches when the test says so. */
class Server {
  isConnected = true
  /** The ids of all stored events, by stream. */
  readonly streams = new Map<string, string[]>()
  readonly #remembered = new Map<string, string>()
  #sent: Command[] = []
  #answers: (() => void)[] = []

  /** All batches that were sent, and what else was asked. */
  readonly batches: EntryBatch[] = []
  readonly asked: string[] = []
  /** The outcome of planned events. */
  planning: Stored = ['1-0', 0]
  /** The times with which events were planned. */
  readonly planned: string[] = []
  readonly connection = {
    routing: { listeners: () => ({ reached: [], send: undefined }) },
    store: {
      append: (batch: EntryBatch) =>
        new Promise((resolve, reject) => {
          this.batches.push(batch)
          this.#sent.push({ batch, resolve, reject })
        }),
      trim: async (stream: string, maxAge: number) => void this.asked.push(`trim ${stream} ${maxAge}`),
      plan: ({ events }: { readonly events: readonly { readonly time: string }[] }) => {
        this.planned.push(...events.map(({ time }) => time))
        return Promise.resolve({ stored: events.map(() => this.planning), copies: 0 })
      }
    }
  } as unknown as RedisConnection

  run(count: number): void {
    for (const { batch, resolve } of this.#sent.splice(0, count)) {
      const answer = this.#append(batch)
      this.#answers.push(() => resolve(answer))
    }
  }

  /** Takes the commands that are on their way to the server, to put them back later. */
  takeSent(): Command[] {
    return this.#sent.splice(0)
  }

  putSent(commands: Command[]): void {
    this.#sent.unshift(...commands)
  }

  answer(count: number): void {
    for (const answer of this.#answers.splice(0, count)) answer()
  }

  /** Refuses what is on its way. */
  refuse(message: string): void {
    for (const { reject } of this.#sent.splice(0)) reject(refused(message))
  }

  /** Cuts the connection. The driver keeps commands that it gets from now on, and sends them over the next one. */
  lose(): void {
    this.isConnected = false
    for (const { reject } of this.#sent.splice(0)) reject(new Error('Connection is closed.'))
    this.#answers = []
  }

  /** Connects again, which takes at least a turn of the event loop. */
  async restore(): Promise<void> {
    await turn()
    this.isConnected = true
  }

  #append({ pattern, events, known, settled }: EntryBatch): Appended {
    const ids = events.map(({ id }) => id)
    const log = this.streams.get(pattern) ?? []
    this.streams.set(pattern, log)
    const stored = known.map((key, n): [string, number] => {
      const position = this.#remembered.get(key)
      if (position !== undefined) return [position, 1]
      const fresh = `1-${log.length}`
      log.push(...(known.length < ids.length ? ids : [ids[n] as string]))
      this.#remembered.set(key, fresh)
      return [fresh, 0]
    })
    for (const key of settled) this.#remembered.delete(key)
    return { stored, copies: 0 }
  }
}

function setting() {
  const server = new Server()
  const publisher = new Publisher<OutgoingEntry>({ title: 'Redis', duplicateWindow: 120_000 })
  const storage = { duplicateWindow: 120_000, maxAge: 60_000, replicas: 1, ackWait: 30_000 }
  Object.defineProperty(server.connection, 'isConnected', { get: () => server.isConnected })
  const attach = () => publisher.attach(new EventStore(server.connection, storage, publisher))
  attach()
  const published: Promise<{ position: string | undefined }>[] = []
  const publish = (pattern: string, isOwnId = true, time: Partial<OutgoingEntry> = {}) => {
    const id = String(published.length)
    const common = {
      pattern,
      address: pattern,
      id,
      isOwnId,
      timeout: 0,
      signal: undefined,
      size: 10,
      ...time
    }
    published.push(
      publisher.publish({ ...common, packet: '{}', key: undefined, headers: undefined, batch: undefined })
    )
  }
  const stored = () => PATTERNS.flatMap((pattern) => server.streams.get(pattern) ?? [])
  return { server, publisher, attach, publish, published, stored }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Runs and answers everything until all events are published. */
async function serve({ server, publisher }: ReturnType<typeof setting>): Promise<void> {
  while (!publisher.isIdle) {
    server.run(1_000)
    server.answer(1_000)
    await turn()
  }
}

const STEPS = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('publish' as const), count: fc.nat(PATTERNS.length - 1) })
    },
    fc.record({ kind: fc.constantFrom('run' as const, 'answer' as const), count: fc.nat(6) }),
    fc.record({
      kind: fc.constantFrom('lose' as const, 'restore' as const, 'again' as const, 'turn' as const),
      count: fc.constant(0)
    })
  ),
  { maxLength: 60, size: 'max' }
)

it('an event is stored only when as many replicas have it as the options require', async () => {
  const over = new OverFake()
  const connection = await over.connect()
  const events = new EventStore(connection, over.optionsOf({ replicas: 3 }).durable)
  const store = (id: string) =>
    events.store({ route: 'p', packet: '{}', headers: undefined, id, isOwnId: false, key: undefined })
  over.server.streams.replicas = 1
  await assert.rejects(store('a'), /is stored on the master and on 1 of 2 replicas/)
  over.server.streams.replicas = 2
  await store('b')
  await over.close()
})

describe('events published over Redis', () => {
  it('that are stored together are told their positions, each its own', async () => {
    const all = setting()
    for (let n = 0; n < 3; n++) all.publish('a')
    await serve(all)
    const positions = (await Promise.all(all.published)).map(({ position }) => position)
    assert.deepEqual(positions, ['1-0', '1-1', '1-2'])
  })

  it('go together if they are of one pattern and kind, and not too many or too large', async () => {
    const all = setting()
    const { server, publish } = all
    const sizes = async () => {
      await turn()
      return server.batches.splice(0).map(({ events }) => events.length)
    }
    for (let n = 0; n < 129; n++) publish('a')
    assert.deepEqual(await sizes(), [128, 1])
    for (const pattern of ['a', 'b', 'a', 'a']) publish(pattern)
    assert.deepEqual(await sizes(), [1, 1, 2])
    for (const isOwnId of [true, false, false]) publish('a', isOwnId)
    assert.deepEqual(await sizes(), [1, 2])
    for (const size of [524_288, 524_288, 1, 1_048_575]) publish('a', true, { size })
    assert.deepEqual(await sizes(), [2, 2])
    for (const size of [1_048_576, 1]) publish('a', true, { size })
    assert.deepEqual(await sizes(), [1, 1])
    publish('a')
    publish('a', true, { due: Date.now() + 60_000 })
    publish('a')
    assert.deepEqual([await sizes(), server.planned.length], [[1, 1], 1])
    await serve(all)
  })

  it('let the server forget their ids when they are stored, if nobody has chosen those', async () => {
    const all = setting()
    const { server, publish } = all
    publish('a')
    publish('a')
    publish('b', false)
    await serve(all)
    publish('b')
    await serve(all)
    assert.deepEqual(
      server.batches.map(({ known, settled }) => [known, settled]),
      [
        [[idOf('a', '0')], []],
        [[idOf('b', '2')], []],
        [[idOf('b', '3')], [idOf('a', '0')]]
      ]
    )
    const [{ duplicateWindow, maxAge, copies } = {} as EntryBatch] = server.batches
    assert.deepEqual([duplicateWindow, maxAge, copies], [120_000, 60_000, 0])
    for (let n = 0; n < 300; n++) {
      publish('c')
      await turn()
    }
    await serve(all)
    publish('c')
    publish('b')
    await turn()
    assert.deepEqual(
      server.batches.slice(-2).map(({ settled }) => settled.length),
      [256, 44]
    )
    await serve(all)
  })

  it('whose time has passed are stored now, under the ids that they have', async () => {
    const all = setting()
    const { server, publish, published } = all
    server.planning = ['', PASSED]
    publish('a', true, { due: Date.now() + 60_000 })
    await serve(all)
    assert.deepEqual([server.batches.length, server.batches[0]?.known], [1, [idOf('a', '0')]])
    assert.equal((await published[0])?.position, '1-0')
    server.planning = ['', 0]
    publish('a', true, { due: Date.now() + 60_000 })
    await serve(all)
    assert.deepEqual([server.batches.length, (await published[1])?.position], [1, undefined])
  })

  it('that a full server refuses make room there, and all that are refused for ever are told why', async () => {
    const { server, publisher, publish, published } = setting()
    publish('a')
    publish('a')
    await turn()
    server.refuse('NOPERM no permissions')
    for (const one of published.splice(0))
      await assert.rejects(one, { name: 'NotStoredError', message: /NOPERM.*give its user the rights/ })
    assert.deepEqual(server.asked, [])
    publish('b', true, { timeout: 60_000 })
    const [waits] = published.splice(0)
    waits?.catch(() => {})
    await turn()
    server.refuse("OOM command not allowed when used memory > 'maxmemory'.")
    await turn()
    assert.deepEqual(server.asked, [`trim ${streamOf('b')} 60000`])
    publisher.close(new Error('over'))
  })

  it('wait for their delay although the wall clock steps back before they are sent', async () => {
    const { server, published, publish } = setting()
    const { now } = Date
    publish('a', true, { due: now() + 500, steadyDue: performance.now() + 500 })
    Date.now = () => now() - 3_600_000
    try {
      await Promise.all(published)
    } finally {
      Date.now = now
    }
    assert.ok(Number(server.planned[0]) <= 500, server.planned.join())
  })

  it('are stored once when they are answered while a restored connection is about to send them again', async () => {
    const all = setting()
    const { server, publisher, publish, stored } = all
    publish('a')
    publish('b')
    await turn()
    // The connection was lost and is there again: the driver has sent both before it says so.
    server.run(2)
    publisher.restored()
    // The answers arrive before the end of the turn in which both are to be sent again.
    server.answer(2)
    await turn()
    publish('c')
    await turn()
    await serve(all)
    assert.deepEqual(stored(), ['0', '1', '2'])
  })

  it('keep their order when the connection is lost in the turn in which one is published', async () => {
    const all = setting()
    const { server, publisher, publish, stored } = all
    publish('a')
    await turn()
    publish('a')
    server.lose()
    await server.restore()
    publisher.restored()
    await serve(all)
    assert.deepEqual(stored(), ['0', '1'])
  })

  for (const [why, answer] of [
    ['has forgotten how', ({ reject }: Command) => reject(refused('NOSCRIPT No matching script.'))],
    ['is busy', ({ reject }: Command) => reject(refused('BUSY Redis is busy running a script.'))],
    ['has no stream', ({ resolve }: Command) => resolve({ stored: undefined, copies: 0 })]
  ] as const)
    it(`keep their order when one is published in the turn in which the server says that it ${why}`, async () => {
      using _ = new Timeouts((delay) => Math.min(delay, 1))
      const all = setting()
      const { server, publish } = all
      publish('a')
      publish('b')
      await turn()
      for (const pattern of ['a', 'b', 'a']) publish(pattern)
      const [first, other] = server.takeSent()
      answer(first as Command)
      server.putSent([other as Command])
      await serve(all)
      await Promise.all(all.published)
      assert.deepEqual(Object.fromEntries(server.streams), { a: ['0', '2', '4'], b: ['1', '3'] })
    })

  it('are stored once when a copy arrives late over a connection that was given up', async () => {
    const all = setting()
    const { server, publish, attach, stored } = all
    publish('a')
    await turn()
    const late = server.takeSent()
    attach()
    await turn()
    server.run(1)
    server.answer(1)
    publish('b')
    await serve(all)
    server.putSent(late)
    await turn()
    server.run(1)
    assert.deepEqual(stored(), ['0', '1'])
  })

  it('are each stored once and in order, whatever connections take with them', async () => {
    await fc.assert(
      fc.asyncProperty(STEPS, fc.boolean(), async (steps, isOwnId) => {
        const all = setting()
        const { server, publisher, publish, published, stored } = all
        for (const { kind, count } of steps) {
          if (kind === 'publish') publish(PATTERNS[count] as string, isOwnId)
          else if (kind === 'run') server.run(count)
          else if (kind === 'answer') server.answer(count)
          else if (kind === 'lose') server.lose()
          else if (kind === 'restore') {
            await server.restore()
            publisher.restored()
          }
          // Events that nobody confirms for a while are sent again.
          else if (kind === 'again' && server.isConnected) publisher.restored()
          // Answers reach the publisher in microtasks, before the turn of the event loop is over.
          if (kind === 'turn') await turn()
          else for (let n = 0; n < 5; n++) await undefined
        }
        await server.restore()
        publisher.restored()
        await serve(all)
        await Promise.all(published)
        const byPattern = PATTERNS.map((pattern) => server.streams.get(pattern) ?? [])
        assert.deepEqual(stored().length, published.length)
        for (const ids of byPattern)
          assert.deepEqual(
            ids,
            [...ids].sort((one, other) => +one - +other)
          )
        publisher.close(new Error('over'))
      }),
      { numRuns: runs(300) }
    )
  })
})
