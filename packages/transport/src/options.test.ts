/** Tests of options: unknown names, defaults, keys that are `undefined`. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { OptionError } from './errors/index.ts'
import {
  atLeast,
  checkNames,
  milliseconds,
  mustBeAtLeast,
  mustBeBoolean,
  mustBeFunction,
  mustBeMilliseconds,
  mustBeOneOf,
  mustBeSecret,
  mustBeText,
  mustBeWhole,
  mustHaveOnly,
  nearest,
  type OptionCheck,
  readTable,
  SAME_OPTIONS,
  withDefaults
} from './options.ts'

const DEFAULTS = { host: 'localhost', port: 4000, path: undefined, connectTimeout: 10_000 }
interface Options {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly path?: string | undefined
  readonly connectTimeout?: number | undefined
}

const read = (given: unknown) => withDefaults('options', given as Options | undefined, DEFAULTS, SAME_OPTIONS)

describe('options by a table', () => {
  const table = {
    host: { byDefault: 'localhost' },
    port: { byDefault: 4000, check: (path: string, value: unknown) => atLeast(0, path, value) },
    path: {},
    connectTimeout: {
      byDefault: 10_000,
      check: (path: string, value: unknown) => milliseconds(1, path, value)
    }
  }
  const byTable = (given: unknown) => readTable('options', given as Options, table)

  it('have its defaults, and what is given', () => {
    assert.deepEqual(byTable({ port: 0, host: undefined }), { ...DEFAULTS, port: 0 })
    const port: number = byTable({}).port
    assert.equal(port, 4000)
  })

  it('are checked by it', () => {
    assert.throws(() => byTable({ port: -1 }), { name: 'OptionError', path: 'options.port' })
    assert.throws(() => byTable({ connectTimeout: 0 }), { path: 'options.connectTimeout' })
    assert.throws(() => byTable({ prot: 1 }), /did you mean options\.port\?/)
    assert.throws(() => byTable(null), /an object of options/)
  })

  it('must have what is needed', () => {
    const needed = { port: { check: mustBeWhole(1, 9_999), isNeeded: true } } as const
    const readNeeded = (given: { readonly port?: number | undefined } | undefined) =>
      readTable('options', given, needed)
    assert.equal(readNeeded({ port: 1 }).port, 1)
    for (const given of [undefined, {}, { port: undefined }, { port: 1.5 }, { port: 10_000 }])
      assert.throws(() => readNeeded(given), /options\.port must be a whole number from 1 to 9,999/)
  })

  it('are what their checks say', () => {
    const wrong: readonly (readonly [OptionCheck, readonly unknown[], readonly unknown[]])[] = [
      [mustBeBoolean, [true, false], [0, 'true', null]],
      [mustBeFunction, [() => {}], [{}, null]],
      [mustBeText, ['a'], ['', 1, null]],
      [mustBeSecret, ['a'], ['', 1, null]],
      [mustBeOneOf('one', 'all'), ['one', 'all'], ['some', 1]],
      [mustBeAtLeast(1), [1, Infinity], [0, NaN, '1']],
      [mustBeMilliseconds(1), [1], [0, Infinity]],
      [mustHaveOnly('a'), [{}, { a: 1 }], [{ b: 1 }, null, 'a']]
    ]
    for (const [check, right, others] of wrong) {
      for (const value of right) check('options.x', value)
      for (const value of others) assert.throws(() => check('options.x', value), { name: 'OptionError' })
    }
    assert.throws(() => mustBeOneOf('one', 'all')('x', 1), /must be 'one' or 'all', but is 1/)
    assert.throws(
      () => mustBeSecret('options.password', 123_456),
      (error: Error) => !/123/.test(error.message)
    )
  })
})

describe('options with defaults', () => {
  it('are the defaults where nothing is given', () => {
    for (const given of [undefined, {}]) assert.deepEqual(read(given), DEFAULTS)
  })

  it('have what is given, and the defaults besides', () => {
    assert.deepEqual(read({ port: 1, path: '/a' }), { ...DEFAULTS, port: 1, path: '/a' })
    assert.deepEqual(read({ port: 0, host: '' }), { ...DEFAULTS, port: 0, host: '' })
    assert.deepEqual(read({ port: null }), { ...DEFAULTS, port: null })
  })

  it('have the default for a key that is undefined, and its table and what is given stay as they are', () => {
    const given = Object.freeze({ port: undefined, host: 'a' })
    assert.deepEqual(read(given), { ...DEFAULTS, host: 'a' })
    assert.deepEqual(DEFAULTS, { host: 'localhost', port: 4000, path: undefined, connectTimeout: 10_000 })
  })

  it('are not what an object inherits', () => {
    assert.deepEqual(read(Object.create({ port: 1, nonsense: 2 })), DEFAULTS)
    assert.equal(Object.hasOwn(read(JSON.parse('{"port":1}')), '__proto__'), false)
  })

  it('must be an object', () => {
    for (const given of [null, 7, 'text', [], () => {}, true])
      assert.throws(() => read(given), {
        name: 'OptionError',
        code: 'OPTION',
        path: 'options',
        message: /^options must be an object of options, but is /
      })
  })
})

describe('an option that there is not', () => {
  for (const [name, message] of [
    ['prot', 'options.prot is not an option; did you mean options.port?'],
    ['Port', 'options.Port is not an option; did you mean options.port?'],
    ['hosts', 'options.hosts is not an option; did you mean options.host?'],
    ['connectionTimeout', 'options.connectionTimeout is not an option; did you mean options.connectTimeout?'],
    ['timeout', 'options.timeout is not an option; did you mean options.connectTimeout?'],
    ['CONNECT_TIMEOUT', 'options.CONNECT_TIMEOUT is not an option; did you mean options.connectTimeout?'],
    ['nonsense', 'options.nonsense is not an option; there are host, port, path, connectTimeout'],
    ['toString', 'options.toString is not an option; there are host, port, path, connectTimeout']
  ] as const) {
    it(`is refused with the nearest that there is: ${name}`, () => {
      assert.throws(() => read({ host: 'a', [name]: 1 }), {
        name: 'OptionError',
        path: `options.${name}`,
        message
      })
    })
  }

  it('is refused also if it is __proto__ or null, but not if it is undefined', () => {
    assert.throws(() => read(JSON.parse('{"__proto__":1}')), { path: 'options.__proto__' })
    assert.throws(() => read({ nonsense: null }), { path: 'options.nonsense' })
    assert.deepEqual(read({ nonsense: undefined, port: 7 }), { ...DEFAULTS, port: 7 })
  })

  it('is looked for by checkNames alone, too', () => {
    checkNames('options.tls', { cert: 1 }, ['cert', 'key'])
    assert.throws(() => checkNames('options.tls', { cret: 1 }, ['cert', 'key']), {
      path: 'options.tls.cret',
      message: 'options.tls.cret is not an option; did you mean options.tls.cert?'
    })
  })
})

describe('a number', () => {
  it('must be one, and not less than it may be', () => {
    for (const value of [1, 1.5, Number.POSITIVE_INFINITY]) atLeast(1, 'options.n', value)
    for (const value of [0.5, -1, Number.NaN, '5', null, undefined, 1n])
      assert.throws(
        () => atLeast(1, 'options.n', value),
        (error) =>
          error instanceof OptionError &&
          error.path === 'options.n' &&
          error.message.startsWith('options.n must be a number, 1 or more, but is ')
      )
  })
})

describe('the nearest name', () => {
  it('is none where there is none', () => {
    assert.equal(nearest('port', []), undefined)
  })

  it('is the name itself where that is known, whatever its case [property]', () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(names, fc.nat(), (known, index) => {
        const name = known[index % known.length] as string
        assert.equal(nearest(name, known), name)
        assert.equal(nearest(name.toUpperCase(), known), name)
      })
    )
  })

  it('is found in spite of one letter that is left out, put in or replaced [property]', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]{5,12}$/),
        fc.nat(),
        fc.constantFrom('left out', 'put in', 'replaced'),
        (name, place, how) => {
          const at = place % name.length
          const kept = how === 'put in' ? at : at + 1
          const wrong = name.slice(0, at) + (how === 'left out' ? '' : '_') + name.slice(kept)
          assert.equal(nearest(wrong, ['0123456789', name]), name)
        }
      )
    )
  })
})

describe('milliseconds', () => {
  it('are what a timer can wait', () => {
    for (const fits of [1, 0.5 + 1, 2 ** 31 - 1]) milliseconds(1, 'options.drain', fits)
    for (const wrong of [0, -1, 2 ** 31, Number.POSITIVE_INFINITY, Number.NaN, '5', 5n, undefined]) {
      assert.throws(() => milliseconds(1, 'options.drain', wrong), {
        name: 'OptionError',
        message: /^options\.drain must be milliseconds from 1 to 24\.8 days, but is /
      })
    }
  })
})
