/** Tests Protocol.md, "Resuming Operation": two ends over sockets that are lost. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { Subject } from 'rxjs'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { describeFrames } from '../testing/describe-frames.ts'
import { FakeOutput } from '../testing/peer.ts'
import {
  error,
  frame,
  keepalive,
  payload,
  request,
  setup,
  uint16,
  uint32
} from '../testing/rsocket-frames.ts'
import {
  type Handlers,
  newRsocketClient,
  newRsocketServer,
  outcomeOf,
  RecordingReceiver,
  rsocketClient,
  rsocketServer,
  type ServerUnderTest,
  turn
} from '../testing/rsocket-peer.ts'
import { ResumableConnections } from './resumable-connections.ts'

const RESUME = { window: 1_000, bufferSize: 100_000, waiting: 100, waitingSize: 1_000_000 }

const uint63 = (value: number) =>
  Buffer.concat([uint32(Math.floor(value / 2 ** 32)), uint32(value % 2 ** 32)])
const resumeFrame = (token: string, received: number, available: number) =>
  frame(
    0,
    'RESUME',
    '',
    uint16(1),
    uint16(0),
    uint16(token.length),
    token,
    uint63(received),
    uint63(available)
  )

/** Makes the resumable connections of a server, and controls the timers of their windows. */
function resumableConnections(options = RESUME) {
  const expiries: (() => void)[] = []
  const givenUp: string[] = []
  const later = (task: () => void) => {
    expiries.push(task)
    return () => expiries.splice(expiries.indexOf(task), 1)
  }
  const connections = new ResumableConnections(options, later, (why) => givenUp.push(why))
  return { connections, givenUp, expire: () => expiries.splice(0).map((task) => task()) }
}

/** A client, a server, and the bytes in transit between them. */
class Line {
  readonly connections = resumableConnections().connections
  readonly client = newRsocketClient({
    resume: RESUME,
    maxMessageSize: 1e6,
    maxBufferSize: 1e6,
    maxUnsent: 1e6
  })
  readonly handlers: Handlers
  #clientOutput = new FakeOutput()
  #server: ServerUnderTest | undefined

  constructor(handlers: Handlers) {
    this.handlers = handlers
  }

  /** Makes a connection. The server's answers go to the session that adopts the connection. */
  connect(): void {
    this.#clientOutput = new FakeOutput()
    this.#server = newRsocketServer(
      { resumable: this.connections, maxBufferSize: 1e6, maxUnsent: 1e6 },
      this.handlers
    )
    this.client.connection.open(this.#clientOutput)
  }

  /**
   * Delivers the bytes in transit once, in both directions. Only the first `keep` bytes of each direction arrive; the
   * rest is lost with the connection.
   */
  carry(keep = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]): void {
    const server = this.#server
    if (server === undefined) return
    const up = this.#clientOutput.sent().subarray(0, keep[0])
    if (up.length > 0) server.connection.receive(up)
    const down = server.output.sent().subarray(0, keep[1])
    if (down.length > 0) this.client.connection.receive(down)
  }

  /** Cuts the socket at both ends. */
  cut(): void {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    server.connection.close()
    this.client.connection.lost()
  }
}

describe('Resuming Operation', () => {
  it('is over for a client that leaves: it says so when its calls have ended, or at once', async () => {
    const closed = ['ERROR 0 0x102 The client has closed']
    const { connection, caller, output } = newRsocketClient({ resume: RESUME })
    connection.open(output)
    const call = caller.request('a', 1)
    const event = caller.emit('b', 1)
    output.sent()
    assert.equal(connection.drain(), false)
    assert.deepEqual(describeFrames(output.sent()), [])
    connection.receive(payload(1, 'NC', '1'))
    assert.deepEqual(describeFrames(output.sent()), closed)
    assert.deepEqual([await call, await event], [1, undefined])
    const hasty = newRsocketClient({ resume: RESUME })
    hasty.connection.open(hasty.output)
    hasty.caller.request('a', 1).catch(() => {})
    hasty.output.sent()
    hasty.connection.leave()
    assert.deepEqual(describeFrames(hasty.output.sent()), closed)
    const idle = newRsocketClient({ resume: RESUME })
    idle.connection.open(idle.output)
    idle.output.sent()
    idle.connection.drain()
    assert.deepEqual(describeFrames(idle.output.sent()), closed)
  })

  it('loses and doubles nothing, wherever connections are cut, and in whatever frame [MUST]', async () => {
    const cuts = fc.array(fc.tuple(fc.nat({ max: 400 }), fc.nat({ max: 400 }), fc.boolean()), {
      maxLength: 12
    })
    await fc.assert(
      fc.asyncProperty(cuts, async (lost) => {
        let calls = 0
        const line = new Line({
          count: () => ++calls,
          async *numbers({ data }) {
            for (let n = 0; n < (data as number); n++) yield n
          }
        })
        // If its SETUP was lost, the connection does not exist at the server yet.
        line.connect()
        line.carry()
        const { caller } = line.client
        const receiver = new RecordingReceiver()
        caller.stream('numbers', 60, receiver)
        const answers = [1, 2, 3].map(() => caller.request('count', ''))
        for (const [up, down, later] of lost) {
          line.carry([up, down])
          if (later) await turn()
          line.cut()
          line.connect()
        }
        for (let round = 0; round < 200 && line.client.connection.inFlight > 0; round++) {
          line.carry()
          await turn()
        }
        assert.deepEqual(receiver.seen, [...Array.from({ length: 60 }, (_, n) => String(n)), 'complete'])
        assert.deepEqual(await Promise.all(answers), [1, 2, 3])
        assert.equal(calls, 3)
      }),
      { numRuns: runs(150) }
    )
  })

  it('sends values again that have waited for demand, and were lost when it came', async () => {
    const subject = new Subject<number>()
    const line = new Line({ values: () => subject })
    line.connect()
    line.carry()
    const receiver = new RecordingReceiver()
    const call = line.client.caller.stream('values', undefined, receiver, { demand: 1 })
    line.carry()
    for (let n = 0; n < 4; n++) subject.next(n)
    line.carry()
    call.request(9)
    line.carry([Number.POSITIVE_INFINITY, 0])
    line.cut()
    line.connect()
    for (let round = 0; round < 5; round++) {
      line.carry()
      await turn()
    }
    assert.deepEqual(receiver.seen, ['0', '1', '2', '3'])
  })

  it('sends nothing before RESUME, and nothing after it until the server agrees [MUST]', () => {
    const client = newRsocketClient({ resume: RESUME })
    client.connection.open(client.output)
    client.on()
    client.connection.lost()
    void client.caller.request('a', 1)
    const next = new FakeOutput()
    client.connection.open(next)
    const frames = describeFrames(next.sent())
    assert.equal(frames.length, 1)
    assert.match(frames[0] ?? '', /^RESUME 0/)
    client.connection.receive(frame(0, 'RESUME_OK', '', uint63(0)))
    assert.deepEqual(describeFrames(next.sent()), ['REQUEST_RESPONSE 1 M {a} 1'])
  })

  it('uses the token of SETUP, and the position up to which it has received [MUST]', () => {
    const client = newRsocketClient({ resume: RESUME })
    client.connection.open(client.output)
    const first = Buffer.from(client.output.sent())
    const token = first.subarray(3 + 6 + 14, 3 + 6 + 14 + 16)
    void client.caller.request('a', 1)
    client.on(frame(1, 'PAYLOAD', 'NC', '12345'))
    client.connection.lost()
    const next = new FakeOutput()
    client.connection.open(next)
    const resume = Buffer.from(next.sent())
    assert.deepEqual(resume.subarray(3 + 6 + 6, 3 + 6 + 6 + 16), token)
    assert.deepEqual(resume.subarray(3 + 6 + 6 + 16, 3 + 6 + 6 + 24), uint63(6 + 5))
  })

  it('hears of no stream until the server agrees', async () => {
    const client = newRsocketClient({ resume: RESUME })
    client.connection.open(client.output)
    const outcome = outcomeOf(client.caller.request('a', 1))
    client.connection.lost()
    client.connection.open(new FakeOutput())
    client.connection.receive(error(1, 0x201, 'early'))
    await turn()
    assert.deepEqual(outcome, [])
    client.connection.receive(frame(0, 'RESUME_OK', '', uint63(0)))
    client.connection.receive(frame(1, 'PAYLOAD', 'NC', '7'))
    await turn()
    assert.deepEqual(outcome, ['7'])
  })

  it('gives up for good after ERROR[REJECTED_RESUME] [MUST]', async () => {
    const client = newRsocketClient({ resume: RESUME })
    client.connection.open(client.output)
    const call = client.caller.request('a', 1)
    client.connection.lost()
    const next = new FakeOutput()
    client.connection.open(next)
    client.connection.receive(error(0, 0x4, 'gone'))
    assert.ok(next.ended)
    assert.equal(client.connection.lost(), false)
    client.connection.close()
    await assert.rejects(call, { name: 'ConnectionError', message: /REJECTED_RESUME.*gone/ })
  })

  for (const [what, resumable, token] of [
    ['that does not resume', undefined, 'token'],
    ['that does not know the token', resumableConnections().connections, 'other']
  ] as const) {
    it(`is refused by a server ${what} with ERROR[REJECTED_RESUME] [MUST]`, () => {
      const server = newRsocketServer({ resumable })
      assert.match(server.on(resumeFrame(token, 0, 0))[0] ?? '', /^ERROR 0 0x4 /)
      assert.equal(server.ended, true)
    })
  }

  it('is refused where frames are missing that one side needs', () => {
    for (const [received, available] of [
      [99, 0],
      [0, 99]
    ] as const) {
      const { connections } = resumableConnections()
      const server = newRsocketServer({ resumable: connections })
      server.on(setup({ token: 'token' }), request(1, 'echo', '1'))
      server.connection.close()
      const next = newRsocketServer({ resumable: connections })
      assert.match(next.on(resumeFrame('token', received, available))[0] ?? '', /^ERROR 0 0x4 /)
    }
  })

  it('is refused when more was sent than is kept', () => {
    const { connections } = resumableConnections({ ...RESUME, bufferSize: 30 })
    const server = newRsocketServer({ resumable: connections })
    server.on(setup({ token: 'token' }))
    for (let n = 0; n < 5; n++) server.on(request(n * 2 + 1, 'echo', '"0123456789"'))
    server.connection.close()
    const next = newRsocketServer({ resumable: connections })
    assert.match(next.on(resumeFrame('token', 0, 0))[0] ?? '', /^ERROR 0 0x4 /)
  })

  it('is possible as long as the window is open; then the work is given up', () => {
    const { connections, expire } = resumableConnections()
    let signal: AbortSignal | undefined
    const handlers: Handlers = {
      never: (message) => {
        signal = message.signal
        return new Promise(() => {})
      }
    }
    const server = newRsocketServer({ resumable: connections }, handlers)
    server.on(setup({ token: 'token' }), request(1, 'never', '1'))
    server.connection.close()
    assert.equal(signal?.aborted, false)
    expire()
    assert.equal(signal?.aborted, true)
    assert.match(
      newRsocketServer({ resumable: connections }).on(resumeFrame('token', 0, 0))[0] ?? '',
      /^ERROR 0 0x4 /
    )
  })

  describe('of more connections than may wait', () => {
    const options = { ...RESUME, waiting: 8, waitingSize: 4_000 }
    /** Makes a connection that waits to be resumed; its client has sent one request to `handlers`. */
    function lose(
      connections: ResumableConnections,
      token: string,
      address: string,
      handlers: Handlers = {}
    ) {
      const server = newRsocketServer({ resumable: connections }, handlers)
      server.output.remote = { remoteAddress: address, remotePort: 1 }
      server.on(setup({ token }), request(1, 'ask', '1'))
      server.connection.close()
      return server
    }
    const has = (connections: ResumableConnections, tokens: readonly string[]) =>
      tokens.filter((token) => connections.has(Buffer.from(token)))

    it('gives up the oldest, of one address first', () => {
      const { connections, givenUp } = resumableConnections(options)
      for (const token of ['a1', 'b1', 'a2', 'a3']) lose(connections, token, token[0] ?? '')
      assert.deepEqual(has(connections, ['a1', 'b1', 'a2', 'a3']), ['b1', 'a2', 'a3'])
      assert.match(givenUp[0] ?? '', /^4 connections .* wait to be resumed, .*\(the address a may have/)
      for (const token of ['c1', 'c2', 'd1', 'd2', 'e1', 'e2']) lose(connections, token, token[0] ?? '')
      assert.deepEqual(has(connections, ['b1', 'a2', 'a3', 'c1']), ['a2', 'a3', 'c1'])
      assert.deepEqual([givenUp.length, connections.waiting.connections], [2, 8])
    })

    it('counts what is kept for them, also if they are answered while they wait', async () => {
      const { connections, givenUp } = resumableConnections(options)
      const answers: ((value: string) => void)[] = []
      const handlers: Handlers = { ask: () => new Promise((resolve) => answers.push(resolve)) }
      for (const token of ['a1', 'a2']) lose(connections, token, 'a', handlers)
      assert.deepEqual(connections.waiting, { connections: 2, bytes: 0 })
      answers[0]?.('x'.repeat(600))
      await turn()
      assert.deepEqual(connections.waiting, { connections: 2, bytes: 608 })
      answers[1]?.('x'.repeat(600))
      await turn()
      assert.deepEqual(has(connections, ['a1', 'a2']), ['a2'])
      assert.deepEqual([givenUp.length, connections.waiting], [1, { connections: 1, bytes: 608 }])
    })

    it('counts nothing any more once they are resumed, over or expired', async () => {
      const { connections, givenUp, expire } = resumableConnections(options)
      lose(connections, 'a1', 'a')
      newRsocketServer({ resumable: connections }).on(resumeFrame('a1', 0, 0))
      lose(connections, 'b1', 'b')
      newRsocketServer({ resumable: connections }).on(resumeFrame('b1', 99, 99))
      lose(connections, 'c1', 'c')
      expire()
      assert.deepEqual([connections.waiting, givenUp], [{ connections: 0, bytes: 0 }, []])
    })
  })

  it('starts leases again with a LEASE of the server [MUST]', () => {
    const { connections } = resumableConnections()
    const limits = { ...NO_LIMITS, maxInFlight: 3 }
    const server = newRsocketServer({ resumable: connections, limits })
    server.on(setup({ token: 'token', flags: 'L' }))
    server.connection.close()
    const next = newRsocketServer({ resumable: connections, limits })
    const frames = next.on(resumeFrame('token', 0, 0))
    assert.match(frames[0] ?? '', /^RESUME_OK 0/)
    // Requests under the old lease may be sent again; the answer arrives behind them.
    assert.deepEqual(frames.slice(1), ['LEASE 0 3600000 ms 0', 'KEEPALIVE 0 F 0'])
    assert.deepEqual(next.on(request(1, 'echo', '1'), keepalive('')), [
      'PAYLOAD 1 CN 1',
      'LEASE 0 3600000 ms 3'
    ])
  })

  it('sends the LEASE without limits again [MUST]', () => {
    const { connections } = resumableConnections()
    const server = newRsocketServer({ resumable: connections })
    server.on(setup({ token: 'token', flags: 'L' }))
    server.connection.close()
    const next = newRsocketServer({ resumable: connections })
    assert.deepEqual(next.on(resumeFrame('token', 0, 0)).slice(1), ['LEASE 0 2147483647 ms 2147483647'])
  })

  it('takes over from a socket whose loss the server has not noticed', () => {
    const { connections } = resumableConnections()
    const server = newRsocketServer({ resumable: connections })
    server.on(setup({ token: 'token' }), request(1, 'echo', '1'))
    const next = newRsocketServer({ resumable: connections })
    const answers = next.on(resumeFrame('token', 0, 0))
    assert.match(answers[0] ?? '', /^RESUME_OK/)
    assert.equal(answers[1], 'PAYLOAD 1 CN 1')
    assert.equal(server.ended, true)
    next.connection.receive(request(3, 'echo', '3'))
    assert.deepEqual(next.on(), ['PAYLOAD 3 CN 3'])
  })

  it('names the socket in use as the peer of its messages', async () => {
    const { connections } = resumableConnections()
    const whoAmI: Handlers = { port: ({ peer }) => peer?.port ?? 'nobody' }
    const server = newRsocketServer({ resumable: connections }, whoAmI)
    server.output.remote = { remoteAddress: '::1', remotePort: 1_001 }
    server.on(setup({ token: 'token' }))
    assert.deepEqual(server.on(request(1, 'port', '1')), ['PAYLOAD 1 CN 1001'])
    const next = newRsocketServer({ resumable: connections })
    next.output.remote = { remoteAddress: '::1', remotePort: 1_002 }
    next.on(resumeFrame('token', 0, 0))
    next.connection.receive(request(3, 'port', '1'))
    assert.deepEqual(next.on(), ['PAYLOAD 3 CN 1002'])
  })

  it('takes the place of a socket over which the server is not heard any more', () => {
    const client = rsocketClient({ resume: RESUME, keepaliveInterval: 100, keepaliveLifetime: 200 })
    const call = outcomeOf(client.caller.request('a', 1))
    client.output.sent()
    // No ERROR may be sent, because it would end the connection for good.
    assert.ok(client.after(200).every((text) => text.startsWith('KEEPALIVE')))
    assert.equal(client.output.destroyed, true)
    assert.equal(client.connection.lost(), true)
    assert.deepEqual(call, [])
    client.connection.close()
  })

  it('is possible for a client that was not heard any more', () => {
    const { connections } = resumableConnections()
    const server = newRsocketServer({ resumable: connections })
    server.on(setup({ token: 'token', lifetime: 1_000 }))
    assert.deepEqual(server.after(2_000), [])
    assert.equal(server.output.destroyed, true)
    server.connection.close()
    assert.equal(connections.has(Buffer.from('token')), true)
  })

  it('tells in KEEPALIVE up to where it has received, and forgets what the other side has', () => {
    const { connections } = resumableConnections()
    const server = newRsocketServer({ resumable: connections })
    const asked = request(1, 'echo', '1')
    server.on(setup({ token: 'token' }), asked)
    assert.deepEqual(server.on(keepalive('R')), [`KEEPALIVE 0 ${asked.length - 3}`])
  })

  it('counts what has a stream, and nothing on stream 0, whatever it is', () => {
    const { connections } = resumableConnections()
    const server = newRsocketServer({ resumable: connections })
    const counted = [request(1, 'echo', '1'), payload(3, 'N', 'x'), error(3, 0x201, 'x')]
    server.on(setup({ token: 'token' }), ...counted)
    server.on(payload(0, 'N', 'x'), error(0, 0x4, 'x'), frame(3, 'METADATA_PUSH', 'M', 'x'))
    const position = counted.reduce((sum, { length }) => sum + length - 3, 0)
    assert.deepEqual(server.on(keepalive('R')), [`KEEPALIVE 0 ${position}`])
  })

  it('sends nothing again that the client has said in KEEPALIVE that it has', () => {
    const { connections } = resumableConnections()
    const server = newRsocketServer({ resumable: connections })
    server.on(setup({ token: 'token' }), request(1, 'echo', '1'), request(3, 'echo', '3'))
    const first = 6 + 1
    server.on(frame(0, 'KEEPALIVE', '', uint63(first)))
    server.connection.close()
    assert.equal(connections.waiting.bytes, 6 + 1)
    const next = newRsocketServer({ resumable: connections })
    assert.match(next.on(resumeFrame('token', first - 1, 0))[0] ?? '', /^ERROR 0 0x4 /)
  })

  it('refuses a token that another connection has', () => {
    const { connections } = resumableConnections()
    newRsocketServer({ resumable: connections }).on(setup({ token: 'token' }))
    assert.match(
      newRsocketServer({ resumable: connections }).on(setup({ token: 'token' }))[0] ?? '',
      /^ERROR 0 0x3 /
    )
  })

  it('refuses a token that another connection has got while credentials were checked', async () => {
    const { connections, givenUp } = resumableConnections()
    const admitted: ((verdict: boolean) => void)[] = []
    const authenticate = () => new Promise<boolean>((resolve) => admitted.push(resolve))
    const servers = [1, 2].map(() => newRsocketServer({ resumable: connections, authenticate }))
    for (const server of servers) assert.deepEqual(server.on(setup({ token: 'token' })), [])
    for (const admit of admitted) admit(true)
    await turn()
    const [first, second] = servers as [ServerUnderTest, ServerUnderTest]
    assert.deepEqual(first.on(), [])
    assert.match(second.on()[0] ?? '', /^ERROR 0 0x3 The resume token belongs to another connection$/)
    assert.deepEqual([first.ended, second.ended], [false, true])
    for (const server of servers) server.connection.close()
    assert.deepEqual([connections.waiting, givenUp], [{ connections: 1, bytes: 0 }, []])
    assert.match(
      newRsocketServer({ resumable: connections }).on(resumeFrame('token', 0, 0))[0] ?? '',
      /^RESUME_OK/
    )
    assert.deepEqual(connections.waiting, { connections: 0, bytes: 0 })
  })

  it('answers RESUME on a connection that is set up with ERROR[CONNECTION_ERROR]', () => {
    assert.match(rsocketServer().on(resumeFrame('token', 0, 0))[0] ?? '', /^ERROR 0 0x101 /)
  })
})
