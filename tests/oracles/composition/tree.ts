/** Random trees of services, groups, guards, hooks, macros and classes of errors, as plain data. */
import type { Random } from '../../lives/random.ts'

/** The keys of data, headers and answers. A schema demands one of them; a hook acts if the data have its key. */
export const KEYS = ['a', 'b', 'c'] as const
export type Key = (typeof KEYS)[number]

export const SCOPES = ['local', 'scoped', 'global'] as const
export type Scope = (typeof SCOPES)[number]

/** The key that each schema demands. */
export type Schemas = Readonly<Partial<Record<'data' | 'headers' | 'response', Key>>>

export const HOOKS = ['derive', 'resolve', 'beforeHandle', 'afterHandle', 'error', 'afterResponse'] as const
export type HookType = (typeof HOOKS)[number]

export interface HookSpec {
  readonly type: HookType
  /** The hook acts if the data have this key. */
  readonly key: Key
  /** To act is to answer, to answer with one key alone, to throw an error, or to return one. */
  readonly act: 'answer' | 'lack' | 'throw' | 'return'
  readonly field: 'f0' | 'f1'
  readonly isLate: boolean
}

/** The options that handlers, guards and macros have in common. */
export interface Options {
  readonly schemas: Schemas
  readonly hooks: readonly HookSpec[]
  readonly macros: readonly string[]
  /** Whether schemas that have names are given by their names. */
  readonly byName: boolean
}

export type Step =
  | {
      readonly do: 'message'
      readonly options: Options
      readonly isLate: boolean
      readonly isWrapped: boolean
    }
  | { readonly do: 'hook'; readonly as: Scope; readonly hook: HookSpec }
  | { readonly do: 'guard'; readonly as: Scope; readonly isStandalone: boolean; readonly options: Options }
  | { readonly do: 'guarded'; readonly options: Options; readonly steps: Steps }
  | { readonly do: 'group'; readonly prefix: string; readonly steps: Steps }
  | { readonly do: 'plugin'; readonly steps: Steps }
  | { readonly do: 'use'; readonly steps: Steps }
  | { readonly do: 'macro'; readonly name: string; readonly isFunction: boolean; readonly options: Options }
  | { readonly do: 'class'; readonly as: Scope; readonly code: string }
  | { readonly do: 'model'; readonly key: Key }
  | { readonly do: 'decorate' | 'state'; readonly name: string }
  | { readonly do: 'as'; readonly as: 'scoped' | 'global' }

export type Steps = readonly Step[]

export interface Input {
  readonly data: Readonly<Partial<Record<Key, string>>>
  readonly headers: Readonly<Partial<Record<Key, string>>>
  /** The number of the error that the handler throws. */
  readonly fail?: number
}

/**
 * How far the hooks, guards and classes of a chain may reach. `none`: there are none. `local`: the chain itself;
 * `scoped`: also the chain that uses it; `any`: all chains above.
 */
export type Reach = 'none' | 'local' | 'scoped' | 'any'

/** The steps that trees may have. */
export interface Wishes {
  readonly kinds: ReadonlySet<Step['do']>
  readonly reach: Reach
  readonly hooks: readonly HookType[]
  /** Types of hooks that stand in options of handlers and guards; in macros all of `hooks` stand. */
  readonly inOptions: readonly HookType[]
  readonly codes: readonly string[]
  readonly acts: readonly HookSpec['act'][]
}

const MACROS = ['m0', 'm1', 'm2']
const REACHING: ReadonlySet<Step['do']> = new Set(['hook', 'guard', 'class', 'as'])
const WITHIN = { none: ['local'], local: ['local'], scoped: ['local', 'scoped'], any: SCOPES } as const
/** The reach inside of a used service: a scoped hook reaches the service that uses it, and only a global one the next. */
const BELOW = { none: 'local', local: 'scoped', scoped: 'scoped', any: 'any' } as const

export const ALL: Wishes = {
  kinds: new Set([
    ...(['message', 'hook', 'guard', 'guarded', 'group', 'plugin', 'use', 'macro'] as const),
    ...(['class', 'model', 'decorate', 'state', 'as'] as const)
  ]),
  reach: 'any',
  hooks: HOOKS,
  inOptions: HOOKS.slice(2),
  codes: ['E0', 'E1', 'E2', 'E3', 'E4'],
  acts: ['answer', 'throw', 'return']
}

/** Trees without some of the kinds of steps and hooks, at random: what is rare beside everything else is frequent then. */
export function swarm(random: Random, wishes: Wishes): Wishes {
  const some = <Item>(items: Iterable<Item>) => [...items].filter(() => random.chance(0.7))
  return {
    ...wishes,
    kinds: new Set(['message', ...some(wishes.kinds)]),
    hooks: some(wishes.hooks),
    codes: some(wishes.codes)
  }
}

/** Random steps of a chain. @param depth how many services and groups there may still be inside */
export function newSteps(random: Random, wishes: Wishes, depth: number): Steps {
  const kinds = [...wishes.kinds].filter((kind) => wishes.reach !== 'none' || !REACHING.has(kind))
  // Without handlers there is nothing to see.
  const chosen = [...kinds, 'message', 'message'] as const
  return Array.from({ length: random.between(1, 7) }, () => newStep(random, random.of(chosen), wishes, depth))
}

function newStep(random: Random, kind: Step['do'], wishes: Wishes, depth: number): Step {
  const scope = () => random.of<Scope>(WITHIN[wishes.reach])
  const inside = (reach: Reach) => (depth > 0 ? newSteps(random, { ...wishes, reach }, depth - 1) : [])
  const options = () => {
    const hooks = wishes.hooks.filter((type) => kind === 'macro' || wishes.inOptions.includes(type))
    // A guard or macro without anything does nothing.
    return newOptions(random, { ...wishes, hooks }, kind === 'message' ? 0.25 : 0.5)
  }
  switch (kind) {
    case 'message':
      return {
        do: kind,
        options: options(),
        isLate: random.chance(0.3),
        isWrapped: wishes.reach !== 'none' && random.chance(0.2)
      }
    case 'hook':
      if (wishes.hooks.length === 0) break
      return { do: kind, as: scope(), hook: newHook(random, wishes) }
    case 'guard':
      return { do: kind, as: scope(), isStandalone: random.chance(0.3), options: options() }
    case 'guarded':
      return { do: kind, options: options(), steps: inside('any') }
    case 'group':
      return { do: kind, prefix: random.of(['g', 'k']), steps: inside('any') }
    case 'plugin':
      // The steps of a function stand in the chain itself.
      return { do: kind, steps: inside(wishes.reach) }
    case 'use':
      return { do: kind, steps: inside(BELOW[wishes.reach]) }
    case 'macro':
      return { do: kind, name: random.of(MACROS), isFunction: random.chance(0.4), options: options() }
    case 'class':
      if (wishes.codes.length === 0) break
      return { do: kind, as: scope(), code: random.of(wishes.codes) }
    case 'model':
      return { do: kind, key: random.of(KEYS) }
    case 'decorate':
      return { do: kind, name: random.of(['d0', 'd1']) }
    case 'state':
      return { do: kind, name: random.of(['s0', 's1']) }
    case 'as':
      if (wishes.reach === 'local' || wishes.reach === 'none') break
      return { do: kind, as: wishes.reach === 'any' ? random.of(['scoped', 'global']) : 'scoped' }
  }
  return newStep(random, 'message', wishes, depth)
}

/** @param likelihood that of each schema, and of a hook */
function newOptions(random: Random, wishes: Wishes, likelihood: number): Options {
  const schemas = (['data', 'headers', 'response'] as const).flatMap((part) =>
    random.chance(likelihood) ? [[part, random.of(KEYS)]] : []
  )
  return {
    schemas: Object.fromEntries(schemas) as Schemas,
    hooks: wishes.hooks.length > 0 && random.chance(likelihood) ? [newHook(random, wishes)] : [],
    macros: wishes.kinds.has('macro') ? MACROS.filter(() => random.chance(0.3)) : [],
    byName: random.chance(0.5)
  }
}

function newHook(random: Random, { hooks, acts }: Wishes): HookSpec {
  return {
    type: random.of(hooks),
    key: random.of(KEYS),
    act: random.of(acts),
    field: random.of(['f0', 'f1']),
    isLate: random.chance(0.3)
  }
}

export function newInputs(random: Random): readonly Input[] {
  const some = () =>
    Object.fromEntries(KEYS.flatMap((key) => (random.chance(0.55) ? [[key, '1']] : []))) as Input['data']
  // All keys at once pass every schema.
  const full: Input = { data: { a: '1', b: '1', c: '1' }, headers: { a: '1', b: '1', c: '1' } }
  const others = Array.from({ length: random.between(1, 4) }, () => ({
    data: some(),
    headers: some(),
    ...(random.chance(0.3) && { fail: random.between(0, 3) })
  }))
  return [full, ...others]
}
