/** The log line names the handler that failed, and the request. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { noteCall, RpcError } from './errors/index.ts'
import { cleanUpFailed, handlerFailed } from './handler-failed.ts'
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

  it('that did not catch the answer of a further service is told how to pass it on', () => {
    const received = new RpcError({ code: 'SOLD_OUT', message: 'secret' }, { code: 'SOLD_OUT' })
    const said =
      "The handler of 'orders.place' failed: it did not catch the error SOLD_OUT that another service has answered"
    const todo = 'so the caller gets INTERNAL. To pass the error on: throw error.pass()'
    assert.equal(handlerFailed(message('orders.place'), received), `${said}, ${todo}`)
    noteCall(received, () => ({ pattern: 'stock.take' }))
    assert.equal(handlerFailed(message('orders.place'), received), `${said} to 'stock.take', ${todo}`)
    // An event has no answer, so the line gives no advice about `pass`.
    assert.doesNotMatch(handlerFailed(message('paid', {}, 'event'), received), /pass/)
    assert.doesNotMatch(handlerFailed(message('orders.place'), new RpcError('own')), /pass/)
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    assert.equal(handlerFailed(message('x'), proxy), "The handler of 'x' failed")
  })
})

describe('a stream whose clean-up failed', () => {
  it('is named by the pattern that it answers, as far as that can be read', () => {
    assert.equal(
      cleanUpFailed(message('orders.watch')),
      "The clean-up of a stream failed: the answer to 'orders.watch'"
    )
    assert.equal(cleanUpFailed(undefined), 'The clean-up of a stream failed')
    assert.equal(
      cleanUpFailed(Object.assign(message('x'), { pattern: 7 })),
      'The clean-up of a stream failed'
    )
  })
})
