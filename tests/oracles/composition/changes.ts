/** Changes of trees, after which they do not have a shape. Each returns the same tree if it does not have the shape. */
import type { HookSpec, HookType, Options, Step, Steps } from './tree.ts'

/** Changes each step of a tree, the inner ones first; `undefined` removes one. @returns the same tree if nothing has changed */
export function changed(steps: Steps, change: (step: Step) => Step | undefined): Steps {
  const all = steps.flatMap((step) => {
    if (!('steps' in step)) return change(step) ?? []
    const inner = changed(step.steps, change)
    return change(inner === step.steps ? step : { ...step, steps: inner }) ?? []
  })
  return all.length === steps.length && all.every((step, index) => step === steps[index]) ? steps : all
}

/** The same step with other options. */
export function withOptions(step: Step, change: (options: Options) => Options): Step {
  if (!('options' in step)) return step
  const options = change(step.options)
  return options === step.options ? step : ({ ...step, options } as Step)
}

/** The same tree with other hooks; `undefined` removes one. */
export function withHooks(steps: Steps, change: (hook: HookSpec, step: Step) => HookSpec | undefined): Steps {
  return changed(steps, (step) => {
    if (step.do === 'hook') {
      const hook = change(step.hook, step)
      return hook === step.hook ? step : hook && { ...step, hook }
    }
    return withOptions(step, (options) => {
      const hooks = options.hooks.flatMap((hook) => change(hook, step) ?? [])
      const isSame =
        hooks.length === options.hooks.length && hooks.every((one, at) => one === options.hooks[at])
      return isSame ? options : { ...options, hooks }
    })
  })
}

/** All hooks of a tree. */
export function hooksIn(steps: Steps): HookSpec[] {
  return [...all(steps)].flatMap((step) =>
    step.do === 'hook' ? [step.hook] : 'options' in step ? step.options.hooks : []
  )
}

export function withoutSchemas(options: Options, parts: readonly string[]): Options {
  const kept = Object.entries(options.schemas).filter(([part]) => !parts.includes(part))
  return kept.length === Object.keys(options.schemas).length
    ? options
    : { ...options, schemas: Object.fromEntries(kept) }
}

export function* all(steps: Steps): Iterable<Step> {
  for (const step of steps) {
    yield step
    if ('steps' in step) yield* all(step.steps)
  }
}

/** The same tree with the first macro of each name. */
export function withoutNamesakes(steps: Steps): Steps {
  const names = new Set<string>()
  return changed(steps, (step) => {
    if (step.do !== 'macro') return step
    if (names.has(step.name)) return undefined
    names.add(step.name)
    return step
  })
}

/** The same chain without hooks that are registered after a handler and after a hook of their kind. */
export function settled(steps: Steps, seen = new Set<HookType>(), before = { hasHandler: false }): Steps {
  // Elysia keeps hooks of these two types in one list.
  const listOf = ({ type }: HookSpec) => (type === 'resolve' ? 'beforeHandle' : type)
  const isLate = (one: HookSpec) => before.hasHandler && seen.has(listOf(one))
  const all = steps.flatMap((step): Step[] => {
    if (step.do === 'hook') {
      if (isLate(step.hook)) return []
      seen.add(listOf(step.hook))
    } else if (step.do === 'guard') {
      const hooks = step.options.hooks.filter((one) => !isLate(one))
      for (const one of hooks) seen.add(listOf(one))
      if (hooks.length < step.options.hooks.length) return [{ ...step, options: { ...step.options, hooks } }]
    } else if (step.do === 'message') before.hasHandler = true
    else if ('steps' in step) {
      const inner =
        step.do === 'use'
          ? settled(step.steps)
          : settled(step.steps, step.do === 'plugin' ? seen : new Set(seen), before)
      before.hasHandler = true
      const own = inner === step.steps ? step : { ...step, steps: inner }
      if (step.do !== 'use') return [own]
      const reaching = hooksIn(inner)
      if (reaching.some(isLate)) return [{ ...own, steps: localOnly(inner) }]
      for (const one of reaching) seen.add(listOf(one))
      return [own]
    }
    return [step]
  })
  return all.length === steps.length && all.every((step, index) => step === steps[index]) ? steps : all
}

/** The same chain, whose hooks and guards reach no other chain. */
function localOnly(steps: Steps): Steps {
  return changed(steps, (step) => {
    if (step.do === 'as') return undefined
    return 'as' in step && step.as !== 'local' ? { ...step, as: 'local' } : step
  })
}

/** The steps of a chain, with those of functions that it calls. */
export function plain(steps: Steps): readonly Step[] {
  return steps.flatMap((step) => (step.do === 'plugin' ? plain(step.steps) : [step]))
}
