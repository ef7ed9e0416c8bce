import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RedisConnection } from '../connection/redis-connection.ts'
import { RedisEvent } from './event.ts'
import { Acknowledgements, HeldEvents } from './held.ts'

const SOURCE = { stream: 's', pattern: 'p', isAgain: false }
const eventAt = (place: string, packet = '{}', id = place) =>
  new RedisEvent(SOURCE, place, ['packet', packet, 'id', id], 1, 0)

describe('the events that a process has', () => {
  it('count by their characters, until they are given back or done', () => {
    const held = new HeldEvents()
    const [one, other] = [eventAt('1-0', '12345'), eventAt('2-0', '123')]
    for (const event of [one, other]) held.take(event)
    assert.deepEqual([held.size, held.all.size], [8, 2])
    held.drop(one)
    held.drop(one)
    held.done(other)
    assert.deepEqual([held.size, held.all.size], [0, 0])
    assert.deepEqual([held.isDone(eventAt('1-0')), held.isDone(eventAt('2-0'))], [false, true])
  })

  it('are remembered when they are done, some thousands of them, until their stream is another one', () => {
    const held = new HeldEvents()
    for (let n = 0; n < 4_096; n++) held.done(eventAt(`${n}-0`))
    assert.ok(held.isDone(eventAt('0-0')))
    for (let n = 4_096; n < 3 * 4_096; n++) held.done(eventAt(`${n}-0`))
    assert.deepEqual([held.isDone(eventAt('0-0')), held.isDone(eventAt('12287-0'))], [false, true])
    held.beginAgain()
    assert.equal(held.isDone(eventAt('12287-0')), false)
  })
})

describe('the events of a stream that is gone', () => {
  it('are no events of the new stream, though it gives their positions again', () => {
    const held = new HeldEvents()
    const [old, gone] = [eventAt('1-0', '12345'), eventAt('2-0', '123')]
    for (const event of [old, gone]) held.take(event)
    held.beginAgain()
    assert.deepEqual([held.all.size, held.size, old.isOnlyHere], [0, 8, true])
    const fresh = eventAt('1-0', '1')
    held.take(fresh)
    held.done(old)
    held.drop(gone)
    held.drop(gone)
    assert.deepEqual(
      [held.all.get('1-0') === fresh, held.size, held.isDone(eventAt('1-0'))],
      [true, 1, false]
    )
    held.done(fresh)
    assert.deepEqual([held.size, held.isDone(eventAt('1-0'))], [0, true])
  })
})

describe('an event at the position of another one', () => {
  it('is not that one, whether it is done or still here', () => {
    const held = new HeldEvents()
    const [one, other] = [eventAt('1-0', '12345', 'one'), eventAt('1-0', '1', 'other')]
    held.take(one)
    assert.deepEqual([held.known(eventAt('1-0', '12345', 'one')) === one, one.isOnlyHere], [true, false])
    assert.deepEqual([held.known(other), one.isOnlyHere, held.size, held.all.size], [undefined, true, 5, 0])
    held.take(other)
    held.done(one)
    assert.deepEqual([held.size, held.isDone(one), held.isDone(other)], [1, false, false])
    held.done(other)
    assert.deepEqual([held.size, held.isDone(one), held.isDone(other)], [0, false, true])
  })
})

describe('acknowledgements', () => {
  function setting(isRemoved = false) {
    const sent: unknown[] = []
    const state: { error: Error | undefined; isConnected: boolean } = { error: undefined, isConnected: true }
    const connection = {
      get isConnected() {
        return state.isConnected
      },
      store: {
        acknowledge: async (_: unknown, places: readonly string[], isGone: boolean) => {
          sent.push(`${places} ${isGone}`)
          if (state.error !== undefined) throw state.error
        }
      }
    } as unknown as RedisConnection
    const reader = { stream: 's', group: 'g', process: 'me', ackWait: 1, isAgain: isRemoved, turn: undefined }
    const all = new Acknowledgements(reader, isRemoved)
    return { all, sent, state, send: () => all.send(connection) }
  }
  const refused = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })

  it('of one turn are sent together, and once', async () => {
    const { all, sent, send } = setting(true)
    assert.deepEqual(
      ['1-0', '2-0', '1-0'].map((place) => all.add(place)),
      [true, false, false]
    )
    assert.deepEqual([await send(), await send(), sent], [2, 0, ['1-0,2-0 true']])
    assert.equal(all.add('3-0'), true)
  })

  it('of events that the server has lost are taken back', async () => {
    const { all, sent, send } = setting()
    for (const place of ['1-0', '2-0', '3-0', '4-0']) all.add(place)
    all.takeBack('1-0')
    all.takeBackBehind('3-0')
    assert.deepEqual([await send(), sent], [2, ['2-0,3-0 false']])
  })

  it('are kept while there is no server, and when it was lost before it has answered', async () => {
    const { all, sent, state, send } = setting()
    all.add('1-0')
    state.isConnected = false
    assert.deepEqual([await send(), sent], [0, []])
    state.isConnected = true
    state.error = new Error('Connection is closed.')
    assert.equal(await send(), 0)
    all.add('2-0')
    state.error = undefined
    assert.deepEqual([await send(), sent.at(-1)], [2, '1-0,2-0 false'])
  })

  it('that are refused are sent again if the refusal may pass, and not if the group is gone', async () => {
    const { all, state, send } = setting()
    all.add('1-0')
    state.error = refused('NOREPLICAS Not enough good replicas')
    await assert.rejects(send(), /NOREPLICAS/)
    state.error = refused('NOGROUP No such consumer group')
    await assert.rejects(send(), /NOGROUP/)
    state.error = undefined
    assert.equal(await send(), 0)
  })
})
