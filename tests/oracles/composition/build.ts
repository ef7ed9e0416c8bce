/** Makes a tree into one of our services, an app of Elysia, or the text of a program: whatever has the methods of a chain. */
import type { HookSpec, HookType, Input, Options, Step, Steps } from './tree.ts'

/** The methods of a chain, without types. */
export interface Chain {
  use(other: object): Chain
  guard(options: object, define?: (group: Chain) => Chain): Chain
  group(prefix: string, define: (group: Chain) => Chain): Chain
  macro(macros: object): Chain
  model(models: object): Chain
  decorate(name: string, value: unknown): Chain
  state(name: string, value: unknown): Chain
  as(scope: 'scoped' | 'global'): Chain
  derive: AddHook
  resolve: AddHook
  onBeforeHandle: AddHook
  onAfterHandle: AddHook
  onError: AddHook
  onAfterResponse: AddHook
}

type Run = (context: Context) => unknown
type AddHook = (options: { as: string }, hook: Run) => Chain

/** The fields that handlers and hooks read of their argument. */
export type Context = Readonly<Record<string, unknown>>

/** The ways in which our services and apps of Elysia differ. */
export interface Dialect {
  newChain(): Chain
  addHandler(chain: Chain, name: string, handler: Run, options: object, isWrapped: boolean, site: Site): Chain
  addClass(chain: Chain, as: string, classes: object): Chain
  prefix(prefix: string): string
  /** The schema of objects that have a key. */
  schema(key: string): object
  /** The name of the schema of a part. */
  part(part: string): string
  /** The data in the argument of a handler. */
  data(context: Context): unknown
}

/** One built tree: its handlers, and what has run for one message. */
export interface World {
  readonly handlers: { readonly id: string; readonly pattern: string }[]
  readonly log: string[]
  /** The message on its way. Hooks decide by it, because they may see other data than was sent. */
  input: Input
  /** Whether each handler gives its answer as a stream of one value. */
  isStreamed: boolean
}

/** A place in a tree. */
export interface Site {
  readonly world: World
  readonly dialect: Dialect
  /** Identifies the place; it is the same in every composition with the same part. */
  readonly id: string
  /** The prefixes of the groups around the place. */
  readonly prefix: readonly string[]
  /** The macros and models that are known here, the decorators and states that the service has or uses. */
  readonly macros: Map<string, boolean>
  readonly models: Set<string>
  readonly names: Set<string>
}

export class BaseError extends Error {
  readonly details = { secret: true }
}
export class SubError extends BaseError {}
export class OtherError extends Error {}
/** The errors that handlers throw, by the number in the input. */
export const FAILURES = [BaseError, SubError, OtherError, TypeError] as const
export const CLASSES: Readonly<Record<string, new () => Error>> = {
  E0: BaseError,
  E1: SubError,
  E2: OtherError,
  E3: Error,
  // A second code for a class.
  E4: BaseError
}

export const newWorld = (): World => ({
  handlers: [],
  log: [],
  input: { data: {}, headers: {} },
  isStreamed: false
})

/** A new place at the root of a tree. */
export function newSite(
  dialect: Dialect,
  id: string,
  world = newWorld(),
  prefix: readonly string[] = []
): Site {
  return { world, dialect, id, prefix, macros: new Map(), models: new Set(), names: new Set() }
}

/** Adds steps to a chain. */
export function build(chain: Chain, steps: Steps, site: Site): Chain {
  return steps.reduce(
    (before, step, index) => add(before, step, { ...site, id: `${site.id}-${index}` }),
    chain
  )
}

function add(chain: Chain, step: Step, site: Site): Chain {
  const { dialect, id, macros, models, names } = site
  switch (step.do) {
    case 'message':
      return addMessage(chain, step, site)
    case 'hook':
      return chain[METHODS[step.hook.type]]({ as: step.as }, hookOf(step.hook, site))
    case 'guard': {
      const schema = step.isStandalone ? { schema: 'standalone' } : {}
      return chain.guard({ as: step.as, ...schema, ...optionsOf(step.options, site) })
    }
    case 'guarded':
      return chain.guard(optionsOf(step.options, site), (group) => build(group, step.steps, within(site)))
    case 'group': {
      const inner = within(site, [...site.prefix, step.prefix])
      return chain.group(dialect.prefix(step.prefix), (group) => build(group, step.steps, inner))
    }
    case 'plugin':
      return chain.use((given: Chain) => build(given, step.steps, site))
    case 'use': {
      const used = { ...site, macros: new Map(), models: new Set<string>(), names: new Set<string>() }
      const service = build(dialect.newChain(), step.steps, used)
      for (const [name, isFunction] of used.macros) macros.set(name, isFunction)
      for (const name of used.models) models.add(name)
      for (const name of used.names) names.add(name)
      return chain.use(service)
    }
    case 'macro': {
      const newMacro = () =>
        optionsOf(
          // A macro that uses itself has no end. In a macro names are no schemas.
          {
            ...step.options,
            macros: step.options.macros.filter((name) => name > step.name),
            byName: false
          },
          site
        )
      macros.set(step.name, step.isFunction)
      return chain.macro({ [step.name]: step.isFunction ? newMacro : newMacro() })
    }
    case 'class':
      return dialect.addClass(chain, step.as, { [step.code]: CLASSES[step.code] })
    case 'model':
      models.add(step.key)
      return chain.model({ [step.key]: dialect.schema(step.key) })
    case 'decorate':
    case 'state':
      // A service refuses a second value of one name.
      if (names.has(step.name)) return chain
      names.add(step.name)
      return chain[step.do](step.name, id)
    case 'as':
      return chain.as(step.as)
  }
}

function within(site: Site, prefix = site.prefix): Site {
  const { macros, models, names } = site
  return { ...site, prefix, macros: new Map(macros), models: new Set(models), names: new Set(names) }
}

function addMessage(
  chain: Chain,
  { options, isLate, isWrapped }: Step & { do: 'message' },
  site: Site
): Chain {
  const { world, dialect, id, prefix, names } = site
  const name = `h${id}`
  world.handlers.push({ id, pattern: [...prefix, name].join('.') })
  const own = [...names].sort()
  const answer = (context: Context) => {
    const Failure = FAILURES[world.input.fail ?? -1]
    if (Failure !== undefined) throw new Failure(id)
    return { ...Object(dialect.data(context)), ...seen(context, own), by: id }
  }
  const handler = (context: Context) => {
    world.log.push(`${id} handler`)
    if (world.isStreamed) return isLate ? onceLater(() => answer(context)) : once(() => answer(context))
    return isLate ? Promise.resolve().then(() => answer(context)) : answer(context)
  }
  return dialect.addHandler(chain, name, named(handler, id), optionsOf(options, site), isWrapped, site)
}

/** A stream of one value. */
function* once(answer: () => unknown) {
  yield answer()
}

async function* onceLater(answer: () => unknown) {
  await undefined
  yield answer()
}

/** The fields that hooks have added, and the decorators and states of the service. */
function seen(context: Context, names: readonly string[]): object {
  const fields = ['f0', 'f1'].map((field) => [field, context[field] ?? null])
  // A name that the service does not have may have a meaning in a service around it.
  const own = names.map((name) => [
    name,
    name.startsWith('s') ? Object(context['store'])[name] : context[name]
  ])
  return Object.fromEntries([...fields, ...own])
}

const METHODS = {
  derive: 'derive',
  resolve: 'resolve',
  beforeHandle: 'onBeforeHandle',
  afterHandle: 'onAfterHandle',
  error: 'onError',
  afterResponse: 'onAfterResponse'
} as const satisfies Readonly<Record<HookType, keyof Chain>>

function optionsOf({ schemas, hooks, macros, byName }: Options, site: Site): object {
  const { dialect, models, macros: known } = site
  const parts = Object.entries(schemas).map(([part, key]) => [
    dialect.part(part),
    byName && models.has(key) ? key : dialect.schema(key)
  ])
  const used = macros.filter((name) => known.has(name)).map((name) => [name, true])
  const own = hooks.map((hook, index) => [hook.type, hookOf(hook, { ...site, id: `${site.id}.${index}` })])
  return Object.fromEntries([...used, ...parts, ...own])
}

/** The function of a hook, which writes its place and what it sees into the log. */
function hookOf({ type, key, act, field, isLate }: HookSpec, { world, id }: Site): Run {
  const acts = (context: Context): unknown => {
    if (type === 'afterResponse') return undefined
    const isActing = Object.hasOwn(world.input.data, key)
    const isAnswering = act === 'answer' || act === 'lack'
    if (isActing && !isAnswering) {
      const error = new BaseError(id)
      if (act === 'throw') throw error
      if (type !== 'afterHandle') return error
    }
    if (type === 'derive' || type === 'resolve') return { [field]: id }
    if (!isActing || !isAnswering) return undefined
    if (act === 'lack') return { a: '1', by: id }
    return type === 'afterHandle' ? { ...Object(context['response']), after: id } : { ...FULL, by: id }
  }
  const run = (context: Context) => {
    const { f0, f1, response, code } = context
    const sees = { f0, f1, ...(type === 'afterHandle' && { response }), ...(type === 'error' && { code }) }
    world.log.push(`${id} ${type} ${sorted(sees)}`)
    return isLate ? Promise.resolve().then(() => acts(context)) : acts(context)
  }
  return named(run, `${id} ${type}${isLate ? ' late' : ''} ${key} ${act} ${field}`)
}

/** The text of a value, with the keys of objects in the order of the alphabet. */
export function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part
  )
}

/** An answer that passes every schema. */
const FULL = { a: '1', b: '1', c: '1' }

/** The names of functions in programs. */
export const NAMES = new WeakMap<object, string>()

function named(run: Run, name: string): Run {
  NAMES.set(run, name)
  return run
}
