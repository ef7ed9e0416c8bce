/** Random controllers with guards, pipes, interceptors and filters at each level, as plain data, and calls to them. */
import type { Random } from '../../lives/random.ts'

export interface Parts {
  readonly guards: readonly string[]
  readonly pipes: readonly string[]
  readonly interceptors: readonly string[]
  readonly filters: readonly FilterName[]
}

export const FILTERS = ['domain', 'special', 'rpc', 'everything'] as const
export type FilterName = (typeof FILTERS)[number]

export const PARAMETERS = ['data', 'field', 'piped field', 'number', 'context', 'decorated'] as const

export interface Method {
  readonly name: string
  readonly parts: Parts
  /** The decorated parameters; none: the method gets the data. */
  readonly parameters: readonly (typeof PARAMETERS)[number][]
  /** Whether the method stands in a base class. */
  readonly isInherited: boolean
}

export interface Controller {
  readonly parts: Parts
  readonly methods: readonly Method[]
}

export interface Call {
  /** The number of the method, counted over all controllers. */
  readonly method: number
  readonly data: unknown
}

export interface Controlled {
  readonly globals: Parts
  readonly controllers: readonly Controller[]
  readonly calls: readonly Call[]
}

export const RESULTS = [
  ...['done', 'nothing', 'null', 'zero', 'array', 'nested arrays', 'promise', 'promise of nothing'],
  ...['stream', 'stream of arrays', 'promise of stream', 'empty stream', 'late values', 'large'],
  ...['throw', 'throw object', 'reject', 'fail', 'error', 'error of text', 'late error', 'special', 'domain'],
  ...['domain text', 'domain null', 'domain observable', 'domain completed at once', 'domain error text'],
  ...['domain error object', 'stream domain']
]
const GUARDED = [
  ...['refuse', 'refuse later', 'refuse by Observable', 'refuse by undefined', 'throw', 'fail'],
  ...['pass later', 'pass by Observable', 'pass by a text', 'fail by an empty Observable']
]
const INTERCEPTED = [
  ...['answer', 'throw', 'error', 'later', 'array', 'catch', 'map', 'nothing', 'completed at once'],
  ...['promise of promise', 'nothing after next']
]

const NAMES = ['one', 'two', 'three']

export function newCase(random: Random): Controlled {
  // Handlers to which nothing is bound are called in another way than those behind a pipeline.
  const share = random.chance(0.3) ? 0 : 1
  const controllers = Array.from({ length: random.between(1, 2) }, (_, number) => ({
    parts: newParts(random, 0.3 * share, `c${number}`),
    methods: Array.from({ length: random.between(1, 3) }, (_, index) =>
      newMethod(random, `m${number}${index}`, 0.4 * share)
    )
  }))
  const globals = newParts(random, 0.2 * share, 'global')
  const methods = controllers.flatMap(({ methods: own, parts }) => own.map((method) => ({ method, parts })))
  const calls = Array.from({ length: random.between(6, 14) }, () => {
    const method = random.between(0, methods.length - 1)
    const { parts, method: own } = methods[method] as (typeof methods)[number]
    return { method, data: newData(random, [globals, parts, own.parts]) }
  })
  return { globals, controllers, calls }
}

function newMethod(random: Random, name: string, likelihood: number): Method {
  return {
    name,
    parts: newParts(random, likelihood, name),
    parameters: random.chance(0.6) ? [] : PARAMETERS.filter(() => random.chance(0.4)),
    isInherited: random.chance(0.25)
  }
}

function newParts(random: Random, likelihood: number, of: string): Parts {
  const some = () => NAMES.filter(() => random.chance(likelihood / 2)).map((name) => `${of} ${name}`)
  return {
    guards: some(),
    pipes: some(),
    interceptors: some(),
    filters: FILTERS.filter(() => random.chance(likelihood / 2))
  }
}

/** Data that say what the handler, guards and interceptors do. */
function newData(random: Random, all: readonly Parts[]): unknown {
  const pipes = all.flatMap(({ pipes: own }) => own)
  if (random.chance(0.1)) return random.of([null, 7, 'text', [], ...pipes.map((name) => `fail in ${name}`)])
  const wishes = (names: readonly string[], what: readonly string[]) =>
    names.flatMap((name) => (random.chance(0.15) ? [[name, random.of(what)]] : []))
  return {
    handler: random.of(RESULTS),
    a: random.of(['A', 7, null, ...pipes.map((name) => `nothing of ${name}`)]),
    n: random.of(['7', 'seven', 7]),
    ...Object.fromEntries(
      wishes(
        all.flatMap(({ guards }) => guards),
        GUARDED
      )
    ),
    ...Object.fromEntries(
      wishes(
        all.flatMap(({ interceptors }) => interceptors),
        INTERCEPTED
      )
    )
  }
}
