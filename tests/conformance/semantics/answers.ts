/** Single calls, and their outcomes. */
import type { AnswerCase, Difference, ErrorLook, Outcome, Where } from './case.ts'

const onNestsWire = ({ name }: Where) => name === "Nest's wire"
const onGrpc = ({ name }: Where) => name === 'gRPC'
const INTERNAL: ErrorLook = { name: 'RpcError', code: 'INTERNAL', message: 'Internal server error' }
const UNEXPECTED: Outcome = { values: [], error: INTERNAL }

/** The outcome if a codec would have to change or leave out a part of the result. */
const UNCARRIED: Outcome = { ...UNEXPECTED, logs: "The handler of '" }
const AS_JSON = "Nest's wire carries what JSON.stringify makes of a result"
const READS_JSON = 'Nest reads texts that are JSON'
const NEST_WORDS = 'There is no matching message handler defined in the remote service.'

function values(...all: readonly unknown[]): Outcome {
  return { values: all }
}

/** An `RpcError` that the handler has answered with. */
function rpc(message: string, code = 'UNKNOWN', details?: unknown): Outcome {
  const error = { name: 'RpcError', code, message, ...(details === undefined ? {} : { details }) }
  return { values: [], error }
}

/** A difference that applies to NestJS's packets, over any transport. */
function onNest(because: string, instead: Outcome): Difference<Outcome> {
  return { on: ({ carriage }) => carriage === 'packets', because, instead }
}

/** A difference that applies to NestJS's own wire only, whose other end may be NestJS. */
function onWire(because: string, instead: Outcome): Difference<Outcome> {
  return { on: onNestsWire, because, instead }
}

/** A difference that applies to gRPC, which has no empty message of an error. */
function onGrpcWithout(code: string): Difference<Outcome> {
  return { on: onGrpc, because: 'an error of gRPC without a message says its code', instead: rpc(code, code) }
}

/** A difference that applies to gRPC, whose methods are for events or for requests. */
function onGrpcAsEvent(logs: string): Difference<Outcome> {
  return {
    on: onGrpc,
    of: ['handlers', 'controllers'],
    because: 'its method is that of an event',
    instead: { values: [undefined], logs }
  }
}

/** A difference that applies to a Nest application on gRPC, where NestJS tells its callers a status and a text. */
function onGrpcOfNest(message: string, logs?: string): Difference<Outcome> {
  return {
    on: onGrpc,
    of: ['a Nest application'],
    because: "gRPC's callers of NestJS get a status and a text",
    instead: logs === undefined ? rpc(message) : { ...rpc(message), logs }
  }
}

/** A difference that applies where NestJS looks patterns up: there, a text that is JSON stands for its value. */
function readingJson(instead: Outcome): readonly Difference<Outcome>[] {
  return [
    { on: onNestsWire, because: READS_JSON, instead },
    { on: ({ carriage }) => carriage === 'codecs', of: ['a Nest application'], because: READS_JSON, instead }
  ]
}

/** The outcome if nobody handles a pattern. @param text the pattern as the service has it */
function missed(text: string): Outcome {
  const message = `There is no handler for the pattern '${text}'`
  return { values: [], error: { name: 'PatternNotFoundError', code: 'PATTERN_NOT_FOUND', message } }
}

const missedOnNest: Difference<Outcome> = {
  on: onNestsWire,
  because: "it has Nest's words",
  instead: {
    values: [],
    error: { name: 'PatternNotFoundError', code: 'PATTERN_NOT_FOUND', message: NEST_WORDS }
  }
}

/** The results of handlers, by pattern. */
const RESULTS: readonly (readonly [
  pattern: string,
  outcome: Outcome,
  ...differs: readonly Difference<Outcome>[]
])[] = [
  ['undefined', values()],
  ['function', UNCARRIED, onWire(AS_JSON, values())],
  ['symbol', UNCARRIED, onWire(AS_JSON, values())],
  [
    'date',
    UNCARRIED,
    onWire(
      AS_JSON,
      values({
        date: '1970-01-01T00:00:00.000Z',
        map: {},
        buffer: { type: 'Buffer', data: [1, 2] },
        nan: null
      })
    )
  ],
  ['of', values(1)],
  ['empty', values()],
  ['from', values(1, 2, 3)],
  ['promise-of-from', values(1, 2, 3)],
  ['from-with-undefined', values(1, undefined, 3)],
  ['later-end', values(1)],
  ['timer', values(0, 1, 2)],
  ['generator', values(1, 2)],
  ['async-generator', values(1, 2)],
  ['values-then-error', { ...rpc('late'), values: [1, 2] }],
  ['promise-of-failing', rpc('late')],
  ['rpc-exception-of-an-error', rpc('{}'), onGrpcOfNest('inner')],
  [
    'rpc-exception-of-undefined',
    rpc('{}'),
    onGrpcOfNest('Unknown Error'),
    onNest('errors say on it that they are', rpc('{"status":"error"}')),
    {
      of: ['a Nest application'],
      because: "callers get what Nest's filters make",
      instead: rpc('{"status":"error"}')
    }
  ],
  ['error', { ...UNEXPECTED, logs: 'secret' }, onGrpcOfNest(INTERNAL.message, 'secret')],
  ['rejection', { ...UNEXPECTED, logs: 'secret' }, onGrpcOfNest(INTERNAL.message, 'secret')],
  [
    'http-exception',
    rpc('bad', 'BAD_REQUEST'),
    onGrpcOfNest(INTERNAL.message),
    { of: ['a Nest application'], because: "callers get what Nest's filters make", instead: UNEXPECTED }
  ],
  ['bigint', UNCARRIED],
  ['circular', UNCARRIED],
  ['from-with-bigint', { ...UNCARRIED, values: [1] }],
  // Requests to event handlers, which are answered as in NestJS.
  ['one-answer', values('r1')],
  ['three-answers', values({ current: 'r1', next: { current: 'r2', next: 'r3' } })],
  [
    'failing-event',
    { ...UNEXPECTED, logs: 'event failed' },
    onGrpcAsEvent('event failed'),
    onGrpcOfNest(INTERNAL.message, 'event failed')
  ],
  [
    'shared',
    { ...UNEXPECTED, logs: 'b failed' },
    onGrpcAsEvent('b failed'),
    onGrpcOfNest(INTERNAL.message, 'b failed')
  ]
]

function asks(name: string, call: Omit<AnswerCase, 'name' | 'outcome' | 'differs'>) {
  return (outcome: Outcome, ...differs: readonly Difference<Outcome>[]): AnswerCase => ({
    name,
    ...call,
    outcome,
    differs
  })
}

const ECHOED = [0, -1.5, '', false, null, 'text', '€😀é', 'a"\\\n\u0000', [1, 2], { a: [1, { b: null }] }]

export const answers: readonly AnswerCase[] = [
  ...ECHOED.map((data) => asks(`echoes ${JSON.stringify(data)}`, { pattern: 'echo', data })(values(data))),
  asks('echoes a promise', { pattern: 'promise', data: { a: 1 } })(values({ a: 1 })),
  asks('hands no data on as undefined', { pattern: 'no-decorators' })(values([null])),
  ...RESULTS.map(([pattern, outcome, ...differs]) =>
    asks(`asks for '${pattern}'`, { pattern })(outcome, ...differs)
  ),

  // RpcException with each kind of error.
  ...(
    [
      ['text', rpc('text')],
      ['', rpc(''), onGrpcWithout('UNKNOWN')],
      [{ code: 'E1', message: 'm', details: { a: 1 } }, rpc('m', 'E1', { a: 1 })],
      [{ message: 'no code' }, rpc('no code')],
      [{ a: 1 }, rpc('{"a":1}', 'UNKNOWN', { a: 1 }), onGrpcOfNest('Unknown Error')],
      [{ code: 'INVALID', fields: ['a'] }, rpc('INVALID', 'INVALID', { fields: ['a'] })],
      [[1, 2], rpc('[1,2]'), onGrpcOfNest('Unknown Error')]
    ] as const
  ).map(([data, outcome, ...differs]) =>
    asks(`gets the content of an RpcException: ${JSON.stringify(data)}`, { pattern: 'rpc-exception', data })(
      outcome,
      ...differs
    )
  ),

  // Errors of this library.
  ...(
    [
      [
        { code: 'OUT_OF_STOCK', message: 'No tea', details: { left: 0 } },
        rpc('No tea', 'OUT_OF_STOCK', { left: 0 })
      ],
      [{ code: 'E', message: '' }, rpc('', 'E'), onGrpcWithout('E')],
      ['only a text', rpc('only a text')]
    ] as const
  ).map(([data, outcome, ...differs]) =>
    asks(`gets an RpcError: ${JSON.stringify(data)}`, { pattern: 'rpc-error', data })(
      outcome,
      onGrpcOfNest(INTERNAL.message),
      {
        of: ['a Nest application'],
        because: "Nest's exception filter tells callers of RpcException only",
        instead: UNEXPECTED
      },
      ...differs
    )
  ),

  // A thrown value that is not an error is not passed on to the caller.
  ...['text', 5, null, { plain: 'object' }].map((data) =>
    asks(`is told nothing of what is thrown: ${JSON.stringify(data)}`, { pattern: 'throws', data })(
      UNEXPECTED,
      onGrpcOfNest(INTERNAL.message)
    )
  ),

  // Calls with patterns of all kinds.
  asks('reaches a number', { pattern: 5 })(values('five')),
  asks('reaches a number by its text', { pattern: '5' })(values('five')),
  asks('reaches a number by another text of it', { pattern: '5.0' })(
    missed('5.0'),
    ...readingJson(values('five'))
  ),
  asks('reaches an object', { pattern: { a: 3 } })(values('canonical')),
  asks('reaches an object by its canonical text', { pattern: '{"a":3}' })(values('canonical')),
  asks('reaches an object with its keys in any order', { pattern: { a: 2, b: { d: 1, c: 'q"' } } })(
    values('{"a":2,"b":{"d":1,"c":"q\\""}}'),
    {
      on: ({ name }) => ['RSocket', 'WebSocket', 'gRPC'].includes(name),
      because: 'what travels is the route, whose keys are sorted',
      instead: values('{"a":2,"b":{"c":"q\\"","d":1}}')
    }
  ),
  asks('reaches an object by a text that is not canonical', { pattern: '{"b":{"d":1,"c":"q\\""},"a":2}' })(
    missed('{"b":{"d":1,"c":"q\\""},"a":2}'),
    ...readingJson(values('{"b":{"d":1,"c":"q\\""},"a":2}'))
  ),
  asks('reaches one of several patterns', { pattern: 'several' })(values('several')),
  asks('reaches one of several patterns by its object', { pattern: { e: 'one-of-several' } })(
    values('several')
  ),
  asks('reaches a text like a number', { pattern: '007' })(values('seven')),
  asks('reaches the empty pattern', { pattern: '' })(values('empty')),
  asks('reaches nothing by a text with a blank', { pattern: ' echo' })(missed(' echo'), missedOnNest),
  ...['unknown', 'Echo', { a: 2, b: 1, c: 3 }, 6, {}].map((pattern) =>
    asks(`reaches nothing by ${JSON.stringify(pattern)}`, { pattern })(
      missed(typeof pattern === 'object' ? JSON.stringify(pattern) : String(pattern)),
      missedOnNest
    )
  ),

  // Properties that are sent besides the data.
  asks('passes a property of the data, the pattern and no headers', {
    pattern: 'context',
    data: { a: 'A', b: 'B' }
  })(values(['A', 'context', null])),
  asks('passes headers', {
    pattern: 'context',
    data: { a: 1 },
    options: { headers: { trace: '1', greeting: 'Grüß Gott' } }
  })(values([1, 'context', { trace: '1', greeting: 'Grüß Gott' }]), {
    on: onGrpc,
    because: 'HTTP has ASCII in its headers',
    instead: {
      values: [],
      error: {
        name: 'OptionError',
        code: 'OPTION',
        message: `options.headers["greeting"] must be printable ASCII, as HTTP demands; send other texts as bytes under a name that ends in '-bin'`
      }
    }
  })
]
