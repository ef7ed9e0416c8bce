/** Handlers of Nest's gRPC without a socket: failures, requests, calls. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { describe, it } from 'node:test'
import {
  canceledByCaller,
  ErrorAnswer,
  exhaust,
  IncomingMessage,
  RpcError,
  ValueQueue
} from '@elysia-microservices/transport/kit'
import type { GrpcForm } from '@elysia-microservices/transport/nest'
import { grpcFailureOf } from './failure.ts'
import { invokeGrpc } from './invocation.ts'

/** As much of rxjs's class as is used. */
class Observable {
  readonly subscribe: (subscriber: object) => () => void

  constructor(subscribe: (subscriber: never) => () => void) {
    this.subscribe = (subscriber) => subscribe({ closed: false, ...subscriber } as never)
  }
}

const CLASSES = { Observable, EventEmitter, Duplex }
const invocation = (form: GrpcForm, given: IncomingMessage) => invokeGrpc(CLASSES, form, given)
const turn = () => new Promise((resolve) => setTimeout(resolve))

function message(data: unknown, serverStreams = true): IncomingMessage {
  const method = { path: 'shop.Orders/Get', clientStreams: true, serverStreams }
  return new IncomingMessage({
    transport: 'grpc',
    kind: 'request',
    pattern: 'p',
    route: 'p',
    data,
    calledMethod: method
  })
}

describe('failures of handlers', () => {
  it('have the status that the number of an error says', () => {
    const rpc = (error: unknown) => ({ getError: () => error })
    for (const [error, expected] of [
      [new ErrorAnswer({ code: 5, message: 'no', details: 'more' }), { status: 5, message: 'more' }],
      [
        new ErrorAnswer({ status: 'error', message: 'Internal server error' }),
        { status: 2, message: 'Internal server error' }
      ],
      [new ErrorAnswer('text'), { status: 2, message: 'text' }],
      [new ErrorAnswer({}), { status: 2, message: 'Unknown Error' }],
      [new ErrorAnswer(new Error('inner')), { status: 2, message: 'inner' }],
      [
        new ErrorAnswer(Object.assign(new Error('too many'), { error: { code: 8 } })),
        { status: 2, message: 'too many' }
      ],
      [new ErrorAnswer(Object.assign(new Error('no'), { code: 5 })), { status: 5, message: 'no' }],
      [rpc({ code: 5, message: 'no', details: 'more' }), { status: 5, message: 'more' }],
      [rpc({ code: 5, details: { a: 1 } }), undefined],
      [rpc('text'), undefined],
      [new RpcError({ code: 'NOT_FOUND' }), undefined],
      [new Error('a secret'), undefined]
    ] as const)
      assert.deepEqual(grpcFailureOf(error), expected)
  })
})

describe('messages of a caller, as an Observable', () => {
  const read = (values: object) => {
    const seen: unknown[] = []
    ;(values as Observable).subscribe({
      next: (value: unknown) => seen.push(value),
      error: (error: Error) => seen.push(error.message),
      complete: () => seen.push('end')
    })
    return seen
  }

  it('are there from the beginning until the handler has settled, for each subscriber', async () => {
    const queue = new ValueQueue<unknown>()
    const { args, answer } = invocation('rx_stream', message(queue))
    const [values] = args as [object]
    queue.push(1)
    const first = read(values)
    await turn()
    const second = read(values)
    answer(undefined)
    await turn()
    await turn()
    const late = read(values)
    queue.push(2)
    queue.end()
    await turn()
    assert.deepEqual(
      [first, second, late],
      [
        [1, 2, 'end'],
        [1, 2, 'end'],
        [2, 'end']
      ]
    )
  })

  it('come when an async handler has returned, whose answer nobody listens to before', async () => {
    const queue = new ValueQueue<unknown>()
    queue.push(1)
    queue.end()
    const seen = read(invocation('rx_stream', message(queue)).args[0] as object)
    await Promise.resolve()
    assert.deepEqual(seen, [])
    await turn()
    assert.deepEqual(seen, [1, 'end'])
  })

  it('complete when the caller has left, and fail when what it sends is wrong', async () => {
    for (const [error, last] of [
      [canceledByCaller(), 'end'],
      [new Error('malformed'), 'malformed']
    ] as const) {
      const queue = new ValueQueue<unknown>()
      const seen = read(invocation('rx_stream', message(queue)).args[0] as object)
      queue.end({ error })
      await turn()
      assert.deepEqual(seen, [last])
    }
  })

  it('make the caller wait for a loop over them', async () => {
    let resumed = 0
    const queue = new ValueQueue<number>({ resume: () => resumed++, cancel() {} })
    const [values] = invocation('rx_stream', message(queue)).args as [AsyncIterable<number>]
    for (let n = 0; queue.push(n); n++);
    for await (const value of values) if (value === 0) break
    assert.equal(resumed, 0)
  })
})

describe('the answer of a method with one answer', () => {
  const answered = (form: 'no_stream' | 'rx_stream', result: unknown) =>
    exhaust(invocation(form, message([], false)).answer(result) as object)

  it('is the first value of a stream, or the last one of a handler with an Observable', async () => {
    assert.deepEqual(await answered('rx_stream', [1, 2][Symbol.iterator]()), { value: 2 })
    const { answer } = invocation('no_stream', message(1, false))
    assert.equal(answer(7), 7)
  })

  it('is a failure if there is none', async () => {
    for (const form of ['no_stream', 'rx_stream'] as const)
      await assert.rejects(answered(form, [][Symbol.iterator]()), {
        value: { code: 13, message: 'The handler has ended without a message' }
      })
  })
})

describe('a call as a stream', () => {
  interface Call extends Duplex {
    readonly cancelled: boolean
  }
  const call = (data: unknown, serverStreams = true) => {
    const own = message(data, serverStreams)
    const { args, answer } = invocation('pt_stream', own)
    return { own, call: args[0] as Call, callback: args[1] as (...args: unknown[]) => void, answer }
  }
  const valuesOf = async (stream: object) => {
    const seen: unknown[] = []
    const { FEED } = await import('@elysia-microservices/transport/kit')
    const { resume } = (stream as Record<symbol, (sink: object) => { resume(): void }>)[FEED]!({
      next: (value: unknown) => seen.push(value) < 3,
      complete: () => seen.push('end'),
      error: ({ value }: ErrorAnswer) => seen.push((value as Error).message),
      teardownFailed: assert.fail
    })
    return { seen, resume }
  }

  it('waits for its reader, loses nothing that was written before an error, and reads its caller', async () => {
    const one = call([10, 20][Symbol.iterator]())
    const got: unknown[] = []
    one.call.on('data', (value) => got.push(value))
    for (const value of ['a', 'b', 'c', 'd']) one.call.write(value)
    one.call.emit('error', new Error('broken'))
    const { seen, resume } = await valuesOf(one.answer(undefined) as object)
    resume()
    await turn()
    assert.deepEqual(seen, ['a', 'b', 'c'])
    for (let n = 0; n < 2; n++) {
      resume()
      await turn()
    }
    assert.deepEqual(
      [seen, got],
      [
        ['a', 'b', 'c', 'd', 'broken'],
        [10, 20]
      ]
    )
  })

  it('answers by its callback', async () => {
    const one = call([], false)
    one.callback(null, 7)
    assert.deepEqual(await exhaust(one.answer(undefined) as object), { value: 7 })
    const other = call([], false)
    other.callback({ code: 5, message: 'no' })
    await assert.rejects(exhaust(other.answer(undefined) as object), { value: { code: 5, message: 'no' } })
  })

  it('fails with its handler, and is cancelled with its caller', async () => {
    const failed = call([])
    await assert.rejects(exhaust(failed.answer(Promise.reject(new Error('odd'))) as object), /odd/)
    const left = call(new ValueQueue())
    let cancelled = 0
    left.call.on('cancelled', () => cancelled++)
    left.own.abort({ error: assert.fail, warn: assert.fail })
    assert.deepEqual([cancelled, left.call.cancelled, left.call.destroyed], [1, true, true])
  })
})
