/** Simple values that users' code may return or throw: each has caused a failure before. */

/** A text in every message that must not leave the process. */
export const SECRET = 'SECRET'

const secret = (): never => {
  throw new Error(SECRET)
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

function withGetter(name: PropertyKey, base: object = {}): object {
  return Object.defineProperty(base, name, { get: secret, enumerable: true, configurable: true })
}

/** A getter that returns a value once, and throws at the second access. */
function onceGetter(name: PropertyKey, value: unknown): object {
  let asked = 0
  return Object.defineProperty({}, name, {
    enumerable: true,
    get: () => (asked++ === 0 ? value : secret())
  })
}

function errorWith(fields: object, error: Error = new Error(SECRET)): Error {
  return Object.defineProperties(error, Object.getOwnPropertyDescriptors(fields))
}

function cycle(): object {
  const value: Record<string, unknown> = { text: SECRET }
  value['self'] = value
  return value
}

function cyclicAggregate(): Error {
  const error = new AggregateError([], SECRET)
  error.errors = [error]
  return error
}

/** An object that throws at every access. */
function allTraps(): object {
  return new Proxy(
    {},
    new Proxy({} as ProxyHandler<object>, {
      get: () => secret
    })
  )
}

/** A proxy that throws at every access except reading a property, for which it returns a function. */
function anyMember(): object {
  return new Proxy({}, { get: () => secret, has: () => true })
}

/** The simple values, by name. */
export const ATOMS: Readonly<Record<string, () => unknown>> = {
  'a text': () => 'fine',
  undefined: () => undefined,
  null: () => null,
  'a function': () => () => SECRET,
  'a symbol': () => Symbol(SECRET),
  'a bigint': () => 10n,
  NaN: () => Number.NaN,
  'a cycle': cycle,
  'a revoked Proxy': () => revoked({}),
  'a revoked Proxy of a function': () => revoked(() => 1),
  'a revoked Proxy of an error': () => revoked(new Error(SECRET)),
  'a Proxy of a promise': () => new Proxy(Promise.resolve('fine'), {}),
  'a Proxy whose traps throw': allTraps,
  'a Proxy that has every member': anyMember,
  'a then that cannot be read': () => withGetter('then'),
  'a then that can be read once': () => onceGetter('then', (done: (value: unknown) => void) => done('fine')),
  'a subscribe that cannot be read': () => withGetter('subscribe', { '@@observable': 1 }),
  'a subscribe that can be read once': () =>
    Object.assign(
      onceGetter('subscribe', () => undefined),
      { '@@observable': 1 }
    ),
  'a Symbol.asyncIterator that cannot be read': () => withGetter(Symbol.asyncIterator),
  'a toJSON that cannot be read': () => withGetter('toJSON'),
  'a member that cannot be read': () => withGetter('member'),
  'an object without a prototype': () => Object.create(null),
  'an error': () => new Error(SECRET),
  'an error whose message cannot be read': () => withGetter('message', new Error(SECRET)),
  'an error whose stack cannot be read': () => withGetter('stack', new Error(SECRET)),
  'an error whose name cannot be read': () => withGetter('name', new Error(SECRET)),
  'an error whose cause cannot be read': () => withGetter('cause', new Error(SECRET)),
  'an error whose prototype is a revoked Proxy': () =>
    Object.setPrototypeOf(new Error(SECRET), revoked(Error.prototype)),
  'an error that cannot be inspected': () =>
    errorWith({ [Symbol.for('nodejs.util.inspect.custom')]: secret, toString: secret, toJSON: secret }),
  'an error that says its content wrongly': () => errorWith({ getError: secret }),
  'an error whose content is revoked': () => errorWith({ getError: () => revoked({}) }),
  'an error that is an HTTP exception, and throws': () =>
    errorWith({ getStatus: secret, getResponse: secret }),
  'several errors that cannot be read': () => withGetter('errors', new AggregateError([], SECRET)),
  'several errors of which one is revoked': () => new AggregateError([revoked({})], SECRET),
  'several errors without a list': () => errorWith({ errors: undefined }, new AggregateError([], SECRET)),
  'several errors in one another': cyclicAggregate,
  'a promise with a then of its own': () =>
    withThen(Promise.resolve('fine'), (done: (value: unknown) => void) => [done(1), done(2)]),
  'a promise whose constructor cannot be read': () => withGetter('constructor', Promise.resolve('fine')),
  'a Date that is none': () => new Date(Number.NaN),
  'a Map of itself': () => {
    const map = new Map<unknown, unknown>()
    return map.set('self', map)
  }
}

/** Sets the property `then` of any value. */
export function withThen(target: object, then: unknown): object {
  Reflect.set(target, 'then', then)
  return target
}
