/** Tests of how a connection is closed. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { replaceTimers } from '../testing/timers.ts'
import { Closing } from './closing.ts'
import type { Socket } from './socket.ts'

/** Makes a `Closing` whose socket records its calls, in order. */
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
    const waiting: (() => void)[] = []
    using _ = replaceTimers({ setTimeout: (task) => ({ at: waiting.push(task) }), clearTimeout() {} })
    const { seen, isOver, closing: end } = closing()
    end.peerCloses = true
    end.leave(() => end.finish())
    assert.deepEqual(seen, [])
    waiting.shift()!()
    assert.deepEqual(seen, ['FIN'])
    waiting.shift()!()
    await isOver
    assert.deepEqual(seen, ['FIN', 'closed'])
    assert.deepEqual(waiting, [])
  })

  it('is made at once, where the peer does not close', () => {
    const { seen, closing: end } = closing()
    end.leave(() => end.finish())
    assert.deepEqual(seen, ['FIN'])
    end.end()
  })
})
