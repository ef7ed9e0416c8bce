import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { HeldMessages } from './held-messages.ts'
import { Room } from './room.ts'

/** A server that confirms published bytes when the test says so. */
function setting(window = 100) {
  const server = { isConnected: true, confirm: () => {}, fail: () => {} }
  const confirm = () =>
    new Promise<void>((resolve, reject) => {
      server.confirm = resolve
      server.fail = () => reject(new Error('lost'))
    })
  return { server, room: new Room(confirm, () => server.isConnected, window) }
}
const turn = () => new Promise((resolve) => setTimeout(resolve, 0))

describe('room', () => {
  it('is there until the window is on its way, and again once the server has it', async () => {
    const { server, room } = setting()
    let resumed = 0
    const sender = { resume: () => void resumed++ }
    room.use(99)
    assert.ok(room.hasRoomFor(sender))
    room.use(1)
    assert.ok(!room.hasRoomFor(sender) && !room.hasRoomFor(sender))
    assert.equal(resumed, 0)
    server.confirm()
    await turn()
    server.confirm()
    await turn()
    assert.equal(resumed, 1)
    assert.ok(room.hasRoomFor(sender))
  })

  it('is given in turns: the one that was not served goes first', async () => {
    const { server, room } = setting()
    const served: string[] = []
    const newSender = (name: string) => ({
      resume() {
        served.push(name)
        room.use(100)
        room.hasRoomFor(this)
      }
    })
    room.use(100)
    for (const name of ['a', 'b', 'c']) room.hasRoomFor(newSender(name))
    for (let n = 0; n < 6; n++) {
      server.confirm()
      await turn()
    }
    assert.deepEqual(served.slice(0, 6), ['a', 'b', 'c', 'a', 'b', 'c'])
  })

  it('is none without a server, and comes back with it', async () => {
    const { server, room } = setting()
    let resumed = 0
    const sender = { resume: () => void resumed++ }
    server.isConnected = false
    assert.ok(!room.hasRoomFor(sender))
    room.resume()
    assert.equal(resumed, 0)
    server.isConnected = true
    room.resume()
    assert.equal(resumed, 1)
  })

  it('does not count what was lost with a server', async () => {
    const { server, room } = setting()
    const resumed = new Promise<void>((resolve) => {
      room.use(100)
      assert.ok(!room.hasRoomFor({ resume: resolve }))
    })
    server.fail()
    await resumed
  })
})

describe('held messages', () => {
  const failures: unknown[] = []
  const refusing = {
    unpublished(_address: string, error: Error) {
      throw error
    },
    failed: (error: unknown) => void failures.push(error)
  }

  it('that cannot be published do not take those behind them with them', () => {
    const held = new HeldMessages(refusing)
    let published = 0
    const failure = new Error('no')
    held.hold('a', 1, () => {
      throw failure
    })
    held.hold('a', 1, () => void published++)
    held.release()
    assert.deepEqual([published, failures], [1, [failure]])
  })

  it('are published in order, once, and bounded by their size', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40)), (sizes) => {
        const held = new HeldMessages(refusing, 100)
        const expected: number[] = []
        const published: number[] = []
        let size = 0
        for (const [index, one] of sizes.entries()) {
          const hold = () => held.hold('a', one, () => void published.push(index))
          if (size + one > 100) assert.throws(hold, { code: 'OVERLOADED' })
          else {
            hold()
            size += one
            expected.push(index)
          }
          assert.equal(held.size, size)
        }
        held.release()
        held.release()
        assert.deepEqual(published, expected)
        assert.equal(held.size, 0)
      })
    )
  })

  it('that are held again while they are published wait for the next time', () => {
    const held = new HeldMessages(refusing)
    let published = 0
    held.hold('a', 1, () => held.hold('a', 1, () => void published++))
    held.release()
    assert.equal(published, 0)
    held.release()
    assert.equal(published, 1)
  })
})
