/** The durable handler of one service over a file: its figures, how much it takes, and what it gives back. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Log } from '@elysia-microservices/test-support'
import {
  type DurableOptions,
  durableSettings,
  type IncomingMessage,
  ManualClock
} from '@elysia-microservices/transport/kit'
import { EventFile } from '../connection/event-file.ts'
import type { SqliteConnection } from '../connection/files.ts'
import type { TakenEvent } from '../log/event.ts'
import { sqliteOptions } from '../options/options.ts'
import { newEvent } from '../testing/open-log.ts'
import { WatchedDatabase } from '../testing/watched.ts'
import { SqliteConsumer } from './consumer.ts'
import { Transactions } from './transactions.ts'

/** Milliseconds for which events are kept. */
const MAX_AGE = 10_000

class Scene {
  readonly clock = new ManualClock()
  readonly log = new Log()
  readonly database = new WatchedDatabase()
  readonly file = new EventFile({
    database: this.database,
    name: 'a.db',
    keeping: { maxAge: MAX_AGE, maxBytes: 0, duplicateWindow: 1_000 },
    clock: this.clock
  })
  readonly connection = { file: this.file, server: 'a.db', isConnected: true } as SqliteConnection
  /** The messages whose handlers have begun, and how to end each. */
  readonly begun: string[] = []
  readonly ends: ((error?: Error) => void)[] = []
  readonly consumer: SqliteConsumer

  constructor(options: DurableOptions = {}) {
    const durable = durableSettings({ retry: { attempts: 3, minDelay: 100, maxDelay: 100 }, ...options })
    this.consumer = new SqliteConsumer(
      {
        dispatcher: {
          routes: () => [],
          request: () => undefined,
          event: ({ data, delivery }: IncomingMessage) => {
            this.begun.push(`${data} ${delivery?.attempt}`)
            return new Promise<void>((resolve, reject) => {
              this.ends.push((error) => (error === undefined ? resolve() : reject(error)))
            })
          }
        },
        route: { kind: 'event', route: 'p', durable },
        pattern: 'p',
        group: 'g',
        via: 'p',
        logger: this.log.logger
      },
      sqliteOptions('a.db', { clock: this.clock, maxAge: MAX_AGE, duplicateWindow: 1_000 }),
      new Transactions()
    )
  }

  async start(): Promise<void> {
    await this.consumer.start(this.connection)
    this.consumer.begin()
  }

  async publish(...data: readonly string[]): Promise<void> {
    for (const one of data)
      this.file.append({
        event: newEvent({ body: JSON.stringify({ data: one }), key: 'k' }),
        isOpen: () => true,
        done() {}
      })
    await this.clock.advance(0)
  }

  get rows(): readonly unknown[] {
    return this.database.query('select position, attempt, due from pending order by position')
  }
}

const FIGURES = { pattern: 'p', group: 'g', deadLetters: 0, redeliveries: 0, isPaused: false }

describe('a durable handler over a file', () => {
  it('has figures before it has started, and while its group is paused', async () => {
    const scene = new Scene()
    assert.deepEqual(scene.consumer.figures, { ...FIGURES, lag: undefined })
    await scene.start()
    assert.deepEqual(scene.consumer.figures, { ...FIGURES, lag: 0 })
    scene.file.pause('g', true)
    await scene.publish('a')
    assert.deepEqual(scene.consumer.figures, { ...FIGURES, lag: 1, isPaused: true })
    assert.equal(scene.consumer.running, 0)
  })

  it('gets nothing before everything has started, and then over each connection', async () => {
    const scene = new Scene()
    await scene.consumer.start(scene.connection)
    await scene.publish('a')
    assert.deepEqual(scene.begun, [])
    scene.consumer.begin()
    await scene.clock.advance(0)
    assert.deepEqual([scene.begun, scene.consumer.running], [['a 1'], 1])
    await scene.consumer.leave()
    await scene.publish('b')
    assert.equal(scene.begun.length, 1)
    await scene.consumer.start(scene.connection)
    await scene.clock.advance(0)
    assert.deepEqual(scene.begun, ['a 1', 'b 1'])
  })

  it('has room for as many as it runs; if it is ordered also for those that wait for others', async () => {
    const scene = new Scene({ concurrency: 2 })
    await scene.start()
    await scene.publish('a', 'b', 'c')
    assert.deepEqual([scene.begun.length, scene.consumer.room], [2, 0])
    scene.ends[0]?.()
    await scene.clock.advance(0)
    assert.deepEqual(scene.begun, ['a 1', 'b 1', 'c 1'])
    const ordered = new Scene({ concurrency: 2, ordered: true })
    await ordered.start()
    await ordered.publish('a', 'b', 'c')
    assert.deepEqual([ordered.begun, ordered.rows.length], [['a 1'], 3])
    assert.ok(ordered.consumer.room > 0)
  })

  it('counts what comes again, and buries an event after its last attempt before it is done', async () => {
    const scene = new Scene()
    await scene.start()
    await scene.publish('a')
    for (let n = 0; n < 3; n++) {
      scene.ends[n]?.(new Error('no'))
      await scene.clock.advance(100)
    }
    assert.deepEqual(scene.begun, ['a 1', 'a 2', 'a 3'])
    assert.deepEqual(scene.consumer.figures, { ...FIGURES, lag: 0, redeliveries: 2, deadLetters: 1 })
    const [letter] = scene.file.letters.page('g', 1, 9)
    assert.deepEqual([letter?.reason, letter?.attempts, letter?.diedAt.getTime()], ['Error: no', 3, 200])
  })

  it('runs an event no more that would be too old after its pause', async () => {
    const scene = new Scene({ retry: { attempts: 3, minDelay: MAX_AGE, maxDelay: MAX_AGE } })
    await scene.start()
    await scene.publish('a')
    scene.ends[0]?.(new Error('no'))
    await scene.clock.advance(0)
    const [letter] = scene.file.letters.page('g', 1, 9)
    assert.match(letter?.reason ?? '', /its store keeps it no longer \(maxAge: 10000 ms\)/)
  })

  it('gives back what has not begun when it stops, waits for what runs, and gets nothing more', async () => {
    const scene = new Scene({ ordered: true })
    await scene.start()
    await scene.publish('a', 'b')
    let hasStopped = false
    const stopped = scene.consumer.stop().then(() => {
      hasStopped = true
    })
    await scene.clock.advance(0)
    const given = [
      { position: 1, attempt: 1, due: null },
      { position: 2, attempt: 0, due: 0 }
    ]
    assert.deepEqual([hasStopped, scene.rows], [false, given])
    scene.ends[0]?.()
    await stopped
    await scene.publish('c')
    assert.deepEqual([scene.begun, scene.rows], [['a 1'], given.slice(1)])
  })

  it('that is cut gives back what runs, with its run, and settles it no more', async () => {
    const scene = new Scene()
    await scene.start()
    await scene.publish('a')
    const [event] = scene.file.backlog.page(scene.file.groups.named('g')[0] as never, undefined, 9)
    assert.equal(event?.position, 1)
    scene.consumer.cut()
    await scene.clock.advance(0)
    const given = [{ position: 1, attempt: 1, due: 0 }]
    assert.deepEqual(scene.rows, given)
    scene.ends[0]?.()
    await scene.publish('b')
    assert.deepEqual([scene.begun, scene.rows], [['a 1'], given])
  })

  it('has only the events that it was given', async () => {
    const scene = new Scene()
    assert.equal(scene.consumer.has({} as TakenEvent), false)
  })
})
