/** Calls at a server without sockets, by a client that the test plays. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { prefixed } from '@elysia-microservices/protobuf/rpc'
import { type IncomingMessage, RpcError } from '@elysia-microservices/transport/kit'
import { data, frame, framesIn, headers, reset, settings } from '../testing/frames.ts'
import { call, message, Server } from '../testing/server.ts'

const OPEN = 0
const turn = () => new Promise((resolve) => setTimeout(resolve))
const HEAD = 'HEADERS 1 :status=200 content-type=application/grpc'
const OK = 'HEADERS 1 end grpc-status=0'
const failed = (status: number, message: string) =>
  `HEADERS 1 end :status=200 content-type=application/grpc grpc-status=${status} grpc-message=${message}`

describe('a unary call', () => {
  it('is answered in the turn in which it arrives', () => {
    const server = new Server({ Unary: ({ data: text }) => `<${text}>` })
    server.receives(headers(1, call('Unary'), OPEN), data(1, message('hello'), true))
    assert.deepEqual(server.sent(), [HEAD, 'DATA 1 <hello>', OK])
    assert.equal(server.connection.inFlight, 0)
  })

  it('is answered when its handler has ended', async () => {
    const server = new Server({ Unary: async ({ data: text }) => text })
    server.receives(headers(1, call('Unary'), OPEN), data(1, message('a').subarray(0, 3)))
    server.receives(data(1, message('a').subarray(3)), headers(1, [['x', 'y']]))
    assert.equal(server.connection.inFlight, 1)
    await turn()
    assert.deepEqual(server.sent(), [HEAD, 'DATA 1 a', OK])
    assert.deepEqual([server.connection.inFlight, server.output.settlements], [0, 1])
  })

  it('has headers, a deadline and an encoding', () => {
    let got: IncomingMessage | undefined
    const server = new Server({
      Unary(one) {
        got = one
        return 'ok'
      }
    })
    const fields = call(
      'Unary',
      ['grpc-timeout', '5S'],
      ['grpc-encoding', 'gzip'],
      ['x-a', '1'],
      ['x-a', '2']
    )
    server.receives(headers(1, fields, OPEN), data(1, prefixed(gzipSync(Buffer.from('packed')), 1), true))
    assert.deepEqual(
      [got?.data, got?.timeout, got?.transport, { ...got?.headers }],
      ['packed', 5_000, 'grpc', { 'x-a': '1,2' }]
    )
  })

  it('fails with the error of its handler', () => {
    const server = new Server({
      Unary() {
        throw new RpcError({ code: 'NOT_FOUND', message: 'No order 7' })
      }
    })
    server.receives(headers(1, call('Unary'), OPEN), data(1, message('7'), true))
    assert.deepEqual(server.sent(), [failed(5, 'No order 7')])
  })

  it('fails without a word about errors that nobody expected, and about answers that cannot be written', () => {
    for (const Unary of [
      () => {
        throw new Error('secret')
      },
      () => 'wrong'
    ]) {
      const server = new Server({ Unary })
      server.receives(headers(1, call('Unary'), OPEN), data(1, message('7'), true))
      assert.deepEqual(server.sent(), [failed(13, 'Internal server error')])
      assert.equal(server.log.lines.length, 1)
    }
  })

  it('of an event has an empty answer', async () => {
    const events: unknown[] = []
    const server = new Server({
      Event: async (one) => {
        events.push(one.kind, one.data)
      }
    })
    server.receives(headers(1, call('Event'), OPEN), data(1, message('7'), true))
    await turn()
    assert.deepEqual(
      [events, server.sent()],
      [
        ['event', '7'],
        [HEAD, 'DATA 1', OK]
      ]
    )
  })

  it('ends at its deadline, and its handler is told', async () => {
    let signal: AbortSignal | undefined
    const server = new Server({
      Unary(one) {
        signal = one.signal
        return new Promise(() => {})
      }
    })
    server.receives(headers(1, call('Unary', ['grpc-timeout', '100m']), OPEN), data(1, message('7'), true))
    server.clock.pass(99)
    assert.deepEqual(server.sent(), [])
    server.clock.pass(1)
    assert.deepEqual(server.sent(), [failed(4, 'The deadline of the call has passed')])
    assert.deepEqual([signal?.aborted, server.connection.inFlight], [true, 0])
  })

  it('that its caller cancels is told to its handler', () => {
    let signal: AbortSignal | undefined
    const server = new Server({
      Unary(one) {
        signal = one.signal
        return new Promise(() => {})
      }
    })
    server.receives(headers(1, call('Unary'), OPEN), data(1, message('7'), true), reset(1, 8))
    assert.deepEqual([signal?.aborted, server.connection.inFlight, server.sent()], [true, 0, []])
  })
})

describe('a call that is wrong', () => {
  const fields = (changed: Record<string, string>) =>
    call('Unary').map(([name, value]) => [name, changed[name] ?? value] as const)
  const wrong: Readonly<Record<string, readonly [readonly Uint8Array[], string]>> = {
    'of no method': [[headers(1, call('None'))], "12 grpc-message=There is no method 'test.Kinds/None'"],
    'with a timeout that is none': [
      [headers(1, call('Unary', ['grpc-timeout', 'soon']))],
      '13 grpc-message=grpc-timeout cannot be read'
    ],
    'with a compression that is not there': [
      [headers(1, call('Unary', ['grpc-encoding', 'snappy']))],
      "12 grpc-message=There is no compression 'snappy'"
    ],
    'without a message': [
      [headers(1, call('Unary'))],
      '12 grpc-message=The method takes one message; none has come'
    ],
    'with two messages': [
      [headers(1, call('Unary'), OPEN), data(1, Buffer.concat([message('a'), message('b')]), true)],
      '12 grpc-message=The method takes one message; more have come'
    ],
    'with half a message': [
      [headers(1, call('Unary'), OPEN), data(1, message('abc').subarray(0, 6), true)],
      '13 grpc-message=A call ends within a message'
    ],
    'with a message that is too long': [
      [headers(1, call('Unary'), OPEN), data(1, prefixed(new Uint8Array(1_001)).subarray(0, 20))],
      '8 grpc-message=A message is longer than limits.messageSize (1000 bytes)'
    ],
    'with a message that becomes too long': [
      [
        headers(1, call('Unary', ['grpc-encoding', 'gzip']), OPEN),
        data(1, prefixed(gzipSync(new Uint8Array(100_000)), 1), true)
      ],
      '8 grpc-message=A message is longer than limits.messageSize (1000 bytes)'
    ],
    'with a compressed message that it has not announced': [
      [headers(1, call('Unary'), OPEN), data(1, prefixed(gzipSync(new Uint8Array(10)), 1), true)],
      '13 grpc-message=A message is not compressed as its call says'
    ],
    'with a flag that gRPC does not have': [
      [headers(1, call('Unary'), OPEN), data(1, Uint8Array.of(9, 0, 0, 0, 0), true)],
      '13 grpc-message=A message has a flag that gRPC and Connect do not have'
    ],
    'with data that cannot be read': [
      [headers(1, call('Unary'), OPEN), data(1, message('wrong'), true)],
      '3 grpc-message=data: a text other than wrong was expected'
    ]
  }
  for (const [name, [chunks, answer]] of Object.entries(wrong))
    it(`${name} is refused, and its handler never called`, () => {
      const server = new Server({
        Unary: () => assert.fail('the handler was called')
      })
      server.receives(...chunks)
      const [first] = server.sent()
      assert.ok(
        first?.startsWith(`HEADERS 1 end :status=200 content-type=application/grpc grpc-status=${answer}`),
        first
      )
      assert.deepEqual([server.connection.inFlight, server.output.ended], [0, undefined])
    })

  it('because it is no call of gRPC has a status of HTTP', () => {
    for (const [changed, status] of [
      [{ ':method': 'GET' }, 405],
      [{ 'content-type': 'application/json' }, 415],
      [{ 'content-type': 'application/grpc-web' }, 415]
    ] as const) {
      const server = new Server({})
      server.receives(headers(1, fields(changed)))
      assert.match(server.sent()[0] ?? '', new RegExp(`^HEADERS 1 end :status=${status} `))
    }
  })
})

describe('calls with half a message each', () => {
  it('have a limit together, which those that end make room for', () => {
    const server = new Server({ Unary: () => 'ok' })
    const half = prefixed(new Uint8Array(1_000)).subarray(0, 900)
    for (const id of [1, 3, 5]) server.receives(headers(id, call('Unary'), OPEN), data(id, half))
    const refused =
      'grpc-status=8 grpc-message=The incomplete messages of the connection have more than 2000 bytes'
    assert.deepEqual(server.sent(), [
      `HEADERS 5 end :status=200 content-type=application/grpc ${refused}`,
      'RST_STREAM 5 NO_ERROR'
    ])
    server.receives(reset(1, 8), headers(7, call('Unary'), OPEN), data(7, half))
    assert.deepEqual(server.sent(), [])
    server.receives(data(7, new Uint8Array(105), true))
    assert.equal(server.sent().length, 3)
  })
})

describe('a call with streams', () => {
  it('gets the values of a generator as far as its window has room, and ends it when it is cancelled', async () => {
    let made = 0
    let cleaned = false
    const server = new Server({
      async *Down() {
        try {
          for (;;) yield 'x'.repeat(95).concat(String(made++ % 10))
        } finally {
          cleaned = true
        }
      }
    })
    server.receives(settings([4, 1_010]), headers(1, call('Down'), OPEN), data(1, message('go'), true))
    for (let time = 0; time < 20; time++) await turn()
    const first = server.sent()
    assert.ok(made >= 10 && made <= 12, `${made} values`)
    assert.equal(first.length, 1 + 10)
    server.receives(frame(8, 0, 1, [0, 0, 0, 101]))
    for (let time = 0; time < 20; time++) await turn()
    assert.ok(made <= 13, `${made} values`)
    server.receives(reset(1, 8))
    for (let time = 0; time < 20; time++) await turn()
    assert.deepEqual([cleaned, server.connection.inFlight], [true, 0])
  })

  it('sends values, and gets one answer', async () => {
    const server = new Server({
      async Up({ data: values }) {
        let all = ''
        for await (const value of values as AsyncIterable<string>) all += value
        return all
      }
    })
    server.receives(headers(1, call('Up'), OPEN), data(1, Buffer.concat(['a', 'b'].map(message))))
    await turn()
    server.receives(data(1, message('c')), data(1, '', true))
    await turn()
    assert.deepEqual(server.sent(), [HEAD, 'DATA 1 abc', OK])
  })

  it('waits for a handler that does not read: no more than its window comes', async () => {
    const server = new Server({ Up: () => new Promise(() => {}) })
    server.receives(headers(1, call('Up'), OPEN))
    const value = prefixed(new Uint8Array(995))
    let sent = 0
    let room = 65_535
    // An honest caller, which sends as far as it may.
    while (sent < 5_000_000) {
      if (room < value.length) {
        const updates = framesIn(server.output.sent()).filter(
          ({ type, streamId }) => type === 8 && streamId === 1
        )
        if (updates.length === 0) break
        for (const { payload } of updates) room += payload.readUInt32BE()
        continue
      }
      server.receives(data(1, value))
      room -= value.length
      sent += value.length
    }
    assert.ok(sent < 1_000_000, `${sent} bytes`)
    assert.equal(server.output.ended, undefined)
  })

  it('fails for its handler when it is cancelled', async () => {
    let failure: unknown
    const server = new Server({
      async *Both({ data: values }) {
        try {
          for await (const value of values as AsyncIterable<string>) yield `<${value}>`
        } catch (error) {
          failure = error
        }
      }
    })
    server.receives(headers(1, call('Both'), OPEN), data(1, message('a')))
    await turn()
    await turn()
    assert.deepEqual(server.sent(), [HEAD, 'DATA 1 <a>'])
    server.receives(reset(1, 8))
    await turn()
    await turn()
    assert.match(String(failure), /cancel/i)
  })

  it('is ended by its answer, although its caller still sends', async () => {
    const server = new Server({ Up: () => 'enough' })
    server.receives(headers(1, call('Up'), OPEN), data(1, message('a')))
    await turn()
    assert.deepEqual(server.sent(), [HEAD, 'DATA 1 enough', OK, 'RST_STREAM 1 NO_ERROR'])
  })
})

describe('a connection', () => {
  it('that is lost ends its calls', () => {
    const signals: AbortSignal[] = []
    const server = new Server({
      Unary(one) {
        signals.push(one.signal)
        return new Promise(() => {})
      }
    })
    server.receives(headers(1, call('Unary'), OPEN), data(1, message('7'), true))
    server.connection.close(new Error('lost'))
    assert.deepEqual([signals[0]?.aborted, server.connection.inFlight], [true, 0])
  })

  it('of a server that stops tells its calls at last', () => {
    const server = new Server({ Unary: () => new Promise(() => {}) })
    server.receives(headers(1, call('Unary'), OPEN), data(1, message('7'), true))
    server.connection.cut()
    assert.deepEqual(server.sent(), [failed(14, 'The server is stopping')])
  })
})
