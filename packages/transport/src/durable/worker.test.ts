import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Discard, RetryLater } from '../errors/index.ts'
import type { Clock } from './clock.ts'
import type { HeldEvent } from './durable-engine.ts'
import { durableSettings } from './options.ts'
import { DurableWorker } from './worker.ts'

const QUIET = { error() {}, warn() {} }

/** A clock that moves to the next function that is due when the test says so. */
class Steps implements Clock {
  #now = 0
  wakes: { readonly at: number; readonly wake: () => void }[] = []

  now(): number {
    return this.#now
  }

  after(milliseconds: number, wake: () => void): () => void {
    const entry = { at: this.#now + milliseconds, wake }
    this.wakes.push(entry)
    return () => {
      this.wakes = this.wakes.filter((one) => one !== entry)
    }
  }

  next(): boolean {
    const [first] = this.wakes.sort((a, b) => a.at - b.at)
    if (first === undefined) return false
    this.wakes.shift()
    this.#now = Math.max(this.#now, first.at)
    first.wake()
    return true
  }
}

interface TestEvent extends HeldEvent {
  readonly order: number
}

/** A run of a handler that ends when the test says so. */
interface Run {
  readonly event: TestEvent
  end(error?: unknown): void
}

/** An engine that delivers a retried event again when the test's clock reaches the time of the retry. */
class Setting {
  readonly clock = new Steps()
  readonly worker: DurableWorker<TestEvent>
  readonly runs: Run[] = []
  readonly begun: TestEvent[] = []
  readonly acknowledged: number[] = []
  readonly buried: number[] = []
  /** `lost`: events that this process no longer owns. `letGo`: events that the worker has let go. */
  readonly lost = new Set<number>()
  readonly letGo: number[] = []
  most = 0
  /** How many of the next dead letters the engine refuses to store. */
  refusals = 0

  /** Events that the engine has to deliver again. */
  readonly retried: number[] = []
  /** Events that pause here, each with its attempt that has failed. */
  readonly pausing: string[] = []

  constructor(options: Parameters<typeof durableSettings>[0], delays = true) {
    this.worker = new DurableWorker<TestEvent>(
      durableSettings(options),
      {
        run: (event) =>
          new Promise<void>((resolve, reject) => {
            this.begun.push({ ...event })
            const run = {
              event,
              end: (error?: unknown) => {
                this.runs.splice(this.runs.indexOf(run), 1)
                if (error === undefined) resolve()
                else reject(error)
              }
            }
            this.runs.push(run)
            this.most = Math.max(this.most, this.runs.length)
          }),
        isOurs: ({ order }) => !this.lost.has(order),
        letGo: ({ order }) => void this.letGo.push(order),
        acknowledge: ({ order }) => void this.acknowledged.push(order),
        delays,
        pauses: ({ order, attempt }) => void this.pausing.push(`${order} ${attempt}`),
        retry: (event, delay) => {
          this.retried.push(event.order)
          this.clock.after(delay, () => this.worker.add({ ...event, attempt: event.attempt + 1 }))
        },
        bury: async ({ order }) => {
          if (this.refusals-- > 0) throw new Error('no room')
          this.buried.push(order)
        },
        left() {}
      },
      this.clock,
      QUIET
    )
  }

  add(order: number, key?: string): void {
    this.worker.add({ order, key, pattern: 'p', id: String(order), attempt: 1 })
  }

  /** Ends handlers until nothing is left, each with the result that `how` returns. */
  async finish(how: (event: TestEvent) => unknown, pick: () => number): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < 4; turn++) await Promise.resolve()
      const run = this.runs[pick() % Math.max(1, this.runs.length)]
      if (run !== undefined) run.end(how(run.event))
      else if (!this.clock.next()) return
    }
  }
}

const FATES = fc.array(fc.constantFrom('well', 'fail', 'later', 'discard'), { maxLength: 6 })

describe('a worker of durable events', () => {
  it('has an event pause here where the engine cannot, and others run meanwhile', async () => {
    const setting = new Setting({ concurrency: 1, retry: { attempts: 3, minDelay: 10 } }, false)
    const { worker, begun } = setting
    setting.add(0)
    const room = worker.room
    const attempts = () => begun.map(({ order, attempt }) => `${order} ${attempt}`)
    setting.runs[0]?.end(new Error('no'))
    for (let turn = 0; turn < 4; turn++) await Promise.resolve()
    assert.ok(worker.room > room, 'another may come')
    setting.add(1)
    assert.deepEqual(attempts(), ['0 1', '1 1'])
    await setting.finish(
      () => undefined,
      () => 0
    )
    assert.deepEqual(attempts(), ['0 1', '1 1', '0 2'])
    assert.deepEqual([setting.acknowledged, setting.retried, worker.held.size], [[1, 0], [], 0])
    assert.deepEqual(setting.pausing, ['0 1'])
    assert.deepEqual(worker.figures, { retries: 1, deadLetters: 0 })
  })

  for (const ordered of [true, false])
    it(`tries a dead letter again without its handler, and keeps nobody waiting, ordered: ${ordered}`, async () => {
      const setting = new Setting({ ordered, concurrency: 1, retry: { attempts: 1, maxDelay: 10 } })
      const { worker } = setting
      setting.refusals = 3
      setting.add(0, 'a')
      setting.add(1, 'a')
      const turns = async () => {
        for (let turn = 0; turn < 4; turn++) await Promise.resolve()
      }
      setting.runs[0]?.end(new Error('no'))
      await turns()
      assert.deepEqual(
        setting.begun.map(({ order }) => order),
        [0, 1]
      )
      assert.deepEqual([worker.release(true), [...worker.held].map(({ order }) => order)], [[], [0, 1]])
      setting.runs[0]?.end()
      for (let attempt = 0; attempt < 3; attempt++) {
        assert.deepEqual(setting.buried, [])
        assert.ok(setting.clock.next())
        await turns()
      }
      assert.deepEqual(
        [setting.buried, setting.acknowledged, setting.retried, worker.held.size],
        [[0], [1], [], 0]
      )
      assert.equal(setting.begun.length, 2)
    })

  it('gives a dead letter that is not stored back when it stops', async () => {
    const setting = new Setting({ retry: { attempts: 1, maxDelay: 10 } })
    setting.refusals = 1
    setting.add(0)
    setting.runs[0]?.end(new Error('no'))
    for (let turn = 0; turn < 4; turn++) await Promise.resolve()
    const { released, ended } = setting.worker.stop()
    await ended
    assert.deepEqual([released.map(({ order }) => order), setting.clock.wakes], [[0], []])
  })

  for (const ordered of [true, false])
    it(`runs and retries what only it has, closed or not, ordered: ${ordered}`, async () => {
      const setting = new Setting({ ordered, concurrency: 1, retry: { attempts: 3, minDelay: 10 } })
      const { worker, begun } = setting
      worker.close()
      const add = (order: number, isOnlyHere: boolean) =>
        worker.add({ order, key: 'a', pattern: 'p', id: String(order), attempt: 1, isOnlyHere })
      add(0, true)
      add(1, true)
      add(2, false)
      assert.deepEqual(
        worker.release(true).map(({ order }) => order),
        [2]
      )
      await setting.finish(
        ({ order, attempt }) => (order === 0 && attempt === 1 ? new Error('once') : undefined),
        () => 0
      )
      const runs = begun.map(({ order, attempt }) => `${order} ${attempt}`)
      assert.deepEqual(runs, ordered ? ['0 1', '0 2', '1 1'] : ['0 1', '1 1', '0 2'])
      assert.deepEqual([setting.retried, worker.held.size], [[], 0])
    })

  it('ends each event once, runs no more at a time than allowed, and keeps the order of each key', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ key: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }), fates: FATES })
        ),
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        fc.infiniteStream(fc.nat(99)),
        async (events, concurrency, ordered, picks) => {
          const setting = new Setting({ concurrency, ordered, retry: { attempts: 3, minDelay: 10 } })
          for (const [order, { key }] of events.entries()) setting.add(order, key)
          await setting.finish(
            ({ order, attempt }) => {
              const fate = events[order]?.fates[attempt - 1] ?? 'well'
              if (fate === 'fail') return new Error('no')
              if (fate === 'later') return new RetryLater(25)
              return fate === 'discard' ? new Discard('unwanted') : undefined
            },
            () => picks.next().value as number
          )
          const all = [...setting.acknowledged, ...setting.buried].sort((a, b) => a - b)
          assert.deepEqual(all, [...events.keys()])
          assert.ok(setting.most <= concurrency)
          assert.equal(setting.worker.held.size, 0)
          const expectedDead = [...events.entries()]
            .filter(([, { fates }]) => diesOf(fates))
            .map(([order]) => order)
          assert.deepEqual(
            setting.buried.sort((a, b) => a - b),
            expectedDead
          )
          if (!ordered) return
          for (const key of ['a', 'b', 'c']) {
            const orders = setting.begun.filter((event) => event.key === key).map(({ order }) => order)
            assert.deepEqual(
              orders,
              [...orders].sort((a, b) => a - b)
            )
          }
        }
      )
    )
  })

  it('goes on with other keys while one pauses', async () => {
    const setting = new Setting({ ordered: true, concurrency: 1, retry: { attempts: 9, minDelay: 1_000 } })
    setting.add(0, 'bad')
    setting.add(1, 'bad')
    setting.add(2, 'good')
    setting.runs[0]?.end(new Error('no'))
    await turn()
    assert.deepEqual(
      setting.runs.map(({ event }) => event.order),
      [2]
    )
  })

  it('gives back what has not begun when it stops, and waits for what runs', async () => {
    const setting = new Setting({ ordered: true, concurrency: 1 })
    setting.add(0, 'a')
    setting.add(1, 'a')
    setting.add(2, 'b')
    const { released, ended } = setting.worker.stop()
    assert.deepEqual(
      released.map(({ order }) => order),
      [1, 2]
    )
    setting.runs[0]?.end()
    await ended
    assert.deepEqual(setting.acknowledged, [0])
    assert.equal(setting.worker.room, 0)
  })

  it('lets go of what is not its own any more, and of all that come behind it, and says so of each', async () => {
    const setting = new Setting({ ordered: true, concurrency: 1 })
    for (const [order, key] of ['a', 'b', 'b', 'c'].entries()) setting.add(order, key)
    setting.lost.add(1)
    setting.runs[0]?.end()
    await turn()
    assert.deepEqual(setting.letGo, [1, 2])
    assert.deepEqual(
      setting.runs.map(({ event }) => event.order),
      [3]
    )
    assert.equal(setting.worker.held.size, 1)
  })

  it('begins nothing while it is closed', async () => {
    const setting = new Setting({})
    setting.worker.close()
    setting.add(0)
    assert.equal(setting.runs.length, 0)
    setting.worker.open()
    assert.equal(setting.runs.length, 1)
  })

  it('measures its handlers by a clock that nobody sets', async () => {
    let wall = 0
    let passed = 0
    const worker = new DurableWorker<TestEvent>(
      durableSettings({}),
      {
        run() {
          wall += 3_600_000
          passed += 10
        },
        isOurs: () => true,
        letGo: () => assert.fail(),
        acknowledge() {},
        retry: () => assert.fail(),
        bury: () => assert.fail(),
        left() {}
      },
      { now: () => wall, passed: () => passed, after: () => () => {} },
      QUIET
    )
    for (let order = 0; order < 100; order++)
      worker.add({ order, key: undefined, pattern: 'p', id: String(order), attempt: 1 })
    assert.equal(Math.round(worker.endsWithin(1_000)), 100)
  })

  for (const ordered of [true, false])
    it(`runs thousands of events whose handlers end at once, ordered: ${ordered}`, () => {
      const done: number[] = []
      const orders = Array.from({ length: 8_000 }, (_, order) => order)
      const worker = new DurableWorker<TestEvent>(
        durableSettings({ ordered, concurrency: 1 }),
        {
          run() {},
          isOurs: () => true,
          letGo: () => assert.fail(),
          acknowledge: ({ order }) => void done.push(order),
          retry: () => assert.fail(),
          bury: () => assert.fail(),
          left() {}
        },
        new Steps(),
        QUIET
      )
      worker.close()
      for (const order of orders) worker.add({ order, key: 'k', pattern: 'p', id: String(order), attempt: 1 })
      worker.open()
      assert.deepEqual(done, orders)
      assert.equal(worker.running, 0)
    })

  it('lets go of the events that are asked for only: the others keep their pauses and their order', async () => {
    const setting = new Setting({ ordered: true, concurrency: 2, retry: { attempts: 2, minDelay: 10 } })
    setting.add(0, 'pauses')
    setting.add(1, 'pauses')
    setting.add(2, 'busy')
    setting.runs[0]?.end(new Error('no'))
    await turn()
    // Both places are taken, so 4 waits, and 5 waits for 4.
    setting.add(3)
    setting.add(4, 'k')
    setting.add(5, 'k')
    const released = setting.worker.release(false, ({ order }) => order === 4)
    assert.deepEqual(
      released.map(({ order }) => order),
      [4]
    )
    assert.equal(setting.clock.wakes.length, 1)
    await setting.finish(
      () => undefined,
      () => 0
    )
    assert.deepEqual(
      setting.begun.map(({ order, attempt }) => [order, attempt]),
      [
        [0, 1],
        [2, 1],
        [3, 1],
        [5, 1],
        [0, 2],
        [1, 1]
      ]
    )
  })

  it('begins what is free also while it is closed, before all of its key, and keeps it when others go', async () => {
    const setting = new Setting({ ordered: true, concurrency: 1, retry: { attempts: 2, minDelay: 10 } })
    const free = { key: 'a', pattern: 'p', attempt: 1, isFree: true }
    setting.worker.close()
    setting.add(0, 'a')
    setting.worker.add({ ...free, order: 1, id: '1' })
    setting.worker.add({ ...free, order: 2, id: '2' })
    assert.deepEqual(
      setting.begun.map(({ order }) => order),
      [1]
    )
    setting.runs[0]?.end(new Error('no'))
    await turn()
    assert.deepEqual(
      setting.worker.release(true).map(({ order }) => order),
      [0]
    )
    await setting.finish(
      () => undefined,
      () => 0
    )
    assert.deepEqual(
      setting.begun.map(({ order, attempt }) => [order, attempt]),
      [
        [1, 1],
        [2, 1],
        [1, 2]
      ]
    )
    assert.deepEqual([setting.worker.held.size, setting.acknowledged], [0, [2, 1]])
  })

  it('gives up what has ended its process again and again', async () => {
    const setting = new Setting({ retry: { attempts: 2 } })
    setting.worker.add({ order: 0, key: undefined, pattern: 'p', id: '0', attempt: 23 })
    await turn()
    assert.deepEqual([setting.buried, setting.begun], [[0], []])
  })
})

/** Returns whether an event with these outcomes becomes a dead letter within three attempts. */
function diesOf(fates: readonly string[]): boolean {
  for (const [index, fate] of fates.entries()) {
    if (fate === 'well' || fate === 'discard') return false
    if (fate === 'fail' && index >= 2) return true
  }
  return false
}

async function turn(): Promise<void> {
  for (let n = 0; n < 8; n++) await Promise.resolve()
}
