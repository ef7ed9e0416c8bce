/** Hooks: functions that run before, after or instead of handlers, in the order in which they were registered. */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import type { MessageContext } from './context.ts'

/**
 * The services to which a hook applies. `local`: this service; `scoped`: also the service that uses it; `global`: also
 * all services above that.
 */
export type HookScope = 'local' | 'scoped' | 'global'

/** When a hook runs. */
export type HookType = 'derive' | 'resolve' | 'beforeHandle' | 'afterHandle' | 'error' | 'afterResponse'

/** A hook. The meaning of its result depends on its type. */
export type HookFunction = (context: MessageContext) => unknown

/** A registered hook. */
export interface Hook {
  readonly type: HookType
  readonly scope: HookScope
  readonly run: HookFunction
}

/** Hooks in the form in which `guard`, `macro` and the options of a handler accept them. */
export interface HookOptions {
  readonly derive?: unknown
  readonly resolve?: unknown
  readonly beforeHandle?: unknown
  readonly afterHandle?: unknown
  readonly error?: unknown
  readonly afterResponse?: unknown
}

/** The types of hooks, in the order in which they run. */
const TYPES: readonly HookType[] = [
  'derive',
  'resolve',
  'beforeHandle',
  'afterHandle',
  'error',
  'afterResponse'
]

/**
 * The hook from a method's arguments: `onBeforeHandle(run)` or `onBeforeHandle({ as: 'scoped' }, run)`.
 * @throws {OptionError} the hook is not a function, or the scope does not exist
 */
export function hookOf(type: HookType, first: unknown, second: unknown): Hook {
  const [options, run] = second === undefined ? [{}, first] : [first, second]
  return { type, scope: scopeOf(options), run: functionOf(type, run) }
}

/**
 * The hooks of an options object, in the order in which they run.
 * @throws {OptionError} a hook is not a function
 */
export function hooksOf(options: HookOptions, scope: HookScope): Hook[] {
  return TYPES.flatMap((type) => {
    const given = options[type]
    if (given === undefined) return []
    return [given].flat().map((run) => ({ type, scope, run: functionOf(type, run) }))
  })
}

/**
 * The scope in `{ as }`; `local` if there is none.
 * @throws {OptionError} the scope does not exist, or there is another option
 */
export function scopeOf(options: unknown): HookScope {
  // A hook whose scope is misspelt would have less reach than its author wants.
  checkNames('options', options, ['as'])
  const scope: unknown = (options as { as?: unknown }).as ?? 'local'
  if (scope === 'local' || scope === 'scoped' || scope === 'global') return scope
  throw OptionError.expected('options.as', "'local', 'scoped' or 'global'", scope)
}

/** Whether an option of this name is a hook. */
export function isHookType(name: string): name is HookType {
  return (TYPES as readonly string[]).includes(name)
}

/** Sorts the hooks of one options object in the order in which they run; hooks of one type keep their order. */
export function inOrder(hooks: readonly Hook[]): Hook[] {
  return TYPES.flatMap((type) => hooks.filter((hook) => hook.type === type))
}

/** Joins lists of hooks. A hook that is in several lists runs once. */
export function mergeHooks(...lists: (readonly Hook[])[]): Hook[] {
  const merged: Hook[] = []
  for (const hook of lists.flat()) {
    if (!merged.some(({ type, run }) => type === hook.type && run === hook.run)) merged.push(hook)
  }
  return merged
}

/** The hooks, guards or classes of errors of a service that also apply to the service that uses it. */
export function lifted<Scoped extends { readonly scope: HookScope }>(all: readonly Scoped[]): Scoped[] {
  return all.flatMap((one): Scoped[] => {
    if (one.scope === 'local') return []
    return [one.scope === 'global' ? one : { ...one, scope: 'local' }]
  })
}

function functionOf(type: HookType, run: unknown): HookFunction {
  if (type === 'error' && typeof run === 'object' && run !== null)
    throw new OptionError(
      'options.error',
      'options.error is the hook for failures, a function; the errors that a handler declares stand in options.errors'
    )
  if (typeof run !== 'function') throw OptionError.expected(type, 'a function', run)
  return run as HookFunction
}
