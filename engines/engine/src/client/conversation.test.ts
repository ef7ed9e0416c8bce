/**
 * Tests the messages that a client sends for a call that lasts: demand and values, and the question whether the service
 * is still there.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Carrier } from '../carrier.ts'
import { Told } from '../words.ts'
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
