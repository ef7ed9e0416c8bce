import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { consume } from '@elysia-microservices/transport/kit'
import { concat, from, map, NEVER, type Observable, of, range, Subject, throwError } from 'rxjs'
import { mapStream } from './mapped-stream.ts'

/** The values of a stream, followed by `'end'` or its error. */
function drained(stream: object): Promise<unknown[]> {
  const seen: unknown[] = []
  return new Promise((resolve) => {
    const source = consume(stream, {
      next: (value) => seen.push(value) > 0,
      complete: () => resolve([...seen, 'end']),
      error: (error) => resolve([...seen, error]),
      teardownFailed: (error) => assert.fail(String(error))
    })
    source.resume()
  })
}

async function* generator(values: readonly unknown[], failure?: Error) {
  yield* values
  if (failure !== undefined) throw failure
}

const failure = new Error('no')
const double = (value: unknown) => {
  if (value === 0) throw failure
  return (value as number) * 2
}
const doubleLater = async (value: unknown) => double(value)

describe('mapStream', () => {
  const kinds: Record<string, (values: readonly unknown[], end?: Error) => object> = {
    'an async generator': generator,
    'a generator': function* (values, end) {
      yield* values
      if (end !== undefined) throw end
    },
    'an Observable': (values, end) =>
      end
        ? concat(
            from(values),
            throwError(() => end)
          )
        : from(values)
  }
  for (const [kind, make] of Object.entries(kinds)) {
    for (const [how, onValue] of [
      ['at once', double],
      ['later', doubleLater]
    ] as const) {
      it(`changes the values of ${kind} ${how}, in order`, async () => {
        assert.deepEqual(await drained(mapStream(make([1, 2, 3]), onValue)), [2, 4, 6, 'end'])
      })

      it(`ends ${kind} with what is thrown for a value ${how}`, async () => {
        assert.deepEqual(await drained(mapStream(make([1, 0, 3]), onValue)), [2, failure])
      })
    }

    it(`passes the failure of ${kind} on`, async () => {
      assert.deepEqual(await drained(mapStream(make([1], failure), double)), [2, failure])
    })

    it(`gives another value, another error or the end for the failure of ${kind}`, async () => {
      const other = new Error('other')
      for (const [onFailure, end] of [
        [() => 9, [9, 'end']],
        [async () => 9, [9, 'end']],
        [() => undefined, ['end']],
        [() => assert.rejects, [assert.rejects, 'end']],
        [() => Promise.reject(other), [other]]
      ] as const) {
        assert.deepEqual(await drained(mapStream(make([1], failure), double, onFailure)), [2, ...end])
        assert.deepEqual(await drained(mapStream(make([1, 0]), double, onFailure)), [2, ...end])
      }
      const throwing = () => {
        throw other
      }
      assert.deepEqual(await drained(mapStream(make([1], failure), double, throwing)), [2, other])
    })
  }

  it('ends an Observable that emits without a pause, as soon as too many of its values wait or one is refused', async () => {
    for (const [onValue, most] of [
      [doubleLater, 100_002],
      [() => double(0), 1]
    ] as const) {
      let made = 0
      const endless = range(1, 1_000_000).pipe(map(() => ++made))
      const [end] = (await drained(mapStream(endless, onValue))) as [Error & { code?: string }]
      assert.ok(most === 1 ? end === failure : end.code === 'STREAM_OVERFLOW', String(end))
      assert.equal(made, most)
    }
  })

  it('unsubscribes from an Observable that is given up', () => {
    const subject = new Subject<number>()
    const subscription = (mapStream(subject, double, () => 1) as Observable<unknown>).subscribe()
    assert.ok(subject.observed)
    subscription.unsubscribe()
    assert.ok(!subject.observed)
  })

  it('ends a source that waits, as soon as it is given up', async () => {
    let returned = false
    const waiting: AsyncIterator<number> & AsyncIterable<number> = {
      next: () => new Promise(() => {}),
      return: async () => {
        returned = true
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => waiting
    }
    const mapped = mapStream(waiting, double) as AsyncIterator<unknown>
    void mapped.next()
    await mapped.return?.()
    assert.ok(returned)
    assert.deepEqual(await mapped.next(), { done: true, value: undefined })
  })

  it('ends the source of a value that is refused', async () => {
    let ended = false
    async function* source() {
      try {
        yield 0
        yield 1
      } finally {
        ended = true
      }
    }
    assert.deepEqual(await drained(mapStream(source(), double)), [failure])
    assert.ok(ended)
  })

  it('asks a source for no value before it is asked for one', async () => {
    let asked = 0
    async function* source() {
      while (true) yield ++asked
    }
    const mapped = mapStream(source(), double) as AsyncIterator<unknown>
    assert.equal(asked, 0)
    await mapped.next()
    assert.equal(asked, 1)
  })

  it('gives each reader that does not wait for the one before a value of its own, in order', async () => {
    const mapped = mapStream(generator([1, 2, 3]), doubleLater) as AsyncIterator<unknown>
    const steps = [mapped.next(), mapped.next(), mapped.next(), mapped.next()]
    const values = (await Promise.all(steps)).map(({ value }) => value)
    assert.deepEqual(values, [2, 4, 6, undefined])
  })

  it('ends a source that nobody has read from', async () => {
    let returned = false
    const source: AsyncIterator<number> & AsyncIterable<number> = {
      next: () => assert.fail('was asked'),
      return: async () => {
        returned = true
        return { done: true, value: undefined }
      },
      [Symbol.asyncIterator]: () => source
    }
    const mapped = mapStream(source, double) as AsyncIterator<unknown>
    await mapped.return?.()
    assert.ok(returned)
    assert.deepEqual(await mapped.next(), { done: true, value: undefined })
  })

  it('gives the values of an Observable that does not end', () => {
    const seen: unknown[] = []
    const subscription = (mapStream(concat(of(1), NEVER), double) as Observable<unknown>).subscribe((value) =>
      seen.push(value)
    )
    assert.deepEqual(seen, [2])
    subscription.unsubscribe()
  })
})
