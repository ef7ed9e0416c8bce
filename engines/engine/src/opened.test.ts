import assert from 'node:assert/strict'
import { it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { CarrierListener } from './carrier.ts'
import { delayLeft } from './durable/outgoing-event.ts'
import { opened, Wanted } from './opened.ts'

it('a connection that is not wanted any more is closed when it comes, and its error is the reason', async () => {
  const controller = new AbortController()
  let open = (_: object) => {}
  let closes = 0
  const engine = {
    open: () => new Promise<{ close(): Promise<void> }>((resolve) => (open = resolve as never))
  }
  const listener = { signal: controller.signal } as CarrierListener
  const opening = opened(engine, listener)
  const reason = new Error('closed')
  controller.abort(reason)
  await assert.rejects(opening, reason)
  open({ close: async () => void closes++ })
  await new Promise(setImmediate)
  assert.equal(closes, 1)
  const kept = await opened(
    { open: async () => ({ close: async () => void closes++ }) },
    {} as CarrierListener
  )
  assert.deepEqual([typeof kept.close, closes], ['function', 1])
})

it('a server is wanted until it is stopped, or its start is given up, before or later', () => {
  const wanted = new Wanted()
  assert.equal(wanted.signal.aborted, false)
  wanted.end()
  assert.match(String(wanted.signal.reason), /The service was stopped before it was connected/)
  assert.equal(new Wanted(AbortSignal.abort()).signal.aborted, true)
  const controller = new AbortController()
  const other = new Wanted(controller.signal)
  assert.equal(other.signal.aborted, false)
  controller.abort()
  assert.equal(other.signal.aborted, true)
})

it('a delay has the milliseconds left that have not passed, in whole numbers, and none below zero', async () => {
  using time = new VirtualTime()
  const steadyDue = time.now + 99.5
  assert.equal(delayLeft({}), undefined)
  assert.equal(delayLeft({ steadyDue }), 100)
  await time.pass(99)
  assert.equal(delayLeft({ steadyDue }), 1)
  await time.pass(99)
  assert.equal(delayLeft({ steadyDue }), 0)
})
