/** Tests the asking end of RSocket: what it sends, and that every call settles exactly once whatever it receives. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { onPush, runs } from '@elysia-microservices/test-support'
import {
  type Caller,
  type CallOptions,
  type PassingOptions,
  UnreadJson
} from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { describeFrames } from '../testing/describe-frames.ts'
import type { FakeClock, FakeOutput } from '../testing/peer.ts'
import { entry, frame, metadata, uint32 } from '../testing/rsocket-frames.ts'
import { type ClientUnderTest, newRsocketClient, RecordingReceiver } from '../testing/rsocket-peer.ts'
import type { ClientConnection } from './client-connection.ts'
import type { ClientConnectionOptions } from './options.ts'

const M = 0x100
const F = 0x80
const C = 0x40
const N = 0x20

let output: FakeOutput
let clock: FakeClock

function make(change: Partial<ClientConnectionOptions> = {}): ClientUnderTest {
  const client = newRsocketClient({ keepaliveInterval: 1_000, keepaliveLifetime: 3_000, ...change })
  ;({ output, clock } = client)
  return client
}

/** Type, stream and flags of the sent frames. */
const sent = () => describeFrames(output.sent()).map((text) => text.split(' ').slice(0, 3).join(' '))
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Records the outcome of a call in a list, which grows by one each time the call settles. */
function outcome(call: Promise<unknown>): string[] {
  const outcomes: string[] = []
  call.then(
    (value) => outcomes.push(`value ${JSON.stringify(value)}`),
    (error: Error) => outcomes.push(error.name)
  )
  return outcomes
}

describe('an RSocket client', () => {
  let connection: ClientConnection
  let caller: Caller
  beforeEach(() => {
    ;({ connection, caller } = make())
    connection.open(output)
    output.sent()
  })

  it('sends SETUP first, then what was asked before the connection was there', () => {
    const early = make()
    void early.caller.request('a', 1)
    void early.caller.emit('b', 1)
    early.connection.open(output)
    const [setup, ...requests] = sent()
    assert.match(setup ?? '', /^SETUP 0 /)
    assert.deepEqual(requests, ['REQUEST_RESPONSE 1 M', 'REQUEST_FNF 3 M'])
  })

  it('Stream Identifiers: counts 1, 3, 5, and leaves no gap where a call could not be encoded', async () => {
    void caller.request('a', 1)
    await assert.rejects(caller.request('a', 1n), { name: 'OptionError', path: 'data' })
    void caller.request('a', 2)
    assert.deepEqual(sent(), ['REQUEST_RESPONSE 1 M', 'REQUEST_RESPONSE 3 M'])
  })

  it('tells the other side the time that it was given, and none where there is no limit', () => {
    sent()
    for (const timeout of [0, 1, 50]) caller.stream('a', 1, new RecordingReceiver(), { timeout })
    const told = Buffer.from(output.sent())
      .toString('latin1')
      .match(/elysia-timeout":"\d+/g)
    assert.deepEqual(told, ['elysia-timeout":"1', 'elysia-timeout":"50'])
  })

  it('takes a PAYLOAD without COMPLETE for the answer of a request', async () => {
    const call = caller.request('a', 1)
    connection.receive(frame(1, 'PAYLOAD', N, '5'))
    assert.equal(await call, 5)
    assert.equal(connection.inFlight, 0)
  })

  it('times out when the other side says that the deadline has passed before its own timer fires', async () => {
    const calls = [caller.request('a', 1, { timeout: 50 }), caller.request('a', 1)]
    // No timer fires, as when the event loop is busy.
    clock.time = 50
    for (const streamId of [1, 3]) connection.receive(frame(streamId, 'ERROR', 0, uint32(0x203), 'too late'))
    await assert.rejects(calls[0] as Promise<unknown>, { name: 'TimeoutError', timeout: 50 })
    await assert.rejects(calls[1] as Promise<unknown>, { name: 'CanceledError' })
  })

  it('reads an answer by the type that it names, and fails the call alone if it knows no such type', async () => {
    const typed = (id: number, type: string, data: string) =>
      frame(id, 'PAYLOAD', M | N | C, metadata(entry(0x7a, Buffer.of(type.length - 1), type)), data)
    const [bytes, unknown, json] = [1, 2, 3].map((n) => caller.request('a', n))
    connection.receive(typed(1, 'application/octet-stream', 'bytes'))
    connection.receive(typed(3, 'text/unknown', '?'))
    connection.receive(typed(5, 'application/json', '[1]'))
    assert.equal(Buffer.from((await bytes) as Uint8Array).toString(), 'bytes')
    await assert.rejects(unknown as Promise<unknown>, {
      code: 'PROTOCOL',
      message: 'There is no codec for data of type text/unknown'
    })
    assert.deepEqual(await json, [1])
  })

  it('leaves an answer in JSON unread for who passes it on, and reads any other', async () => {
    const passing: PassingOptions = { leavesUnread: true }
    const [json, none, bytes] = [1, 2, 3].map((n) => caller.request('a', n, passing))
    const isRead = caller.request('a', 4, { leavesUnread: false } as PassingOptions)
    const text = ' {"id": 12345678901234567890 '
    const received = Buffer.from(frame(1, 'PAYLOAD', N | C, text))
    connection.receive(received)
    // Simulates a chunk whose memory is reused for the next data.
    received.fill(0)
    connection.receive(frame(3, 'PAYLOAD', N | C))
    const octets = metadata(entry(0x7a, Buffer.of(23), 'application/octet-stream'))
    connection.receive(frame(5, 'PAYLOAD', M | N | C, octets, 'bytes'))
    connection.receive(frame(7, 'PAYLOAD', N | C, '[1]'))
    const unread = await json
    assert.ok(unread instanceof UnreadJson)
    assert.equal(Buffer.from(unread.bytes).toString(), text)
    assert.equal(await none, undefined)
    assert.equal(Buffer.from((await bytes) as Uint8Array).toString(), 'bytes')
    assert.deepEqual(await isRead, [1])
  })

  it('gives undefined for an answer that ends without a value', async () => {
    const call = caller.request('a', 1)
    connection.receive(frame(1, 'PAYLOAD', C))
    assert.equal(await call, undefined)
  })

  for (const [code, data, name, text] of [
    [0x201, '{"code":"E","message":"m"}', 'RpcError', 'm'],
    [0x201, 'plain text', 'RpcError', 'plain text'],
    [0x201, '{"code":"PATTERN_NOT_FOUND","message":"no"}', 'PatternNotFoundError', 'no'],
    [0x202, 'busy', 'RejectedError', 'busy'],
    [0x203, 'gone', 'CanceledError', /canceled/],
    [0x203, '', 'CanceledError', /canceled/],
    [0x204, 'bad', 'RpcError', 'bad'],
    [0x301, 'own code', 'RpcError', 'own code']
  ] as const) {
    it(`makes a ${name} of ERROR[0x${code.toString(16)}] ${data}`, async () => {
      const call = caller.request('a', 1)
      connection.receive(frame(1, 'ERROR', 0, uint32(code), data))
      await assert.rejects(call, { name, message: text })
    })
  }

  it('makes a TimeoutError of ERROR[CANCELED] when the time of the call is over', async () => {
    const calls = [caller.request('a', 1, { timeout: 100 }), caller.request('a', 1, { timeout: 200 })]
    // The client is busy, so the server notices the deadline first.
    clock.time = 100
    for (const id of [1, 3]) connection.receive(frame(id, 'ERROR', 0, uint32(0x203), 'late'))
    const [first, second] = calls.map(outcome)
    await settle()
    assert.deepEqual([first, second], [['TimeoutError'], ['CanceledError']])
  })

  it('sends no CANCEL for a stream that is given up with its last value', () => {
    const seen: unknown[] = []
    const call = caller.stream('a', 1, {
      next(value) {
        seen.push(value)
        call.cancel()
      },
      complete: () => seen.push('complete'),
      error: assert.fail
    })
    output.sent()
    connection.receive(frame(1, 'PAYLOAD', N | C, '7'))
    assert.deepEqual(sent(), [])
    assert.deepEqual(seen, [7])
    assert.equal(connection.inFlight, 0)
  })

  it('sends CANCEL when a call is given up, and none when it has ended', async () => {
    const receiver = { next() {}, complete() {}, error() {} }
    const stream = caller.stream('a', 1, receiver)
    stream.cancel()
    stream.cancel()
    const call = caller.request('a', 1)
    connection.receive(frame(3, 'PAYLOAD', N | C, '1'))
    await call
    clock.pass(10_000)
    assert.deepEqual(
      sent().filter((text) => text.startsWith('CANCEL')),
      ['CANCEL 1']
    )
  })

  it('asks for more of a stream that takes every value at once before it runs dry', () => {
    caller.stream('a', 1, { next() {}, complete() {}, error() {} })
    output.sent()
    const take = (count: number) => {
      for (let n = 0; n < count; n++) connection.receive(frame(1, 'PAYLOAD', N, '1'))
      return describeFrames(output.sent())
    }
    // The client asks for 256 values at first. When half of them have arrived it doubles the window, because the
    // receiver has kept up.
    assert.deepEqual(take(127), [])
    assert.deepEqual(take(1), ['REQUEST_N 1 384'])
    assert.deepEqual(take(255), [])
    assert.deepEqual(take(1), ['REQUEST_N 1 768'])
  })

  it('fails the calls of a connection whose server sends nothing for the lifetime', async () => {
    const call = outcome(caller.request('a', 1))
    clock.pass(1_000)
    assert.deepEqual(
      describeFrames(output.sent()).filter((text) => text.startsWith('KEEPALIVE')),
      ['KEEPALIVE 0 F 0']
    )
    clock.pass(2_500)
    assert.ok(output.ended instanceof Error)
    connection.close()
    await settle()
    assert.deepEqual(call, ['ConnectionError'])
  })

  it('sets no timer any more once it is closed', async () => {
    const call = outcome(caller.request('a', 1))
    assert.ok(clock.next < Number.POSITIVE_INFINITY)
    connection.close()
    assert.equal(clock.next, Number.POSITIVE_INFINITY)
    await settle()
    assert.deepEqual(call, ['ConnectionError'])
  })

  it('answers a KEEPALIVE of the server', () => {
    connection.receive(frame(0, 'KEEPALIVE', F, Buffer.alloc(8), 'x'))
    assert.deepEqual(describeFrames(output.sent()), ['KEEPALIVE 0 0 x'])
  })

  it('waits for a lease where it was told to, and sends what the lease covers, in order', () => {
    const leased = make({ lease: true })
    leased.connection.open(output)
    output.sent()
    for (let count = 0; count < 3; count++) void leased.caller.request('a', count)
    assert.deepEqual(sent(), [])
    leased.connection.receive(frame(0, 'LEASE', 0, uint32(1_000), uint32(2)))
    const asks = 'KEEPALIVE 0 F'
    assert.deepEqual(sent(), ['REQUEST_RESPONSE 1 M', 'REQUEST_RESPONSE 3 M', asks])
    clock.time = 2_000
    leased.connection.receive(frame(0, 'LEASE', 0, uint32(1_000), uint32(5)))
    assert.deepEqual(sent(), ['REQUEST_RESPONSE 5 M'])
    clock.time = 3_000
    void leased.caller.request('a', 4)
    void leased.caller.request('a', 5)
    assert.deepEqual(sent(), [asks])
  })

  it('refuses calls while too many bytes wait to be sent, and says that they have not run', async () => {
    output.left = 9_990
    const call = caller.request('a', 1)
    const refused = { name: 'OverloadedError', code: 'OVERLOADED', mayHaveRun: false, retryable: true }
    await assert.rejects(call, {
      ...refused,
      message: /^9990 bytes .* \d+ more would .* limits\.sendBuffer allows \(10000\)$/
    })
    await assert.rejects(caller.emit('a', 1), refused)
    assert.deepEqual(sent(), [])
    output.left = 9_950
    void caller.request('a', 1)
    assert.deepEqual(sent(), ['REQUEST_RESPONSE 1 M'])
  })

  it('lets callers of events wait while the socket is behind, and until it has caught up', async () => {
    output.isBlocked = true
    const seen = outcome(caller.emit('a', 1))
    assert.deepEqual(sent(), ['REQUEST_FNF 1 M'])
    await settle()
    assert.deepEqual([seen, connection.inFlight], [[], 1])
    output.isBlocked = false
    connection.resume()
    await settle()
    assert.deepEqual([seen, connection.inFlight], [['value undefined'], 0])
  })

  it('says of an event that has waited for a socket which is lost that it may have run', async () => {
    output.isBlocked = true
    const lost = caller.emit('a', 1)
    const late = caller.emit('a', 1, { timeout: 100 })
    clock.pass(100)
    await assert.rejects(late, { name: 'TimeoutError', mayHaveRun: true })
    connection.close()
    await assert.rejects(lost, { name: 'ConnectionError', mayHaveRun: true })
  })

  it('takes values of a channel as the socket does', () => {
    function* source() {
      for (let n = 0; n < 4; n++) yield n
    }
    caller.stream('a', source(), new RecordingReceiver())
    sent()
    output.hasRoom = false
    connection.receive(frame(1, 'REQUEST_N', 0, uint32(100)))
    assert.deepEqual(sent(), [])
    output.hasRoom = true
    for (const stream of output.waiting.splice(0)) stream.resume()
    assert.deepEqual(sent(), ['PAYLOAD 1 N', 'PAYLOAD 1 N', 'PAYLOAD 1 N', 'PAYLOAD 1 C'])
  })

  it('refuses headers whose names are reserved for this library', async () => {
    await assert.rejects(caller.request('a', 1, { headers: { 'elysia-timeout': '1' } }), {
      name: 'OptionError',
      path: 'options.headers["elysia-timeout"]',
      message: /reserved name/
    })
  })

  it('refuses a call that is longer than may wait at all', async () => {
    await assert.rejects(caller.request('a', 'x'.repeat(10_000)), {
      name: 'PayloadTooLargeError',
      option: 'limits.sendBuffer',
      limit: 10_000
    })
    assert.deepEqual(sent(), [])
  })

  onPush(it)('lets no more than 65,536 calls wait for a lease', async () => {
    const leased = make({ lease: true })
    leased.connection.open(output)
    output.sent()
    const calls = Array.from({ length: 65_536 }, () => leased.caller.request('a', 1))
    await assert.rejects(leased.caller.request('a', 1), {
      name: 'OverloadedError',
      message: /65536 calls already wait/
    })
    assert.equal(leased.connection.inFlight, 65_536)
    leased.connection.close()
    const outcomes = await Promise.allSettled(calls)
    assert.ok(outcomes.every((one) => one.status === 'rejected' && one.reason.mayHaveRun === false))
  })

  it('ignores SETUP, and refuses requests of the server where it has no handlers', () => {
    connection.receive(frame(0, 'SETUP', 0, Buffer.alloc(30)))
    connection.receive(frame(2, 'REQUEST_RESPONSE', 0, '1'))
    assert.match(describeFrames(output.sent())[0] ?? '', /^ERROR 2 0x202 /)
  })

  it('settles every call exactly once, whatever comes in whatever order', async () => {
    const step = fc.oneof(
      fc.constant({ do: 'request' as const }),
      fc.record({
        do: fc.constant('payload' as const),
        call: fc.nat({ max: 8 }),
        flags: fc.constantFrom(N, C, N | C, F | N)
      }),
      fc.record({ do: fc.constant('error' as const), call: fc.nat({ max: 8 }) }),
      fc.record({ do: fc.constant('abort' as const), call: fc.nat({ max: 8 }) }),
      fc.record({ do: fc.constant('pass' as const), time: fc.nat({ max: 60 }) }),
      fc.record({ do: fc.constant('bytes' as const), bytes: fc.uint8Array({ maxLength: 12 }) })
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40, size: 'max' }),
        fc.nat({ max: 10 }),
        async (steps, openAt) => {
          const client = make({ keepaliveInterval: 1e6, keepaliveLifetime: 1e7 })
          const calls: { outcomes: string[]; controller: AbortController }[] = []
          for (const [index, what] of steps.entries()) {
            if (index === openAt) client.connection.open(output)
            if (what.do === 'request') {
              const controller = new AbortController()
              const options: CallOptions = {
                signal: controller.signal,
                timeout: calls.length % 2 === 0 ? 100 : 0
              }
              calls.push({ outcomes: outcome(client.caller.request('a', 1, options)), controller })
            } else if (what.do === 'abort') calls[what.call]?.controller.abort()
            else if (what.do === 'pass') clock.pass(what.time)
            else if (index < openAt || output.ended !== undefined) continue
            else if (what.do === 'payload')
              client.connection.receive(frame(what.call * 2 + 1, 'PAYLOAD', what.flags, '1'))
            else if (what.do === 'error')
              client.connection.receive(frame(what.call * 2 + 1, 'ERROR', 0, uint32(0x201), 'x'))
            else client.connection.receive(what.bytes)
          }
          client.connection.close()
          await settle()
          for (const { outcomes } of calls) assert.equal(outcomes.length, 1)
          assert.equal(client.connection.inFlight, 0)
        }
      ),
      { numRuns: runs(300) }
    )
  })
})
