/** Tests the server's side of a resumed connection: when a connection can be resumed, and what continues on it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { error, frame, request, setup, uint16, uint32 } from '../testing/rsocket-frames.ts'
import {
  type Handlers,
  newRsocketServer,
  outcomeOf,
  type ServerUnderTest,
  turn
} from '../testing/rsocket-peer.ts'
import { ResumableConnections } from './resumable-connections.ts'

const OPTIONS = { window: 1_000, bufferSize: 100_000, waiting: 4, waitingSize: 1_000_000 }
const TOKEN = Buffer.from('token')
const never: Handlers[string] = () => new Promise(() => {})

function resumable() {
  const givenUp: string[] = []
  const connections = new ResumableConnections(
    OPTIONS,
    () => () => {},
    (why) => givenUp.push(why)
  )
  return { connections, givenUp }
}

const resume = (token: string, received: number, available: number) =>
  frame(
    0,
    'RESUME',
    '',
    uint16(1),
    uint16(0),
    uint16(token.length),
    token,
    uint32(0),
    uint32(received),
    uint32(0),
    uint32(available)
  )

/** Makes a connection that can be resumed. */
function begin(connections: ResumableConnections, change: Parameters<typeof setup>[0] = {}): ServerUnderTest {
  const server = newRsocketServer({ resumable: connections }, { never })
  server.on(setup({ token: 'token', ...change }))
  return server
}

/** Makes the next socket of a client that resumes its connection. */
function goOn(connections: ResumableConnections, received = 0, available = 0, address?: string) {
  const next = newRsocketServer({ resumable: connections, handshakeTimeout: 10 })
  next.output.remote = { remoteAddress: address, remotePort: 1 }
  return { next, frames: next.on(resume('token', received, available)) }
}

describe('a connection whose socket is lost', () => {
  it('is over where its client has given no token', () => {
    const { connections } = resumable()
    const server = newRsocketServer({ resumable: connections }, { never })
    server.on(setup(), request(1, 'never', '1'))
    server.connection.close()
    assert.equal(server.dispatcher.requests[0]?.signal.aborted, true)
    assert.deepEqual(connections.waiting, { connections: 0, bytes: 0 })
  })

  for (const [why, end] of [
    ['it drains', (server: ServerUnderTest) => server.connection.drain?.()],
    ['it has broken the protocol', (server: ServerUnderTest) => server.on(Buffer.from([0xff, 0xff, 0xff]))],
    ['its client has said goodbye', (server: ServerUnderTest) => server.on(error(0, 0x102, 'bye'))],
    ['its client has ended it', (server: ServerUnderTest) => server.on(error(0, 0x101, 'a bug'))]
  ] as const) {
    it(`is over, too, where ${why}: nobody comes back to it`, () => {
      const { connections } = resumable()
      const server = begin(connections)
      server.on(request(1, 'never', '1'))
      end(server)
      server.connection.close()
      assert.equal(server.dispatcher.requests[0]?.signal.aborted, true)
      assert.equal(connections.has(TOKEN), false)
      assert.deepEqual(connections.waiting, { connections: 0, bytes: 0 })
      assert.match(goOn(connections).frames[0] ?? '', /^ERROR 0 0x4 /)
    })
  }

  it('waits, and is not woken for the lifetime of its client', () => {
    const { connections } = resumable()
    const server = begin(connections)
    server.on(request(1, 'never', '1'))
    server.connection.close()
    assert.equal(connections.waiting.connections, 1)
    assert.deepEqual(server.after(3_000), [])
    assert.equal(server.clock.next, Number.POSITIVE_INFINITY)
    assert.equal(server.dispatcher.requests[0]?.signal.aborted, false)
  })
})

describe('a connection that is resumed', () => {
  it('answers how much it has received, though nothing else is to be said, and takes a client that has more', () => {
    const { connections } = resumable()
    const server = begin(connections)
    const asked = request(1, 'never', '1')
    server.on(asked)
    server.connection.close()
    const size = asked.length - 3
    const { next, frames } = goOn(connections, 0, size)
    assert.deepEqual(frames.length, 1)
    assert.match(frames[0] ?? '', /^RESUME_OK 0/)
    assert.deepEqual(next.after(1_000), [], 'it is set up')
    assert.equal(next.ended, false)
    next.connection.close()
    assert.match(goOn(connections, 0, size + 1).frames[0] ?? '', /^ERROR 0 0x4 /)
  })

  it('has the whole lifetime of its client before it, and no more', () => {
    const { connections } = resumable()
    const server = begin(connections, { lifetime: 1_000 })
    server.connection.close()
    server.after(10_000)
    const { next } = goOn(connections)
    assert.equal(server.clock.next, 11_000)
    server.after(999)
    assert.equal(next.ended, false)
    server.after(1)
    assert.equal(next.output.destroyed, true)
  })

  it('has left its old socket, which counts nothing any more, and what came over it only in part', () => {
    const { connections } = resumable()
    const server = begin(connections)
    server.on(request(1, 'never', '1'), request(3, 'echo', '1').subarray(0, 9))
    const { next } = goOn(connections)
    const left = server.connection
    assert.notEqual(left, next.connection)
    assert.deepEqual([left.incomplete, left.buffered, left.inFlight], [false, 0, 0])
    left.receive(request(5, 'echo', '1'))
    left.resume()
    left.close()
    assert.deepEqual([next.connection.incomplete, next.connection.inFlight], [false, 1])
    assert.deepEqual(next.on(request(3, 'echo', '1')), ['PAYLOAD 3 CN 1'])
    assert.deepEqual(server.on(), [])
  })

  it('waits under the address of its last socket', () => {
    const { connections, givenUp } = resumable()
    begin(connections).connection.close()
    goOn(connections, 0, 0, 'home').next.connection.close()
    const other = newRsocketServer({ resumable: connections })
    other.output.remote = { remoteAddress: 'home', remotePort: 2 }
    other.on(setup({ token: 'other' }))
    other.connection.close()
    assert.equal(givenUp.length, 1)
    assert.match(givenUp[0] ?? '', /\(the address home may have/)
    assert.equal(connections.has(TOKEN), false)
  })

  it('has sent the events that waited for a socket', async () => {
    const { connections } = resumable()
    const server = begin(connections)
    const { caller } = server
    server.connection.close()
    const event = outcomeOf(caller.emit('news', 1))
    await turn()
    assert.deepEqual(event, [])
    const { frames } = goOn(connections)
    assert.deepEqual(frames.slice(1), ['REQUEST_FNF 2 M {news} 1'])
    await turn()
    assert.deepEqual(event, ['undefined'])
  })
})
