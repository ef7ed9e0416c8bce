/** Every kind of result, as it is sent. */
import { answer, type Case, END, failure, INTERNAL, noHandler } from '../case.ts'
import { request } from '../harness/wire.ts'

const CANNOT_CARRY = 'every request is answered'
const STREAMED = 'generators are streamed'

export const responses: readonly Case[] = [
  ...(
    [
      ['a number', 1, '1'],
      ['zero', 0, '0'],
      ['an empty text', '', '""'],
      ['null', null, 'null'],
      ['false', false, 'false'],
      ['an object', { a: [1, { b: '€😀' }] }, '{"a":[1,{"b":"€😀"}]}'],
      ['a text with quotes and control characters', 'a"\\\n\u0000', '"a\\"\\\\\\n\\u0000"']
    ] as const
  ).flatMap(([name, data, json]): Case[] => [
    { name: `returns ${name}`, send: [request('echo', data)], expected: { frames: [answer(json)] } },
    {
      name: `returns a promise of ${name}`,
      send: [request('promise', data)],
      expected: { frames: [answer(json)] }
    }
  ]),
  { name: 'returns undefined', send: [request('undefined', 0)], expected: { frames: [END] } },
  { name: 'returns a function', send: [request('function', 0)], expected: { frames: [END] } },
  { name: 'returns a symbol', send: [request('symbol', 0)], expected: { frames: [END] } },
  {
    name: 'returns a Date, a Map, a Buffer and NaN',
    send: [request('date', 0)],
    expected: {
      frames: [
        answer(
          '{"date":"1970-01-01T00:00:00.000Z","map":{},"buffer":{"type":"Buffer","data":[1,2]},"nan":null}'
        )
      ]
    }
  },
  {
    name: 'returns an Observable of one value',
    send: [request('of', 0)],
    expected: { frames: [answer('1')] }
  },
  { name: 'returns an empty Observable', send: [request('empty', 0)], expected: { frames: [END] } },
  ...['from', 'promise-of-from'].map(
    (pattern): Case => ({
      name: `returns three values at once (${pattern})`,
      send: [request(pattern, 0)],
      expected: { frames: ['{"response":1,"id":"I"}', '{"response":2,"id":"I"}', answer('3')] }
    })
  ),
  {
    name: 'returns an Observable with undefined in the middle',
    send: [request('from-with-undefined', 0)],
    expected: { frames: ['{"response":1,"id":"I"}', '{"id":"I"}', answer('3')] }
  },
  {
    name: 'returns an Observable that completes in a later turn',
    send: [request('later-end', 0)],
    expected: { frames: ['{"response":1,"id":"I"}', END] }
  },
  {
    name: 'returns an Observable whose end comes with its last value, in later turns',
    send: [request('timer', 0)],
    expected: { frames: ['{"response":0,"id":"I"}', '{"response":1,"id":"I"}', answer('2')] }
  },
  {
    name: 'returns an Observable that never completes',
    send: [request('never', 0)],
    expected: { frames: ['{"response":1,"id":"I"}'] }
  },
  {
    name: 'returns an Observable that fails after two values',
    send: [request('values-then-error', 0)],
    expected: {
      frames: [
        '{"response":1,"id":"I"}',
        '{"response":2,"id":"I"}',
        failure('{"status":"error","message":"late"}')
      ]
    }
  },
  {
    name: 'returns a promise of a failing Observable',
    send: [request('promise-of-failing', 0)],
    expected: { frames: [failure('{"status":"error","message":"late"}')] }
  },
  ...(
    [
      ['a text', 'str', '{"status":"error","message":"str"}'],
      ['an empty text', '', '{"status":"error","message":""}'],
      ['a number', 7, '{"status":"error","message":7}'],
      ['an object', { a: 1 }, '{"a":1}'],
      ['an array', [1, 2], '[1,2]']
    ] as const
  ).map(
    ([name, data, json]): Case => ({
      name: `throws an RpcException of ${name}`,
      send: [request('rpc-exception', data)],
      expected: { frames: [failure(json)] }
    })
  ),
  {
    name: 'throws an RpcException of undefined',
    send: [request('rpc-exception-of-undefined', 0)],
    expected: { frames: [failure('{"status":"error"}')] }
  },
  {
    name: 'throws an RpcException of an Error',
    send: [request('rpc-exception-of-an-error', 0)],
    expected: { frames: [failure('{}')] }
  },
  { name: 'throws an Error', send: [request('error', 0)], expected: { frames: [INTERNAL], logs: 'secret' } },
  {
    name: 'rejects with an Error',
    send: [request('rejection', 0)],
    expected: { frames: [INTERNAL], logs: 'secret' }
  },
  ...['text', 5, null, { plain: 'object' }].map(
    (data): Case => ({
      name: `throws what is no Error: ${JSON.stringify(data)}`,
      send: [request('throws', data)],
      expected: { frames: [INTERNAL] }
    })
  ),
  {
    name: 'throws an HttpException',
    send: [request('http-exception', 0)],
    expected: { frames: [INTERNAL] },
    ours: {
      frames: [failure('{"status":"error","code":"BAD_REQUEST","message":"bad","statusCode":400}')],
      because: 'a status is a code that callers and gateways understand',
      alone: true
    }
  },
  { name: 'has no handler', send: [request('unknown', 0)], expected: { frames: [noHandler()] } },
  {
    name: 'returns a bigint',
    send: [request('bigint', 0)],
    expected: { frames: [] },
    ours: { frames: [INTERNAL], logs: 'BigInt', because: CANNOT_CARRY }
  },
  {
    name: 'returns a circle',
    send: [request('circular', 0)],
    expected: { frames: [] },
    ours: { frames: [INTERNAL], because: CANNOT_CARRY }
  },
  {
    name: 'returns an Observable with a bigint in the middle',
    send: [request('from-with-bigint', 0)],
    expected: { frames: ['{"response":1,"id":"I"}', answer('3')] },
    ours: { frames: ['{"response":1,"id":"I"}', INTERNAL], because: CANNOT_CARRY }
  },
  {
    name: 'returns a generator',
    send: [request('generator', 0)],
    expected: { frames: [answer('{}')] },
    ours: { frames: ['{"response":1,"id":"I"}', answer('2')], because: STREAMED }
  },
  {
    name: 'returns an async generator',
    send: [request('async-generator', 0)],
    expected: { frames: [answer('{}')] },
    ours: { frames: ['{"response":1,"id":"I"}', answer('2')], because: STREAMED }
  },
  {
    name: 'answers in the order in which handlers finish',
    send: [
      request('after', { ms: 60, value: 'slow' }, 'a') +
        request('after', { ms: 5, value: 'fast' }, 'b') +
        request('echo', 'now', 'c')
    ],
    expected: { frames: [answer('"now"', '"c"'), answer('"fast"', '"b"'), answer('"slow"', '"a"')] }
  },
  {
    name: 'answers the same id twice if it is asked twice',
    send: [request('echo', 1) + request('echo', 2)],
    expected: { frames: [answer('1'), answer('2')] }
  },
  {
    name: 'passes one property of the data, the pattern and no metadata',
    send: [request('context', { a: 'A', b: 'B' })],
    expected: { frames: [answer('["A","context",null]')] }
  },
  {
    name: 'passes undefined for a property of data that has none',
    send: [request('context', 5)],
    expected: { frames: [answer('[null,"context",null]')] }
  },
  {
    name: 'passes the data only to a method without decorated parameters',
    send: [request('no-decorators', { x: 1 })],
    expected: { frames: [answer('[{"x":1}]')] }
  }
]
