import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { Standing, Take } from '../driver.ts'
import { before, streamOf } from '../words/keys.ts'
import { RedisEvent } from './event.ts'
import { Feed } from './feed.ts'
import type { FeedOptions } from './feed-owner.ts'

/** A feed over a store that answers as the test wants, and notes what it is asked. */
class OverStore {
  readonly asked: string[] = []
  /** The events of which `keep` says that another process has them. */
  lost: readonly string[] = []
  last = '0-0'
  readonly kept: (readonly string[])[] = []
  /** For each request whether it was for all events. */
  readonly takesAll: boolean[] = []
  #answer: (take: Take) => void = () => {}
  #refuse: (error: Error) => void = () => {}
  /** Called by the test: the store has run the command. */
  readonly #ends = new Map<string, () => void>()
  readonly #source = { stream: streamOf('p'), pattern: 'p', isAgain: false }
  readonly feed: Feed

  constructor() {
    const store = {
      take: (_reader: unknown, _room: number, isAll: boolean) => {
        this.takesAll.push(isAll)
        return new Promise<Take>((resolve, reject) => {
          this.#answer = resolve
          this.#refuse = reject
        })
      },
      keep: async (_: unknown, places: readonly string[]) => {
        this.kept.push(places)
        return this.lost
      },
      groups: async () => [{ name: 'g', lag: 0, pending: 0 }],
      last: async () => this.last,
      trim: async () => {},
      acknowledge: () => this.#asked('acknowledge'),
      giveBack: () => this.#asked('giveBack'),
      leave: async () => void this.asked.push('leave')
    }
    const connection = {
      isConnected: true,
      hear: async () => {},
      unhear() {},
      store
    } as unknown as RedisConnection
    const owner = {
      ...{ room: 2, isIdle: false, uncertain() {}, paused() {}, fill() {} },
      receive: (events: readonly RedisEvent[]) => {
        for (const event of events) this.feed.held.take(event)
      }
    }
    const rest = { rounds: { add() {}, remove() {} }, owner, logger: { error() {}, warn() {} } }
    const options = { source: this.#source, group: 'g', process: 'a', ackWait: 30_000, ...rest }
    this.feed = new Feed(options as unknown as FeedOptions)
    void this.feed.start(connection)
  }

  #asked(command: string): Promise<void> {
    this.asked.push(command)
    return new Promise((resolve) => this.#ends.set(command, resolve))
  }

  /** Holds an event. @param leasedUntil milliseconds of `performance.now()` */
  hold(place: string, leasedUntil = 0): RedisEvent {
    const event = new RedisEvent(this.#source, place, [], 1, leasedUntil)
    this.feed.held.take(event)
    return event
  }

  /** Lets the feed ask once more, and answers. */
  async take(standing: Partial<Standing>, ...places: readonly string[]): Promise<void> {
    const entries = places.map((place) => [place, [], 1] as const)
    const full = { done: '', first: '', undone: 0, more: -1, ...standing }
    this.feed.wake()
    this.#answer({ state: 'ok', isNew: false, entries, refusal: '', standing: full })
    await this.settle()
  }

  /** The server is lost, or refuses the request. */
  async refuse(error = new Error('Connection is closed.')): Promise<void> {
    this.#refuse(error)
    await this.settle()
  }

  async end(command: string): Promise<void> {
    this.#ends.get(command)?.()
    await this.settle()
  }

  async settle(): Promise<void> {
    for (let n = 0; n < 10; n++) await turn()
  }
}

describe('one stream of a group in Redis', () => {
  it('has a floor, behind which its group begins again: what is done, or all before the first that is not', async () => {
    const over = new OverStore()
    await over.take({ done: '5-0' })
    assert.equal(over.feed.floor, '5-0')
    await over.take({ first: '7-0', undone: 1 })
    assert.equal(over.feed.floor, before('7-0'))
    await over.take({})
    assert.equal(over.feed.floor, before('7-0'))
  })

  it('begins again behind what a server has that took over with fewer events', async () => {
    const over = new OverStore()
    await over.take({ done: '8-0' }, '9-0')
    over.last = '3-0'
    await over.feed.look()
    assert.equal(over.feed.floor, '3-0')
  })

  it('keeps the events that run, though its process hung until others might have them', async () => {
    const over = new OverStore()
    const events = ['1-0', '2-0'].map((place) => over.hold(place))
    await over.feed.keep((event) => event.place === '1-0')
    assert.deepEqual(over.kept, [['1-0']])
    assert.deepEqual(
      events.map(({ leasedUntil }) => leasedUntil > performance.now()),
      [true, false]
    )
  })

  it('has no event any more of which the server says that another process has it', async () => {
    const over = new OverStore()
    const events = ['1-0', '2-0'].map((place) => over.hold(place, Number.POSITIVE_INFINITY))
    over.lost = ['1-0']
    await over.feed.keep(() => true)
    assert.deepEqual(
      events.map(({ leasedUntil }) => leasedUntil > performance.now()),
      [false, true]
    )
  })

  it('asks for all events again if the server did not answer a request for them', async () => {
    const over = new OverStore()
    await over.settle()
    await over.refuse()
    await over.take({})
    await over.take({})
    assert.deepEqual(over.takesAll, [true, true, false])
  })

  it('knows how many events wait as soon as the server has given fewer than it was asked for', async () => {
    const over = new OverStore()
    await over.settle()
    await over.take({ undone: 2 }, '1-0', '2-0')
    assert.equal(over.feed.lag, undefined)
    await over.take({ undone: 2 })
    assert.equal(over.feed.lag, 2)
  })

  it('gives back what arrives when it has stopped', async () => {
    const over = new OverStore()
    await over.settle()
    const stopped = over.feed.stop()
    await over.take({ first: '1-0' }, '1-0')
    await stopped
    assert.deepEqual([over.asked, over.feed.held.all.size], [['giveBack'], 0])
  })

  it('tells the server nothing of events of a stream that is gone: another event may have the position', async () => {
    const over = new OverStore()
    const events = ['1-0', '2-0'].map((place) => over.hold(place)) as [RedisEvent, RedisEvent]
    for (const event of events) event.isOnlyHere = true
    over.feed.acknowledge(events[0])
    over.feed.giveBack([events[1]], 0)
    await over.settle()
    assert.deepEqual([over.asked, over.feed.held.all.size], [[], 0])
  })

  it('leaves its group when the server has all that it was told: a process with events is kept', async () => {
    const over = new OverStore()
    const [done, back] = ['1-0', '2-0'].map((place) => over.hold(place)) as [RedisEvent, RedisEvent]
    over.feed.acknowledge(done)
    over.feed.giveBack([back], 0)
    const left = over.feed.leave()
    await over.end('acknowledge')
    assert.deepEqual(over.asked, ['giveBack', 'acknowledge'])
    await over.end('giveBack')
    await left
    assert.deepEqual(over.asked, ['giveBack', 'acknowledge', 'leave'])
    const other = new OverStore()
    other.feed.acknowledge(other.hold('1-0'))
    void other.feed.leave()
    await other.settle()
    assert.deepEqual(other.asked, ['acknowledge'])
  })
})
