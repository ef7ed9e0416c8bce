/** Tests a client's connection from before its first socket until after its last, and its events meanwhile. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeFrames } from '../testing/describe-frames.ts'
import { FakeOutput } from '../testing/peer.ts'
import {
  cancel,
  error,
  frame,
  headersEntry,
  keepalive,
  metadata,
  payload,
  request,
  requestN,
  routeEntry,
  stream,
  uint32
} from '../testing/rsocket-frames.ts'
import {
  newRsocketClient,
  outcomeOf,
  RecordingReceiver,
  rsocketClient,
  turn
} from '../testing/rsocket-peer.ts'
import { answersWithin } from './answer-watch.ts'

const RESUME = { window: 1_000, bufferSize: 100_000 }
const never = () => new Promise(() => {})
const types = (frames: string[]) => frames.map((text) => text.split(' ')[0])
const resumeOk = (position: number) => frame(0, 'RESUME_OK', '', uint32(0), uint32(position))
const failureOf = (call: Promise<unknown>): Promise<Error & { mayHaveRun?: boolean }> =>
  call.then(
    () => assert.fail('it was answered'),
    (reason) => reason
  )

/**
 * Makes a client that can resume its connection, a function that cuts its first socket, and its next socket, which is
 * not open yet.
 */
function lostClient(options: Parameters<typeof newRsocketClient>[0] = {}) {
  const client = rsocketClient({ resume: RESUME, ...options })
  const next = new FakeOutput()
  const lose = () => assert.equal(client.connection.lost(), true)
  return { client, next, lose }
}

/** Records only the frames that the client has released for sending. */
class PatientOutput extends FakeOutput {
  readonly frames: string[] = []

  override committed(): void {
    super.committed()
    this.frames.push(...types(describeFrames(this.sent())).map(String))
  }
}

describe('a client before its first socket', () => {
  it('never sends a call whose time is over, keeps the others, and does not take its server for dead', async () => {
    const client = newRsocketClient({ keepaliveInterval: 100, keepaliveLifetime: 300 })
    const late = outcomeOf(client.caller.request('late', 1, { timeout: 1_000 }))
    const patient = outcomeOf(client.caller.request('patient', 1))
    client.after(1_000)
    client.connection.open(client.output)
    await turn()
    assert.deepEqual([late, patient], [['TimeoutError'], []])
    const frames = types(client.on())
    assert.deepEqual([frames.at(0), frames.includes('ERROR'), client.ended], ['SETUP', false, false])
    assert.equal(frames.filter((type) => type === 'REQUEST_RESPONSE').length, 1)
    client.on(payload(1, 'NC', '1'))
    await turn()
    assert.deepEqual([late, patient], [['TimeoutError'], ['1']])
  })

  it('lets callers of events go on when its first socket has what they wrote', async () => {
    const client = newRsocketClient()
    const emitted = outcomeOf(client.caller.emit('a', 1))
    await turn()
    assert.deepEqual([emitted, client.connection.inFlight], [[], 1])
    client.connection.open(client.output)
    await turn()
    assert.deepEqual([emitted, client.connection.inFlight], [['undefined'], 0])
  })

  it('fails its calls with the words that it cannot connect, and why; they have not run', async () => {
    for (const [reason, text] of [
      [new Error('no route'), 'Cannot connect to tcp://test:4000: no route'],
      [undefined, 'Cannot connect to tcp://test:4000: the connection was closed before it was set up']
    ] as const) {
      const client = newRsocketClient()
      const call = failureOf(client.caller.request('a', 1))
      client.connection.close(reason)
      const { message, mayHaveRun } = await call
      assert.deepEqual([message, mayHaveRun], [text, false])
    }
  })

  it('says nothing when it leaves, also if it could be resumed', () => {
    const client = newRsocketClient({ resume: RESUME })
    client.connection.leave()
    client.connection.open(client.output)
    assert.deepEqual(types(client.on()), ['SETUP'])
  })

  it('says in SETUP who it is, and that it understands when its server goes away', () => {
    const goingAway = 'application/vnd.elysia-microservices.going-away: '
    const token = Buffer.from('token').toString('hex')
    for (const [credentials, expected] of [
      [undefined, `{${goingAway}}`],
      [{ type: 'bearer', token: 'token' }, `{auth: 81${token}, ${goingAway}}`]
    ] as const) {
      const client = newRsocketClient()
      client.connection.open(client.output, credentials)
      const [text] = client.on()
      assert.equal(text?.slice(text.indexOf('{')), expected)
    }
  })

  it('grants its server as many requests as it likes, if leases are used and it has handlers', () => {
    for (const [lease, handlers, expected] of [
      [true, {}, ['SETUP', 'LEASE']],
      [true, undefined, ['SETUP']],
      [false, {}, ['SETUP']]
    ] as const) {
      const client = newRsocketClient({ lease }, handlers)
      client.connection.open(client.output)
      const frames = client.on()
      assert.deepEqual(types(frames), expected)
      if (lease && handlers) assert.equal(frames[1], 'LEASE 0 2147483647 ms 2147483647')
    }
  })
})

describe('a client with a socket', () => {
  it('says how much of a frame has come', () => {
    const { connection } = rsocketClient()
    const bytes = keepalive('')
    assert.deepEqual([connection.incomplete, connection.buffered], [false, 0])
    connection.receive(bytes.subarray(0, 1))
    assert.deepEqual([connection.incomplete, connection.buffered], [true, 1])
    connection.receive(bytes.subarray(1))
    assert.deepEqual([connection.incomplete, connection.buffered], [false, 0])
    connection.receive(bytes.subarray(0, 5))
    connection.discard()
    assert.deepEqual([connection.incomplete, connection.buffered], [false, 0])
  })

  it('counts its calls and requests of its server, and tells its socket when each has ended', async () => {
    const client = rsocketClient({}, { never })
    const { connection, output } = client
    assert.deepEqual([connection.calls.started, connection.inFlight], [0, 0])
    void client.caller.request('a', 1)
    client.caller.stream('b', 1, new RecordingReceiver())
    client.on(request(2, 'never', '1'))
    assert.deepEqual([connection.calls.started, connection.inFlight, output.settlements], [2, 3, 0])
    client.on(payload(1, 'NC', '1'), payload(3, 'C'))
    assert.deepEqual([connection.calls.started, connection.inFlight], [2, 1])
    const before = output.settlements
    assert.ok(before > 0)
    client.on(cancel(2))
    assert.equal(connection.inFlight, 0)
    assert.ok(output.settlements > before)
    assert.equal(client.ended, false)
  })

  it('lets its socket send its own frames at once', () => {
    const client = newRsocketClient({ resume: RESUME, keepaliveInterval: 100 })
    const [first, second] = [new PatientOutput(), new PatientOutput()]
    client.connection.open(first)
    assert.deepEqual(first.frames.splice(0), ['SETUP'])
    client.clock.pass(100)
    assert.deepEqual(first.frames.splice(0), ['KEEPALIVE'])
    void client.connection.confirm()
    assert.deepEqual(first.frames.splice(0), ['KEEPALIVE'])
    client.connection.lost()
    client.connection.open(second)
    assert.deepEqual(second.frames.splice(0), ['RESUME'])
    client.connection.receive(resumeOk(0))
    client.connection.leave()
    assert.deepEqual(second.frames.splice(0), ['ERROR'])
  })

  it('counts the streams that it sends', async () => {
    const client = rsocketClient(
      {},
      {
        values: async function* () {
          yield 1
          await never()
        }
      }
    )
    assert.equal(client.connection.streams, 0)
    client.on(stream(2, 'values', 5, '1'))
    await turn()
    assert.equal(client.connection.streams, 1)
    client.on(cancel(2))
    assert.equal(client.connection.streams, 0)
    assert.equal(rsocketClient().connection.streams, 0)
  })

  it('handles nothing while its server does not read, and everything after that', async () => {
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('a', 1))
    client.output.isBlocked = true
    client.on(payload(1, 'NC', '1'))
    await turn()
    assert.deepEqual([call, client.connection.inFlight], [[], 1])
    client.output.isBlocked = false
    client.connection.resume()
    await turn()
    assert.deepEqual([call, client.connection.inFlight, client.connection.buffered], [['1'], 0, 0])
  })

  it('gives up a request of its server whose time is over', async () => {
    const aborted: unknown[] = []
    const client = rsocketClient(
      {},
      {
        never: ({ signal }) => {
          signal.addEventListener('abort', () => aborted.push(signal.reason))
          return never()
        }
      }
    )
    const told = metadata(routeEntry('never'), headersEntry({ 'elysia-timeout': '100' }))
    client.on(frame(2, 'REQUEST_RESPONSE', 'M', told, '1'))
    assert.deepEqual(client.after(99), [])
    assert.match(client.after(1).join(), /^ERROR 2 0x203 /)
    assert.deepEqual([aborted.length, client.connection.inFlight], [1, 0])
  })

  it('asks for a sign of life at once, and knows it when it comes', async () => {
    const client = rsocketClient()
    let isConfirmed = false
    void client.connection.confirm().then(() => {
      isConfirmed = true
    })
    assert.deepEqual(client.on(), ['KEEPALIVE 0 F 0'])
    client.on(keepalive('R'), requestN(1, 1))
    await turn()
    assert.equal(isConfirmed, false)
    client.on(keepalive(''))
    await turn()
    assert.equal(isConfirmed, true)
  })

  it('gives its server the whole lifetime to say something, and no more', async () => {
    const client = rsocketClient({ keepaliveInterval: 100, keepaliveLifetime: 200 })
    const call = failureOf(client.caller.request('a', 1))
    client.on()
    assert.deepEqual(client.after(199), ['KEEPALIVE 0 F 0'])
    assert.equal(client.ended, false)
    client.after(1)
    assert.equal(client.output.destroyed, true)
    client.connection.close()
    const { message, mayHaveRun } = await call
    assert.match(
      message,
      /was closed: nothing has been received for rsocket\.keepalive\.lifetime \(200 ms\)$/
    )
    assert.equal(mayHaveRun, true)
  })

  it('says nothing more once it has found fault with its server, and has heard nothing more either', async () => {
    const client = rsocketClient({ keepaliveInterval: 100, keepaliveLifetime: 1_000 })
    const call = outcomeOf(client.caller.request('a', 1))
    client.on()
    assert.deepEqual(types(client.on(frame(0, 'KEEPALIVE', 'R', 'short'))), ['ERROR'])
    assert.equal(client.ended, true)
    assert.deepEqual(client.on(payload(1, 'NC', '1'), keepalive('R')), [])
    assert.deepEqual(client.after(5_000), [])
    assert.equal(client.output.destroyed, false)
    assert.deepEqual(call, [])
    client.connection.close()
    await turn()
    assert.deepEqual(call, ['ConnectionError'])
  })

  it('gives as the reason what the server has said when it ended the connection', async () => {
    const client = rsocketClient()
    const call = failureOf(client.caller.request('a', 1))
    client.on(error(0, 0x3, 'too many connections'))
    const said = 'the server ended it (REJECTED_SETUP): too many connections'
    assert.equal(client.connection.reason?.message, said)
    client.connection.close(new Error('reset'))
    assert.equal((await call).message, `The connection to tcp://test:4000 was closed: ${said}`)
  })

  it('fails each call with an error of its own when it is not known to the server', async () => {
    const client = rsocketClient()
    const calls = [1, 2].map((n) => failureOf(client.caller.request('a', n)))
    client.on(error(0, 0x3, '{"code":"UNAUTHENTICATED","message":"who are you"}'))
    client.connection.close()
    const [first, second] = await Promise.all(calls)
    for (const failure of [first, second])
      assert.deepEqual(
        [failure?.name, failure?.message],
        ['UnauthenticatedError', 'tcp://test:4000: who are you']
      )
    assert.notEqual(first, second)
  })

  it('stops the work for its server when the connection is gone', () => {
    const signals: AbortSignal[] = []
    const client = rsocketClient(
      {},
      {
        never: ({ signal }) => {
          signals.push(signal)
          return never()
        }
      }
    )
    client.on(request(2, 'never', '1'), request(4, 'never', '1'))
    assert.deepEqual(
      signals.map((signal) => signal.aborted),
      [false, false]
    )
    client.connection.close()
    assert.deepEqual(
      signals.map((signal) => signal.aborted),
      [true, true]
    )
    assert.equal(client.connection.inFlight, 0)
  })

  it('cannot be resumed unless it was told so, and then has nothing to say when it leaves', () => {
    const client = rsocketClient()
    client.connection.drain()
    client.connection.leave()
    assert.deepEqual(client.on(), [])
    assert.equal(client.connection.lost(), false)
  })
})

describe('a client that can be resumed', () => {
  it('lets callers of events wait until its server has been heard: without SETUP, they could not be resumed', async () => {
    const client = rsocketClient({ resume: RESUME, answers: answersWithin(1_000) })
    const emitted = outcomeOf(client.caller.emit('a', 1))
    await turn()
    assert.deepEqual(emitted, [])
    client.on(keepalive(''))
    await turn()
    assert.deepEqual(emitted, ['undefined'])
  })

  it('does not say that it has closed when its calls have ended, unless it leaves; then it does so once', async () => {
    const client = rsocketClient({ resume: RESUME }, { never })
    void client.caller.request('a', 1)
    client.on()
    assert.deepEqual(client.on(payload(1, 'NC', '1')), [])
    void client.caller.request('a', 2)
    client.on(request(2, 'never', '1'))
    client.connection.drain()
    assert.deepEqual(client.on(payload(3, 'NC', '1')), [])
    assert.deepEqual(types(client.on(cancel(2))), ['ERROR'])
    client.on(request(4, 'never', '1'))
    assert.deepEqual(client.on(cancel(4)), [])
  })

  it('says nothing any more when it leaves after its server has ended the connection', () => {
    const client = rsocketClient({ resume: RESUME })
    client.on(error(0, 0x101, 'over'))
    client.connection.leave()
    assert.deepEqual(client.on(), [])
  })

  it('is silent between two sockets, however long that takes, and does not take its server for dead', () => {
    const { client, next, lose } = lostClient({ keepaliveInterval: 100, keepaliveLifetime: 300 })
    client.after(50)
    lose()
    client.clock.pass(5_000)
    client.connection.open(next)
    assert.deepEqual(types(describeFrames(next.sent())), ['RESUME'])
    client.clock.pass(99)
    assert.deepEqual(describeFrames(next.sent()), [])
    assert.equal(next.ended, undefined)
  })

  it('forgets the half of a frame that the first socket has brought', async () => {
    const { client, next, lose } = lostClient()
    const call = outcomeOf(client.caller.request('a', 1))
    const answer = payload(1, 'NC', '"answer"')
    client.connection.receive(answer.subarray(0, 12))
    lose()
    assert.equal(client.connection.buffered, 0)
    client.connection.open(next)
    client.connection.receive(resumeOk(0))
    client.connection.receive(answer)
    await turn()
    assert.deepEqual(call, ['"answer"'])
  })

  it('lets callers of events go on when the next socket has what they wrote', async () => {
    const { client, next, lose } = lostClient()
    lose()
    const emitted = outcomeOf(client.caller.emit('a', 1))
    client.connection.open(next)
    await turn()
    assert.deepEqual(emitted, [])
    client.connection.receive(resumeOk(0))
    await turn()
    assert.deepEqual(emitted, ['undefined'])
    assert.deepEqual(types(describeFrames(next.sent())), ['RESUME', 'REQUEST_FNF'])
  })

  it('ignores what comes before RESUME_OK, other than an ERROR of the connection', async () => {
    const { client, next, lose } = lostClient()
    const call = outcomeOf(client.caller.request('a', 1))
    lose()
    client.connection.open(next)
    next.sent()
    for (const early of [payload(1, 'NC', '1'), error(1, 0x201, 'x'), keepalive('R'), requestN(0, 1)])
      client.connection.receive(early)
    await turn()
    assert.deepEqual([describeFrames(next.sent()), next.ended, call], [[], undefined, []])
    client.connection.receive(error(0, 0x4, 'unknown'))
    assert.notEqual(next.ended, undefined)
    assert.equal(client.connection.reason?.message, 'the server ended it (REJECTED_RESUME): unknown')
  })

  it('refuses a RESUME_OK that ends before its position, wherever it ends', () => {
    for (let length = 0; length < 8; length++) {
      const { client, next, lose } = lostClient()
      lose()
      client.connection.open(next)
      next.sent()
      // The following frames in the same chunk must not be read as part of RESUME_OK.
      const short = frame(0, 'RESUME_OK', '', Buffer.alloc(length))
      client.connection.receive(Buffer.concat([short, keepalive(''), keepalive('')]))
      assert.match(
        describeFrames(next.sent()).join(),
        /^ERROR 0 0x101 RESUME_OK ends before its position$/,
        String(length)
      )
      assert.notEqual(next.ended, undefined)
    }
  })

  it('refuses a position from which it cannot go on, and sends again from any other', () => {
    const first = 'REQUEST_RESPONSE 1 M {a} 1'
    const second = 'REQUEST_RESPONSE 3 M {a} 2'
    const resumedAt = (position: (size: number) => number) => {
      const { client, next, lose } = lostClient()
      void outcomeOf(client.caller.request('a', 1))
      const size = client.output.sent().length - 3
      void outcomeOf(client.caller.request('a', 2))
      lose()
      client.connection.open(next)
      next.sent()
      client.connection.receive(resumeOk(position(size)))
      return describeFrames(next.sent())
    }
    assert.deepEqual(
      resumedAt(() => 0),
      [first, second]
    )
    assert.deepEqual(
      resumedAt((size) => size),
      [second]
    )
    assert.deepEqual(
      resumedAt((size) => 2 * size),
      []
    )
    assert.match(resumedAt((size) => 2 * size + 1).join(), /^ERROR 0 0x101 Resumed at position \d+/)
  })

  it('has been connected, even if it is given up between two sockets: its calls may have run', async () => {
    const { client, lose } = lostClient()
    const call = failureOf(client.caller.request('a', 1))
    lose()
    client.connection.close(new Error('gone'))
    const { message, mayHaveRun } = await call
    assert.deepEqual([message, mayHaveRun], ['The connection to tcp://test:4000 was closed: gone', true])
    assert.equal(client.connection.lost(), false)
  })

  it('does not blame the silence of a socket before for its end', async () => {
    const { client, next, lose } = lostClient({ keepaliveInterval: 100, keepaliveLifetime: 200 })
    const call = failureOf(client.caller.request('a', 1))
    client.after(200)
    assert.equal(client.output.destroyed, true)
    lose()
    client.connection.open(next)
    client.connection.receive(resumeOk(0))
    assert.equal(client.connection.reason, undefined)
    client.connection.close(new Error('reset'))
    assert.equal((await call).message, 'The connection to tcp://test:4000 was closed: reset')
  })

  it('says in KEEPALIVE up to where it has received', () => {
    const client = rsocketClient({ resume: RESUME, keepaliveInterval: 100 })
    const answer = payload(1, 'NC', '12345')
    client.on(answer)
    assert.deepEqual(client.after(100), [`KEEPALIVE 0 F ${answer.length - 3}`])
  })
})
