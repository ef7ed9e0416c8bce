/**
 * Which schemas hold for a handler if several stand there: each composition is made with Elysia's routes and with a
 * service, and both must refuse and accept the same.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isInCheck, isOnPush } from '@elysia-microservices/test-support'
import { memory } from '@elysia-microservices/transport'
import { Elysia, t } from 'elysia'
import { connect } from '../client/index.ts'
import { microservice } from '../index.ts'
import type { AnySchema } from '../schema/schema-types.ts'

/** The methods that Elysia and services have in common. */
interface Chain {
  guard(options: object, define?: (group: Chain) => Chain): Chain
  macro(macros: object): Chain
  group(prefix: string, define: (group: Chain) => Chain): Chain
  use(other: Chain): Chain
  as(scope: 'scoped' | 'global'): Chain
}

type Options = Readonly<Record<string, unknown>>

/** An app or service under construction: the same for Elysia's routes and for a service. */
interface Kit {
  /** The option for a part of the message. */
  schemaOf(part: Part, schema: AnySchema): Options
  newChain(): Chain
  handle(chain: Chain, options: Options): Chain
  /** Whether each of the values is accepted. */
  accepts(chain: Chain, path: readonly string[], part: Part): Promise<boolean[]>
}

const PARTS = ['data', 'headers', 'response'] as const
type Part = (typeof PARTS)[number]

const NAMES = ['a', 'b']
const VALUES: readonly Readonly<Record<string, string>>[] = [{}, { a: '1' }, { b: '1' }, { a: '1', b: '1' }]

const logger = { error() {}, warn() {} }

const ours: Kit = {
  schemaOf: (part, schema) => ({ [part]: schema }),
  newChain: () => microservice({ transport: memory(), logger }) as unknown as Chain,
  handle: (chain, options) =>
    (chain as unknown as ReturnType<typeof microservice>).message(
      'x',
      ({ data }) => data,
      options as object
    ) as unknown as Chain,
  async accepts(chain, path, part) {
    const transport = memory()
    const service = microservice({ transport, logger }).use(chain as never)
    await service.listen()
    const client = connect({ transport })
    const answers = VALUES.map((value) => {
      const call = part === 'headers' ? { headers: value } : {}
      return client.request([...path, 'x'].join('.'), part === 'headers' ? {} : value, call).then(
        () => true,
        (error) => {
          assert.equal(error.code, part === 'response' ? 'INTERNAL' : 'VALIDATION')
          return false
        }
      )
    })
    const all = await Promise.all(answers)
    await client.close()
    await service.stop()
    return all
  }
}

const elysia: Kit = {
  schemaOf: (part, schema) => ({ [part === 'data' ? 'body' : part]: schema }),
  newChain: () => new Elysia() as unknown as Chain,
  handle: (chain, options) =>
    (chain as unknown as Elysia).post('/x', ({ body }) => body, options as object) as unknown as Chain,
  async accepts(chain, path, part) {
    const app = chain as unknown as Elysia
    const answers = VALUES.map(async (value) => {
      const { status } = await app.handle(
        new Request(`http://localhost/${[...path, 'x'].join('/')}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(part === 'headers' && value) },
          body: JSON.stringify(part === 'headers' ? {} : value)
        })
      )
      assert.ok(status === 200 || status === 422, `status ${status}`)
      return status === 200
    })
    return Promise.all(answers)
  }
}

/** One schema that stands before a handler: in the chain, around the handler, or in the handler's options. */
interface Source {
  inChain?(chain: Chain, schema: Options, kit: Kit): Chain
  around?(chain: Chain, schema: Options, define: (inner: Chain) => Chain): Chain
  macro?: boolean
  own?: boolean
  /** Parts for which Elysia 1.4 drops this schema without a word. Here it holds beside all others. */
  dropped?: readonly Part[]
}

const belowBy =
  (options: Options, depth = 1) =>
  (chain: Chain, schema: Options, kit: Kit) => {
    let used = kit.newChain().guard({ ...options, ...schema })
    for (let level = 1; level < depth; level++) used = kit.newChain().use(used)
    return chain.use(used)
  }

const standalone = { schema: 'standalone' }

const SOURCES: Readonly<Record<string, Source>> = {
  guard: { inChain: (chain, schema) => chain.guard(schema) },
  'standalone guard': { inChain: (chain, schema) => chain.guard({ ...standalone, ...schema }) },
  'scoped guard': { inChain: (chain, schema) => chain.guard({ as: 'scoped', ...schema }) },
  'global guard': { inChain: (chain, schema) => chain.guard({ as: 'global', ...schema }) },
  "guard before as('scoped')": { inChain: (chain, schema) => chain.guard(schema).as('scoped') },
  "guard before as('global')": { inChain: (chain, schema) => chain.guard(schema).as('global') },
  'guard with a callback': {
    around: (chain, schema, define) => chain.guard(schema, define),
    dropped: ['response']
  },
  macro: { macro: true, dropped: ['response'] },
  'the own schema': { own: true },
  'local guard of a used service': { inChain: belowBy({}) },
  'local standalone guard of a used service': { inChain: belowBy(standalone) },
  'scoped guard of a used service': { inChain: belowBy({ as: 'scoped' }) },
  'scoped standalone guard of a used service': { inChain: belowBy({ as: 'scoped', ...standalone }) },
  "guard before as('scoped') of a used service": {
    inChain: (chain, schema, kit) =>
      chain.use(
        kit
          .newChain()
          .guard({ ...standalone, ...schema })
          .as('scoped')
      )
  },
  'scoped guard two services below': { inChain: belowBy({ as: 'scoped' }, 2) },
  'scoped standalone guard two services below': { inChain: belowBy({ as: 'scoped', ...standalone }, 2) },
  'global guard of a used service': { inChain: belowBy({ as: 'global' }) },
  'global standalone guard of a used service': { inChain: belowBy({ as: 'global', ...standalone }) },
  'global guard two services below': { inChain: belowBy({ as: 'global' }, 2) },
  'global standalone guard two services below': { inChain: belowBy({ as: 'global', ...standalone }, 2) },
  'macro in a guard': {
    inChain: (chain, schema) => chain.macro({ inGuard: schema }).guard({ inGuard: true }),
    dropped: PARTS
  },
  'macro in a guard with a callback': {
    around: (chain, schema, define) => chain.macro({ inGuard: schema }).guard({ inGuard: true }, define),
    dropped: ['response']
  }
}

/** Where the handler stands, behind the guards. */
const PLACES: Readonly<
  Record<string, { path: string[]; put(chain: Chain, define: (inner: Chain) => Chain, kit: Kit): Chain }>
> = {
  'in the same chain': { path: [], put: (chain, define) => define(chain) },
  'in a group of a group': {
    path: ['g', 'h'],
    put: (chain, define, kit) =>
      chain.group(prefixFor(kit, 'g'), (outer) => outer.group(prefixFor(kit, 'h'), define))
  },
  'in a used service': { path: [], put: (chain, define, kit) => chain.use(define(kit.newChain())) }
}

const prefixFor = (kit: Kit, name: string) => (kit === elysia ? `/${name}` : name)

/** A schema of objects with a text of this name. */
type NewSchema = (name: string) => AnySchema

const LIBRARIES: Readonly<Record<string, NewSchema>> = {
  'a Standard Schema': (name) => ({
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof Object(value)[name] === 'string'
          ? { value }
          : { issues: [{ message: 'no text', path: [name] }] }
    }
  }),
  "Elysia's t": (name) => t.Object({ [name]: t.String() })
}

function compose(kit: Kit, part: Part, place: string, names: readonly string[], newSchema: NewSchema) {
  const given = names.map((name, index) => ({
    ...SOURCES[name],
    schema: kit.schemaOf(part, newSchema(NAMES[index]!))
  }))
  let options: Options = {}
  const macros: Record<string, unknown> = {}
  for (const [index, { macro, own, schema }] of given.entries()) {
    if (macro) {
      macros[`macro${index}`] = schema
      options = { ...options, [`macro${index}`]: true }
    }
    if (own) options = { ...options, ...schema }
  }
  const put = (chain: Chain) =>
    (PLACES[place] as (typeof PLACES)[string]).put(
      chain,
      (inner) => kit.handle(inner.macro(macros), options),
      kit
    )
  const from = (index: number, chain: Chain): Chain => {
    const source = given[index]
    if (source === undefined) return put(chain)
    if (source.around) return source.around(chain, source.schema, (inner) => from(index + 1, inner))
    return from(index + 1, source.inChain?.(chain, source.schema, kit) ?? chain)
  }
  return from(0, kit.newChain())
}

/** Where a pair of schemas is tried. */
const COMBINATIONS = PARTS.flatMap((part) =>
  Object.keys(PLACES).flatMap((place) =>
    Object.entries(LIBRARIES)
      .filter(([library]) => library !== "Elysia's t" || place === 'in the same chain')
      .map(([library, newSchema]) => ({ part, place, library, newSchema }))
  )
)

for (const [turn, { part, place, library, newSchema }] of COMBINATIONS.entries()) {
  // `npm run check` tries two of these.
  if (isInCheck && turn % 6 !== 0) continue
  const { path } = PLACES[place] as (typeof PLACES)[string]
  const accepted = (kit: Kit, pair: readonly string[]) =>
    kit.accepts(compose(kit, part, place, pair, newSchema), path, part)
  describe(`The schemas of ${part} for a handler ${place}, with ${library},`, () => {
    for (const [index, first] of Object.keys(SOURCES).entries()) {
      // At night each pair is tried everywhere. Before, each pair once, and each schema at least once everywhere.
      const others = Object.keys(SOURCES).filter(
        (second, other) =>
          (first !== second || !SOURCES[first]?.own) &&
          (!isOnPush || (index + other) % COMBINATIONS.length === turn)
      )
      it(`hold as in Elysia: ${first}, and ${isOnPush ? others.join(' or ') : 'any other'}`, async () => {
        for (const second of others) {
          const pair = [first, second]
          const isDropped = pair.map((name) => SOURCES[name]?.dropped?.includes(part))
          const byElysia = await accepted(elysia, pair)
          const expected = byElysia.map(
            (is, at) => is && NAMES.every((name, index) => !isDropped[index] || name in VALUES[at]!)
          )
          assert.deepEqual(await accepted(ours, pair), expected, pair.join(', '))
        }
      })
    }
  })
}
