/** Whatever a handler returns, the service sends exactly one answer. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { of } from 'rxjs'
import { type Answer, answerWith } from './answer.ts'
import { asPromise } from './stream.ts'

/** An `Answer` that records each answer as text, so that a second answer is noticed. */
function recorded() {
  const seen: string[] = []
  const answer: Answer = {
    value: (value) => void seen.push(`value ${String(value)}`),
    stream: (stream) => void seen.push(`stream ${typeof stream}`),
    error: (error) => void seen.push(`error ${error instanceof Error ? error.message : String(error)}`)
  }
  return { seen, answer }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const no = (): never => {
  throw new Error('no')
}

/** Makes a thenable: adds the method `then` to the target. */
function withThen(then: unknown, target: object = {}): object {
  Reflect.set(target, 'then', then)
  return target
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

/** Makes a Proxy with one trap that throws. */
const trapped = (target: object, trap: keyof ProxyHandler<object>) => new Proxy(target, { [trap]: no })

/** A subclass of Promise which begins its work only when `then` is called, as some database libraries have. */
class LazyPromise extends Promise<string> {
  static override get [Symbol.species]() {
    return Promise
  }

  constructor() {
    super(() => {})
  }

  // biome-ignore lint/suspicious/noThenProperty: a lazy promise begins its work in `then`
  override then<One, Other>(
    fulfilled?: ((value: string) => One | PromiseLike<One>) | null,
    rejected?: ((error: unknown) => Other | PromiseLike<Other>) | null
  ): Promise<One | Other> {
    return Promise.resolve('begun').then(fulfilled, rejected)
  }
}

describe('the answer to a request', () => {
  const atOnce: [what: string, result: () => unknown, seen: string][] = [
    ['a number', () => 5, 'value 5'],
    ['nothing', () => undefined, 'value undefined'],
    ['null', () => null, 'value null'],
    ['a function', () => String, `value ${String(String)}`],
    ['a list', () => [1, 2], 'value 1,2'],
    ['an object whose then is no function', () => withThen(7, { toString: () => 'it' }), 'value it'],
    ['an Observable', () => of(1), 'stream object'],
    ['an iterator', () => [1].values(), 'stream object'],
    ['a Proxy that was revoked', () => revoked({}), 'error'],
    ['a promise whose Proxy was revoked', () => revoked(Promise.resolve(1)), 'error'],
    ['an object that does not tell what it has', () => trapped({}, 'has'), 'error no'],
    ['an object whose members cannot be read', () => trapped(withThen(0), 'get'), 'error no'],
    ['a getter of then that throws', () => Object.defineProperty({}, 'then', { get: no }), 'error no']
  ]
  for (const [what, result, expected] of atOnce) {
    it(`is there at once for ${what}`, () => {
      const { seen, answer } = recorded()
      assert.equal(answerWith(result(), answer), true)
      assert.equal(seen.length, 1)
      assert.ok(seen[0]?.startsWith(expected), seen[0])
    })
  }

  const later: [what: string, result: () => unknown, seen: string][] = [
    ['a promise', () => Promise.resolve(5), 'value 5'],
    ['a promise of nothing', () => Promise.resolve(undefined), 'value undefined'],
    ['a promise that rejects', () => Promise.reject(new Error('no')), 'error no'],
    ['a promise of a stream', () => Promise.resolve(of(1)), 'stream object'],
    ['a promise of a Proxy that is revoked', () => promiseOfRevoked(), 'error'],
    ['a thenable', () => withThen((done: (value: unknown) => void) => done(5)), 'value 5'],
    ['a thenable that throws', () => withThen(no), 'error no'],
    [
      'a thenable that throws when it has settled',
      () =>
        withThen((done: (value: unknown) => void) => {
          done(5)
          no()
        }),
      'value 5'
    ],
    [
      'a thenable that settles twice',
      () =>
        withThen((done: (value: unknown) => void, fail: (error: unknown) => void) => {
          done(5)
          done(6)
          fail(new Error('no'))
        }),
      'value 5'
    ],
    [
      'a thenable that fails twice',
      () =>
        withThen((done: (value: unknown) => void, fail: (error: unknown) => void) => {
          fail(new Error('first'))
          fail(new Error('second'))
          done(5)
        }),
      'error first'
    ],
    ['a promise with a then of its own', () => withThen(no, Promise.resolve(5)), 'value 5'],
    [
      'a promise with a then of its own that settles twice',
      () =>
        withThen((done: (value: unknown) => void) => {
          done(6)
          done(7)
        }, Promise.resolve(5)),
      'value 5'
    ],
    ['a promise of another class, by its own then', () => new LazyPromise(), 'value begun'],
    ['a Proxy of a promise, which is none', () => new Proxy(Promise.resolve(5), {}), 'error'],
    ['an object that only inherits from Promise', () => Object.create(Promise.prototype), 'error'],
    [
      'a promise whose constructor cannot be read',
      () => Object.defineProperty(Promise.resolve(5), 'constructor', { get: no }),
      'error no'
    ],
    [
      'a thenable without readable prototype',
      () =>
        trapped(
          withThen((done: (value: unknown) => void) => done(5)),
          'getPrototypeOf'
        ),
      'value 5'
    ]
  ]
  for (const [what, result, expected] of later) {
    it(`comes in a later turn, once, of ${what}`, async () => {
      const { seen, answer } = recorded()
      assert.equal(answerWith(result(), answer), false)
      assert.equal(seen.length, 0)
      await turn()
      assert.equal(seen.length, 1)
      assert.ok(seen[0]?.startsWith(expected), seen[0])
    })
  }

  it('never comes of a thenable that never settles', async () => {
    const { seen, answer } = recorded()
    assert.equal(
      answerWith(
        withThen(() => {}),
        answer
      ),
      false
    )
    await turn()
    assert.deepEqual(seen, [])
  })
})

describe('a promise of the runtime', () => {
  it('is itself', () => {
    const promise = Promise.resolve(1)
    assert.equal(asPromise(promise), promise)
  })

  it('is made of anything that has a then, and never throws', async () => {
    assert.equal(await asPromise(new LazyPromise()), 'begun')
    await assert.rejects(asPromise(withThen(no) as PromiseLike<unknown>), /^Error: no$/)
  })
})

/** A promise of a revoked Proxy. `Promise.resolve` throws for a revoked Proxy, so the Proxy is revoked afterwards. */
function promiseOfRevoked(): Promise<object> {
  const { proxy, revoke } = Proxy.revocable({}, {})
  const promise = Promise.resolve(proxy)
  revoke()
  return promise
}
