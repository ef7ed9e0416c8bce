/** Tests Protocol.md, "KEEPALIVE Frame": when each end sends it, and how it is answered. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { frame, keepalive, payload, request, setup } from '../testing/rsocket-frames.ts'
import {
  newRsocketClient,
  newRsocketServer,
  outcomeOf,
  rsocketClient,
  rsocketServer,
  turn
} from '../testing/rsocket-peer.ts'

describe('KEEPALIVE Frame', () => {
  it('is sent by the client, periodically, with the respond flag, on stream 0 [MUST]', () => {
    const client = rsocketClient({ keepaliveInterval: 100, keepaliveLifetime: 1_000 })
    assert.deepEqual(client.after(99), [])
    assert.deepEqual(client.after(1), ['KEEPALIVE 0 F 0'])
    assert.deepEqual(client.after(200), ['KEEPALIVE 0 F 0', 'KEEPALIVE 0 F 0'])
  })

  it('is not sent by a server of its own accord', () => {
    const server = rsocketServer()
    assert.deepEqual(server.after(2_500), [])
  })

  for (const [role, make] of [
    ['server', () => rsocketServer()],
    ['client', () => rsocketClient()]
  ] as const) {
    it(`with the respond flag is answered by a ${role} with the same data, without the flag [MUST]`, () => {
      const end = make()
      assert.deepEqual(end.on(keepalive('R', 'some data'), keepalive('R')), [
        'KEEPALIVE 0 0 some data',
        'KEEPALIVE 0 0'
      ])
    })

    it(`without the respond flag is not answered by a ${role}`, () => {
      assert.deepEqual(make().on(keepalive('', 'some data')), [])
    })

    it(`has no metadata, whatever its flag says: a ${role} answers all that is there [MUST]`, () => {
      const bytes = frame(0, 'KEEPALIVE', 'MF', Buffer.alloc(8), 'abcdef')
      assert.deepEqual(make().on(bytes), ['KEEPALIVE 0 0 abcdef'])
    })
  }

  it('is answered at once, while requests wait', () => {
    const server = rsocketServer({ never: () => new Promise(() => {}) })
    assert.deepEqual(server.on(request(1, 'never', '1'), keepalive('R', 'x')), ['KEEPALIVE 0 0 x'])
  })

  it('keeps a server alive for its client, as does any other frame', async () => {
    const client = rsocketClient({ keepaliveInterval: 400, keepaliveLifetime: 1_000 })
    const call = outcomeOf(client.caller.request('a', 1))
    client.after(800)
    client.on(keepalive(''))
    client.after(800)
    client.on(payload(99, 'N', '1'))
    client.after(800)
    assert.equal(client.ended, false)
    client.after(1_400)
    assert.equal(client.output.destroyed, true, 'nobody waits for a server that may be unreachable')
    client.connection.close()
    await turn()
    assert.deepEqual(call, ['ConnectionError'])
  })

  it('is expected by a server within the lifetime of SETUP; then it says so and closes', () => {
    const server = newRsocketServer()
    server.on(setup({ lifetime: 1_000 }))
    assert.deepEqual(server.after(900), [])
    server.on(keepalive(''))
    assert.deepEqual(server.after(900), [])
    assert.match(server.after(1_000)[0] ?? '', /^ERROR 0 0x101 .*1000 ms/)
    assert.equal(server.output.destroyed, true)
  })

  it('begins when the socket is there, not before', () => {
    const client = newRsocketClient({ keepaliveInterval: 100, keepaliveLifetime: 200 })
    client.after(10_000)
    client.connection.open(client.output)
    client.output.sent()
    assert.deepEqual(client.after(100), ['KEEPALIVE 0 F 0'])
    assert.equal(client.ended, false)
  })
})
