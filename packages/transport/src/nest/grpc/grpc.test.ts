/** The parts of Nest's gRPC that need no socket: metadata, patterns, failures, requests, calls. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { describe, it } from 'node:test'
import { canceledByCaller } from '../../errors/ended.ts'
import { RpcError } from '../../errors/index.ts'
import { ErrorAnswer } from '../../failure.ts'
import { IncomingMessage } from '../../message.ts'
import { exhaust } from '../../stream.ts'
import { ValueQueue } from '../../value-queue.ts'
import { grpcFailureOf } from './failure.ts'
import { grpcInvocations } from './invocation.ts'
import { GrpcMetadata, readGrpcMetadata, valuesOfMetadata } from './metadata.ts'
import { grpcFormOf, grpcPatternsOf } from './patterns.ts'
import type { ObservableClass } from './requests.ts'

/** As much of rxjs's class as is used. */
class Observable {
  readonly subscribe: (subscriber: object) => () => void

  constructor(subscribe: (subscriber: never) => () => void) {
    this.subscribe = (subscriber) => subscribe({ closed: false, ...subscriber } as never)
  }
}

const invocation = grpcInvocations({
  Observable: Observable as ObservableClass<object>,
  EventEmitter,
  Duplex
})
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

describe('metadata of gRPC', () => {
  it("has the methods of grpc-js's class", () => {
    const metadata = new GrpcMetadata()
    metadata.set('X-User', 'Ada')
    metadata.add('x-user', 'Bob')
    metadata.set('token-bin', Buffer.from([1]))
    assert.deepEqual(metadata.get('x-USER'), ['Ada', 'Bob'])
    assert.deepEqual(metadata.getMap(), { 'x-user': 'Ada', 'token-bin': Buffer.from([1]) })
    const copy = metadata.clone()
    copy.remove('x-user')
    assert.deepEqual([copy.get('x-user'), metadata.get('x-user').length], [[], 2])
    for (const [key, value, sentence] of [
      ['a b', 'x', /illegal characters/],
      ['a', 'ü', /illegal characters/],
      ['a', Buffer.from('x'), /texts as values/],
      ['a-bin', 'x', /bytes as values/]
    ] as const)
      assert.throws(() => metadata.set(key, value), sentence)
  })

  it('is read of texts, bytes and base64, and leaves out what it cannot be', () => {
    const read = readGrpcMetadata({
      a: 'b',
      'c-bin': 'AQI,Aw==',
      'd-bin': [new Uint8Array([4])],
      'e f': 'g',
      h: 7
    })
    assert.deepEqual(valuesOfMetadata(read), [
      ['a', ['b']],
      ['c-bin', [Buffer.from([1, 2]), Buffer.from([3])]],
      ['d-bin', [Buffer.from([4])]]
    ])
  })
})

describe("patterns of Nest's decorators", () => {
  it('are known by their form', () => {
    assert.equal(grpcFormOf({ service: 'A', rpc: 'B', streaming: 'rx_stream' }), 'rx_stream')
    for (const other of ['a', null, { service: 'A', rpc: 'B' }, { service: 'A', rpc: 'B', streaming: 'x' }])
      assert.equal(grpcFormOf(other), undefined)
  })

  it('of a method have its service with and without the package', () => {
    const of = (service: string, clientStreams: boolean) =>
      grpcPatternsOf({ service, name: 'Get', clientStreams }).map((one) => `${one.service} ${one.streaming}`)
    assert.deepEqual(of('shop.v1.Orders', false), ['Orders no_stream', 'shop.v1.Orders no_stream'])
    assert.deepEqual(of('Orders', true), ['Orders rx_stream', 'Orders pt_stream'])
  })
})

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
    const { FEED } = await import('../../stream.ts')
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
