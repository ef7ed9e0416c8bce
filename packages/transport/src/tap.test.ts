/** Tests of `tap`: when a watcher is called, and what happens if it throws. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { finalize, from, interval, Observable, of, throwError } from 'rxjs'
import { isStreamOfValues } from './stream.ts'
import { type ResultEnd, type ResultWatcher, tap } from './tap.ts'
import { feedOf, laterNumbers, numbers, RecordingSink, textOf, turn, withThen } from './testing/streams.ts'

describe('tap', () => {
  /** Makes a watcher that records its calls. */
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

  it('of a promise of a stream that comes when its reader has left hears that it is given up', async () => {
    const { seen, watcher } = watching({ isLeft: () => true })
    const stream = numbers(3)
    assert.equal(await tap(Promise.resolve(stream), watcher), stream)
    assert.deepEqual(seen, ['pending', 'settled', 'canceled'])
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

  it('leaves the pace to the reader of the stream, and hears of its clean-up', () => {
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
    // A stream without `request` ignores the call.
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

  describe('fails a stream whose watcher throws, and lets it clean up', () => {
    const fails = () => {
      throw new Error('watcher')
    }
    const streams: [kind: string, stream: (ended: () => void) => object][] = [
      ['an Observable', (ended) => from([1, 2]).pipe(finalize(ended))],
      ['an Observable that goes on', (ended) => interval(0).pipe(finalize(ended))],
      ['a generator', (ended) => numbers(2, ended)],
      ['an async generator', (ended) => laterNumbers(2, ended)]
    ]
    for (const [kind, stream] of streams) {
      it(`which is ${kind}, at a value`, async () => {
        let ended = 0
        const { seen, watcher } = watching({ value: fails })
        const sink = new RecordingSink().take(
          tap(
            stream(() => ended++),
            watcher
          )
        )
        while (sink.seen.length === 0 || ended === 0) await turn()
        assert.deepEqual([sink.seen, ended], [['error watcher'], 1])
        assert.deepEqual(seen, ['streaming', 'failed watcher'])
      })

      if (kind === 'an Observable') continue // It has ended before it can be cancelled.
      it(`which is ${kind}, when it is given up`, async () => {
        let ended = 0
        const sink = new RecordingSink(1).take(
          tap(
            stream(() => ended++),
            { ended: fails }
          )
        )
        while (sink.seen.length === 0) await turn()
        sink.source?.cancel()
        while (ended === 0) await turn()
        assert.deepEqual([sink.seen.at(-1), ended], ['teardown watcher', 1])
      })
    }

    it('at its end', async () => {
      for (const stream of [of(1), numbers(1), laterNumbers(1)]) {
        const sink = new RecordingSink().take(tap(stream, { ended: fails }))
        while (sink.seen.length < 2) await turn()
        assert.deepEqual(sink.seen, ['1', 'error watcher'])
      }
      const failed = throwError(() => new Error('no'))
      for (const watcher of [{ ended: fails }, { ended: () => {}, error: fails }])
        assert.deepEqual(new RecordingSink().take(tap(failed, watcher)).seen, ['error watcher'])
    })

    it('at its begin, and where it runs', () => {
      for (const hook of [{ streaming: fails }, { run: fails }]) {
        const sink = new RecordingSink().take(tap(numbers(2), watching(hook).watcher))
        assert.deepEqual(sink.seen, ['error watcher'])
        sink.source?.cancel()
      }
    })

    it('and does so once, however often the watcher throws', () => {
      let ended = 0
      const { watcher } = watching({ value: fails, ended: fails, error: fails })
      const sink = new RecordingSink().take(
        tap(
          numbers(2, () => ended++),
          watcher
        )
      )
      sink.source?.cancel()
      assert.deepEqual([sink.seen, ended], [['teardown watcher', 'error watcher'], 1])
    })
  })
})
