/**
 * Tests frames of streams: the side to which they belong, the requests among them, and errors in the other side's
 * input.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  channel,
  error,
  event,
  frame,
  metadata,
  payload,
  request,
  routeEntry,
  stream
} from '../testing/rsocket-frames.ts'
import { type Handlers, outcomeOf, rsocketClient, rsocketServer, turn } from '../testing/rsocket-peer.ts'

const never = () => new Promise(() => {})
/** A handler that returns all values of a channel, then the error if the channel fails. */
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
