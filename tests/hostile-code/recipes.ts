/**
 * Recipes for values that users' code may return or throw: plain data, from which the other side creates the value.
 * Some have names because they have caused a failure before; a generator creates any others.
 */
import fc from 'fast-check'
import { finalize, Observable, type Subscriber } from 'rxjs'
import { ATOMS, withThen } from './atoms.ts'

/** One step of hostile code when it is called. */
export type Step = readonly ['resolve' | 'reject' | 'throw' | 'next' | 'error' | 'complete', Recipe?]

/** How a value is created: the name of a simple value, or a composed kind. */
export type Recipe =
  | string
  | { readonly promise: Recipe }
  | { readonly rejection: Recipe }
  | { readonly object: Recipe }
  | { readonly list: Recipe }
  | { readonly toJson: Recipe }
  | { readonly thenable: readonly Step[]; readonly late?: boolean | undefined }
  | {
      readonly observable: readonly Step[]
      readonly teardown?: Recipe | undefined
      readonly returns?: Recipe | undefined
    }
  | {
      readonly generator: readonly Recipe[]
      readonly teardown?: Recipe | undefined
      readonly throws?: Recipe | undefined
    }
  | {
      readonly asyncGenerator: readonly Recipe[]
      readonly teardown?: Recipe | undefined
      readonly throws?: Recipe | undefined
    }
  | { readonly iterator: Recipe; readonly returns?: Recipe | undefined }
  | { readonly asyncIterator: Recipe; readonly returns?: Recipe | undefined }

function run(steps: readonly Step[], call: (action: string, value: unknown) => void): void {
  for (const [action, recipe] of steps) {
    const value = recipe === undefined ? undefined : make(recipe)
    if (action === 'throw') throw value
    call(action, value)
  }
}

function teardownOf(recipe: Recipe | undefined): void {
  if (recipe !== undefined) throw make(recipe)
}

/** An object whose `then` runs these steps, and resolves after the last step. */
function thenable(steps: readonly Step[], isLate: boolean): object {
  const then = (resolve: (value: unknown) => void, reject: (error: unknown) => void) => {
    const settle = () => {
      run(steps, (action, value) => {
        if (action === 'reject' || action === 'error') reject(value)
        else resolve(value)
      })
      resolve('at last')
    }
    if (!isLate) return settle()
    setTimeout(() => {
      try {
        settle()
      } catch {
        resolve('at last')
      }
    }, 1)
  }
  return withThen({}, then)
}

function observable(
  steps: readonly Step[],
  teardown: Recipe | undefined,
  returns: Recipe | undefined
): object {
  if (returns !== undefined) {
    // A subscription of another library: what `subscribe` returns can be anything.
    return {
      '@@observable': () => undefined,
      subscribe(observer: Subscriber<unknown>) {
        emit(steps, observer)
        return make(returns)
      }
    }
  }
  const values = new Observable((subscriber) => emit(steps, subscriber))
  return teardown === undefined ? values : values.pipe(finalize(() => teardownOf(teardown)))
}

function emit(
  steps: readonly Step[],
  observer: Pick<Subscriber<unknown>, 'next' | 'error' | 'complete'>
): void {
  run(steps, (action, value) => {
    if (action === 'reject' || action === 'error') observer.error(value)
    else if (action === 'complete') observer.complete()
    else observer.next(value)
  })
  observer.complete()
}

function* generator(values: readonly Recipe[], throws: Recipe | undefined, teardown: Recipe | undefined) {
  try {
    for (const recipe of values) yield make(recipe)
    if (throws !== undefined) throw make(throws)
  } finally {
    // biome-ignore lint/correctness/noUnsafeFinally: it is what is tested
    if (teardown !== undefined) throw make(teardown)
  }
}

async function* asyncGenerator(
  values: readonly Recipe[],
  throws: Recipe | undefined,
  teardown: Recipe | undefined
) {
  yield* generator(values, throws, teardown)
}

/** A promise whose rejection need not be handled: an unhandled one would be the fault of the recipe. */
function unwatched(work: () => Promise<unknown>): Promise<unknown> {
  const promise = Promise.resolve().then(work)
  promise.catch(() => {})
  return promise
}

/** Creates the value of a recipe. */
export function make(recipe: Recipe): unknown {
  if (typeof recipe === 'string') return ATOMS[recipe]?.()
  if ('promise' in recipe) return unwatched(async () => make(recipe.promise))
  if ('rejection' in recipe) {
    return unwatched(async () => {
      throw make(recipe.rejection)
    })
  }
  if ('object' in recipe) return { before: 1, member: make(recipe.object) }
  if ('list' in recipe) return [1, make(recipe.list)]
  if ('toJson' in recipe) return { toJSON: () => make(recipe.toJson) }
  if ('thenable' in recipe) return thenable(recipe.thenable, recipe.late === true)
  if ('observable' in recipe) return observable(recipe.observable, recipe.teardown, recipe.returns)
  if ('generator' in recipe) return generator(recipe.generator, recipe.throws, recipe.teardown)
  if ('asyncGenerator' in recipe) return asyncGenerator(recipe.asyncGenerator, recipe.throws, recipe.teardown)
  const isAsync = 'asyncIterator' in recipe
  const step = isAsync ? recipe.asyncIterator : recipe.iterator
  let left = 3
  const iterator = {
    next: () => (left-- > 0 ? make(step) : { done: true, value: undefined }),
    return: () => (recipe.returns === undefined ? { done: true } : make(recipe.returns))
  }
  return Object.assign(iterator, { [isAsync ? Symbol.asyncIterator : Symbol.iterator]: () => iterator })
}

const THROWN = 'an error'

/** Recipes that have caused a failure before, or are likely to. */
export const RECIPES: Readonly<Record<string, Recipe>> = {
  ...Object.fromEntries(Object.keys(ATOMS).map((atom) => [atom, atom])),
  'a thenable that throws': { thenable: [['throw', THROWN]] },
  'a thenable that settles twice': {
    thenable: [
      ['resolve', 'a text'],
      ['resolve', 'a text']
    ]
  },
  'a thenable that resolves and rejects': {
    thenable: [
      ['resolve', 'a text'],
      ['reject', THROWN]
    ]
  },
  'a thenable that rejects and resolves': {
    thenable: [
      ['reject', THROWN],
      ['resolve', 'a text']
    ]
  },
  'a thenable that resolves and throws': {
    thenable: [
      ['resolve', 'a text'],
      ['throw', THROWN]
    ]
  },
  'a thenable of a thenable that throws': { thenable: [['resolve', { thenable: [['throw', THROWN]] }]] },
  'a thenable of a stream that throws': { thenable: [['resolve', { generator: [], throws: THROWN }]] },
  'a promise of a revoked Proxy': { promise: 'a revoked Proxy' },
  'a rejection with a revoked Proxy': { rejection: 'a revoked Proxy' },
  'a toJSON that throws': { toJson: 'a member that cannot be read' },
  'a toJSON that gives a function': { toJson: 'a function' },
  'a list with a revoked Proxy': { list: 'a revoked Proxy' },
  'an Observable that throws': { observable: [['throw', THROWN]] },
  'an Observable that fails with a revoked Proxy': { observable: [['error', 'a revoked Proxy']] },
  'an Observable that goes on after its end': {
    observable: [['next', 'a text'], ['complete'], ['next', 'a text'], ['error', THROWN]],
    returns: 'undefined'
  },
  'an Observable that ends twice': { observable: [['complete'], ['complete']], returns: 'undefined' },
  'an Observable that fails twice': {
    observable: [
      ['error', THROWN],
      ['error', THROWN]
    ],
    returns: 'null'
  },
  'an Observable whose subscription is a revoked Proxy': {
    observable: [['next', 'a text']],
    returns: 'a revoked Proxy'
  },
  'an Observable whose subscription is a Proxy of functions that throw': {
    observable: [['next', 'a text']],
    returns: 'a Proxy that has every member'
  },
  'an Observable whose teardown throws': { observable: [['next', 'a text']], teardown: THROWN },
  'an Observable of a revoked Proxy': { observable: [['next', 'a revoked Proxy']] },
  'a generator whose teardown throws': { generator: ['a text', 'a text'], teardown: THROWN },
  'an async generator whose teardown throws': { asyncGenerator: ['a text', 'a text'], teardown: THROWN },
  'a generator that throws a revoked Proxy': { generator: ['a text'], throws: 'a revoked Proxy' },
  'a generator of a revoked Proxy': { generator: ['a text', 'a revoked Proxy'] },
  'an async generator of a bigint': { asyncGenerator: ['a text', 'a bigint'] },
  'an iterator of texts': { iterator: 'a text' },
  'an iterator of nothing': { iterator: 'undefined' },
  'an iterator of revoked Proxies': { iterator: 'a revoked Proxy' },
  'an iterator of promises': { iterator: { promise: 'a text' } },
  'an async iterator of texts': { asyncIterator: 'a text' },
  'an async iterator of nothing': { asyncIterator: 'undefined' },
  'an async iterator of steps that cannot be read': { asyncIterator: 'a member that cannot be read' },
  'an async iterator of rejections': { asyncIterator: { rejection: THROWN } },
  'an async iterator of thenables that throw': { asyncIterator: { thenable: [['throw', THROWN]] } },
  'an iterator whose return gives a revoked Proxy': {
    generator: [],
    throws: { promise: 'a revoked Proxy' }
  },
  'an async iterator whose return rejects': {
    asyncIterator: { object: 'a text' },
    returns: { rejection: 'a revoked Proxy' }
  },
  'an iterator whose return is a thenable that throws': {
    iterator: { object: 'a text' },
    returns: { thenable: [['throw', THROWN]] }
  }
}

/** Generates any recipe. The values end by themselves. */
export const anyRecipe: fc.Arbitrary<Recipe> = fc.letrec<{ recipe: Recipe; steps: readonly Step[] }>(
  (tie) => {
    const one = tie('recipe')
    const maybe = fc.option(one, { nil: undefined })
    const atom = fc.constantFrom(...Object.keys(ATOMS))
    return {
      recipe: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        { arbitrary: atom, weight: 3 },
        { arbitrary: fc.record({ promise: one }), weight: 1 },
        { arbitrary: fc.record({ rejection: one }), weight: 1 },
        { arbitrary: fc.record({ object: one }), weight: 1 },
        { arbitrary: fc.record({ toJson: one }), weight: 1 },
        { arbitrary: fc.record({ thenable: tie('steps'), late: fc.boolean() }), weight: 2 },
        { arbitrary: fc.record({ observable: tie('steps'), teardown: maybe, returns: maybe }), weight: 2 },
        {
          arbitrary: fc.record({
            generator: fc.array(one, { maxLength: 3 }),
            teardown: maybe,
            throws: maybe
          }),
          weight: 1
        },
        {
          arbitrary: fc.record({
            asyncGenerator: fc.array(one, { maxLength: 3 }),
            teardown: maybe,
            throws: maybe
          }),
          weight: 1
        },
        { arbitrary: fc.record({ iterator: one, returns: maybe }), weight: 1 },
        { arbitrary: fc.record({ asyncIterator: one, returns: maybe }), weight: 1 }
      ),
      steps: fc.array(
        fc.tuple(
          fc.constantFrom('resolve', 'reject', 'throw', 'next', 'error', 'complete'),
          one
        ) as fc.Arbitrary<Step>,
        { maxLength: 3 }
      )
    }
  }
).recipe
