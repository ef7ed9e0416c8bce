import { NOTHINGS } from './parts.ts'

/** A call to NestJS and to this library: its pattern and its data. */
export type Call = readonly [pattern: unknown, data: unknown]

const RESULTS = ['done', 'nothing', 'promise', 'stream', 'promise of stream']
const FAILURES = ['throw', 'reject', 'fail', 'error', 'late error', 'special']
const GUARDS = [
  ...['refuse', 'refuse later', 'refuse by Observable', 'refuse by undefined'],
  ...['refuse by a promise of nothing', 'refuse by a promise of an Observable']
]
const PASSES = [
  ...['pass later', 'pass by Observable', 'pass by a promise of an Observable', 'pass by a text'],
  ...['throw', 'fail', 'fail by an empty Observable']
]
const INTERCEPTIONS = [
  ...['answer', 'throw', 'error', 'later', 'array', 'number', 'catch', 'scope', 'map'],
  ...['nothing', 'nothing later', 'nothing after next', 'completed at once', 'promise of promise']
]
const HOOKS = [
  ...['answer', 'throw', 'error', 'number', 'later', 'catch', 'map'],
  ...['nothing', 'nothing later', 'completed at once']
]
const NOTHING = Object.keys(NOTHINGS)
const ANSWERS = ['text', 'promise', 'observable', 'completed at once', ...NOTHING]
const ERRORS = ['anything', 'error text', 'error object', 'error Error', 'error RpcException']

const handler = (pattern: string, wishes: readonly string[], more: object = {}): Call[] =>
  wishes.map((wish) => [pattern, { handler: wish, ...more }])
const part = (pattern: string, name: string, wishes: readonly string[]): Call[] =>
  wishes.map((wish) => [pattern, { [name]: wish }])

export const calls: readonly Call[] = [
  ['full', null],
  ['full', 'fail in class'],
  ['full', 'fail in method'],
  ...handler('full', [...RESULTS, ...FAILURES, 'scope']),
  ...['class', 'class guard', 'method'].flatMap((name) => part('full', name, [...GUARDS, ...PASSES])),
  ...['class', 'method', 'second'].flatMap((name) => part('full', name, INTERCEPTIONS)),
  ...['first hook', 'second hook'].flatMap((name) => [
    ...part('full', name, HOOKS),
    ...part('filters', name, HOOKS),
    ...handler('interceptor', RESULTS, { [name]: 'map' }),
    ...handler('full', FAILURES, { [name]: 'catch' }),
    ['full', { [name]: 'scope', handler: 'scope' }] as const,
    ['full', { [name]: 'catch', 'class guard': 'refuse' }] as const
  ]),
  ['full', { class: 'map', method: 'map', handler: 'stream' }],
  ['full', { second: 'catch', handler: 'throw' }],
  ['full', { class: 'scope', handler: 'scope' }],
  ['pipes', { a: 'A', b: 'B' }],
  ['pipes', { a: 'fail in own', b: 'fail in class' }],
  ['pipes', { a: 'fail in class', b: 'fail in class' }],
  ['pipes', null],
  ...['own', 'class', 'method'].flatMap((name) => [
    ['pipes', { a: `nothing of ${name}`, b: 'B' }] as const,
    ['pipes', { a: `nothing later of ${name}`, b: 'B' }] as const
  ]),
  ['undecorated', 'text'],
  ...handler('guard', [...RESULTS, ...FAILURES]),
  ...part('guard', 'class guard', [...GUARDS, ...PASSES]),
  [{ v: 1, cmd: 'describe' }, 'data'],
  ['replace', 'sent'],
  ...handler('interceptor', [...RESULTS, ...FAILURES]),
  ...part('interceptor', 'only', INTERCEPTIONS),
  ['int', { n: '7' }],
  ['int', { n: 'seven' }],
  ['int', undefined],
  ['custom', { a: 1, n: '2' }],
  ['custom', { n: 'two' }],
  ...handler('filters', [...RESULTS, ...FAILURES]),
  ...handler(
    'filters',
    [...ANSWERS, 'number', 'promise of observable', ...ERRORS].map((answer) => `domain ${answer}`)
  ),
  ...handler(
    'filters',
    [...ANSWERS, ...ERRORS].map((answer) => `stream domain ${answer}`)
  ),
  ...handler('guarded', [...RESULTS, ...FAILURES]),
  ...handler(
    'guarded',
    [...ANSWERS, ...ERRORS].map((answer) => `domain ${answer}`)
  ),
  ...handler(
    'guarded',
    [...ANSWERS, ...ERRORS].map((answer) => `stream domain ${answer}`)
  ),
  ...part('guarded', 'class guard', [...GUARDS, 'throw', 'fail']),
  ...handler('around', [...RESULTS, ...FAILURES]),
  ...handler(
    'around',
    [...ANSWERS, ...ERRORS].map((answer) => `domain ${answer}`)
  ),
  ...part('around', 'only', INTERCEPTIONS)
]
