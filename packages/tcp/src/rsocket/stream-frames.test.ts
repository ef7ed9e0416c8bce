/** Whose stream a frame belongs to, what is a request of the other side, and how errors of its input are told. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Codec, openCodec } from '@elysia-microservices/transport/kit'
import { NO_LIMITS } from '../limits/server-limits.ts'
import {
  channel,
  entry,
  error,
  event,
  frame,
  metadata,
  payload,
  request,
  routeEntry,
  setup,
  stream
} from '../testing/rsocket-frames.ts'
import {
  type Handlers,
  newRsocketServer,
  outcomeOf,
  rsocketClient,
  rsocketServer,
  turn
} from '../testing/rsocket-peer.ts'

const never = () => new Promise(() => {})
/** All values of a channel, then why it failed if it did. */
const list: Handlers[string] = async ({ data }) => {
  const values: unknown[] = []
  try {
    for await (const value of data as AsyncIterable<unknown>) values.push(value)
  } catch (error) {
    values.push((error as Error).message)
  }
  return values
}
const answers = (frames: string[]) => frames.filter((text) => !text.startsWith('REQUEST_N'))

describe('a request', () => {
  for (const [role, own, make] of [
    ['server', 2, () => rsocketServer()],
    ['client', 1, () => rsocketClient({}, {})]
  ] as const)
    it(`on a stream id that only a ${role} may give is ignored by a ${role} [MUST]`, async () => {
      const end = make()
      const frames = [
        request(own, 'echo', '1'),
        event(own, 'e', '1'),
        stream(own, 'echo', 1, '1'),
        channel(own, 'echo', 1, '1', 'C'),
        stream(own, 'echo', 0, '1')
      ]
      assert.deepEqual([...end.on(...frames), ...(await end.later())], [])
      assert.equal(end.dispatcher.requests.length + end.dispatcher.events.length, 0)
      assert.deepEqual(end.on(request(own + 1, 'echo', '1')), [`PAYLOAD ${own + 1} CN 1`])
    })

  it('to a client that answers none is refused before it has run; an event is not answered', () => {
    const client = rsocketClient()
    assert.deepEqual(client.on(request(2, 'echo', '1'), event(4, 'e', '1'), stream(6, 'echo', 1, '1')), [
      'ERROR 2 0x202 This side of the connection answers no requests',
      'ERROR 6 0x202 This side of the connection answers no requests'
    ])
  })

  it('in flight is counted beside the calls of this side', async () => {
    const client = rsocketClient({}, { never })
    assert.equal(client.connection.inFlight, 0)
    const call = outcomeOf(client.caller.request('a', 1))
    assert.equal(client.connection.inFlight, 1)
    client.on(request(2, 'never', '1'), request(4, 'never', '1'))
    assert.equal(client.connection.inFlight, 3)
    client.on(payload(1, 'NC', '1'))
    await turn()
    assert.deepEqual([call, client.connection.inFlight], [['1'], 2])
    const server = rsocketServer({ never })
    assert.equal(server.connection.inFlight, 0)
    server.on(request(1, 'never', '1'))
    assert.equal(server.connection.inFlight, 1)
    const silent = rsocketClient()
    void silent.caller.emit('a', 1)
    assert.equal(silent.connection.inFlight, 0)
  })
})

describe('a fragment', () => {
  it('that says both that more follows and that it completes is the last [MUST]', async () => {
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('a', 1))
    client.on(payload(1, 'NF', '"a'), payload(1, 'NFC', 'b"'))
    await turn()
    assert.deepEqual(call, ['"ab"'])
  })

  it('of a request that has failed at the other side is forgotten', () => {
    const server = rsocketServer()
    const begin = frame(1, 'REQUEST_RESPONSE', 'MF', metadata(routeEntry('echo')), '"a')
    assert.deepEqual(server.on(begin, error(1, 0x201, 'no'), payload(1, 'N', 'b"')), [])
    assert.equal(server.dispatcher.requests.length, 0)
  })

  it('completes a channel at once if the first or the last of them says so, and else not', async () => {
    for (const [first, last, expected] of [
      ['FC', 'N', ['PAYLOAD 1 CN ["ab"]']],
      ['F', 'NC', ['PAYLOAD 1 CN ["ab"]']],
      ['F', 'N', []]
    ] as const) {
      const server = rsocketServer({ list })
      server.on(channel(1, 'list', 1, '"a', first), payload(1, last, 'b"'))
      assert.deepEqual(answers(await server.later()), expected, `${first} and ${last}`)
      assert.equal(server.dispatcher.requests.length, 1)
    }
  })

  it('of an event is not handed on before it is whole', () => {
    const server = rsocketServer()
    server.on(frame(1, 'REQUEST_FNF', 'MF', metadata(routeEntry('e')), '"a'))
    assert.equal(server.dispatcher.events.length, 0)
    server.on(payload(1, 'N', 'b"'))
    assert.deepEqual(
      server.dispatcher.events.map(({ data }) => data),
      ['ab']
    )
  })
})

describe('an ERROR of a caller', () => {
  it('ends the input of its channel: the handler learns what was said, and its answer is not wanted', async () => {
    const read: unknown[] = []
    const server = rsocketServer({
      async list(message) {
        read.push(...((await list(message)) as unknown[]))
      }
    })
    server.on(channel(1, 'list', 1, '1'), error(1, 0x201, 'out of stock'))
    assert.deepEqual(answers(await server.later()), [])
    assert.deepEqual(read, [1, "The caller's input failed (APPLICATION_ERROR): out of stock"])
    assert.equal(server.connection.inFlight, 0)
  })
})

describe('values of a codec that remembers earlier ones', () => {
  const dataType = 'application/vnd.elysia-microservices.records+msgpack'
  const encoder = () => openCodec(dataType) as Codec
  const encoded = (codec: Codec, value: unknown) => Buffer.from(codec.encode(value) as Uint8Array)
  const make = (handlers: Handlers) => {
    const server = newRsocketServer({}, handlers)
    server.on(setup({ data: dataType }))
    return server
  }

  it('are read in order, also those of requests that are refused and of channels that are over', async () => {
    const server = make({ list: () => 'done' })
    const codec = encoder()
    server.on(
      channel(1, 'list', 1, encoded(codec, { first: 1 })),
      payload(1, 'N', encoded(codec, { second: 2 })),
      // Its stream is over: nobody wants its values.
      payload(1, 'NC', encoded(codec, { third: 3 })),
      request(3, 'nobody', encoded(codec, { fourth: 4 })),
      request(5, 'echo', encoded(codec, { third: 5 })),
      request(7, 'echo', encoded(codec, { fourth: 6 })),
      request(9, 'echo', encoded(codec, { second: 7 }))
    )
    assert.equal(server.ended, false)
    assert.deepEqual(
      server.dispatcher.requests.slice(2).map(({ data }) => data),
      [{ third: 5 }, { fourth: 6 }, { second: 7 }]
    )
  })

  it('are read in order, also those of requests that are ignored, or refused before their data counts', async () => {
    const limits = { ...NO_LIMITS, maxHeaderSize: 20 }
    const server = newRsocketServer({ limits }, { never })
    server.on(setup({ data: dataType }))
    const codec = encoder()
    server.on(
      request(1, 'never', encoded(codec, { first: 1 })),
      // Its stream is in use.
      request(1, 'echo', encoded(codec, { second: 2 })),
      request(3, 'x'.repeat(30), encoded(codec, { third: 3 })),
      request(5, 'echo', encoded(codec, { second: 4 })),
      request(7, 'echo', encoded(codec, { third: 5 }))
    )
    assert.equal(server.ended, false)
    assert.deepEqual(
      server.dispatcher.requests.map(({ data }) => data),
      [{ first: 1 }, { second: 4 }, { third: 5 }]
    )
    const client = rsocketClient({ dataMimeType: dataType })
    const other = encoder()
    const call = outcomeOf(client.caller.request('a', 1))
    client.on(
      request(2, 'echo', encoded(other, { first: 1 })),
      payload(1, 'NC', encoded(other, { first: 2 }))
    )
    await turn()
    assert.deepEqual(call, ['{"first":2}'])
  })

  it('are left to another codec where they name its type, whole or in fragments', () => {
    const server = make({})
    const codec = encoder()
    const json = [routeEntry('echo'), entry(0x7a, Buffer.of(0x85))]
    server.on(
      frame(1, 'REQUEST_RESPONSE', 'M', metadata(...json), '{"a":1}'),
      frame(3, 'REQUEST_RESPONSE', 'MF', metadata(...json), '{"a"'),
      payload(3, 'N', ':2}'),
      request(5, 'echo', encoded(codec, { a: 3 })),
      request(7, 'echo', encoded(codec, { a: 4 })),
      frame(
        9,
        'REQUEST_RESPONSE',
        'M',
        metadata(routeEntry('echo'), entry(0x7a, Buffer.of(dataType.length - 1), dataType)),
        encoded(codec, { a: 5 })
      )
    )
    assert.equal(server.ended, false)
    assert.deepEqual(
      server.dispatcher.requests.map(({ data }) => data),
      [{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }, { a: 5 }]
    )
  })
})
