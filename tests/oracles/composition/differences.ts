/**
 * Where Elysia and we differ, on purpose or because Elysia is wrong. Trees that are compared do not have these shapes; a
 * tree for each of them shows that it is still needed.
 */
import {
  all,
  changed,
  hooksIn,
  plain,
  settled,
  withHooks,
  withOptions,
  withoutNamesakes,
  withoutSchemas
} from './changes.ts'
import type { HookSpec, HookType, Input, Options, Step, Steps } from './tree.ts'

export type Mode = 'compiled' | 'dynamic'

export interface Difference {
  readonly name: string
  /** The sentence of our documentation that says it. Where there is none, Elysia contradicts itself or its own documentation. */
  readonly docs?: readonly [page: string, sentence: string]
  /** The mode of Elysia that differs from us; both if there is none. In the other one, nothing is avoided or ignored. */
  readonly mode?: Mode
  /** The same tree without the shape that differs; the same object if it does not have the shape. */
  avoid?(steps: Steps): Steps
  /** The lines of what has run that are not compared. */
  ignores?(line: string, hasFailed: boolean): boolean
  /** The smallest tree with the shape, and of no other difference, and an input that shows the difference. */
  readonly shows: { readonly steps: Steps; readonly input: Input }
}

const PLAIN: Options = { schemas: {}, hooks: [], macros: [], byName: false }
const message = (options: Partial<Options> = {}): Step => ({
  do: 'message',
  options: { ...PLAIN, ...options },
  isLate: false,
  isWrapped: false
})
const hook = (type: HookSpec['type'], act: HookSpec['act']): HookSpec => ({
  type,
  key: 'a',
  act,
  field: 'f0',
  isLate: false
})
const BEFORE: ReadonlySet<HookType> = new Set(['derive', 'resolve', 'beforeHandle'])
const EVERY = ['data', 'headers', 'response']
const THREE = 'In three places Elysia 1.4 drops a schema that this library checks'

export const DIFFERENCES: readonly Difference[] = [
  {
    name: 'the schema of a macro in a guard',
    docs: ['schemas.md', `${THREE}: the schema of a macro in \`guard({ macro: true })\``],
    avoid(steps) {
      const macros = [...all(steps)].filter((step) => step.do === 'macro')
      const used = new Set(
        [...all(steps)].flatMap((step) =>
          step.do === 'guard' || step.do === 'guarded' ? step.options.macros : []
        )
      )
      // A macro that another one uses stands before it in the alphabet.
      for (const name of [...used].sort())
        for (const macro of macros)
          if (macro.name === name) for (const inner of macro.options.macros) used.add(inner)
      return changed(steps, (step) =>
        step.do === 'macro' && used.has(step.name)
          ? withOptions(step, (options) => withoutSchemas(options, EVERY))
          : step
      )
    },
    shows: {
      steps: [
        { do: 'macro', name: 'm0', isFunction: false, options: { ...PLAIN, schemas: { data: 'a' } } },
        { do: 'guard', as: 'local', isStandalone: false, options: { ...PLAIN, macros: ['m0'] } },
        message()
      ],
      input: { data: {}, headers: {} }
    }
  },
  {
    name: 'the response of a macro or of a guard with a callback, beside another one',
    docs: ['schemas.md', 'the `response` of a macro or of a guard with a callback, beside another one'],
    mode: 'compiled',
    avoid: (steps) =>
      changed(steps, (step) =>
        step.do === 'macro' || step.do === 'guarded'
          ? withOptions(step, (options) => withoutSchemas(options, ['response']))
          : step
      ),
    shows: {
      steps: [
        {
          do: 'guarded',
          options: { ...PLAIN, schemas: { response: 'a' } },
          steps: [message({ schemas: { response: 'c' } })]
        }
      ],
      input: { data: { c: '1' }, headers: {} }
    }
  },
  {
    name: 'a schema of a handler beside the guard of its service, when the service is used, or is a group',
    docs: [
      'schemas.md',
      "a handler's own schema beside its service's guard, when the service is used by another one"
    ],
    avoid: (steps) =>
      changed(steps, (step) => {
        if (step.do !== 'use' && step.do !== 'group' && step.do !== 'guarded') return step
        const partsOf = (one: Step) => (one.do === 'guard' ? Object.keys(one.options.schemas) : [])
        const guards = [...all(step.steps)].flatMap(partsOf)
        if (guards.length === 0) return step
        // A guard of a used service may reach this one.
        const reaching = plain(step.steps).flatMap((one) =>
          one.do === 'use'
            ? [...all(one.steps)].filter((guard) => !('as' in guard) || guard.as !== 'local')
            : [one]
        )
        const own = reaching.flatMap(partsOf)
        const inner = changed(step.steps, (one) => {
          if (one.do === 'message') return withOptions(one, (options) => withoutSchemas(options, guards))
          if (one.do !== 'use' && one.do !== 'group' && one.do !== 'guarded') return one
          const used = changed(one.steps, (guard) =>
            guard.do === 'guard' ? withOptions(guard, (options) => withoutSchemas(options, own)) : guard
          )
          return used === one.steps ? one : { ...one, steps: used }
        })
        return inner === step.steps ? step : { ...step, steps: inner }
      }),
    shows: {
      steps: [
        {
          do: 'use',
          steps: [
            { do: 'guard', as: 'local', isStandalone: false, options: { ...PLAIN, schemas: { data: 'a' } } },
            message({ schemas: { data: 'b' } })
          ]
        }
      ],
      input: { data: { a: '1' }, headers: {} }
    }
  },
  {
    name: 'hooks after the response of a message that has failed',
    docs: ['hooks.md', '| `onAfterResponse(hook)` | runs when the message is over'],
    mode: 'compiled',
    ignores: (line, hasFailed) => hasFailed && line.includes(' afterResponse '),
    shows: {
      steps: [message({ hooks: [hook('afterResponse', 'answer')] })],
      input: { data: {}, headers: {}, fail: 0 }
    }
  },
  {
    name: "error hooks in Elysia's dynamic mode: those of a route do not run, those of an app reach all of its routes",
    mode: 'dynamic',
    avoid: (steps) => withHooks(steps, (one) => (one.type === 'error' ? undefined : one)),
    shows: {
      steps: [message({ hooks: [hook('error', 'answer')] })],
      input: { data: {}, headers: {}, fail: 0 }
    }
  },
  {
    name: 'an error hook that throws',
    mode: 'compiled',
    avoid: (steps) =>
      withHooks(steps, (one) =>
        one.type === 'error' && one.act === 'throw' ? { ...one, act: 'answer' } : one
      ),
    shows: {
      steps: [message({ hooks: [hook('error', 'throw')] })],
      input: { data: { a: '1' }, headers: {}, fail: 0 }
    }
  },
  {
    name: 'a response that does not fit its schema, and the answer of an error hook that does not',
    docs: [
      'hooks.md',
      'it must fit the schema of the response (Elysia sends it with an error status, and does not check it)'
    ],
    mode: 'compiled',
    avoid: (steps) =>
      hooksIn(steps).some(({ type }) => type === 'error')
        ? changed(steps, (step) => withOptions(step, (options) => withoutSchemas(options, ['response'])))
        : steps,
    shows: {
      steps: [message({ schemas: { response: 'b' }, hooks: [hook('error', 'answer')] })],
      input: { data: { a: '1' }, headers: {}, fail: 0 }
    }
  },
  {
    name: 'derive in a macro, which Elysia passes over',
    avoid: (steps) =>
      withHooks(steps, (one, step) => (one.type === 'derive' && step.do === 'macro' ? undefined : one)),
    shows: {
      steps: [
        {
          do: 'macro',
          name: 'm0',
          isFunction: false,
          options: { ...PLAIN, hooks: [hook('derive', 'answer')] }
        },
        message({ macros: ['m0'] })
      ],
      input: { data: {}, headers: {} }
    }
  },
  {
    name: 'schemas of responses in the dynamic mode, which drop what they do not name although they let it pass, and are not checked beside afterHandle hooks',
    mode: 'dynamic',
    avoid: (steps) =>
      changed(steps, (step) => withOptions(step, (options) => withoutSchemas(options, ['response']))),
    shows: {
      steps: [message({ schemas: { response: 'a' } })],
      input: { data: { a: '1' }, headers: {} }
    }
  },
  {
    name: 'hooks of a macro beside hooks of the handler itself',
    docs: ['hooks.md', 'The hooks of a macro run before other hooks in the same options.'],
    avoid(steps) {
      const hooked = new Set(
        [...all(steps)].flatMap((step) =>
          step.do === 'macro' && step.options.hooks.length + step.options.macros.length > 0 ? [step.name] : []
        )
      )
      return changed(steps, (step) =>
        withOptions(step, (options) =>
          options.hooks.length > 0 && options.macros.some((name) => hooked.has(name))
            ? { ...options, hooks: [] }
            : options
        )
      )
    },
    shows: {
      steps: [
        {
          do: 'macro',
          name: 'm0',
          isFunction: false,
          options: { ...PLAIN, hooks: [hook('afterResponse', 'answer')] }
        },
        message({ macros: ['m0'], hooks: [hook('afterResponse', 'answer')] })
      ],
      input: { data: {}, headers: {} }
    }
  },
  {
    name: 'afterHandle hooks in the dynamic mode, which ends with the first that replaces the answer, and passes over their errors',
    mode: 'dynamic',
    avoid: (steps) => withHooks(steps, (one) => (one.type === 'afterHandle' ? undefined : one)),
    shows: {
      steps: [message({ hooks: [hook('afterHandle', 'throw')] })],
      input: { data: { a: '1' }, headers: {} }
    }
  },
  {
    name: 'error hooks in a group, which Elysia runs twice, and outside of the group, too',
    mode: 'compiled',
    avoid: (steps) =>
      changed(steps, (step) => {
        if (step.do !== 'group' && step.do !== 'guarded') return step
        const inner = withHooks(step.steps, (one, owner) =>
          one.type === 'error' && owner.do !== 'message' ? undefined : one
        )
        return inner === step.steps ? step : { ...step, steps: inner }
      }),
    shows: {
      steps: [
        {
          do: 'group',
          prefix: 'g',
          steps: [message(), { do: 'hook', as: 'local', hook: hook('error', 'answer') }]
        }
      ],
      input: { data: { a: '1' }, headers: {}, fail: 0 }
    }
  },
  {
    name: 'a second macro of one name, which Elysia passes over in a group, and which reaches handlers before it',
    avoid: (steps) => withoutNamesakes(steps),
    shows: {
      steps: [
        { do: 'macro', name: 'm0', isFunction: false, options: { ...PLAIN, schemas: { data: 'a' } } },
        {
          do: 'group',
          prefix: 'g',
          steps: [{ do: 'macro', name: 'm0', isFunction: false, options: PLAIN }, message({ macros: ['m0'] })]
        }
      ],
      input: { data: {}, headers: {} }
    }
  },
  {
    name: 'a response beside several afterHandle hooks: Elysia checks it after each of them that replaces it',
    docs: ['hooks.md', 'the handler, `onAfterHandle`, the schema of the response'],
    mode: 'compiled',
    avoid: (steps) =>
      hooksIn(steps).filter(({ type }) => type === 'afterHandle').length > 1
        ? changed(steps, (step) => withOptions(step, (options) => withoutSchemas(options, ['response'])))
        : steps,
    shows: {
      steps: [
        { do: 'hook', as: 'local', hook: hook('afterHandle', 'answer') },
        message({ schemas: { response: 'b' }, hooks: [hook('afterHandle', 'answer')] })
      ],
      input: { data: { a: '1' }, headers: {} }
    }
  },
  {
    name: 'a standalone guard that reaches further than its service, which in Elysia holds for handlers before it, too',
    docs: ['hooks.md', 'and apply to handlers registered after them'],
    avoid: (steps) =>
      changed(steps, (step) => {
        if (step.do !== 'use') return step
        const isLifted = [...all(step.steps)].some((one) => one.do === 'as')
        const inner = changed(step.steps, (one) =>
          one.do === 'guard' && one.isStandalone && (one.as !== 'local' || isLifted)
            ? { ...one, isStandalone: false }
            : one
        )
        return inner === step.steps ? step : { ...step, steps: inner }
      }),
    shows: {
      steps: [
        {
          do: 'use',
          steps: [
            message(),
            {
              do: 'guard',
              as: 'scoped',
              isStandalone: true,
              options: { ...PLAIN, schemas: { headers: 'b' } }
            }
          ]
        }
      ],
      input: { data: {}, headers: {} }
    }
  },
  {
    name: 'a macro that a handler and its guard, or two guards, use',
    docs: [
      'hooks.md',
      "each of them runs at its place among the macro's members, and only once for one value"
    ],
    avoid(steps) {
      const used = [...all(steps)].flatMap((step) => ('options' in step ? step.options.macros : []))
      const isOnce = (name: string) => used.indexOf(name) === used.lastIndexOf(name)
      return changed(steps, (step) =>
        step.do !== 'guard' && step.do !== 'guarded'
          ? step
          : withOptions(step, (options) =>
              options.macros.every(isOnce) ? options : { ...options, macros: options.macros.filter(isOnce) }
            )
      )
    },
    shows: {
      steps: [
        {
          do: 'macro',
          name: 'm0',
          isFunction: false,
          options: { ...PLAIN, hooks: [hook('beforeHandle', 'throw')] }
        },
        { do: 'guarded', options: { ...PLAIN, macros: ['m0'] }, steps: [message({ macros: ['m0'] })] }
      ],
      input: { data: {}, headers: {} }
    }
  },
  {
    name: 'a hook that returns an error',
    docs: ['hooks.md', 'If a hook returns an `Error`, the message fails with this error.'],
    avoid: (steps) =>
      withHooks(steps, (one) =>
        one.act === 'return' && BEFORE.has(one.type) ? { ...one, act: 'throw' } : one
      ),
    shows: {
      steps: [{ do: 'hook', as: 'local', hook: hook('resolve', 'return') }, message()],
      input: { data: { a: '1' }, headers: {} }
    }
  },
  {
    name: 'a hook that is registered after a handler, and reaches it in Elysia if there was a hook of its kind before',
    docs: ['hooks.md', 'and apply to handlers registered after them'],
    avoid: (steps) => settled(steps),
    shows: {
      steps: [
        { do: 'hook', as: 'local', hook: hook('beforeHandle', 'throw') },
        message(),
        { do: 'hook', as: 'local', hook: hook('beforeHandle', 'throw') }
      ],
      input: { data: {}, headers: {} }
    }
  }
]
