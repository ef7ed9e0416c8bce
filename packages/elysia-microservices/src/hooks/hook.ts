/** Hooks: functions that run before, after or instead of handlers, in the order of their registration. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { MessageContext } from './context.ts'

/** The reach of a hook: this service, also the one that uses it, or also all above. */
export type HookScope = 'local' | 'scoped' | 'global'

/** When a hook runs. */
export type HookType = 'derive' | 'resolve' | 'beforeHandle' | 'afterHandle' | 'error' | 'afterResponse'

/** A hook; what its result means depends on its type. */
export type HookFunction = (context: MessageContext) => unknown

/** A registered hook. */
export interface Hook {
  readonly type: HookType
  readonly scope: HookScope
  readonly run: HookFunction
}

/** Hooks as `guard`, `macro` and the options of a handler take them. */
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
 * The hook that a method is given: `onBeforeHandle(run)` or `onBeforeHandle({ as: 'scoped' }, run)`.
 * @throws {OptionError} it is no function, or has no such scope
 */
export function hookOf(type: HookType, first: unknown, second: unknown): Hook {
  const [options, run] = second === undefined ? [{}, first] : [first, second]
  return { type, scope: scopeOf(options), run: functionOf(type, run) }
}

/**
 * The hooks of an options object, in the order in which they run.
 * @throws {OptionError} one is no function
 */
export function hooksOf(options: HookOptions, scope: HookScope): Hook[] {
  return TYPES.flatMap((type) => {
    const given = options[type]
    if (given === undefined) return []
    return [given].flat().map((run) => ({ type, scope, run: functionOf(type, run) }))
  })
}

/**
 * The scope that `{ as }` says; local if it says none.
 * @throws {OptionError} there is no such scope
 */
export function scopeOf(options: unknown): HookScope {
  const scope: unknown = (options as { as?: unknown } | null)?.as ?? 'local'
  if (scope === 'local' || scope === 'scoped' || scope === 'global') return scope
  throw OptionError.expected('options.as', "'local', 'scoped' or 'global'", scope)
}

/** Joins lists of hooks; a hook that is in several of them runs once. */
export function mergeHooks(...lists: (readonly Hook[])[]): Hook[] {
  const merged: Hook[] = []
  for (const hook of lists.flat()) {
    if (!merged.some(({ type, run }) => type === hook.type && run === hook.run)) merged.push(hook)
  }
  return merged
}

/** The hooks of a service that reach the service which uses it. */
export function liftHooks(hooks: readonly Hook[]): Hook[] {
  return hooks.flatMap((hook): Hook[] => {
    if (hook.scope === 'local') return []
    return [hook.scope === 'global' ? hook : { ...hook, scope: 'local' }]
  })
}

function functionOf(type: HookType, run: unknown): HookFunction {
  if (typeof run !== 'function') throw OptionError.expected(type, 'a function', run)
  return run as HookFunction
}
