/** Tests the outgoing frames of a connection: when they are written, and when streams may send more. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { Outbox } from './outbox.ts'
import type { Socket } from './socket.ts'

/** A socket whose peer reads only as many bytes as the test says. */
class SlowSocket implements Socket {
  readonly remoteAddress = undefined
  readonly remotePort = undefined
  unsent = 0

  write(text: string): void {
    this.unsent += text.length
  }

  writeBytes(_bytes: Uint8Array, length: number): void {
    this.unsent += length
  }

  pause(): void {}

  resume(): void {}

  end(): void {}
  destroy(): void {}
}

function made() {
  const socket = new SlowSocket()
  const outbox = new Outbox(socket)
  let resumed = 0
  const stream = { resume: () => void resumed++ }
  return { socket, outbox, stream, resumed: () => resumed }
}

const KB = 1024
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('Outbox', () => {
  it('is full with 8 KB of text or bytes, and empty when they are written', () => {
    const { socket, outbox } = made()
    assert.equal(outbox.isEmpty, true)
    outbox.add('x'.repeat(8 * KB - 1))
    assert.deepEqual([outbox.isEmpty, outbox.isFull], [false, false])
    outbox.add('x')
    assert.deepEqual([outbox.isFull, outbox.unsent], [true, 8 * KB])
    assert.equal(outbox.write(1e6), undefined)
    assert.deepEqual([outbox.isEmpty, outbox.isFull, socket.unsent], [true, false, 8 * KB])
    outbox.add('x')
    outbox.clear()
    assert.deepEqual([outbox.isEmpty, outbox.unsent], [true, 8 * KB])
    const bytes = new ByteWriter()
    outbox.attach(bytes)
    bytes.bytes(new Uint8Array(8 * KB))
    assert.deepEqual([outbox.isEmpty, outbox.isFull, outbox.unsent], [false, true, 16 * KB])
    outbox.clear()
    assert.deepEqual([outbox.isEmpty, outbox.unsent], [true, 8 * KB])
  })

  it('says which limit it was when too much would wait', () => {
    const { outbox } = made()
    outbox.add('x'.repeat(1_001))
    const error = outbox.write(1_000)
    assert.deepEqual(
      [error?.name, error?.option, error?.limit],
      ['PayloadTooLargeError', 'limits.sendBuffer', 1_000]
    )
  })

  it('is blocked with more than 256 KB unread, until all of it is', () => {
    const { socket, outbox } = made()
    outbox.add('x'.repeat(256 * KB))
    outbox.write(1e9)
    assert.equal(outbox.isBlocked, false)
    outbox.add('x')
    outbox.write(1e9)
    assert.equal(outbox.isBlocked, true)
    socket.unsent = 1
    assert.deepEqual([outbox.unblock(), outbox.isBlocked], [false, true])
    socket.unsent = 0
    assert.deepEqual([outbox.unblock(), outbox.isBlocked], [true, false])
    assert.equal(outbox.unblock(), false)
  })

  it('lets streams send 64 KB in a turn, and go on in the next', async () => {
    const { outbox, stream, resumed } = made()
    assert.equal(outbox.hasRoomFor(stream), true)
    outbox.add('x'.repeat(64 * KB))
    assert.equal(outbox.hasRoomFor(stream), false)
    outbox.write(1e9)
    assert.equal(outbox.hasRoomFor(stream), false)
    assert.equal(resumed(), 0)
    await turn()
    assert.equal(resumed(), 1)
    assert.equal(outbox.hasRoomFor(stream), true)
  })

  it('counts bytes for it when they are written', async () => {
    const { outbox, stream, resumed } = made()
    const bytes = new ByteWriter()
    outbox.attach(bytes)
    bytes.bytes(new Uint8Array(64 * KB))
    outbox.write(1e9)
    assert.equal(outbox.hasRoomFor(stream), false)
    await turn()
    assert.equal(resumed(), 1)
    assert.equal(outbox.hasRoomFor(stream), true)
  })

  it('lets streams wait while the peer does not read, however many turns pass', async () => {
    const { socket, outbox, stream, resumed } = made()
    outbox.add('x'.repeat(300 * KB))
    outbox.write(1e9)
    assert.equal(outbox.hasRoomFor(stream), false)
    await turn()
    outbox.resumeStreams()
    assert.equal(resumed(), 0)
    socket.unsent = 0
    assert.equal(outbox.unblock(), true)
    outbox.resumeStreams()
    assert.equal(resumed(), 1)
  })

  it('resumes a stream once that has asked for each of its values', async () => {
    const { outbox, stream, resumed } = made()
    const other = made()
    outbox.add('x'.repeat(64 * KB))
    for (let n = 0; n < 1_000; n++) assert.equal(outbox.hasRoomFor(stream), false)
    assert.equal(outbox.hasRoomFor(other.stream), false)
    await turn()
    assert.deepEqual([resumed(), other.resumed()], [1, 1])
  })

  it('gives streams that always have values their turns one after the other', async () => {
    const { outbox } = made()
    const turns: number[] = []
    let isOver = false
    const endless = [0, 1, 2].map((name) => {
      const stream = {
        resume() {
          while (!isOver && outbox.hasRoomFor(stream)) {
            turns.push(name)
            outbox.add('x'.repeat(32 * KB))
          }
        }
      }
      return stream
    })
    for (const stream of endless) stream.resume()
    for (let n = 0; n < 3; n++) await turn()
    isOver = true
    assert.deepEqual(turns, [0, 0, 0, 0, 1, 1, 2, 2])
  })

  it('goes on in the next turn when a stream ends that took all of this one', async () => {
    const { outbox, stream, resumed } = made()
    outbox.add('x'.repeat(64 * KB))
    const last = { resume: () => outbox.add('x'.repeat(64 * KB)) }
    assert.deepEqual([outbox.hasRoomFor(last), outbox.hasRoomFor(stream)], [false, false])
    await turn()
    assert.equal(resumed(), 0)
    await turn()
    assert.equal(resumed(), 1)
  })
})
