/**
 * Tests Protocol.md, "Stream Identifiers": how requesters number their streams, and when a number may be used again.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { jsonCodec, PendingCaller } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { describeFrames } from '../testing/describe-frames.ts'
import { FakeClock, FakeOutput } from '../testing/peer.ts'
import { cancel, error, event, payload, request, setup, stream, uint32 } from '../testing/rsocket-frames.ts'
import { outcomeOf, RecordingReceiver, rsocketClient, rsocketServer, turn } from '../testing/rsocket-peer.ts'
import { RecordingLogger } from '../testing/service.ts'
import { toWireError } from './failure-codes.ts'
import { Flag } from './frame-type.ts'
import { newPayload } from './payload.ts'
import { RSocketRequester, streamTable } from './requester.ts'
import { Wire } from './wire.ts'

/** Makes a requester that has already used the sequence number `last`. */
function requesterFrom(role: 'client' | 'server', last: number) {
  const wire = new Wire(1_000)
  const output = new FakeOutput()
  wire.open(output)
  const requester = new RSocketRequester({
    toWireError,
    role,
    wire,
    codec: jsonCodec,
    logger: new RecordingLogger(),
    lease: undefined,
    timeout: 0,
    timer: new FakeClock().newTimer({ wake() {} }),
    idle() {},
    table: streamTable(role, last)
  })
  const caller = new PendingCaller((call) => requester.calls.start(call), 0)
  const ids = () => describeFrames(output.sent()).map((text) => Number(text.split(' ')[1]))
  return { requester, caller, ids }
}

/** Passes an answer of one value for a stream to a requester. */
function answer(requester: RSocketRequester, streamId: number, json: string): void {
  const buffer = Buffer.from(json)
  requester.payload(streamId, Flag.NEXT | Flag.COMPLETE, newPayload(buffer, -1, -1, 0, buffer.length))
}

const idsOf = (frames: string[]) => frames.map((text) => Number(text.split(' ')[1]))

describe('Stream Identifiers', () => {
  it('of a client are 1, 3, 5 and so on, over all kinds of requests [MUST]', () => {
    const client = rsocketClient()
    const { caller } = client
    void caller.request('a', 1)
    void caller.emit('a', 1)
    caller.stream('a', 1, new RecordingReceiver())
    void caller.request('a', 1)
    assert.deepEqual(idsOf(client.on()), [1, 3, 5, 7])
  })

  it('of a server are 2, 4, 6 and so on, over all kinds of requests [MUST]', () => {
    const server = rsocketServer()
    const { caller } = server
    void caller.request('a', 1)
    void caller.emit('a', 1)
    caller.stream('a', 1, new RecordingReceiver())
    assert.deepEqual(idsOf(server.on()), [2, 4, 6])
  })

  it('leave no gap where a request could not be encoded [MUST]', async () => {
    const client = rsocketClient()
    void client.caller.request('a', 1)
    await assert.rejects(client.caller.request('a', 1n), { name: 'OptionError', path: 'data' })
    void client.caller.request('a', 2)
    assert.deepEqual(idsOf(client.on()), [1, 3])
  })

  it('are not used again when their stream has ended [MUST]', () => {
    const client = rsocketClient()
    for (const id of [1, 3, 5, 7]) {
      void client.caller.request('a', 1)
      assert.deepEqual(idsOf(client.on()), [id])
      client.on(payload(id, 'NC', '1'))
    }
  })

  for (const [role, last, first] of [
    ['client', 2 ** 31 - 1, 1],
    ['server', 2 ** 31 - 2, 2]
  ] as const) {
    it(`of a ${role} end with ${last} and start again at ${first} [MUST]`, async () => {
      const { requester, caller, ids } = requesterFrom(role, Math.ceil(last / 2) - 2)
      const calls = [1, 2, 3, 4].map((n) => outcomeOf(caller.request('a', n)))
      const expected = [last - 2, last, first, first + 2]
      assert.deepEqual(ids(), expected)
      for (const id of expected) answer(requester, id, String(id))
      await turn()
      assert.deepEqual(calls.flat(), expected.map(String))
      assert.equal(requester.calls.inFlight, 0)
    })
  }

  it('leave out those in use when they come round [MUST]', async () => {
    const { requester, caller, ids } = requesterFrom('client', 2 ** 30 - 1)
    const long = outcomeOf(caller.request('a', 'last before'))
    const next = outcomeOf(caller.request('a', 'first again'))
    assert.deepEqual(ids(), [2 ** 31 - 1, 1])
    const again = requesterFrom('client', 0)
    for (const n of [1, 2, 3]) void again.caller.request('a', n)
    assert.deepEqual(again.ids(), [1, 3, 5])
    answer(requester, 2 ** 31 - 1, '"x"')
    answer(requester, 1, '"y"')
    await turn()
    assert.deepEqual([...long, ...next], ['"x"', '"y"'])
  })

  it('may come again: a responder has forgotten streams that have ended, however they did [MUST]', async () => {
    const server = rsocketServer({
      later: ({ data }) => Promise.resolve(data),
      never: () => new Promise(() => {}),
      two: async function* () {
        yield 1
        yield 2
      }
    })
    assert.deepEqual(server.on(request(1, 'echo', '1'), request(1, 'echo', '2')), [
      'PAYLOAD 1 CN 1',
      'PAYLOAD 1 CN 2'
    ])
    server.on(request(3, 'later', '1'))
    assert.deepEqual(await server.later(), ['PAYLOAD 3 CN 1'])
    server.on(request(3, 'later', '2'))
    assert.deepEqual(await server.later(), ['PAYLOAD 3 CN 2'])
    server.on(stream(5, 'two', 9, ''))
    assert.deepEqual(await server.later(), ['PAYLOAD 5 N 1', 'PAYLOAD 5 N 2', 'PAYLOAD 5 C'])
    server.on(
      request(7, 'never', '1'),
      cancel(7),
      request(7, 'never', '1'),
      error(7, 0x201, 'x'),
      event(7, 'e', '1')
    )
    assert.deepEqual(server.on(request(7, 'echo', '7'), request(5, 'echo', '5')), [
      'PAYLOAD 7 CN 7',
      'PAYLOAD 5 CN 5'
    ])
  })

  it('are read without their reserved bit', () => {
    const server = rsocketServer()
    const reserved = request(1, 'echo', '1')
    reserved[3] = 0x80
    assert.deepEqual(server.on(reserved), ['PAYLOAD 1 CN 1'])
  })

  it('of the other side do not disturb ours, whatever is answered to which', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 40 }), { maxLength: 60, size: 'max' }), (order) => {
        const client = rsocketClient({}, {})
        const results = new Map<number, string[]>()
        for (const n of order) {
          if (n % 2 === 0) client.on(request(n + 2, 'echo', String(n)))
          else if (n < 20) results.set(results.size * 2 + 1, outcomeOf(client.caller.request('a', n)))
          else client.on(payload(n - 20, 'NC', '1'))
        }
        assert.equal(client.connection.inFlight <= results.size, true)
      })
    )
  })
})

describe('SETUP and frames of the connection', () => {
  it('have stream id 0 [MUST]', () => {
    const client = rsocketClient({ keepaliveInterval: 10 })
    const server = rsocketServer({}, { limits: { ...NO_LIMITS, maxInFlight: 1 } })
    const frames = [
      ...client.after(10),
      ...server.on(setup()),
      server.connection.drain?.() && server.on()
    ].flat()
    assert.deepEqual(idsOf(frames as string[]), [0, 0])
    assert.equal(uint32(0).length, 4)
  })
})
