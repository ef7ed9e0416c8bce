/**
 * Tests the answer to a request: values are sent as they are requested, held up to a limit, and followed by one end.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { from, map, NEVER, Observable, of, range, Subject } from 'rxjs'
import { answerWith } from './answer.ts'
import { OutgoingValues, UNLIMITED } from './outgoing-values.ts'

/** Records the sent values as texts; a value that is a symbol cannot be encoded. */
class Recorded extends OutgoingValues {
  readonly sent: string[] = []
  /** The reasons for which the request ended; a second end would be recorded, too. */
  readonly ends: string[] = []
  isBlocked = false
  protected readonly maxHeldSize: number

  constructor(demand: number, isSingle = false, maxHeldSize = 100, window?: number) {
    super(demand, isSingle, window)
    this.maxHeldSize = maxHeldSize
  }

  protected send(value: unknown, isLast: boolean): void {
    const text = encode(value)
    this.sent.push(`${text}${isLast ? ' last' : ''}`)
    this.hasSent(text.length)
  }

  protected encode(value: unknown): string {
    return encode(value)
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.sent.push(Buffer.from(bytes).toString())
  }

  protected sendEnd(): void {
    this.sent.push('end')
  }

  protected sendError(error: unknown): void {
    const { code, message } = error as { code?: string; message: string }
    this.sent.push(`error ${code ?? message}`)
  }

  protected sendUnencodable(error: unknown): void {
    this.sent.push(`unencodable ${(error as Error).message}`)
  }

  protected hasRoom(): boolean {
    return !this.isBlocked
  }

  teardownFailed(error: unknown): void {
    this.sent.push(`teardown ${(error as Error).message}`)
  }

  protected over(isAborted: boolean): void {
    this.ends.push(isAborted ? 'aborted' : 'answered')
  }
}

function encode(value: unknown): string {
  if (typeof value === 'symbol') throw new Error('a symbol')
  return String(value)
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

function* naturals(left: () => void = () => {}): Generator<number> {
  try {
    for (let n = 1; ; n++) yield n
  } finally {
    left()
  }
}

async function* laterNaturals(left: () => void = () => {}): AsyncGenerator<number> {
  yield* naturals(left)
}

function* upTo(last: number): Generator<number> {
  for (let n = 1; n <= last; n++) yield n
}

describe('values that are asked for', () => {
  for (const [kind, stream] of [
    ['a generator', naturals],
    ['an async generator', laterNaturals]
  ] as const) {
    it(`are made by ${kind} as they are`, async () => {
      const answer = new Recorded(2)
      answer.stream(stream())
      await turn()
      assert.deepEqual(answer.sent, ['1', '2'])
      answer.requestN(1)
      answer.requestN(2)
      await turn()
      assert.deepEqual(answer.sent, ['1', '2', '3', '4', '5'])
      assert.deepEqual(answer.ends, [])
      answer.abort()
    })
  }

  it('are none at all where none is asked for', async () => {
    let begun = 0
    const answer = new Recorded(0)
    answer.stream(
      (function* () {
        yield ++begun
      })()
    )
    await turn()
    assert.deepEqual([answer.sent, begun], [[], 0])
    answer.requestN(9)
    assert.deepEqual(answer.sent, ['1', 'end'])
  })

  it('add up to no limit, which is not counted', async () => {
    const answer = new Recorded(1)
    answer.requestN(UNLIMITED)
    answer.requestN(UNLIMITED)
    answer.stream(upTo(10_000))
    while (answer.ends.length === 0) await turn()
    assert.equal(answer.sent.length, 10_001)
    assert.deepEqual([answer.sent.at(-1), answer.ends], ['end', ['answered']])
  })

  it('end without being asked for more, where the stream knows its end', async () => {
    const subject = new Subject<number>()
    const answer = new Recorded(1)
    answer.stream(subject)
    subject.next(1)
    subject.complete()
    assert.deepEqual([answer.sent, answer.ends], [['1', 'end'], ['answered']])
    answer.requestN(5)
    assert.deepEqual(answer.sent, ['1', 'end'])
  })

  it('wait while the connection takes no more, and go on when it does', () => {
    const answer = new Recorded(UNLIMITED)
    answer.isBlocked = true
    answer.stream(upTo(3))
    answer.requestN(1)
    answer.resume()
    assert.deepEqual(answer.sent, [])
    answer.isBlocked = false
    answer.resume()
    assert.deepEqual(answer.sent, ['1', '2', '3', 'end'])
  })

  it('are one and the last, if only one is wanted', async () => {
    let left = 0
    for (const stream of [naturals(() => left++), laterNaturals(() => left++), from([1, 2]), of(1)]) {
      const answer = new Recorded(0, true)
      answer.stream(stream)
      await turn()
      assert.deepEqual([answer.sent, answer.ends], [['1 last'], ['answered']])
      assert.ok(answer.isDone)
    }
    assert.equal(left, 2)
    const none = new Recorded(0, true)
    none.stream(upTo(0))
    assert.deepEqual([none.sent, none.ends], [['end'], ['answered']])
  })

  it('never are more than were asked for, and lose nothing, from every kind of source [property]', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('ask' as const), count: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ do: fc.constant('emit' as const), count: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ do: fc.constant('block' as const), count: fc.constant(0) }),
      fc.record({ do: fc.constant('turn' as const), count: fc.constant(0) })
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('observable', 'generator', 'async generator'),
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 40, size: 'max' }),
        async (kind, first, steps) => {
          const answer = new Recorded(first, false, 10_000)
          const subject = new Subject<number>()
          answer.stream(kind === 'observable' ? subject : kind === 'generator' ? naturals() : laterNaturals())
          let [credits, emitted] = [first, 0]
          const check = () => {
            assert.ok(answer.sent.length <= credits)
            for (const [index, text] of answer.sent.entries()) assert.equal(text, String(index + 1))
          }
          for (const given of steps) {
            if (given.do === 'ask') {
              credits += given.count
              answer.requestN(given.count)
            } else if (given.do === 'emit') {
              for (let n = 0; n < given.count; n++) subject.next(++emitted)
            } else if (given.do === 'block') {
              answer.isBlocked = !answer.isBlocked
              answer.resume()
            } else await turn()
            check()
          }
          answer.isBlocked = false
          answer.resume()
          await turn()
          check()
          assert.equal(answer.sent.length, kind === 'observable' ? Math.min(credits, emitted) : credits)
          answer.abort()
          assert.deepEqual(answer.ends, ['aborted'])
        }
      ),
      { numRuns: runs(200) }
    )
  })
})

describe('values of an Observable that nobody has asked for', () => {
  it('wait, in their order, and the end waits behind them', () => {
    const answer = new Recorded(1)
    answer.stream(from([1, 2, 3, 4]))
    assert.deepEqual(answer.sent, ['1'])
    answer.requestN(2)
    assert.deepEqual(answer.sent, ['1', '2', '3'])
    assert.deepEqual(answer.ends, [])
    answer.requestN(1)
    assert.deepEqual([answer.sent, answer.ends], [['1', '2', '3', '4', 'end'], ['answered']])
  })

  it('are not overtaken by later ones', () => {
    const subject = new Subject<number>()
    const answer = new Recorded(1)
    answer.stream(subject)
    for (const n of [1, 2, 3]) subject.next(n)
    answer.requestN(1)
    subject.next(4)
    answer.requestN(9)
    subject.next(5)
    assert.deepEqual(answer.sent, ['1', '2', '3', '4', '5'])
  })

  it('wait while the connection has no room, and are sent in order as soon as it has', () => {
    const subject = new Subject<number>()
    const answer = new Recorded(UNLIMITED)
    answer.stream(subject)
    answer.isBlocked = true
    for (const n of [1, 2, 3]) subject.next(n)
    // The answer learns with its first value that there is no room.
    assert.deepEqual(answer.sent, ['1'])
    answer.resume()
    assert.deepEqual(answer.sent, ['1'])
    answer.isBlocked = false
    answer.resume()
    subject.next(4)
    subject.complete()
    assert.deepEqual(answer.sent, ['1', '2', '3', '4', 'end'])
  })

  it('end with their connection, which never has room again, also if they come without a pause', () => {
    let made = 0
    const answer = new Recorded(UNLIMITED)
    answer.isBlocked = true
    answer.stream(range(0, 10_000).pipe(map((n) => [made++, n])))
    assert.deepEqual([answer.sent.at(-1), answer.ends], ['error STREAM_OVERFLOW', ['answered']])
    assert.ok(made < 100, `${made} values`)
  })

  it('are bounded by their bytes: beyond, the stream fails and its source is let go', () => {
    const subject = new Subject<string>()
    const answer = new Recorded(1, false, 10)
    answer.stream(subject)
    for (const text of ['sent', '12345', '67890']) subject.next(text)
    assert.deepEqual(answer.ends, [])
    assert.equal(subject.observed, true)
    subject.next('!')
    assert.deepEqual([answer.sent, answer.ends], [['sent', 'error STREAM_OVERFLOW'], ['answered']])
    assert.equal(subject.observed, false)
    answer.requestN(9)
    assert.equal(answer.sent.length, 2)
  })

  it('take their bytes with them when they leave', () => {
    const subject = new Subject<string>()
    const answer = new Recorded(0, false, 10)
    answer.stream(subject)
    for (let n = 0; n < 100; n++) {
      for (const text of ['12345', '67890']) subject.next(text)
      answer.requestN(2)
    }
    assert.equal(answer.sent.length, 200)
    assert.deepEqual(answer.ends, [])
  })

  it('say what is too much, by how much, and which limit it is', () => {
    const errors: Error[] = []
    class Told extends Recorded {
      protected override sendError(error: unknown): void {
        errors.push(error as Error)
      }
    }
    new Told(0, false, 3).stream(from(['12', '34']))
    assert.deepEqual(
      errors.map(({ name, message }) => [name, message]),
      [
        [
          'RpcError',
          'The stream is 4 bytes ahead of its reader, more than limits.sendBuffer allows (3); an Observable cannot be slowed, a generator can'
        ]
      ]
    )
  })

  it('are forgotten when the stream fails: its error is told at once', () => {
    const subject = new Subject<number>()
    const answer = new Recorded(1)
    answer.stream(subject)
    for (const n of [1, 2, 3]) subject.next(n)
    subject.error(new Error('no'))
    assert.deepEqual([answer.sent, answer.ends], [['1', 'error no'], ['answered']])
    answer.requestN(5)
    assert.equal(answer.sent.length, 2)
  })

  it('that cannot be encoded end the stream, whether they would be sent or would wait', () => {
    for (const demand of [5, 0]) {
      const subject = new Subject<unknown>()
      const answer = new Recorded(demand)
      answer.stream(subject)
      subject.next(Symbol('s'))
      assert.deepEqual([answer.sent, answer.ends], [['unencodable a symbol'], ['answered']])
      assert.equal(subject.observed, false)
    }
    const atOnce = new Recorded(5)
    let left = 0
    atOnce.stream(
      new Observable((subscriber) => {
        subscriber.next(Symbol('s'))
        subscriber.next(2)
        return () => left++
      })
    )
    assert.deepEqual([atOnce.sent, atOnce.ends, left], [['unencodable a symbol'], ['answered'], 1])
  })
})

describe('one value', () => {
  it('that is undefined is none, as in Nest, unless one value is all that is wanted', () => {
    for (const demand of [0, 1]) {
      const answer = new Recorded(demand)
      answer.value(undefined)
      assert.deepEqual([answer.sent, answer.ends], [['end'], ['answered']])
    }
    const single = new Recorded(1, true)
    single.value(undefined)
    assert.deepEqual(single.sent, ['undefined last'])
  })

  it('is the last', () => {
    const answer = new Recorded(1)
    answer.value(7)
    assert.deepEqual([answer.sent, answer.ends], [['7 last'], ['answered']])
  })

  it('waits for demand like any other, and ends the stream then', () => {
    const answer = new Recorded(0)
    answer.value(7)
    assert.deepEqual([answer.sent, answer.ends], [[], []])
    answer.requestN(1)
    assert.deepEqual([answer.sent, answer.ends], [['7', 'end'], ['answered']])
  })

  it('that cannot be encoded is an error', () => {
    for (const [demand, isSingle] of [
      [0, true],
      [1, false],
      [0, false]
    ] as const) {
      const answer = new Recorded(demand, isSingle)
      answer.value(Symbol('s'))
      assert.deepEqual([answer.sent, answer.ends], [['unencodable a symbol'], ['answered']])
    }
  })

  it('is answered once, whatever else comes', () => {
    const answer = new Recorded(5)
    answerWith(7, answer)
    answer.value(8)
    answer.error(new Error('late'))
    answer.complete()
    assert.equal(answer.next(9), undefined)
    answer.stream(of(10))
    answer.abort()
    answer.requestN(5)
    answer.resume()
    assert.deepEqual([answer.sent, answer.ends], [['7 last'], ['answered']])
  })
})

describe('an answer that is given up', () => {
  it('ends its source, says nothing, and drops what still comes', async () => {
    for (const stream of [naturals, laterNaturals]) {
      let left = 0
      const answer = new Recorded(2)
      answer.stream(stream(() => left++))
      await turn()
      answer.abort()
      answer.abort()
      answer.requestN(5)
      await turn()
      assert.deepEqual([answer.sent, answer.ends, left], [['1', '2'], ['aborted'], 1])
    }
    const subject = new Subject<number>()
    const answer = new Recorded(1)
    answer.stream(subject)
    answer.abort()
    assert.equal(subject.observed, false)
  })

  it('says why, if there is somebody to tell', () => {
    const answer = new Recorded(1)
    answer.stream(NEVER)
    answer.abort(() => answer.sent.push('stopped'))
    answer.abort(() => assert.fail('it is over'))
    assert.deepEqual([answer.sent, answer.ends], [['stopped'], ['aborted']])
  })

  it('before its promise has settled takes no answer, and begins no stream', async () => {
    for (const result of [7, of(1), Symbol('s')]) {
      const answer = new Recorded(5)
      answerWith(Promise.resolve(result), answer)
      answer.abort()
      await turn()
      assert.deepEqual([answer.sent, answer.ends], [[], ['aborted']])
    }
    let begun = 0
    const answer = new Recorded(5)
    answerWith(Promise.resolve(new Observable(() => void begun++)), answer)
    answer.abort()
    await turn()
    assert.equal(begun, 0)
  })

  it('while it takes a value takes no other', () => {
    let left = 0
    class Leaving extends Recorded {
      protected override send(value: unknown, isLast: boolean): void {
        super.send(value, isLast)
        if (value === 2) this.abort()
      }
    }
    const answer = new Leaving(UNLIMITED)
    answer.stream(naturals(() => left++))
    assert.deepEqual([answer.sent, answer.ends, left], [['1', '2'], ['aborted'], 1])
  })

  it('while held values leave sends no more of them', () => {
    class Leaving extends Recorded {
      protected override sendHeld(bytes: Uint8Array): void {
        super.sendHeld(bytes)
        this.abort()
      }
    }
    const answer = new Leaving(0)
    answer.stream(from([1, 2, 3]))
    answer.requestN(9)
    assert.deepEqual([answer.sent, answer.ends], [['1'], ['aborted']])
  })

  it('tells of a clean-up that fails', async () => {
    const no = () => {
      throw new Error('no clean-up')
    }
    for (const stream of [naturals(no), laterNaturals(no)]) {
      const answer = new Recorded(1)
      answer.stream(stream)
      await turn()
      answer.abort()
      await turn()
      assert.deepEqual([answer.sent, answer.ends], [['1', 'teardown no clean-up'], ['aborted']])
    }
  })
})

describe('values ahead of their reader, in bytes', () => {
  const open = (stream: object) => {
    const recorded = new Recorded(100, false, 100, 10)
    recorded.stream(stream)
    return recorded
  }

  for (const [what, source] of [
    ['a generator', () => ['aaaaaa', 'bbbbbb', 'cccccc', 'd'].values()],
    ['an Observable, which is held', () => of('aaaaaa', 'bbbbbb', 'cccccc', 'd')]
  ] as const)
    it(`of ${what}, wait until the reader asks again, although it has asked for many`, () => {
      const recorded = open(source())
      assert.deepEqual(recorded.sent, ['aaaaaa', 'bbbbbb'])
      recorded.requestN(1)
      assert.deepEqual(recorded.sent, ['aaaaaa', 'bbbbbb', 'cccccc', 'd', 'end'])
    })

  it('of an Observable, are no more than may be held', () => {
    const recorded = open(from(Array.from({ length: 30 }, () => 'aaaaaa')))
    assert.deepEqual(recorded.sent, ['aaaaaa', 'aaaaaa', 'error STREAM_OVERFLOW'])
  })
})
