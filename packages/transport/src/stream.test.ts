/** Streams of every kind, into one sink: order, demand, cancelling, and users' code that misbehaves. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { finalize, from, NEVER, Observable, of, Subject, throwError } from 'rxjs'
import {
  consume,
  exhaust,
  FEED,
  isStream,
  isStreamOfValues,
  type ResultEnd,
  type ResultWatcher,
  type StreamSink,
  type StreamSource,
  tap
} from './stream.ts'

/** What a sink has been told, in words. */
class RecordingSink implements StreamSink {
  readonly seen: string[] = []
  /** Values that it takes before it has enough; it takes as many again after `more`. */
  room: number
  source: StreamSource | undefined
  /** Is called with each value. */
  onValue: (value: unknown) => void = () => {}

  constructor(room = Number.POSITIVE_INFINITY) {
    this.room = room
  }

  /** Begins to take a stream. */
  take(stream: unknown): this {
    this.source = consume(stream as object, this)
    this.source.resume()
    return this
  }

  /** Takes so many more. */
  more(count: number): void {
    this.room += count
    this.source?.resume()
  }

  next(value: unknown): boolean {
    this.seen.push(String(value))
    this.room--
    this.onValue(value)
    return this.room > 0
  }

  complete(): void {
    this.seen.push('complete')
  }

  error(error: unknown): void {
    this.seen.push(`error ${textOf(error)}`)
  }

  teardownFailed(error: unknown): void {
    this.seen.push(`teardown ${textOf(error)}`)
  }
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

function* numbers(to: number, ended: () => void = () => {}): Generator<number> {
  try {
    for (let n = 1; n <= to; n++) yield n
  } finally {
    ended()
  }
}

async function* laterNumbers(to: number, ended: () => unknown = () => {}): AsyncGenerator<number> {
  try {
    for (let n = 1; n <= to; n++) yield n
  } finally {
    await ended()
  }
}

/** A thenable: a target with a `then` of its own. */
function withThen(target: object, then: unknown): object {
  Reflect.set(target, 'then', then)
  return target
}

/** A stream of this library's own kind: it is given the sink itself. */
function feedOf(begin: (sink: StreamSink) => StreamSource): object {
  return { [FEED]: begin }
}

/** An observable of some other library, of which nothing is known but this. */
function foreign(
  subscribe: (observer: Required<Pick<StreamSink, 'next' | 'complete' | 'error'>>) => unknown
) {
  return { '@@observable': true, subscribe }
}

describe('a stream', () => {
  it('is an Observable, an async iterable or an iterator, and no other thing that can be iterated', () => {
    const streams = [
      of(1),
      foreign(() => undefined),
      numbers(1),
      laterNumbers(1),
      [1].values(),
      feedOf(() => assert.fail())
    ]
    for (const stream of streams) assert.ok(isStream(stream) && isStreamOfValues(stream))
    const values = [[1], new Map(), new Set(), 'text', { subscribe() {} }, { next() {} }, null, undefined, 7]
    for (const value of values) assert.ok(!isStreamOfValues(value))
  })
})

describe('consume', () => {
  const kinds: [kind: string, stream: () => object][] = [
    ['an Observable', () => from([1, 2, 3])],
    ['a generator', () => numbers(3)],
    ['an iterator', () => [1, 2, 3].values()],
    ['an async generator', () => laterNumbers(3)],
    ['an async iterable', () => ({ [Symbol.asyncIterator]: () => laterNumbers(3) })]
  ]
  for (const [kind, stream] of kinds) {
    it(`gives all values of ${kind}, in order, and then its end, once`, async () => {
      const sink = new RecordingSink().take(stream())
      await turn()
      sink.source?.resume()
      sink.source?.cancel()
      await turn()
      assert.deepEqual(sink.seen, ['1', '2', '3', 'complete'])
    })
  }

  for (const [kind, stream] of kinds.slice(1)) {
    it(`pulls ${kind} only while its sink takes values`, async () => {
      const sink = new RecordingSink(1)
      sink.source = consume(stream(), sink)
      await turn()
      assert.deepEqual(sink.seen, [])
      sink.source.resume()
      await turn()
      assert.deepEqual(sink.seen, ['1'])
      sink.more(1)
      await turn()
      assert.deepEqual(sink.seen, ['1', '2'])
      sink.more(9)
      await turn()
      assert.deepEqual(sink.seen, ['1', '2', '3', 'complete'])
    })
  }

  it('takes the values of an iterator that is not asynchronous without waiting', () => {
    assert.deepEqual(new RecordingSink().take(numbers(3)).seen, ['1', '2', '3', 'complete'])
  })

  it('goes on with an iterator whose sink asks for more while it takes a value', async () => {
    for (const stream of [numbers(3), laterNumbers(3)]) {
      const sink = new RecordingSink(0)
      sink.onValue = () => sink.source?.resume()
      sink.take(stream)
      await turn()
      assert.deepEqual(sink.seen, ['1', '2', '3', 'complete'])
    }
  })

  it('gives a stream of this library the sink itself: it can be slowed, and asked for more', async () => {
    const asked: (string | number)[] = []
    const stream = feedOf((sink) => {
      let [n, isPaused] = [0, true]
      return {
        resume() {
          asked.push('resume')
          isPaused = false
          while (!isPaused && n < 3) isPaused = !sink.next(++n)
          if (n === 3) sink.complete()
        },
        request: (count) => void asked.push(count),
        cancel: () => void asked.push('cancel')
      }
    })
    const sink = new RecordingSink(2).take(stream)
    assert.deepEqual(sink.seen, ['1', '2'])
    sink.source?.request?.(7)
    sink.more(2)
    assert.deepEqual(sink.seen, ['1', '2', '3', 'complete'])
    assert.deepEqual(asked, ['resume', 7, 'resume'])
  })

  describe('fails a stream, and nothing else', () => {
    const no = (): never => {
      throw new Error('no')
    }
    const failing: [what: string, stream: () => object, before?: string[]][] = [
      ['an Observable that fails', () => throwError(() => new Error('no'))],
      ['a subscription that throws', () => foreign(no)],
      [
        'a subscription that throws after a value',
        () =>
          foreign((observer) => {
            observer.next(1)
            no()
          }),
        ['1']
      ],
      ['a generator that throws', () => ({ [Symbol.iterator]: no, next() {} })],
      [
        'a generator that throws after a value',
        function* () {
          yield 1
          no()
        },
        ['1']
      ],
      [
        'an async generator that throws after a value',
        async function* () {
          yield 1
          no()
        },
        ['1']
      ],
      ['an async iterable that cannot be begun', () => ({ [Symbol.asyncIterator]: no })],
      [
        'a Proxy that was revoked',
        () => {
          const { proxy, revoke } = Proxy.revocable({}, {})
          revoke()
          return proxy
        }
      ]
    ]
    for (const [what, stream, before = []] of failing) {
      it(what, async () => {
        const sink = new RecordingSink().take(stream())
        await turn()
        sink.source?.resume()
        sink.source?.cancel()
        await turn()
        assert.deepEqual(sink.seen.slice(0, -1), before)
        assert.match(sink.seen.at(-1) ?? '', what.includes('revoked') ? /^error .*[Pp]roxy/ : /^error no$/)
      })
    }

    it('an Observable that goes on after its end, or throws then', () => {
      const sink = new RecordingSink().take(
        foreign((observer) => {
          observer.next(1)
          observer.complete()
          observer.next(2)
          observer.error(new Error('late'))
          observer.complete()
          throw new Error('later')
        })
      )
      assert.deepEqual(sink.seen, ['1', 'complete'])
    })
  })

  describe('that is cancelled', () => {
    it('lets an Observable go, and hears no more of it', () => {
      const subject = new Subject<number>()
      const sink = new RecordingSink().take(subject)
      subject.next(1)
      sink.source?.cancel()
      assert.equal(subject.observed, false)
      subject.next(2)
      subject.complete()
      assert.deepEqual(sink.seen, ['1'])
    })

    it('lets iterators clean up, once', async () => {
      for (const stream of [numbers, laterNumbers]) {
        let ended = 0
        const sink = new RecordingSink(1).take(stream(9, () => ended++))
        await turn()
        sink.source?.cancel()
        sink.source?.cancel()
        sink.source?.resume()
        await turn()
        assert.deepEqual([sink.seen, ended], [['1'], 1])
      }
    })

    it('needs no iterator that can clean up', async () => {
      for (const stream of [
        { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: 1 }) }) },
        { [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 1 }) }), next() {} }
      ]) {
        const sink = new RecordingSink(1).take(stream)
        await turn()
        sink.source?.cancel()
        assert.deepEqual(sink.seen, ['1'])
      }
    })

    it('ends while a value is on its way to the sink, in the middle of it', async () => {
      for (const stream of [numbers, laterNumbers]) {
        let ended = 0
        const sink = new RecordingSink()
        sink.onValue = (value) => {
          if (value === 2) sink.source?.cancel()
        }
        sink.take(stream(9, () => ended++))
        await turn()
        assert.deepEqual([sink.seen, ended], [['1', '2'], 1])
      }
    })

    it('does not end a generator that is running before its step is over, and drops what that gives', () => {
      const log: string[] = []
      const sink = new RecordingSink()
      const stream = (function* () {
        try {
          yield 1
          sink.source?.cancel()
          log.push('goes on')
          yield 2
          assert.fail('nobody asks for it')
        } finally {
          log.push('ended')
        }
      })()
      sink.take(stream)
      assert.deepEqual(sink.seen, ['1'])
      assert.deepEqual(log, ['goes on', 'ended'])
    })

    it('ends a generator that is cancelled by its own step and then throws or returns', () => {
      for (const how of ['throws', 'returns']) {
        const sink = new RecordingSink()
        const stream = (function* () {
          yield 1
          sink.source?.cancel()
          if (how === 'throws') throw new Error('from its step')
        })()
        sink.take(stream)
        assert.deepEqual(sink.seen, how === 'throws' ? ['1', 'teardown from its step'] : ['1'])
      }
    })

    it('drops what an async iterator gives, or how it fails, when its step is over', async () => {
      for (const how of ['gives', 'fails', 'ends']) {
        let step!: () => void
        const waiting = new Promise<void>((resolve) => {
          step = resolve
        })
        const stream = (async function* () {
          await waiting
          if (how === 'fails') throw new Error('late')
          if (how === 'gives') yield 1
        })()
        const sink = new RecordingSink().take(stream)
        await turn()
        sink.source?.cancel()
        step()
        await turn()
        assert.deepEqual(sink.seen, [])
      }
    })
  })

  describe('tells of a clean-up that fails, and throws nothing', () => {
    const no = () => {
      throw new Error('no clean-up')
    }
    const teardowns: [what: string, stream: () => object][] = [
      ['a generator whose return throws', () => numbers(9, no)],
      ['an async generator whose return rejects', () => laterNumbers(9, no)],
      [
        'an iterator whose return throws',
        () => ({ [Symbol.iterator]: () => ({ next: () => ({ value: 1 }), return: no }), next() {} })
      ],
      [
        'an async iterator whose return throws at once',
        () => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 1 }), return: no }) })
      ],
      [
        'an iterator whose return gives a thenable that throws',
        () => ({
          [Symbol.iterator]: () => ({ next: () => ({ value: 1 }), return: () => withThen({}, no) }),
          next() {}
        })
      ],
      [
        'an iterator whose return is no function to be read',
        () => ({
          [Symbol.iterator]: () => ({
            next: () => ({ value: 1 }),
            get return() {
              return no()
            }
          }),
          next() {}
        })
      ],
      [
        'a subscription that cannot be ended',
        () =>
          foreign((observer) => {
            observer.next(1)
            return { unsubscribe: no }
          })
      ],
      [
        'a subscription whose members cannot be read',
        () =>
          foreign((observer) => {
            observer.next(1)
            return {
              get unsubscribe() {
                return no()
              }
            }
          })
      ]
    ]
    for (const [what, stream] of teardowns) {
      it(what, async () => {
        const sink = new RecordingSink(1).take(stream())
        await turn()
        sink.source?.cancel()
        sink.source?.cancel()
        await turn()
        assert.deepEqual(sink.seen, ['1', 'teardown no clean-up'])
      })
    }

    it('an Observable whose finalize throws, which rxjs makes an UnsubscriptionError', () => {
      const errors: unknown[] = []
      const sink = new RecordingSink()
      sink.teardownFailed = (error) => errors.push(error)
      sink.take(NEVER.pipe(finalize(no)))
      sink.source?.cancel()
      const [error] = errors as [Error & { errors?: Error[] }]
      assert.equal(errors.length, 1)
      assert.equal(error.name, 'UnsubscriptionError')
      assert.deepEqual(
        error.errors?.map(({ message }) => message),
        ['no clean-up']
      )
      sink.source?.cancel()
      assert.equal(errors.length, 1)
    })

    for (const [what, subscription] of [
      ['nothing', undefined],
      ['null', null],
      ['a function', assert.fail],
      ['an object that cannot be ended', {}],
      ['one whose unsubscribe is no function', { unsubscribe: 7 }]
    ] as const) {
      it(`and none of a subscription that is ${what}`, () => {
        const sink = new RecordingSink().take(
          foreign((observer) => {
            observer.next(1)
            return subscription
          })
        )
        sink.source?.cancel()
        assert.deepEqual(sink.seen, ['1'])
      })
    }
  })
})

describe('exhaust', () => {
  it('takes all values and gives the last, if there is one', async () => {
    assert.deepEqual(await exhaust(from([1, 2, 3])), { value: 3 })
    assert.deepEqual(await exhaust(numbers(5_000)), { value: 5_000 })
    assert.deepEqual(await exhaust(laterNumbers(3)), { value: 3 })
    assert.equal(await exhaust(numbers(0)), undefined)
    await assert.rejects(exhaust(throwError(() => new Error('no'))), /^Error: no$/)
  })

  it('lets other work have its turn', async () => {
    let turns = 0
    const ticking = setInterval(() => turns++, 0)
    await exhaust(numbers(100_000))
    clearInterval(ticking)
    assert.ok(turns > 0)
  })
})

describe('tap', () => {
  /** Watches, and writes down what it is told. */
  function watching(more: Partial<ResultWatcher> = {}) {
    const seen: string[] = []
    const watcher: ResultWatcher = {
      pending: () => void seen.push('pending'),
      settled: () => void seen.push('settled'),
      streaming: () => void seen.push('streaming'),
      value: (value) => void seen.push(`value ${String(value)}`),
      ended: (end: ResultEnd) =>
        void seen.push(end.outcome === 'failed' ? `failed ${textOf(end.error)}` : end.outcome),
      ...more
    }
    return { seen, watcher }
  }

  it('gives back a value as it is: it has passed and ended', () => {
    const object = { a: 1 }
    for (const value of [5, 'text', null, undefined, object, [1, 2]]) {
      const { seen, watcher } = watching()
      assert.equal(tap(value, watcher), value)
      assert.deepEqual(seen, [`value ${String(value)}`, 'completed'])
    }
  })

  it('of a promise hears that it is pending, that it has settled, and how', async () => {
    const good = watching()
    const result = tap(Promise.resolve(1), good.watcher)
    assert.deepEqual(good.seen, ['pending'])
    assert.equal(await result, 1)
    assert.deepEqual(good.seen, ['pending', 'settled', 'value 1', 'completed'])
    const bad = watching()
    await assert.rejects(tap(Promise.reject(new Error('no')), bad.watcher) as Promise<unknown>, /^Error: no$/)
    assert.deepEqual(bad.seen, ['pending', 'settled', 'failed no'])
  })

  it('of a promise of the user hears once, however often that calls back', async () => {
    const then = (fulfilled: (value: unknown) => void, rejected: (error: unknown) => void) => {
      fulfilled(1)
      rejected(new Error('as well'))
      fulfilled(2)
    }
    for (const target of [{}, Promise.resolve(1)]) {
      const thenable = withThen(target, then)
      const { seen, watcher } = watching()
      assert.equal(await new Promise((resolve) => resolve(tap(thenable, watcher))), 1)
      await turn()
      assert.deepEqual(seen, ['pending', 'settled', 'value 1', 'completed'])
    }
  })

  it('of a stream hears nothing until somebody takes its values', async () => {
    for (const [stream, isPromise] of [
      [numbers(2), false],
      [from([1, 2]), false],
      [Promise.resolve(laterNumbers(2)), true]
    ] as const) {
      const { seen, watcher } = watching()
      const result = await tap(stream, watcher)
      const before = isPromise ? ['pending', 'settled'] : []
      assert.deepEqual(seen, before)
      assert.ok(isStreamOfValues(result))
      const sink = new RecordingSink().take(result)
      await turn()
      assert.deepEqual(sink.seen, ['1', '2', 'complete'])
      assert.deepEqual(seen, [...before, 'streaming', 'value 1', 'value 2', 'completed'])
    }
  })

  it('of a stream that fails hears the error, and of one that is given up that it is', async () => {
    const failing = watching()
    const failed = new RecordingSink().take(
      tap(
        throwError(() => new Error('no')),
        failing.watcher
      )
    )
    assert.deepEqual(failed.seen, ['error no'])
    assert.deepEqual(failing.seen, ['streaming', 'failed no'])
    const left = watching()
    let ended = 0
    const sink = new RecordingSink(1).take(
      tap(
        numbers(9, () => ended++),
        left.watcher
      )
    )
    sink.source?.cancel()
    sink.source?.cancel()
    assert.deepEqual(left.seen, ['streaming', 'value 1', 'canceled'])
    assert.deepEqual([sink.seen, ended], [['1'], 1])
  })

  it('hears one end: that of a stream which is given up when it is over, too', () => {
    const { seen, watcher } = watching()
    const sink = new RecordingSink().take(tap(of(1), watcher))
    sink.source?.cancel()
    assert.deepEqual(seen, ['streaming', 'value 1', 'completed'])
  })

  it('leaves the pace to whoever takes the stream, and its clean-up is told to it', () => {
    const { seen, watcher } = watching()
    const stream = numbers(3, () => {
      throw new Error('no clean-up')
    })
    const sink = new RecordingSink(1).take(tap(stream, watcher))
    assert.deepEqual(seen, ['streaming', 'value 1'])
    sink.more(1)
    assert.deepEqual(seen, ['streaming', 'value 1', 'value 2'])
    sink.source?.cancel()
    assert.deepEqual(sink.seen, ['1', '2', 'teardown no clean-up'])
    assert.equal(seen.at(-1), 'canceled')
  })

  it('passes on how many values are asked for', () => {
    const asked: number[] = []
    const stream = feedOf(() => ({ resume() {}, cancel() {}, request: (n) => void asked.push(n) }))
    const sink = new RecordingSink().take(tap(stream, watching().watcher))
    sink.source?.request?.(3)
    assert.deepEqual(asked, [3])
    // One that cannot be asked is not.
    new RecordingSink().take(tap(numbers(1), watching().watcher)).source?.request?.(3)
  })

  it('puts another error in the place of the one that came', async () => {
    const change = { error: (error: unknown) => new Error(`not ${textOf(error)}`) }
    const stream = watching(change)
    const sink = new RecordingSink().take(
      tap(
        throwError(() => new Error('this')),
        stream.watcher
      )
    )
    assert.deepEqual([sink.seen, stream.seen], [['error not this'], ['streaming', 'failed this']])
    const promise = watching(change)
    await assert.rejects(
      tap(Promise.reject(new Error('this')), promise.watcher) as Promise<unknown>,
      /not this/
    )
    assert.deepEqual(promise.seen, ['pending', 'settled', 'failed this'])
  })

  it('runs the code of the stream where it is told to', async () => {
    let depth = 0
    const run = <Result>(work: () => Result): Result => {
      depth++
      try {
        return work()
      } finally {
        depth--
      }
    }
    const depths: string[] = []
    const look = (what: string) => depths.push(`${what} ${depth}`)
    const observable = new Observable((subscriber) => {
      look('subscribe')
      subscriber.next(1)
      return () => look('unsubscribe')
    })
    new RecordingSink().take(tap(observable, watching({ run }).watcher)).source?.cancel()
    const stream = (function* () {
      try {
        look('first step')
        yield 1
        look('second step')
        yield 2
      } finally {
        look('return')
      }
    })()
    const sink = new RecordingSink(1).take(tap(stream, watching({ run }).watcher))
    sink.more(1)
    sink.source?.cancel()
    assert.deepEqual(depths, ['subscribe 1', 'unsubscribe 1', 'first step 1', 'second step 1', 'return 1'])
    assert.equal(depth, 0)
  })

  it('throws what a result throws that cannot be read: it is the failure of its handler', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const { seen, watcher } = watching()
    assert.throws(() => tap(proxy, watcher), TypeError)
    assert.deepEqual(seen, [])
  })
})
