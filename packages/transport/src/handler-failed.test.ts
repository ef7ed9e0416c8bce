/** A line of the log says which handler failed, for which request. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { handlerFailed } from './handler-failed.ts'
import { IncomingMessage } from './message.ts'

function message(pattern: string, metadata?: unknown, kind: 'request' | 'event' = 'request') {
  return new IncomingMessage({ transport: 'memory', kind, pattern, route: pattern, data: 1, metadata })
}

describe('a handler that failed', () => {
  it('is named by its pattern', () => {
    assert.equal(handlerFailed(message('orders.get')), "The handler of 'orders.get' failed")
    assert.equal(handlerFailed(message('paid', {}, 'event')), "A handler of the event 'paid' failed")
    assert.equal(handlerFailed(undefined), 'A message handler failed')
  })

  it('is named with the id of its request', () => {
    const given = message('orders.get', { 'x-request-id': 'r-7' })
    assert.equal(handlerFailed(given), "The handler of 'orders.get' failed (request r-7)")
  })

  it('makes one harmless line of what a peer has sent', () => {
    const given = message('a\nb', { 'x-request-id': 'r\u001b[2J' })
    assert.equal(handlerFailed(given), "The handler of 'a\\u{a}b' failed (request r\\u{1b}[2J)")
    assert.match(handlerFailed(message('x'.repeat(10_000), { 'x-request-id': 7 })), /characters\)' failed$/)
  })

  it('may have made anything of its message', () => {
    const broken = Object.defineProperty(message('x'), 'pattern', {
      get() {
        throw new Error('no')
      }
    })
    assert.equal(handlerFailed(broken), 'A message handler failed')
    assert.equal(handlerFailed(Object.assign(message('x'), { pattern: 7 })), 'A message handler failed')
    assert.equal(handlerFailed(message('x', 'no headers')), "The handler of 'x' failed")
  })
})
