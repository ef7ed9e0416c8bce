import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { DriverConnection } from '../driver.ts'
import { CHANGES, changeOf, placeOf } from '../words/channels.ts'
import { Routing, type Sending } from './routing.ts'

const EVENT = '{"pattern":"p","data":1}'

describe('the search for receivers in Redis', () => {
  /** The channels of processes that the server lists at each look-up; the last list stays. */
  let lists: (readonly string[] | Promise<readonly string[]>)[]
  /** The channels that somebody listens to. */
  let there: Set<string>
  let sent: string[]
  let subscribed: string[]
  let lookUps: number
  let mayMiss: boolean
  let isConnected: boolean
  let routing: Routing
  beforeEach(() => {
    ;[lists, there, sent, subscribed, lookUps, mayMiss] = [[[]], new Set(), [], [], 0, false]
    isConnected = true
    const sending: Sending = {
      get isConnected() {
        return isConnected
      },
      send: async (channel, _words, heard) => {
        sent.push(channel)
        const receivers = there.has(channel) ? 1 : 0
        heard?.(receivers)
        return receivers
      },
      defer: (_, task) => void task.catch(() => {}),
      unsent: (address) => sent.push(`unsent ${address}`),
      nobody: () => sent.push('nobody')
    }
    const driver = {
      subscribe: async (channel: string) => void subscribed.push(channel),
      mayMiss: async () => mayMiss,
      services: async () => {
        lookUps++
        return lists.length > 1 ? lists.shift() : lists[0]
      }
    } as unknown as DriverConnection
    routing = new Routing(sending, driver)
  })

  /** The channel of a process for events of the pattern `p`. */
  const channelOf = (id: string) => placeOf('p', 'q', id, false).channel
  /** Lets all that can happen happen. */
  const settle = async () => {
    for (let n = 0; n < 10; n++) await turn()
  }

  it('looks up again what changed while a look-up was under way, whose list may be older', async () => {
    let answer: (channels: readonly string[]) => void = () => {}
    const first = new Promise<readonly string[]>((resolve) => {
      answer = resolve
    })
    const started = channelOf('aaaa')
    there.add(started)
    lists = [first, [started]]
    const following = routing.follow()
    await settle()
    routing.changed(changeOf({ isThere: true, channels: [started] }))
    answer([])
    await following
    await settle()
    await routing.emit('p', EVENT)
    assert.deepEqual([lookUps, subscribed, sent], [2, [CHANGES], [started, 'p']])
  })

  it('sends an event to a process that has started when all that it knew of a queue have gone', async () => {
    const [gone, also, started] = ['aaaa', 'bbbb', 'cccc'].map(channelOf) as [string, string, string]
    const other = placeOf('p', 'other', 'dddd', false).channel
    there.add(started).add(other)
    lists = [
      [gone, also, other],
      [other, started]
    ]
    await routing.emit('p', EVENT)
    assert.deepEqual(sent.toSorted(), [gone, also, started, other, 'p'].toSorted())
    // Those that have gone are asked no more.
    sent = []
    await routing.emit('p', EVENT)
    assert.deepEqual(sent.toSorted(), [started, other, 'p'].toSorted())
  })

  it('sends nothing more to a process that has gone without a word, neither events nor requests', async () => {
    const places = ['aaaa', 'bbbb'].map((id) => placeOf('p', 'q', id, true).channel)
    const [gone, left] = places as [string, string]
    there.add(left)
    const request = { route: 'p', words: EVENT, reply: 'r', headers: undefined, isForOurs: true }
    const tellAll = {
      events: () => routing.emit('p', EVENT),
      requests: () => routing.ask(request)
    }
    for (const [what, tell] of Object.entries(tellAll)) {
      lists = [places]
      // The list is read again, so that both are known.
      routing.restored()
      await routing.follow()
      await settle()
      sent = []
      for (let n = 0; n < 4; n++) {
        await tell()
        await settle()
      }
      const counts = places.map((place) => sent.filter((channel) => channel === place).length)
      assert.deepEqual(
        [what, counts[1], (counts[0] as number) <= 1, sent.includes(gone)],
        [what, 4, true, true]
      )
    }
  })

  const toNest = { route: 'p', words: EVENT, reply: 'r', headers: undefined, isForOurs: false }

  it('asks a NestJS service, looks up the processes for that no more than needed, and again after a loss', async () => {
    there.add('p')
    for (const expected of [2, 2]) {
      routing.ask(toNest)
      await settle()
      assert.equal(lookUps, expected)
    }
    routing.lost()
    routing.ask(toNest)
    await settle()
    assert.deepEqual([sent, lookUps], [['p', 'p', 'p'], 4])
  })

  it('says at once that nobody has a request, if NestJS has not, or would be asked at another node', async () => {
    routing.ask(toNest)
    await settle()
    assert.deepEqual([sent, lookUps], [['p', 'nobody'], 1])
    sent = []
    mayMiss = true
    there.add('p')
    routing.ask(toNest)
    await settle()
    assert.deepEqual(sent, ['nobody'])
  })

  it('looks nothing up for a caller that needs no list yet, or whose server is lost', async () => {
    const started = changeOf({ isThere: true, channels: [channelOf('aaaa')] })
    for (const words of ['+', started]) routing.changed(words)
    await settle()
    assert.equal(lookUps, 0)
    await routing.follow()
    isConnected = false
    routing.changed('+')
    await settle()
    assert.equal(lookUps, 1)
    isConnected = true
    routing.changed('+')
    await settle()
    assert.equal(lookUps, 2)
  })

  it('remembers for ten seconds that only NestJS has a pattern', async (t) => {
    let now = 1_000_000
    t.mock.method(performance, 'now', () => now)
    there.add('p')
    routing.ask(toNest)
    await settle()
    now += 9_999
    routing.ask(toNest)
    await settle()
    assert.equal(lookUps, 2)
    now += 1
    routing.ask(toNest)
    await settle()
    assert.equal(lookUps, 4)
  })

  it('asks NestJS no request that only services of this library can read, and forgets none that is not sent', async () => {
    there.add('p')
    routing.ask({ ...toNest, isForOurs: true })
    await settle()
    assert.deepEqual(sent.splice(0), ['nobody'])
    lists = [Promise.reject(new Error('lost'))]
    for (const isForOurs of [true, false]) routing.ask({ ...toNest, route: 'q', isForOurs })
    await settle()
    assert.deepEqual(sent, ['unsent _elysia:t:q', 'unsent q'])
  })

  it('tells that nobody has a request of NestJS that only processes have heard which are not asked so', async () => {
    const listener = placeOf('p', 'q', 'aaaa', false).channel
    const asked = placeOf('p', 'q', 'bbbb', true).channel
    there.add('p').add(asked)
    lists = [[], [listener]]
    routing.ask(toNest)
    await settle()
    assert.deepEqual(sent.splice(0), ['p', 'nobody'])
    // A process that answers has started in between: it is asked.
    lists = [[], [asked]]
    routing.restored()
    await settle()
    routing.ask(toNest)
    await settle()
    assert.ok(sent.includes(asked), sent.join())
  })

  it('sends a request behind the events that were emitted before it, and not behind later ones', async () => {
    const place = placeOf('p', 'q', 'aaaa', true).channel
    there.add(place)
    lists = [[place]]
    await routing.follow()
    let stores: ((isStored: boolean) => void)[] = []
    routing.stored = { store: () => new Promise((resolve) => stores.push(resolve)), forget: () => {} }
    void routing.emit('before', EVENT)
    routing.ask({ ...toNest, isForOurs: true })
    void routing.emit('after', EVENT)
    await settle()
    assert.deepEqual(sent, [])
    stores.shift()?.(true)
    await settle()
    assert.deepEqual(sent, ['before', place])
    for (const store of stores) store(true)
    stores = []
    await settle()
    assert.deepEqual(sent, ['before', place, 'after'])
    routing.ask({ ...toNest, isForOurs: true })
    assert.equal(sent.at(-1), place)
  })

  it('says that nobody has an event only if no queue, no NestJS service and no store has it', async () => {
    await routing.emit('p', EVENT, 'reply')
    assert.deepEqual(sent, ['p', 'nobody'])
    sent = []
    there.add('p')
    await routing.emit('p', EVENT, 'reply')
    assert.deepEqual(sent, ['p'])
    there.clear()
    sent = []
    routing.stored = { store: async () => true, forget: () => {} }
    await routing.emit('p', EVENT, 'reply')
    assert.deepEqual(sent, ['p'])
  })

  it('forgets which durable handlers there are, and looks up the processes, when the server is there again', async () => {
    let forgotten = 0
    routing.stored = { store: async () => false, forget: () => void forgotten++ }
    routing.restored()
    await settle()
    assert.deepEqual([forgotten, lookUps], [1, 0])
    await routing.follow()
    routing.restored()
    await settle()
    assert.deepEqual([forgotten, lookUps], [2, 2])
  })
})
