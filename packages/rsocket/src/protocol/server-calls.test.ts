/** Tests the calls that a server makes to its client, and how it notices that its client is dead or gone. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConnectionError } from '@elysia-microservices/transport/kit'
import { error, frame, lease, payload, request, setup } from '../testing/rsocket-frames.ts'
import { type Handlers, newRsocketServer, outcomeOf, rsocketServer, turn } from '../testing/rsocket-peer.ts'

const LONG = { lifetime: 1e9 }
const never: Handlers[string] = () => new Promise(() => {})

describe('a call of a server', () => {
  it('fails after 30 seconds, which the client is told', async () => {
    const server = newRsocketServer()
    server.on(setup(LONG))
    const call = outcomeOf(server.caller.request('ask', 1))
    assert.deepEqual(server.on(), ['REQUEST_RESPONSE 2 M {ask, json: {"elysia-timeout":"30000"}} 1'])
    assert.deepEqual(server.after(29_999), [])
    assert.deepEqual(server.after(1), ['CANCEL 2'])
    await turn()
    assert.deepEqual(call, ['TimeoutError'])
  })

  it('waits for a LEASE of a client that has asked for leases, and for no other [MUST]', async () => {
    const server = newRsocketServer()
    server.on(setup({ ...LONG, flags: 'L' }))
    const calls = [1, 2].map((n) => server.caller.request('ask', n))
    assert.deepEqual(server.on(), [])
    assert.deepEqual(server.on(lease(1_000, 1)), [
      'REQUEST_RESPONSE 2 M {ask, json: {"elysia-timeout":"30000"}} 1'
    ])
    assert.deepEqual(server.on(lease(1_000, 1)), [
      'REQUEST_RESPONSE 4 M {ask, json: {"elysia-timeout":"30000"}} 2'
    ])
    server.on(payload(2, 'NC', '"a"'), payload(4, 'NC', '"b"'))
    assert.deepEqual(await Promise.all(calls), ['a', 'b'])
  })

  it('may have run when the connection is lost, and says whose it was', async () => {
    const server = rsocketServer()
    const call = server.caller.request('ask', 1)
    server.connection.close(new Error('cut'))
    await assert.rejects(call, (reason: ConnectionError) => {
      assert.equal(reason.message, 'The connection to the client was closed: cut')
      assert.equal(reason.mayHaveRun, true)
      return true
    })
    assert.equal(server.connection.inFlight, 0)
  })

  it('of an event is done when a socket has it that is not blocked', async () => {
    const server = rsocketServer()
    server.output.isBlocked = true
    const event = outcomeOf(server.caller.emit('news', 1))
    assert.deepEqual(await server.later(), ['REQUEST_FNF 2 M {news} 1'])
    assert.deepEqual(event, [])
    server.output.isBlocked = false
    server.connection.resume()
    await turn()
    assert.deepEqual(event, ['undefined'])
  })
})

describe('a connection of a server', () => {
  it('is incomplete while a part of a frame is there, and forgets it when it is told to', () => {
    const { connection } = rsocketServer()
    const seen = () => [connection.incomplete, connection.buffered]
    assert.deepEqual(seen(), [false, 0])
    connection.receive(request(1, 'echo', '1').subarray(0, 1))
    assert.deepEqual(seen(), [true, 1])
    connection.discard?.()
    assert.deepEqual(seen(), [false, 0])
  })

  it('sleeps for the lifetime of its client, and gives up one that has said nothing but SETUP then', () => {
    const server = newRsocketServer()
    server.on(setup({ lifetime: 1_000 }))
    assert.equal(server.clock.next, 1_000)
    assert.deepEqual(server.after(999), [])
    assert.match(server.after(1)[0] ?? '', /^ERROR 0 0x101 /)
    assert.equal(server.output.destroyed, true)
  })

  it('asks to be woken by nobody once it is closed', () => {
    const server = rsocketServer({ never })
    server.on(request(1, 'never', '1'))
    server.connection.close()
    assert.equal(server.clock.next, Number.POSITIVE_INFINITY)
  })

  it('ends with an ERROR[CONNECTION_ERROR] of its client: what it does for it is given up [MUST]', () => {
    const server = rsocketServer({ never })
    server.on(request(1, 'never', '1'))
    assert.deepEqual(server.on(error(0, 0x101, 'a bug')), [])
    assert.match((server.output.ended as Error).message, /^The client ended the connection: a bug$/)
    assert.equal(server.dispatcher.requests[0]?.signal.aborted, true)
    assert.deepEqual(server.on(request(3, 'never', '1')), [])
    assert.equal(server.dispatcher.requests.length, 1)
  })

  it('goes on after an ERROR[CONNECTION_CLOSE] of its client, which waits for its answers', () => {
    const server = rsocketServer({ never })
    const frames = server.on(request(1, 'never', '1'), error(0, 0x102, 'bye'), request(3, 'echo', '1'))
    assert.deepEqual(frames, ['PAYLOAD 3 CN 1'])
    assert.deepEqual([server.ended, server.connection.inFlight], [false, 1])
  })

  it('takes no frame for what it does not know of when it handles none because it is blocked', () => {
    const server = rsocketServer()
    server.output.isBlocked = true
    assert.deepEqual(server.on(frame(0, 'KEEPALIVE', 'R', Buffer.alloc(8))), [])
    server.output.isBlocked = false
    server.connection.resume()
    assert.deepEqual(server.on(), ['KEEPALIVE 0 0'])
  })
})
