/** Tests replies that take more than one turn of the event loop: what they send when, and what their end stops. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Observable, of, Subject, throwError } from 'rxjs'
import { RejectedError } from '../errors/index.ts'
import { IncomingMessage } from '../message.ts'
import { type Replies, RunningReply } from './running-reply.ts'

/** Makes a reply and a list that records the calls to its connection, in order. */
function newReply(given: Partial<Replies> = {}) {
  const told: string[] = []
  const replies: Replies = {
    logger: {
      warn() {},
      error: (text, error) => void told.push(`logged ${text}: ${(error as Error).message}`)
    },
    sendPacket: (json) => void told.push(json),
    fail: (id, error) => void told.push(`failed ${id}: ${(error as Error).message}`),
    atTurnEnd: () => void told.push('asks for the end of the turn'),
    openStream: () => undefined,
    maxAhead: Number.POSITIVE_INFINITY,
    hasRoomFor: () => true,
    ended: () => void told.push('ended'),
    ...given
  }
  const message = new IncomingMessage({
    transport: 'test',
    kind: 'request',
    pattern: 'p',
    route: 'p',
    data: 1
  })
  return { told, message, reply: new RunningReply(replies, '"7"', message) }
}

/**
 * A generator of numbers that runs until its reader ends it. It counts the numbers, and records whether it was ended.
 */
function counted() {
  const state = { made: 0, isClosed: false }
  function* numbers() {
    try {
      for (;;) yield ++state.made
    } finally {
      state.isClosed = true
    }
  }
  return { state, numbers: numbers() }
}

const last = (value: number) => `{"response":${value},"isDisposed":true,"id":"7"}`
const value = (number: number) => `{"response":${number},"id":"7"}`
const end = '{"isDisposed":true,"id":"7"}'
const asks = 'asks for the end of the turn'

describe('RunningReply', () => {
  it('sends one value with the end, once', () => {
    const { reply, told } = newReply()
    reply.value(1)
    reply.value(2)
    reply.error(new Error('late'))
    reply.complete()
    assert.deepEqual(told, [last(1), 'ended'])
    assert.equal(reply.isStream, false)
  })

  it('fails when JSON cannot carry the value', () => {
    const { reply, told } = newReply()
    reply.value({
      toJSON() {
        throw new Error('no JSON')
      }
    })
    assert.deepEqual(told, ['failed "7": no JSON', 'ended'])
  })

  it('sends the last value of a stream with its end, if both come in one turn', () => {
    const { reply, told } = newReply()
    reply.stream([1, 2, 3].values())
    reply.turnEnded()
    assert.deepEqual(told, [asks, value(1), value(2), last(3), 'ended'])
    assert.equal(reply.isStream, true)
  })

  it('sends the end of an Observable that ends at once', () => {
    const { reply, told } = newReply()
    reply.stream(of(1))
    assert.deepEqual(told, [asks, last(1), 'ended'])
  })

  it('sends what it held when the turn ends, and asks again for that of the next', () => {
    const { reply, told } = newReply()
    const subject = new Subject<number | undefined>()
    reply.stream(subject)
    subject.next(1)
    reply.turnEnded()
    reply.turnEnded()
    subject.next(undefined)
    subject.next(2)
    reply.turnEnded()
    subject.complete()
    assert.deepEqual(told, [asks, value(1), asks, '{"id":"7"}', value(2), end, 'ended'])
  })

  it('sends an end without a value if the last value was `undefined`', () => {
    const { reply, told } = newReply()
    reply.stream([undefined].values())
    assert.deepEqual(told, [asks, end, 'ended'])
  })

  it('sends what it held before an error', () => {
    const { reply, told } = newReply()
    const subject = new Subject<number>()
    reply.stream(subject)
    subject.next(1)
    subject.error(new Error('broken'))
    subject.next(2)
    assert.deepEqual(told, [asks, value(1), 'failed "7": broken', 'ended'])
  })

  it('fails, and ends the stream, when JSON cannot carry one of its values', () => {
    const { reply, told } = newReply()
    let isClosed = false
    function* values() {
      try {
        yield 1
        yield 1n
        yield 2
      } finally {
        isClosed = true
      }
    }
    reply.stream(values())
    assert.deepEqual(told.slice(0, 2), [asks, value(1)])
    assert.match(told[2] as string, /^failed "7": .*BigInt/)
    assert.deepEqual(told.slice(3), ['ended'])
    assert.equal(isClosed, true)
  })

  it('ends an Observable whose first value JSON cannot carry, and takes no more', () => {
    const { reply, told } = newReply()
    let isLeft = false
    reply.stream(
      new Observable((subscriber) => {
        subscriber.next(1n)
        subscriber.next(2)
        return () => {
          isLeft = true
        }
      })
    )
    assert.equal(told.length, 2)
    assert.equal(isLeft, true)
    const other = newReply().reply
    assert.deepEqual([other.next(1), other.next(1n), other.next(2)], [true, undefined, undefined])
  })

  it('answers with the error of an Observable that fails at once', () => {
    const { reply, told } = newReply()
    reply.stream(throwError(() => new Error('broken')))
    assert.deepEqual(told, ['failed "7": broken', 'ended'])
  })

  it('waits while there is no room, and goes on when there is', () => {
    let room = 2
    const { reply, told } = newReply({ hasRoomFor: () => room-- > 0 })
    const { state, numbers } = counted()
    reply.stream(numbers)
    assert.equal(state.made, 2)
    reply.resume()
    assert.equal(state.made, 2)
    room = 2
    reply.resume()
    assert.equal(state.made, 4)
    assert.deepEqual(told, [asks, value(1), value(2), value(3)])
  })

  it('ends without a word when its connection is gone', () => {
    const { reply, told, message } = newReply({ hasRoomFor: () => state.made < 2 })
    const { state, numbers } = counted()
    reply.stream(numbers)
    const { signal } = message
    reply.abort()
    reply.abort()
    reply.turnEnded()
    reply.resume()
    assert.equal(reply.next(5), undefined)
    assert.deepEqual(told, [asks, value(1), 'ended'])
    assert.deepEqual(state, { made: 2, isClosed: true })
    assert.equal(signal.aborted, true)
  })

  it('begins no stream that is refused, or comes too late', () => {
    const { state, numbers } = counted()
    const refused = newReply({ openStream: () => new RejectedError('too many streams') })
    refused.reply.stream(numbers)
    assert.deepEqual(refused.told, ['failed "7": too many streams', 'ended'])
    assert.equal(refused.reply.isStream, false)
    let opened = 0
    const over = newReply({ openStream: () => void opened++ as undefined })
    over.reply.abort()
    over.reply.stream(numbers)
    assert.equal(opened, 0)
    assert.equal(state.made, 0)
  })

  it('logs a clean-up that fails', () => {
    const { reply, told } = newReply()
    reply.teardownFailed(new Error('torn'))
    assert.deepEqual(told, ["logged The clean-up of a stream failed: the answer to 'p': torn"])
  })
})
