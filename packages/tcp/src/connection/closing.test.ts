/** The last seconds of a connection. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Socket } from '../socket/socket.ts'
import { Closing } from './closing.ts'

/** What is done to the socket, in order. */
function closing() {
  const seen: string[] = []
  let closed = () => {}
  const isOver = new Promise<void>((resolve) => {
    closed = resolve
  })
  const socket = {
    end: () => seen.push('FIN'),
    destroy() {
      seen.push('closed')
      closed()
    }
  }
  return { seen, isOver, closing: new Closing(socket as never as Socket) }
}

describe('the end of a connection', () => {
  it('is waited for, where the peer closes, and made when it does not', async () => {
    const { seen, isOver, closing: end } = closing()
    end.peerCloses = true
    end.leave(() => end.finish())
    assert.deepEqual(seen, [])
    // Its timers keep no process alive.
    const awake = setTimeout(() => {}, 60_000)
    await isOver
    clearTimeout(awake)
    assert.deepEqual(seen, ['FIN', 'closed'])
  })

  it('is made at once, where the peer does not close', () => {
    const { seen, closing: end } = closing()
    end.leave(() => end.finish())
    assert.deepEqual(seen, ['FIN'])
    end.end()
  })
})
