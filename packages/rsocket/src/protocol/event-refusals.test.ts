/** Tests what the sender of an event hears when a server refuses it: an ERROR on the stream of the event. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  EventHandlersError,
  PatternNotFoundError,
  RejectedError,
  RpcError,
  ValidationError
} from '@elysia-microservices/transport/kit'
import { Admission } from '../limits/admission.ts'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { entry, error, event, frame, metadata, routeEntry, setup } from '../testing/rsocket-frames.ts'
import { newRsocketServer, outcomeOf, rsocketClient, rsocketServer, turn } from '../testing/rsocket-peer.ts'
import type { ServerConnectionOptions } from './options.ts'

const OURS = entry('application/vnd.elysia-microservices.going-away')
const LONG = { lifetime: 1e9 }

const throwing = (thrown: unknown) => () => {
  throw thrown
}
const handlers = {
  nobody: throwing(PatternNotFoundError.of('nobody')),
  strict: throwing(new ValidationError('data', 'a number', 'x')),
  busy: async () => throwing(new RejectedError('busy'))(),
  purpose: async () => throwing(new RpcError({ code: 'SOLD_OUT', message: 'none left' }))(),
  several: throwing(new EventHandlersError([new Error('secret'), new RpcError({ code: 'E', message: 'm' })])),
  bug: throwing(new Error('secret')),
  other: throwing(new RpcError({ code: 'E', message: 'from elsewhere' }, {}))
}

/** A server without any room. */
const full = new Admission({ maxInFlight: 0, adaptive: undefined, now: () => 0, afterTurn() {} })
const signed = frame(
  1,
  'REQUEST_FNF',
  'M',
  metadata(routeEntry('e'), entry(0x7c, Buffer.of(0x81), 'guess')),
  '1'
)

const refusal = (
  wireCode: string,
  event: string,
  code: string | undefined,
  message: string,
  details?: object
) => `ERROR 1 0x${wireCode} ${JSON.stringify({ refusedEvent: event, code, message, details })}`

const cases: [reason: string, sent: Buffer, options: Partial<ServerConnectionOptions>, answer?: string][] = [
  [
    'no handler',
    event(1, 'nobody', '1'),
    {},
    refusal('201', 'nobody', 'PATTERN_NOT_FOUND', "There is no handler for the pattern 'nobody'")
  ],
  [
    'a schema',
    event(1, 'strict', '1'),
    {},
    refusal('204', 'strict', 'VALIDATION', "data: expected a number, received 'x'", {
      path: 'data',
      expected: 'a number',
      received: "'x'"
    })
  ],
  [
    'a handler that refuses it as busy',
    event(1, 'busy', '1'),
    {},
    refusal('202', 'busy', 'REJECTED', 'busy')
  ],
  [
    'an error that a handler throws on purpose',
    event(1, 'purpose', '1'),
    {},
    refusal('201', 'purpose', 'SOLD_OUT', 'none left')
  ],
  ['one of several handlers', event(1, 'several', '1'), {}, refusal('201', 'several', 'E', 'm')],
  [
    'a limit',
    event(1, 'e', '1'),
    { limits: { ...NO_LIMITS, maxInFlight: 0 } },
    refusal(
      '202',
      'e',
      undefined,
      'The connection has as many requests in flight as limits.inFlightPerConnection allows (0)'
    )
  ],
  [
    'the limit of the server',
    event(1, 'e', '1'),
    { limits: { ...NO_LIMITS, admission: full } },
    refusal(
      '202',
      'e',
      undefined,
      'The server is busy: as many requests as limits.inFlight allows (0) are in flight'
    )
  ],
  [
    'data that cannot be read',
    event(1, 'e', '{'),
    {},
    refusal('204', 'e', undefined, 'Data of type application/json is not JSON')
  ],
  [
    'metadata that is too long',
    event(1, 'e'.repeat(109), '1'),
    { limits: { ...NO_LIMITS, maxHeaderSize: 60 } },
    refusal('204', '', undefined, 'The metadata of the request has 114 bytes; limits.headerSize allows 60')
  ],
  [
    'credentials',
    signed,
    { authenticate: ({ route }) => route === undefined },
    refusal('201', 'e', 'UNAUTHENTICATED', 'The credentials are not accepted')
  ],
  ['an unexpected error', event(1, 'bug', '1'), {}],
  ['an error of another service', event(1, 'other', '1'), {}]
]

describe('an event that is refused because of', () => {
  for (const [reason, sent, options, answer] of cases) {
    it(`${reason} is ${answer === undefined ? 'a matter of the server alone' : 'told to a client of this library'}`, async () => {
      const server = newRsocketServer(options, handlers)
      const frames = [...server.on(setup({ ...LONG, metadata: OURS }), sent), ...(await server.later())]
      const expected = answer === undefined ? [] : [answer]
      assert.deepEqual(frames, expected)
    })

    it(`${reason} is not told to a client of another library`, async () => {
      const server = newRsocketServer(options, handlers)
      assert.deepEqual([...server.on(setup(LONG), sent), ...(await server.later())], [])
    })
  }

  it('draining is handled: a server takes events until its connection ends', () => {
    const server = rsocketServer()
    server.connection.drain?.()
    server.on(event(1, 'e', '1'))
    assert.equal(server.dispatcher.events.length, 1)
  })
})

describe('a client whose event was refused', () => {
  const REFUSAL =
    '{"refusedEvent":"placed","code":"VALIDATION","message":"no","details":{"path":"data","expected":"a number"}}'

  it('hears of it after emit has resolved', async () => {
    const heard: unknown[] = []
    const eventRefused = (pattern: string, { name, message }: Error) => heard.push([pattern, name, message])
    const client = rsocketClient({ eventRefused })
    await client.caller.emit('placed', 1)
    client.on(error(1, 0x204, REFUSAL), error(1, 0x202, '{"refusedEvent":"placed","message":"busy"}'))
    assert.deepEqual(heard, [
      ['placed', 'ValidationError', 'no'],
      ['placed', 'RejectedError', 'busy']
    ])
  })

  it('takes no late answer to a request for it', async () => {
    const client = rsocketClient({ eventRefused: assert.fail })
    const abort = new AbortController()
    const call = outcomeOf(client.caller.request('a', 1, { signal: abort.signal }))
    abort.abort()
    await turn()
    client.on(error(1, 0x201, '{"code":"E","message":"m"}'), error(1, 0x201, 'null'), error(1, 0x201, ''))
    assert.deepEqual(call, ['CanceledError'])
    const other = rsocketClient()
    other.on(error(1, 0x204, REFUSAL))
  })
})
