/**
 * Tests the messages that a client sends for a call that lasts: demand and values, and the question whether the service
 * is still there.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Carrier } from '../carrier.ts'
import { LOST_AFTER, STREAM_WINDOW, Told } from '../words.ts'
import { Conversation } from './conversation.ts'

const CONTROL = '_inbox.0123456789ab.'

function begin(): { readonly conversation: Conversation; readonly said: string[] } {
  const said: string[] = []
  const carrier: Pick<Carrier, 'isInbox' | 'publish'> = {
    isInbox: () => true,
    publish: (_address, words) => void said.push(String(words))
  }
  return { conversation: new Conversation(carrier as Carrier, '_inbox.me.1', 4, 1_000), said }
}

describe('a conversation', () => {
  it('tells a service what has come, unless the reader has paused', () => {
    const { conversation, said } = begin()
    conversation.heard(`${CONTROL}1`, true)
    conversation.read(600, false)
    assert.deepEqual(said, [`${Told.granted}4,600`])
    conversation.heard(`${CONTROL}2`, true)
    conversation.read(600, true)
    assert.equal(said.length, 1)
  })

  it('has a reader that has paused take nothing by asking whether the service is there', () => {
    const { conversation, said } = begin()
    conversation.heard(`${CONTROL}1`, true)
    conversation.read(600, true)
    for (let beats = 0; beats < 3; beats++) conversation.beat(performance.now())
    assert.deepEqual(said, Array(3).fill(`${Told.granted}4,0`))
    conversation.grant(2)
    assert.equal(said.at(-1), `${Told.granted}6,600`)
  })

  it('tells how many values of the channel it has sent, the end included, whenever it tells anything', () => {
    const { conversation, said } = begin()
    // Nothing can be told before the service has named its address.
    conversation.sendInput('1')
    conversation.heard(`${CONTROL}0`, false)
    conversation.beat(performance.now())
    conversation.sendInput('2')
    conversation.endInput()
    conversation.beat(performance.now())
    assert.deepEqual(said, ['v1 1', `${Told.granted}4,0,1`, 'v2 2', 'e2', `${Told.granted}4,0,3`])
  })
})

/** A conversation, and what it says, with the address to which it says it. */
function noting(window = 1_000) {
  const said: string[] = []
  const carrier: Pick<Carrier, 'isInbox' | 'publish'> = {
    isInbox: (address) => address.startsWith('_inbox.'),
    publish: (address, words, reply) => void said.push([address, words, reply].filter(Boolean).join(' '))
  }
  return { conversation: new Conversation(carrier as Carrier, '_inbox.me.1', 4, window), said }
}

describe('the messages of a service', () => {
  const OTHER = '_inbox.abcdefghijkl.'

  it('are read once each, and a missing one is noticed at the next, whether or not that has a number', () => {
    const { conversation } = noting()
    assert.equal(conversation.isReached, false)
    assert.deepEqual(
      [1, 1, 2].map((number) => conversation.heard(`${CONTROL}${number}`, true)),
      [true, false, true]
    )
    assert.deepEqual([conversation.isReached, conversation.heard(`${CONTROL}2`, false)], [true, true])
    const lost = { name: 'ConnectionError', mayHaveRun: true, message: /A message of the stream was lost/ }
    assert.throws(() => conversation.heard(`${CONTROL}3`, false), lost)
    assert.throws(() => conversation.heard(`${CONTROL}4`, true), lost)
  })

  it('come from one service: a second one is told to stop, if it can be told', () => {
    const { conversation, said } = noting()
    conversation.heard(`${CONTROL}1`, true)
    for (const address of [`${OTHER}1`, `${CONTROL}1.1`, 'orders.delete.1'])
      assert.equal(conversation.heard(address, true), false)
    assert.equal(conversation.heard('', true), false, 'one that uses Nest')
    assert.deepEqual(said, [`${OTHER}1 ${Told.canceled}`, `${CONTROL}1.1 ${Told.canceled}`])
    assert.equal(conversation.heard(`${CONTROL}2`, true), true)
  })

  it('come from a service that uses Nest until their end, if that was the first', () => {
    const { conversation, said } = noting()
    assert.deepEqual(
      [conversation.heard('', true), conversation.heard('', true), conversation.heard(`${CONTROL}1`, true)],
      [true, true, false]
    )
    assert.deepEqual([said, conversation.isReached], [[`${CONTROL}1 ${Told.canceled}`], false])
    conversation.beat(performance.now() + 2 * LOST_AFTER)
    assert.equal(said.length, 1, 'it cannot be asked')
  })

  it('without a number, or about a single value, say nothing of who answers', () => {
    const { conversation } = noting()
    assert.equal(conversation.heard('', false), true)
    assert.equal(conversation.heard(`${CONTROL}1`, true), true)
    const single = noting(0).conversation
    assert.deepEqual([single.heard('', true), single.heard(`${CONTROL}1`, true)], [true, true])
  })

  it('whose address is no inbox, or has no number, are an error', () => {
    assert.throws(() => noting().conversation.heard('orders.delete.1', true), /address that is not an inbox/)
    assert.throws(() => noting().conversation.heard(`${CONTROL}x`, true), /has no number/)
  })
})

describe('the words of a caller', () => {
  it('that are early leave in order when the service is known, to its latest address', () => {
    const { conversation, said } = noting()
    conversation.say('a')
    conversation.say('b')
    conversation.grant(1)
    assert.deepEqual(said, [])
    conversation.heard(`${CONTROL}1`, true)
    conversation.heard(`${CONTROL}2`, true)
    conversation.cancel()
    assert.deepEqual(said, [`${CONTROL}1 a`, `${CONTROL}1 b`, `${CONTROL}2 ${Told.canceled}`])
  })

  it('say what was read as soon as a quarter of the window was', () => {
    for (const [window, quarter] of [
      [1_000, 250],
      [0, STREAM_WINDOW / 4]
    ] as const) {
      const { conversation, said } = noting(window)
      conversation.heard(`${CONTROL}0`, false)
      conversation.read(quarter - 1, false)
      assert.deepEqual(said, [])
      conversation.read(1, false)
      conversation.read(quarter - 1, false)
      assert.deepEqual(said, [`${CONTROL}0 ${Told.granted}4,${quarter}`])
    }
  })

  it('ask for a sign of life, until the service has been silent for more than 20 s', () => {
    const { conversation, said } = noting()
    conversation.heard(`${CONTROL}0`, false)
    const now = 10 * LOST_AFTER
    conversation.restored(now)
    conversation.beat(now + LOST_AFTER)
    assert.deepEqual(said, [`${CONTROL}0 ${Told.granted}4,0 _inbox.me.1`])
    assert.throws(() => conversation.beat(now + LOST_AFTER + 1), {
      name: 'ConnectionError',
      mayHaveRun: true
    })
    conversation.restored(now + LOST_AFTER)
    conversation.beat(now + 2 * LOST_AFTER)
    assert.equal(said.length, 2)
  })

  it('are not granted twice by a service that repeats its grants', () => {
    const { conversation } = noting()
    assert.deepEqual(
      [3, 3, 1, 5].map((total) => conversation.inputGranted(total)),
      [3, 0, 0, 2]
    )
  })
})
