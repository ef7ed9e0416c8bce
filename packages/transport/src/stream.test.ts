/** Tests streams of every kind with one sink: order, demand, cancelling, and code of the user that misbehaves. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { finalize, from, map, NEVER, of, range, Subject, throwError } from 'rxjs'
import { consume, exhaust, isStream, isStreamOfValues } from './stream.ts'
import { feedOf, foreign, laterNumbers, numbers, RecordingSink, turn, withThen } from './testing/streams.ts'

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

describe('a stream that never waits', () => {
  /** A sink that takes everything, in one of the ways in which a sink can ask for more. */
  class Greedy extends RecordingSink {
    count = 0
    readonly #ask: ((more: () => void) => void) | undefined

    constructor(ask?: (more: () => void) => void) {
      super()
      this.#ask = ask
    }

    override next(): boolean {
      this.count++
      if (this.#ask === undefined) return true
      this.#ask(() => this.source?.resume())
      return false
    }
  }
  const sinks: [how: string, sink: () => Greedy][] = [
    ['always wants the next value', () => new Greedy()],
    ['asks again while it takes a value', () => new Greedy((more) => more())],
    ['asks again in a microtask', () => new Greedy((more) => queueMicrotask(more))]
  ]
  const MANY = 20_000
  const streams: [what: string, stream: () => object][] = [
    ['a generator', () => numbers(MANY)],
    ['an iterator', () => Array.from({ length: MANY }).values()],
    ['an async generator', () => laterNumbers(MANY)],
    ['an async iterable', () => ({ [Symbol.asyncIterator]: () => laterNumbers(MANY) })]
  ]
  for (const [what, stream] of streams) {
    for (const [how, newSink] of sinks) {
      it(`leaves the event loop its turns: ${what} whose sink ${how}`, async () => {
        const sink = newSink()
        const immediate = turn()
        sink.take(stream())
        await immediate
        assert.ok(sink.count < 1_000, `${sink.count} values in one turn`)
        let turns = 1
        for (; !sink.seen.includes('complete'); turns++) await turn()
        assert.ok(sink.count === MANY && turns > 20, `${sink.count} values in ${turns} turns`)
      })
    }

    it(`can be cancelled while it leaves the event loop a turn: ${what}`, async () => {
      const sink = new Greedy()
      sink.take(stream())
      for (let n = 0; n < 3; n++) await turn()
      const { count } = sink
      assert.ok(count > 0 && count < MANY)
      sink.source?.cancel()
      sink.source?.resume()
      for (let n = 0; n < 3; n++) await turn()
      assert.deepEqual([sink.count, sink.seen], [count, []])
    })
  }

  for (const [what, stream] of streams)
    it(`shares its turn with the others, however many there are: ${what}`, async () => {
      const sinks = Array.from({ length: 100 }, () => new Greedy())
      const given = () => sinks.reduce((sum, { count }) => sum + count, 0)
      for (const sink of sinks) sink.take(stream())
      await turn()
      for (let before = given(), n = 0; n < 300; n++) {
        await turn()
        assert.ok(given() - before < 1_000, `${given() - before} values in one turn`)
        before = given()
      }
      // Each has gone on, and none has waited longer than the others.
      const counts = sinks.map(({ count }) => count)
      assert.ok(Math.min(...counts) > 256 && Math.max(...counts) - Math.min(...counts) <= 512, String(counts))
      for (const { source } of sinks) source?.cancel()
    })

  it('is ended in the middle of its subscription, if it is an Observable whose sink has ended', () => {
    let made = 0
    const counted = range(0, MANY).pipe(map((n) => [made++, n]))
    let count = 0
    const sink = { complete: assert.fail, error: assert.fail, teardownFailed: assert.fail }
    consume(counted, { ...sink, next: () => (++count < 3 ? false : undefined) })
    assert.deepEqual([count, made], [3, 3])
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
