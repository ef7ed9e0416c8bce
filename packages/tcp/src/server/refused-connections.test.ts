/** Tests connections for which a server has no room. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Socket } from '@elysia-microservices/rsocket/session'
import { describeFrames, setup } from '@elysia-microservices/rsocket/testing'
import { RefusedConnections } from './refused-connections.ts'

/** Makes a socket that is refused, and records the data that it gets and how it ends. */
function refusedBy(refused: RefusedConnections) {
  const state = { sent: [] as string[], ends: 0, isDestroyed: false }
  const socket: Socket = {
    remoteAddress: undefined,
    remotePort: undefined,
    unsent: 0,
    write: () => assert.fail('text was sent'),
    writeBytes: (bytes, length) => void state.sent.push(...describeFrames(bytes.subarray(0, length))),
    pause() {},
    resume() {},
    end: () => void state.ends++,
    destroy() {
      state.isDestroyed = true
    }
  }
  return { state, listener: refused.refuse(socket, 'full') }
}

describe('a refused connection', () => {
  it('is told why, once, if it speaks RSocket', () => {
    const { state, listener } = refusedBy(new RefusedConnections())
    listener.data(setup())
    listener.data(setup())
    listener.close()
    assert.deepEqual(state, { sent: ['ERROR 0 0x3 full'], ends: 1, isDestroyed: false })
  })

  it("is closed without a word if it speaks Nest's wire", () => {
    const { state, listener } = refusedBy(new RefusedConnections())
    listener.data(Buffer.from('2#{}'))
    listener.close()
    assert.deepEqual(state, { sent: [], ends: 1, isDestroyed: false })
  })

  it('is cut off beyond 100 at a time, until one of these has closed', async () => {
    const refused = new RefusedConnections()
    const told = Array.from({ length: 100 }, () => refusedBy(refused))
    const beyond = refusedBy(refused)
    await undefined
    assert.equal(beyond.state.isDestroyed, true)
    told[7]?.listener.close()
    const next = refusedBy(refused)
    await undefined
    assert.equal(next.state.isDestroyed, false)
    refused.stop()
    const isDestroyed = (one: typeof next) => one.state.isDestroyed
    assert.equal(told.filter(isDestroyed).length, 99)
    assert.equal(next.state.isDestroyed, true)
    for (const { listener } of [...told, next]) listener.close()
  })
})
