/** Macros that use macros, and macros with members that nobody knows. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory, OptionError } from '@elysia-microservices/transport'
import { Elysia, t } from 'elysia'
import { connect } from '../client/index.ts'
import { microservice } from '../index.ts'
import { isSameValue } from './same-value.ts'

const logger = { error() {}, warn() {} }

/** The methods that Elysia and services have in common. */
interface Chain {
  macro(macros: object): Chain
  guard(options: object): Chain
  use(other: Chain): Chain
  group(prefix: string, define: (group: Chain) => Chain): Chain
}

type Service = ReturnType<typeof microservice>

const newService = () => microservice({ transport: memory(), logger }) as unknown as Chain
const newElysia = () => new Elysia() as unknown as Chain

/** The hooks of a macro, which write their names into a list. */
const logging = (log: string[]) => (name: string) => ({
  beforeHandle: () => void log.push(`${name} before`),
  resolve: () => {
    log.push(`${name} resolve`)
    return {}
  },
  afterHandle: () => void log.push(`${name} after`)
})

type Hooks = ReturnType<typeof logging>
type Compose = (chain: Chain, hooks: Hooks) => Chain

/** The hooks that have run for a handler with these options. */
async function runsOf(compose: Compose, options: object): Promise<{ ours: string[]; elysia: string[] }> {
  const ours: string[] = []
  const transport = memory()
  const handled = microservice({ transport, logger }) as unknown as Service
  const used = (handled as unknown as Chain).use(compose(newService(), logging(ours))) as unknown as Service
  used.message('x', () => 1, options)
  await handled.listen()
  const client = connect({ transport })
  await client.request('x')
  await client.close()
  await handled.stop()

  const elysia: string[] = []
  const app = newElysia().use(compose(newElysia(), logging(elysia))) as unknown as Elysia
  await app.post('/x', () => 1, options).handle(new Request('http://localhost/x', { method: 'POST' }))
  return { ours, elysia }
}

describe('a macro that uses macros', () => {
  const cases: Readonly<Record<string, [Compose, object]>> = {
    'before its own hooks': [(c, on) => c.macro({ a: on('a'), b: { a: true, ...on('b') } }), { b: true }],
    'after its own hooks': [(c, on) => c.macro({ a: on('a'), b: { ...on('b'), a: true } }), { b: true }],
    'of an earlier call': [(c, on) => c.macro({ a: on('a') }).macro({ b: { a: true } }), { b: true }],
    'beside the handler, too': [
      (c, on) => c.macro({ a: on('a'), b: { a: true, ...on('b') } }),
      { a: true, b: true }
    ],
    'by a function': [
      (c, on) => c.macro({ a: (n: number) => on(`a${n}`), b: (n: number) => ({ a: n, ...on(`b${n}`) }) }),
      { b: 2, a: 1 }
    ],
    'of its own name, until it is off': [
      (c, on) => c.macro({ a: (n: number) => (n > 3 ? undefined : { ...on(`a${n}`), a: n + 1 }) }),
      { a: 1 }
    ],
    'three deep': [
      (c, on) => c.macro({ a: on('a'), b: { a: true, ...on('b') }, c: { ...on('c'), b: true } }),
      { c: true }
    ],
    'twice, with one value': [
      (c, on) => c.macro({ a: (_: object) => on('a'), b: { a: { is: [1] } }, c: { a: { is: [1] } } }),
      { b: true, c: true }
    ],
    'twice, with two values': [
      (c, on) => c.macro({ a: (n: number) => on(`a${n}`), b: { a: 1 }, c: { a: 2 } }),
      { b: true, c: true }
    ],
    'that is off': [(c, on) => c.macro({ a: on('a'), b: { ...on('b'), a: false } }), { b: true }],
    'that a used service replaces': [
      (c, on) => {
        const below = ((c as unknown) instanceof Elysia ? newElysia() : newService()).macro({
          a: on('below')
        })
        return c.macro({ a: on('above'), b: { a: true } }).use(below)
      },
      { b: true, a: true }
    ],
    'that replaces one of a used service': [
      (c, on) => {
        const below = ((c as unknown) instanceof Elysia ? newElysia() : newService()).macro({
          a: on('below')
        })
        return c.use(below).macro({ a: on('above') })
      },
      { a: true }
    ]
  }
  for (const [name, [compose, options]] of Object.entries(cases)) {
    it(`runs them as Elysia does: ${name}`, async () => {
      const { ours, elysia } = await runsOf(compose, options)
      assert.deepEqual(ours, elysia)
      assert.ok(ours.length > 0)
    })
  }

  it('adds their fields, schemas and errors', async () => {
    const transport = memory()
    const service = microservice({ transport, logger })
      .macro('role', (role: string) => ({
        headers: t.Object({ role: t.String() }),
        errors: { FORBIDDEN: {} },
        resolve: ({ headers, fail }) => (headers['role'] === role ? { user: { role } } : fail('FORBIDDEN'))
      }))
      .macro({ admin: { role: 'admin' } })
      .message('x', ({ user }) => user.role, { admin: true })
    await service.listen()
    const client = connect<typeof service>({ transport })
    assert.equal(await client.request('x', undefined, { headers: { role: 'admin' } }), 'admin')
    await assert.rejects(client.request('x', undefined, { headers: { role: 'user' } }), { code: 'FORBIDDEN' })
    await assert.rejects(client.request('x', undefined, { headers: {} as never }), { code: 'VALIDATION' })
    await client.close()
    await service.stop()
  })

  it('and is one of a group does not leave the group', () => {
    const service = newService().group('g', (g) => g.macro({ a: {} })) as unknown as ReturnType<
      typeof microservice
    >
    assert.throws(() => service.message('x', () => 1, { a: true } as object), {
      code: 'OPTION',
      path: 'options.a'
    })
  })
})

describe('macros with a member that nobody knows', () => {
  const beforeHandle = () => 'refused'
  const wrong: Readonly<Record<string, [object, string]>> = {
    'a misspelt hook': [{ beforeHandel: beforeHandle }, 'macro.m.beforeHandel'],
    'a method of the service': [{ onBeforeHandle: beforeHandle }, 'macro.m.onBeforeHandle'],
    "Elysia's name of a schema": [{ body: t.String() }, 'macro.m.body'],
    'an unknown macro': [{ role: 'admin', beforeHandle }, 'macro.m.role'],
    'a list': [[], 'macro.m'],
    'a promise': [Promise.resolve({ beforeHandle }), 'macro.m'],
    'a hook that is no function': [{ beforeHandle: 'check' }, 'beforeHandle'],
    'a schema that is none': [{ data: { type: 'string' } }, 'options.data']
  }
  for (const [name, [macro, path]] of Object.entries(wrong)) {
    it(`are refused when they are added: ${name}`, () => {
      assert.throws(() => newService().macro({ m: macro }), { name: 'OptionError', path })
    })

    it(`are refused where they are used if they are functions: ${name}`, () => {
      const service = newService().macro({ m: () => macro })
      for (const use of [
        () => service.guard({ m: 1 }),
        () => (service as unknown as Service).message('x', () => 1, { m: 1 } as object),
        () => service.macro({ other: { m: 1 } }).guard({ other: true })
      ])
        assert.throws(use, { name: 'OptionError', path })
    })
  }

  it('are refused if they have the name of an option', () => {
    for (const name of ['data', 'beforeHandle', 'as', 'schema', 'durable'])
      assert.throws(() => newService().macro({ [name]: {} }), { name: 'OptionError', path: `macro.${name}` })
  })

  it('are switched on by true and off by false, and by nothing else', () => {
    const service = newService().macro({ m: { beforeHandle }, outer: { beforeHandle } })
    for (const value of ['admin', 1, {}, null, 'true'])
      assert.throws(() => service.guard({ m: value }), { name: 'OptionError', path: 'options.m' })
    for (const value of [true, false, undefined]) service.guard({ m: value })
    assert.throws(() => service.macro({ above: { m: 'yes' } }).guard({ above: true }), {
      path: 'macro.above.m'
    })
  })

  it('are refused if they use themselves without end', () => {
    const service = newService().macro({ m: (n: number) => ({ m: n + 1 }) })
    assert.throws(() => service.guard({ m: 1 }), OptionError)
  })

  it('leave the macros as they were if one is refused', () => {
    const service = newService()
    assert.throws(() => service.macro({ fine: {}, wrong: { nothing: 1 } }), OptionError)
    assert.throws(() => service.guard({ fine: true }), { path: 'options.fine' })
  })
})

describe('isSameValue', () => {
  it('compares plain values by their members, and all others by identity', () => {
    const check = () => true
    for (const [one, other, same] of [
      [1, 1, true],
      [Number.NaN, Number.NaN, true],
      [{ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, true],
      [{ a: undefined }, {}, false],
      [{ a: 1 }, { b: 1 }, false],
      [[1], { 0: 1 }, false],
      [{ can: check }, { can: check }, true],
      [{ can: () => true }, { can: () => true }, false],
      [new Date(0), new Date(0), false],
      [null, {}, false]
    ] as const)
      assert.equal(isSameValue(one, other), same)
  })
})
