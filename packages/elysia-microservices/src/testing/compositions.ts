/**
 * Random services for property tests: trees of services, groups and guards with hooks, schemas, macros and error
 * classes. Each step of a chain is of one kind of `STEPS`; a new kind of step is one more member there.
 */
import { memory } from '@elysia-microservices/transport'
import fc from 'fast-check'
import type { HookScope } from '../hooks/hook.ts'
import { microservice } from '../index.ts'
import type { AnySchema } from '../schema/schema-types.ts'

/** The methods of a chain, without types. */
export interface Chain {
  message(pattern: string, handler: (context: Context) => unknown, options: object): Chain
  use(other: Chain): Chain
  group(prefix: string, define: (group: Chain) => Chain): Chain
  guard(options: object, define?: (group: Chain) => Chain): Chain
  macro(macros: object): Chain
  decorate(name: string, value: unknown): Chain
  state(name: string, value: unknown): Chain
  error(options: object, classes: object): Chain
  as(scope: 'scoped' | 'global'): Chain
  derive: AddHook
  resolve: AddHook
  onBeforeHandle: AddHook
  onAfterHandle: AddHook
  onError: AddHook
}

type AddHook = (options: { as: HookScope }, hook: (context: Context) => unknown) => Chain

/** The fields of a message that handlers and hooks of random services read. */
interface Context extends Readonly<Record<string, unknown>> {
  readonly data: Readonly<Record<string, unknown>>
  readonly response: object
  readonly code: string
}

/** One built composition: the handlers that it has, and the hooks and handlers that have run. */
export interface World {
  readonly handlers: { readonly id: string; readonly pattern: string }[]
  readonly log: string[]
}

/** A place in a composition. */
export interface Site {
  readonly world: World
  /** Identifies the place; it is the same in every composition with the same part. */
  readonly id: string
  /** The prefixes of the groups around the place. */
  readonly prefix: readonly string[]
  /** The macros that are known here. */
  readonly macros: Set<string>
  /** The decorators and values of the store that the service has, also those of services that it uses. */
  readonly names: Set<string>
}

/** One call of a chain. */
export interface Step {
  readonly kind: string
  readonly spec: unknown
}

/** A service, a group or the callback of a guard. */
export type Steps = readonly Step[]

/**
 * How far the hooks, guards and classes of a random chain may reach. `none`: there are none. `local`: the chain itself;
 * `scoped`: also the chain that uses it; `any`: all chains above.
 */
export type Reach = 'none' | 'local' | 'scoped' | 'any'

const SCOPES = {
  none: [],
  local: ['local'],
  scoped: ['local', 'scoped'],
  any: ['local', 'scoped', 'global']
} as const

const WIDER = { none: [], local: [], scoped: ['scoped'], any: ['scoped', 'global'] } as const

/** Kinds of steps that reach what follows them. */
const REACHING: readonly string[] = ['hook', 'guard', 'classes', 'as']

/** The reach inside of a used service: a scoped hook reaches the service that uses it, and only a global one the next. */
const BELOW = { none: 'local', local: 'scoped', scoped: 'scoped', any: 'any' } as const

interface StepKind {
  /** @param depth how many services and groups there may still be inside */
  arbitrary(reach: Reach, depth: number): fc.Arbitrary<unknown>
  add(chain: Chain, spec: never, site: Site): Chain
}

function kind<Spec>(
  arbitrary: (reach: Reach, depth: number) => fc.Arbitrary<Spec>,
  add: (chain: Chain, spec: Spec, site: Site) => Chain
): StepKind {
  return { arbitrary, add }
}

/** The keys of data, headers and answers; a random schema demands one of them. */
export const KEYS = ['a', 'b', 'c'] as const
const FIELDS = ['f0', 'f1'] as const
const MACROS = ['m0', 'm1'] as const
const DECORATORS = ['d0', 'd1'] as const
const STATES = ['s0', 's1'] as const

class BaseError extends Error {}
class SubError extends BaseError {}
class OtherError extends Error {}
/** The errors that handlers throw, by the number in `data.fail`. */
export const FAILURES = [BaseError, SubError, OtherError, TypeError] as const
const CLASSES = { E0: BaseError, E1: SubError, E2: OtherError }

const key = fc.constantFrom(...KEYS)
const schemas = fc.record({ data: key, headers: key, response: key }, { requiredKeys: [] })
const scopeOf = (reach: Reach): fc.Arbitrary<HookScope> =>
  fc.constantFrom<HookScope>('local', ...SCOPES[reach])

/** A schema of objects that have a key. */
const demanding = (name: string): AnySchema => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      Object.hasOwn(Object(value), name) ? { value } : { issues: [{ message: `no ${name}`, path: [name] }] }
  }
})

const schemasOf = (given: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(
    Object.entries(given).flatMap(([part, name]) => (name === undefined ? [] : [[part, demanding(name)]]))
  )

interface HookSpec {
  readonly type: (typeof HOOKS)[number]
  readonly as: HookScope
  /** The key of the data with which the hook answers, replaces the answer or throws. */
  readonly acts: string
  readonly throws: boolean
  readonly field: string
}

const HOOKS = ['derive', 'resolve', 'onBeforeHandle', 'onAfterHandle', 'onError'] as const

/** The function of a hook, which writes its place into the log. */
function hookOf({ type, acts, throws, field }: HookSpec, { world, id }: Site) {
  return ({ data, response, code }: Context) => {
    world.log.push(`${id} ${type}${type === 'onError' ? ` ${code}` : ''}`)
    if (type === 'derive' || type === 'resolve') return { [field]: id }
    if (!Object.hasOwn(Object(data), acts)) return undefined
    if (throws) throw new BaseError(id)
    return type === 'onAfterHandle' ? { ...Object(response), after: id } : { a: 1, by: id }
  }
}

/** Steps of a group or of a used service. */
const inside = (reach: Reach, depth: number): fc.Arbitrary<Steps> =>
  depth > 0 ? steps(reach, depth - 1) : fc.constant([])
const groupOf = (site: Site, prefix: readonly string[] = site.prefix): Site => ({
  ...site,
  prefix,
  macros: new Set(site.macros),
  names: new Set(site.names)
})

const STEPS: Readonly<Record<string, StepKind>> = {
  message: kind(
    () => fc.record({ own: schemas, macros: fc.subarray([...MACROS]) }),
    (chain, { own, macros }, { world, id, prefix, macros: known, names }) => {
      const name = `h${id}`
      world.handlers.push({ id, pattern: [...prefix, name].join('.') })
      const used = macros.filter((macro) => known.has(macro)).map((macro) => [macro, true])
      const handler = (context: Context) => {
        world.log.push(`${id} handler`)
        const Failure = FAILURES[context.data['fail'] as number]
        if (Failure !== undefined) throw new Failure(id)
        const fields = FIELDS.map((field) => [field, context[field] ?? null])
        // A name that the service does not have may have a meaning in a service around it.
        const seen = [...names]
          .sort()
          .map((own) => [own, own.startsWith('s') ? Object(context['store'])[own] : context[own]])
        return { ...context.data, ...Object.fromEntries([...fields, ...seen]) }
      }
      return chain.message(name, handler, { ...schemasOf(own), ...Object.fromEntries(used) })
    }
  ),
  hook: kind<HookSpec>(
    (reach) =>
      fc.record({
        type: fc.constantFrom(...HOOKS),
        as: scopeOf(reach),
        acts: key,
        throws: fc.boolean(),
        field: fc.constantFrom(...FIELDS)
      }),
    (chain, spec, site) => chain[spec.type]({ as: spec.as }, hookOf(spec, site))
  ),
  guard: kind(
    (reach) =>
      fc.record({ as: scopeOf(reach), schema: fc.constantFrom('override', 'standalone'), given: schemas }),
    (chain, { given, ...options }) => chain.guard({ ...options, ...schemasOf(given) })
  ),
  guarded: kind(
    (_reach, depth) => fc.record({ given: schemas, inner: inside('any', depth) }),
    (chain, { given, inner }, site) =>
      chain.guard(schemasOf(given), (group) => build(group, inner, groupOf(site)))
  ),
  group: kind(
    (_reach, depth) => fc.record({ prefix: fc.constantFrom('g', 'k'), inner: inside('any', depth) }),
    (chain, { prefix, inner }, site) =>
      chain.group(prefix, (group) => build(group, inner, groupOf(site, [...site.prefix, prefix])))
  ),
  macro: kind(
    () => fc.record({ name: fc.constantFrom(...MACROS), given: schemas, acts: key, throws: fc.boolean() }),
    (chain, { name, given, acts, throws }, site) => {
      site.macros.add(name)
      const spec = { type: 'onBeforeHandle', as: 'local', acts, throws, field: '' } as const
      return chain.macro({ [name]: { ...schemasOf(given), beforeHandle: hookOf(spec, site) } })
    }
  ),
  classes: kind(
    (reach) => fc.record({ as: scopeOf(reach), code: fc.constantFrom('E0', 'E1', 'E2') }),
    (chain, { as, code }) => chain.error({ as }, { [code]: CLASSES[code] })
  ),
  use: kind(
    (reach, depth) => inside(BELOW[reach], depth),
    (chain, inner, site) => {
      const used = { ...site, macros: new Set<string>(), names: new Set<string>() }
      const service = build(newChain(), inner, used)
      for (const name of used.macros) site.macros.add(name)
      for (const name of used.names) site.names.add(name)
      return chain.use(service)
    }
  ),
  name: kind(
    () => fc.constantFrom(...DECORATORS, ...STATES),
    (chain, name, { id, names }) => {
      // A service refuses a second value of one name.
      if (names.has(name)) return chain
      names.add(name)
      return name.startsWith('d') ? chain.decorate(name, id) : chain.state(name, id)
    }
  ),
  as: kind(
    (reach) => fc.constantFrom(...WIDER[reach], undefined),
    (chain, scope) => (scope === undefined ? chain : chain.as(scope))
  )
}

/** Random steps of a chain. */
export function steps(reach: Reach, depth: number): fc.Arbitrary<Steps> {
  const each = Object.entries(STEPS)
    .filter(([name]) => reach !== 'none' || !REACHING.includes(name))
    .map(([name, { arbitrary }]) => ({
      weight: name === 'message' ? 3 : 1,
      arbitrary: arbitrary(reach, depth).map((spec): Step => ({ kind: name, spec }))
    }))
  return fc.array(fc.oneof(...each), { maxLength: 8, size: 'max' })
}

/** A service without a transport of its own. */
export const newChain = () => microservice({ transport: memory() }) as unknown as Chain

/** Adds steps to a chain. */
export function build(chain: Chain, given: Steps, site: Site): Chain {
  return given.reduce(
    (before, { kind: name, spec }, index) =>
      (STEPS[name] as StepKind).add(before, spec as never, { ...site, id: `${site.id}-${index}` }),
    chain
  )
}

/** A new world, and the place of its root. */
export function newSite(id: string, world: World = { handlers: [], log: [] }): Site {
  return { world, id, prefix: [], macros: new Set(), names: new Set() }
}
