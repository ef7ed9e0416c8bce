/** Tests how a client gives up a call of which it hears nothing. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClientContext, OpenCalls, PendingCall } from '@elysia-microservices/transport/kit'
import type { Engine } from '../carrier.ts'
import type { PartedCarrier } from '../parts/parts.ts'
import { LOST_AFTER } from '../words.ts'
import { CallSender } from './call-sender.ts'

/** Any time of the process. */
const T = 10 * LOST_AFTER

function begin() {
  const happened: string[] = []
  const carrier = {
    everyone: 'everyone',
    isSending: () => false,
    forget() {},
    publish: (to: string, words: string) => void happened.push(`asks ${to} about ${words}`)
  } as unknown as PartedCarrier
  const calls = {
    isWaiting: () => false,
    fail: (_: PendingCall, error: Error) => void happened.push(error.name)
  } as unknown as OpenCalls
  const call = {
    kind: 'request',
    pattern: 'p',
    sequence: 1,
    secret: 'secret',
    mayHaveRun: true
  } as unknown as PendingCall
  const engine = {
    name: 'shop',
    title: 'SHOP',
    where: 'shop:1',
    whyNot: () => undefined
  } as unknown as Engine
  const sender = new CallSender(engine, carrier, 'inbox.', {} as ClientContext, calls)
  return { sender, call, happened }
}

const ASKED = 'asks everyone about p'

describe('a call of which nothing is heard', () => {
  it('is asked about from the second time on, and given up only a while after its service has said that it is gone', () => {
    const { sender, call, happened } = begin()
    sender.ask(call, T)
    assert.deepEqual(happened, [])
    sender.ask(call, T + 1)
    sender.absent(call)
    sender.ask(call, T + LOST_AFTER)
    assert.deepEqual(happened, [ASKED, ASKED])
    sender.ask(call, T + LOST_AFTER + 1)
    assert.deepEqual(happened.slice(2), ['ConnectionError'])
  })

  it('is waited for as long as nobody says that it is gone', () => {
    const { sender, call, happened } = begin()
    for (const now of [T, T + LOST_AFTER + 1, T + 9 * LOST_AFTER]) sender.ask(call, now)
    assert.deepEqual(happened, [ASKED, ASKED])
  })

  it('is waited for again when it was heard of', () => {
    const { sender, call, happened } = begin()
    sender.ask(call, T)
    sender.absent(call)
    sender.heard(call)
    sender.ask(call, T + LOST_AFTER + 1)
    assert.deepEqual(happened, [])
  })
})
