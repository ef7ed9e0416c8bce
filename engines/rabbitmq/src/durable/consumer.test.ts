import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsumerInit } from '@elysia-microservices/engine'
import {
  type Clock,
  durableSettings,
  type IncomingMessage,
  RetryLater
} from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import type { RabbitConnection } from '../connection/rabbit-connection.ts'
import type { FakeQueue, Stored } from '../testing/fake-queue.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { TestLink } from '../testing/test-link.ts'
import { GROUPS, queueOfDead, queueOfGroup, queueOfPaused, STORED } from '../words/names.ts'
import { RabbitConsumer } from './consumer.ts'
import type { Copies } from './copies.ts'
import { safeQueue } from './queues.ts'

const QUIET = { error() {}, warn() {} }
const QUEUE = queueOfGroup('g', 'p')
const PAUSED = queueOfPaused('g')

/** A clock whose waiting functions the test calls. */
class Wakes implements Clock {
  readonly #wakes = new Set<() => void>()

  now(): number {
    return 0
  }

  after(_milliseconds: number, wake: () => void): () => void {
    this.#wakes.add(wake)
    return () => void this.#wakes.delete(wake)
  }

  wake(): boolean {
    const [first] = this.#wakes
    if (first === undefined) return false
    this.#wakes.delete(first)
    first()
    return true
  }
}

interface Run {
  readonly data: number
  readonly by: number
  end(error?: unknown): void
}

interface Process {
  readonly link: TestLink
  readonly consumer: RabbitConsumer
  isStopped: boolean
}

/** Processes of one group, and their server. */
class Group {
  readonly server = new FakeRabbitServer({ isByHand: true })
  readonly clock = new Wakes()
  readonly runs: Run[] = []
  readonly handled: number[] = []
  readonly begun: number[] = []
  readonly isOrdered: boolean
  readonly #attempts: number
  readonly processes: Process[] = []
  published = 0
  most = 0

  /** @param attempts the option `retry.attempts` */
  constructor(isOrdered: boolean, attempts = 1_000) {
    this.isOrdered = isOrdered
    this.#attempts = attempts
    for (const name of [GROUPS, STORED]) this.server.declareExchange(name, 'topic')
    this.server.declareQueue(QUEUE, safeQueue(isOrdered ? { 'x-single-active-consumer': true } : {}), this)
    this.server.declareQueue(PAUSED, safeQueue(), this)
  }

  join(concurrency = 2): void {
    const by = this.processes.length
    const link = new TestLink(this.server)
    const run = (message: IncomingMessage) => {
      const data = message.data as number
      this.begun.push(data)
      return new Promise<void>((resolve, reject) => {
        const one = {
          data,
          by,
          end: (error?: unknown) => {
            this.runs.splice(this.runs.indexOf(one), 1)
            if (error !== undefined) return reject(error)
            this.handled.push(data)
            resolve()
          }
        }
        this.runs.push(one)
        const here = this.runs.filter((other) => other.by === by).length
        this.most = Math.max(this.most, here)
      })
    }
    const durable = durableSettings({
      ordered: this.isOrdered,
      concurrency,
      retry: { attempts: this.#attempts }
    })
    const copies = {
      put: async (
        _group: string,
        queue: string,
        content: Buffer,
        { headers }: { headers?: Record<string, unknown> }
      ) => this.server.publish('', queue, content, { headers: headers ?? {} })
    }
    const consumer = new RabbitConsumer({
      dispatcher: { event: run },
      route: { route: 'p', durable },
      pattern: 'p',
      group: 'g',
      via: 'p',
      logger: QUIET,
      copies: () => copies as unknown as Copies,
      clock: this.clock
    } as unknown as ConsumerInit & ConstructorParameters<typeof RabbitConsumer>[0])
    const hearing = { guard: (task: () => void) => task() }
    const connection = {
      link: link.asLink,
      hearing,
      get isConnected() {
        return link.isConnected
      }
    } as unknown as RabbitConnection
    this.processes.push({ link, consumer, isStopped: false })
    consumer.begin()
    // It fails if the server is lost for longer than a start may take.
    consumer.start(connection).catch(() => {})
  }

  /** The dead letters. */
  get buried(): number[] {
    const letters = this.messagesIn(queueOfDead('g'))
    return letters.map(({ content }) => (JSON.parse(content.toString()) as { data: number }).data)
  }

  messagesIn(queue: string): Stored[] {
    return this.server.queues.get(queue)?.messages ?? []
  }

  publish(): void {
    const data = this.published++
    const headers = { 'x-elysia-unique': `e${data}`, 'x-elysia-key': 'k' }
    this.server.publish('', QUEUE, Buffer.from(JSON.stringify({ pattern: 'p', data })), { headers })
  }

  setPaused(isPaused: boolean): void {
    this.messagesIn(PAUSED).length = 0
    if (isPaused) this.server.publish('', PAUSED, Buffer.from('paused'), {})
    for (const { consumer } of this.processes) void consumer.look().then(() => consumer.look())
  }

  /** The server does everything that it was asked for. */
  async settle(): Promise<void> {
    do await turn()
    while (this.server.take(0))
  }

  /** Nothing fails any more: everything that waits for something gets it. */
  async rest(): Promise<void> {
    this.setPaused(false)
    for (const { link, isStopped } of this.processes) if (!link.isConnected && !isStopped) link.restore()
    let looks = 0
    for (let steps = 0; ; steps++) {
      assert.ok(steps < 5_000, 'it comes to rest')
      await turn()
      if (this.server.take(0)) continue
      const [run] = this.runs
      if (run !== undefined) run.end()
      else if (!this.clock.wake()) {
        // A consumer asks for the state of its group now and then.
        if (looks++ === 3) return
        for (const { consumer } of this.processes) void consumer.look()
      }
    }
  }

  cut(): void {
    for (const { consumer } of this.processes) consumer.cut()
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const ACTIONS = [
  'publish',
  'pause',
  'resume',
  'end',
  'later',
  'fail',
  'wake',
  'lose',
  'restore',
  'close',
  'stop',
  'join'
] as const
const OFTEN = ['publish', 'publish', 'publish', 'pause', 'resume', 'end'] as const
/** @param pick which process or run @param steps how many steps the server takes afterwards */
type Action = readonly [what: (typeof ACTIONS)[number], pick: number, steps: number]

async function act(group: Group, [what, pick, steps]: Action): Promise<void> {
  const { processes, runs } = group
  const one = processes[pick % processes.length]
  const run = runs[pick % Math.max(1, runs.length)]
  if (what === 'publish') group.publish()
  else if (what === 'pause' || what === 'resume') group.setPaused(what === 'pause')
  else if (what === 'end') run?.end()
  else if (what === 'later') run?.end(new RetryLater(10))
  else if (what === 'fail') run?.end(new Error('no'))
  else if (what === 'wake') group.clock.wake()
  else if (what === 'join' && processes.length < 4) group.join()
  else if (one !== undefined && !one.isStopped) befall(one, what)
  await turn()
  for (let step = 0; step < steps && group.server.take(pick + step); step++) await turn()
}

function befall(one: Process, what: Action[0]): void {
  const { link, consumer } = one
  if (what === 'close' && link.isConnected) link.closeChannels()
  else if (what === 'lose' && link.isConnected) {
    link.lose()
    consumer.lost()
  } else if (what === 'restore' && !link.isConnected) {
    link.restore()
    consumer.restored()
  } else if (what === 'stop') {
    one.isStopped = true
    // A service closes its connection when its handlers have ended.
    void consumer.stop().then(() => link.lose())
  }
}

describe('the durable handler of a group', () => {
  for (const isOrdered of [true, false])
    it(`handles every event in the end, whatever happened before${isOrdered ? ', in order' : ''}`, async () => {
      const action = fc.tuple(fc.constantFrom(...ACTIONS, ...OFTEN), fc.nat(7), fc.nat(20))
      await fc.assert(
        fc.asyncProperty(fc.array(action, { maxLength: 30, size: 'max' }), async (actions) => {
          const group = new Group(isOrdered)
          try {
            group.join()
            await group.rest()
            for (const one of actions) await act(group, one)
            group.join()
            group.publish()
            await group.rest()
            const all = Array.from({ length: group.published }, (_, n) => n)
            assert.deepEqual(
              [...new Set(group.handled)].sort((a, b) => a - b),
              all
            )
            if (isOrdered) assert.deepEqual([...new Set(group.begun)], all)
            const { messages, consumers } = group.server.queues.get(QUEUE) as FakeQueue
            assert.equal(messages.length, 0)
            assert.equal(consumers.length, group.processes.filter(({ isStopped }) => !isStopped).length)
            assert.ok(group.most <= (isOrdered ? 1 : 2))
          } finally {
            group.cut()
          }
        })
      )
    })

  it('gives back what waited behind an event that another process has done, after its own connection was lost', async () => {
    const group = new Group(true)
    group.join()
    await group.rest()
    const happened: readonly Action[] = [
      ['join', 0, 0],
      ['publish', 0, 4],
      ['lose', 0, 16],
      ['restore', 0, 15],
      ['stop', 1, 0],
      ['end', 1, 0],
      ['later', 0, 0]
    ]
    for (const one of happened) await act(group, one)
    group.publish()
    await group.rest()
    assert.deepEqual(group.handled, [0, 1])
    group.cut()
  })

  it('keeps the order when its processes end one after the other, whatever the concurrency of each', async () => {
    const group = new Group(true)
    group.join(4)
    await group.rest()
    for (let n = 0; n < 40; n++) group.publish()
    group.join(1)
    group.join(4)
    for (const { link, consumer } of group.processes.slice(0, 2)) {
      await group.settle()
      link.lose()
      consumer.cut()
      group.runs.length = 0
    }
    await group.rest()
    assert.deepEqual(
      [...new Set(group.begun)],
      Array.from({ length: 40 }, (_, n) => n)
    )
    group.cut()
  })

  it('makes no dead letter of an event that waits behind another, however often the group is paused', async () => {
    const group = new Group(true, 2)
    group.join()
    await group.rest()
    for (let n = 0; n < 3; n++) group.publish()
    for (let pauses = 0; pauses < 23; pauses++) {
      await group.settle()
      group.runs[0]?.end(new RetryLater(600_000))
      for (const isPaused of [true, false]) {
        group.setPaused(isPaused)
        await group.settle()
        // The clock is needed to give the turn away; the retry itself is given back before it is due.
        while (isPaused && group.messagesIn(QUEUE).length === 0 && group.clock.wake()) await group.settle()
      }
    }
    assert.deepEqual(new Set(group.begun), new Set([0]))
    await group.rest()
    assert.deepEqual([group.handled, group.buried], [[0, 1, 2], []])
    assert.deepEqual(
      [...group.server.queues.keys()].filter((name) => name.includes('.runs.')),
      []
    )
    group.cut()
  })

  it('makes a dead letter of an event whose processes end again and again, after it has begun often', async () => {
    const group = new Group(true, 2)
    group.join()
    await group.settle()
    for (let n = 0; n < 2; n++) group.publish()
    for (let lives = 0; lives < 60 && group.buried.length === 0; lives++) {
      await group.settle()
      const { link, consumer } = group.processes.at(-1) as Process
      link.lose()
      consumer.cut()
      group.runs.length = 0
      group.join()
    }
    assert.deepEqual(group.buried, [0])
    const begun = group.begun.filter((data) => data === 0).length
    assert.ok(begun > 20 && begun < 30, `${begun} times`)
    await group.settle()
    assert.ok(group.runs.some(({ data }) => data === 1))
    group.cut()
  })
})
