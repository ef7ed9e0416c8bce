import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { refusal } from '../testing/fake-streams.ts'
import type { Group, Groups } from './groups.ts'
import { GroupWatch } from './watch.ts'

const MINUTE = 60_000

describe('what a process knows of its group', () => {
  let time: VirtualTime
  let asked: string[]
  let gone: string[]
  let hasEvents: boolean
  /** The answer of the server about the consumer. */
  let answer: () => Promise<object>
  let connection: { isConnected: boolean }
  beforeEach(() => {
    time = new VirtualTime()
    asked = []
    gone = []
    hasEvents = false
    connection = { isConnected: true }
    answer = async () => info()
  })
  afterEach(() => time[Symbol.dispose]())

  const info = (more: object = {}) => ({
    created: 'then',
    num_pending: 2,
    num_ack_pending: 3,
    ack_floor: { stream_seq: 7 },
    config: { pause_until: 'later' },
    ...more
  })
  const note =
    (what: string) =>
    async ({ consumer }: { consumer: string }) =>
      void asked.push(`${what} ${consumer}`)
  const groups = {
    info: async ({ consumer }: { consumer: string }) => {
      asked.push(consumer)
      return answer() as Promise<ConsumerInfo>
    },
    left: note('left'),
    unpin: note('unpin')
  }
  const group = (more: Partial<Group> = {}) =>
    ({
      main: { stream: 's', consumer: 'c' },
      standpoint: { stream: 's', consumerMadeAt: 'then', done: 5 },
      needsNotes: true,
      ...more
    }) as Group
  function watching(more: Partial<Group> = {}) {
    const watch = new GroupWatch(
      (why) => void gone.push(why),
      () => hasEvents
    )
    watch.join(connection as NatsConnection, groups as unknown as Groups, group(more))
    return watch
  }
  const turn = () => time.pass(0)

  it('is nothing before the group is there: nobody is asked', async () => {
    const watch = new GroupWatch(
      () => {},
      () => false
    )
    await watch.look()
    await watch.leave()
    await watch.unpin('pin')
    assert.deepEqual([await watch.ask(), watch.lag, watch.isPaused], [undefined, undefined, false])
  })

  it('is its lag, its pause and the position up to which all is done, which never goes back', async () => {
    const watch = watching()
    await watch.look()
    assert.deepEqual([watch.lag, watch.isPaused], [5, false])
    assert.deepEqual([watch.standpoint?.done, watch.standpoint?.pausedUntil], [7, undefined])
    answer = async () => info({ paused: true, ack_floor: { stream_seq: 6 } })
    await watch.look()
    assert.deepEqual(
      [watch.isPaused, watch.standpoint?.done, watch.standpoint?.pausedUntil],
      [true, 7, 'later']
    )
  })

  it('stays as it was if nobody answers, or the group has joined again before the answer', async () => {
    const watch = watching()
    answer = () => Promise.reject(new Error('timeout'))
    await watch.look()
    assert.deepEqual([watch.lag, gone], [undefined, []])
    answer = async () => info()
    let looking = watch.look()
    watch.join(connection as NatsConnection, groups as unknown as Groups, group())
    await looking
    assert.equal(watch.lag, undefined)
    answer = () => Promise.reject(refusal(404, 10_014, 'consumer not found'))
    looking = watch.look()
    watch.join(connection as NatsConnection, groups as unknown as Groups, group())
    await looking
    assert.deepEqual(gone, [])
  })

  it('is that the group is gone if its consumer is missing, or another one, or JetStream is off', async () => {
    for (const [said, why] of [
      [() => Promise.reject(refusal(404, 10_014, 'consumer not found')), 'consumer not found'],
      [async () => info({ created: 'now' }), 'another one has its name'],
      [() => Promise.reject(new Error('jetstream is not enabled')), 'JetStream is off, or not ready']
    ] as const) {
      gone = []
      answer = said
      const watch = watching()
      await watch.look()
      assert.deepEqual([gone, watch.lag], [[why], undefined])
    }
  })

  it('is not asked for without a server', async () => {
    const watch = watching()
    connection.isConnected = false
    await watch.look()
    await watch.leave()
    await watch.unpin('pin')
    assert.deepEqual(asked, [])
  })

  it('is quiet at the second look without an event, until one comes', async () => {
    const watch = watching()
    for (const rejoin of [false, true]) {
      if (rejoin) watch.join(connection as NatsConnection, groups as unknown as Groups, group())
      assert.equal(watch.isQuiet, false)
      await watch.look()
      assert.equal(watch.isQuiet, false)
      await watch.look()
      assert.equal(watch.isQuiet, true)
    }
    hasEvents = true
    assert.equal(watch.isQuiet, false)
    hasEvents = false
    watch.done()
    await watch.look()
    assert.equal(watch.isQuiet, false)
    await watch.look()
    assert.equal(watch.isQuiet, true)
  })

  it('is kept up to date for two minutes after somebody has read it, and is not asked for at each reading', async () => {
    const watch = watching()
    await watch.look()
    await watch.look()
    await time.pass(5_000)
    watch.read()
    assert.equal(asked.length, 2, 'it is fresh')
    await time.pass(1)
    watch.read()
    await turn()
    assert.equal(asked.length, 3)
    watch.read()
    assert.equal(asked.length, 3)
    await time.pass(2 * MINUTE)
    assert.equal(watch.isQuiet, false)
    await time.pass(1)
    assert.equal(watch.isQuiet, true)
  })

  it('is asked for after 250 events, at most each tenth of a second', async () => {
    const watch = watching()
    const done = (count: number) => {
      for (let n = 0; n < count; n++) watch.done()
    }
    done(249)
    assert.equal(asked.length, 0)
    done(1)
    assert.equal(asked.length, 1)
    await time.pass(99)
    done(300)
    assert.equal(asked.length, 1)
    await time.pass(1)
    done(1)
    assert.equal(asked.length, 2)
    await time.pass(1_000)
    done(249)
    assert.equal(asked.length, 2)
  })

  it('is noted by a process that leaves, where that is needed; a note that fails is no fault', async () => {
    await watching({ needsNotes: false }).leave()
    assert.deepEqual(asked, [])
    await watching().leave()
    assert.deepEqual(asked, ['left c'])
    const failing = { ...groups, left: () => Promise.reject(new Error('no')) }
    const watch = watching()
    watch.join(connection as NatsConnection, failing as unknown as Groups, group())
    await watch.leave()
  })

  it('is whether the server serves this process: only then it is told to serve another one', async () => {
    const watch = watching()
    await watch.unpin(undefined)
    assert.deepEqual(asked, [])
    const served = (pinned_client_id?: string, more: object = {}) => {
      answer = async () => info({ priority_groups: [{ pinned_client_id }], ...more })
    }
    served('other')
    await watch.unpin('pin')
    served('pin', { created: 'now' })
    await watch.unpin('pin')
    assert.deepEqual(asked, ['c', 'c'])
    served('pin')
    await watch.unpin('pin')
    assert.deepEqual(asked.slice(2), ['c', 'unpin c'])
    answer = () => Promise.reject(new Error('no answer'))
    await assert.rejects(watch.ask(), /no answer/)
  })
})
