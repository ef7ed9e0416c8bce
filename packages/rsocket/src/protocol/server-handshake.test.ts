/** Tests a connection of a server before it is set up: what it stores, for how long, and how it ends. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { request, setup } from '../testing/rsocket-frames.ts'
import { newRsocketServer, turn } from '../testing/rsocket-peer.ts'
import type { ServerConnectionOptions } from './options.ts'

/** Makes a server whose hook `authenticate` decides when the test says so. */
function undecided(options: Partial<ServerConnectionOptions> = {}) {
  let decide: (verdict: boolean) => void = () => {}
  const authenticate = () =>
    new Promise<boolean>((resolve) => {
      decide = resolve
    })
  const server = newRsocketServer({ handshakeTimeout: 1_000, authenticate, ...options })
  return { server, decide: (verdict: boolean) => decide(verdict) }
}

describe('a connection that is not set up', () => {
  it('is incomplete while a part of a SETUP is there, and forgets it when it is told to', () => {
    const { connection } = newRsocketServer()
    const seen = () => [connection.incomplete, connection.buffered, connection.inFlight]
    assert.deepEqual(seen(), [false, 0, 0])
    connection.receive(setup().subarray(0, 1))
    assert.deepEqual(seen(), [true, 1, 0])
    connection.discard?.()
    assert.deepEqual(seen(), [false, 0, 0])
  })

  it('holds what comes while it is not decided, and is set up with it', async () => {
    const { server, decide } = undecided()
    server.on(setup(), request(1, 'echo', '1'))
    assert.equal(server.connection.incomplete, true)
    server.connection.resume()
    assert.deepEqual(server.on(), [])
    decide(true)
    await turn()
    assert.deepEqual(server.on(), ['PAYLOAD 1 CN 1'])
    assert.equal(server.connection.incomplete, false)
    assert.deepEqual(server.after(2_000), [], 'the time for SETUP is not counted any more')
  })

  it('may take as long as limits.handshake, however short; and any time where that is 0', () => {
    const hasty = newRsocketServer({ handshakeTimeout: 1 })
    assert.match(hasty.after(1)[0] ?? '', /^ERROR 0 0x1 .*limits\.handshake \(1 ms\)/)
    const patient = newRsocketServer({ handshakeTimeout: 0 })
    assert.equal(patient.clock.next, Number.POSITIVE_INFINITY)
    assert.deepEqual(patient.after(1e9), [])
    assert.deepEqual(patient.on(setup(), request(1, 'echo', '1')), ['PAYLOAD 1 CN 1'])
  })

  it('goes on waiting if its timer fires early', () => {
    const server = newRsocketServer({ handshakeTimeout: 1_000 })
    server.connection.wake?.(999)
    assert.equal(server.ended, false)
    assert.equal(server.clock.next, 1_000)
  })

  it('is set up by nothing that comes behind what ended it', () => {
    const server = newRsocketServer({ handshakeTimeout: 1_000, maxBufferSize: 300 })
    const tooLong = Buffer.from([0, 2, 0])
    assert.match(server.on(tooLong)[0] ?? '', /^ERROR 0 0x101 /)
    assert.deepEqual(server.on(setup(), request(1, 'echo', '1')), [])
    assert.equal(server.dispatcher.requests.length, 0)
    assert.deepEqual([server.output.adopted, server.clock.next], [undefined, Number.POSITIVE_INFINITY])
    const refused = newRsocketServer({ handshakeTimeout: 1_000 })
    assert.equal(refused.on(setup({ major: 9 })).length, 1)
    assert.equal(refused.clock.next, Number.POSITIVE_INFINITY)
    assert.deepEqual(refused.after(2_000), [])
  })

  it('is over when its socket closes, whatever is decided then', async () => {
    const { server, decide } = undecided({ maxBufferSize: 300 })
    server.on(setup(), request(1, 'echo', '1'))
    server.connection.close()
    assert.equal(server.clock.next, Number.POSITIVE_INFINITY)
    decide(true)
    assert.deepEqual(await server.later(), [])
    assert.deepEqual([server.output.adopted, server.dispatcher.requests.length], [undefined, 0])
    assert.deepEqual(server.on(Buffer.alloc(301)), [], 'nobody hears that it is too much')
  })
})
