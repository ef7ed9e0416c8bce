/**
 * Tests the sending half of a connection: frames without room, frames that are not sent after all, frames that a lost
 * socket leaves.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeFrames } from '../testing/describe-frames.ts'
import { FakeOutput } from '../testing/peer.ts'
import { frame, headersEntry, metadata, request, routeEntry, setup } from '../testing/rsocket-frames.ts'
import { newRsocketServer, rsocketClient, rsocketServer } from '../testing/rsocket-peer.ts'
import { FrameType } from './frame-type.ts'
import { ResumeState } from './resume.ts'
import { Wire } from './wire.ts'

/** Bytes of a request without metadata, in addition to its data. */
const OVERHEAD = 3 + 6 + 3

/** Sends a request whose frame has `size` bytes, its length field included. */
function send(wire: Wire, size: number): void {
  const data = Buffer.alloc(size - OVERHEAD)
  wire.request(1, FrameType.REQUEST_RESPONSE, 0, -1, new Uint8Array(), data)
}

/** A busy socket: it takes the sent bytes only when the test asks for them. */
class BusyOutput extends FakeOutput {
  override committed(): void {}

  override sent(): Uint8Array {
    super.committed()
    return super.sent()
  }
}

describe('a message', () => {
  it('of as many bytes as the send buffer may have is sent, one of more is not', () => {
    const wire = new Wire(100)
    send(wire, 100)
    assert.equal(wire.unsent, 100)
    assert.throws(() => send(new Wire(100), 101), {
      name: 'PayloadTooLargeError',
      message: /limits\.sendBuffer allows \(100\).*101|101.*limits\.sendBuffer allows \(100\)/
    })
  })

  it('is refused where others have left no room for it, and leaves nothing behind', () => {
    const wire = new Wire(100)
    send(wire, 40)
    send(wire, 20)
    const before = Buffer.from(wire.bytes.written)
    assert.throws(() => send(wire, 41), {
      name: 'OverloadedError',
      message: '60 bytes of calls wait to be sent; 41 more would exceed what limits.sendBuffer allows (100)'
    })
    assert.throws(() => send(wire, 101), { name: 'PayloadTooLargeError', message: /101/ })
    assert.deepEqual(Buffer.from(wire.bytes.written), before)
    send(wire, 40)
    assert.equal(wire.unsent, 100)
  })

  it('that was too long to be sent leaves the connection as it was', async () => {
    const client = rsocketClient({ maxUnsent: 400 })
    const server = newRsocketServer(
      { maxUnsent: 400 },
      { long: () => ({ found: 'x'.repeat(500) }), short: () => ({ found: 1 }) }
    )
    server.connection.receive(setup())
    const carry = () => {
      server.connection.receive(client.output.sent())
      client.connection.receive(server.output.sent())
    }
    await assert.rejects(client.caller.request('echo', { asked: 'x'.repeat(500) }), {
      name: 'PayloadTooLargeError'
    })
    const asked = client.caller.request('echo', { asked: 1 })
    carry()
    assert.deepEqual(await asked, { asked: 1 })
    const long = client.caller.request('long', 1)
    const short = client.caller.request('short', 1)
    carry()
    await assert.rejects(long)
    assert.deepEqual(await short, { found: 1 })
  })
})

describe('a connection that has ended', () => {
  it('because its peer broke the protocol says so once, and sends no answer any more', async () => {
    let answer: (value: number) => void = () => {}
    const later = () =>
      new Promise<number>((resolve) => {
        answer = resolve
      })
    const server = rsocketServer({ later })
    const tooLong = Buffer.from([0xff, 0xff, 0xff])
    const frames = server.on(request(1, 'later', '1'), tooLong)
    assert.deepEqual(frames.length, 1)
    assert.match(frames[0] ?? '', /^ERROR 0 0x101 /)
    const reason = server.output.ended
    assert.ok(reason instanceof Error)
    // These chunks are small enough to stay below the limit of bytes, which would be another reason to end the
    // connection.
    assert.deepEqual(server.on(Buffer.alloc(9_000), Buffer.alloc(9_000)), [])
    answer(7)
    assert.deepEqual(await server.later(), [])
    assert.equal(server.output.ended, reason)
  })

  it('because nothing has come for too long says so once, and sends no answer any more', async () => {
    let answer: (value: number) => void = () => {}
    const later = () =>
      new Promise<number>((resolve) => {
        answer = resolve
      })
    const server = newRsocketServer({}, { later })
    const patient = metadata(routeEntry('later'), headersEntry({ 'elysia-timeout': '5000' }))
    server.on(setup({ lifetime: 1_000 }), frame(1, 'REQUEST_RESPONSE', 'M', patient, '1'))
    assert.deepEqual(server.after(1_000), [])
    assert.match(server.after(1_000)[0] ?? '', /^ERROR 0 0x101 .*1000 ms/)
    answer(7)
    assert.deepEqual(await server.later(), [])
    assert.deepEqual(server.after(10_000), [])
    assert.equal(server.clock.next, Number.POSITIVE_INFINITY)
  })
})

describe('a wire', () => {
  it('is connected while it has a socket and is not between two of them', () => {
    const wire = new Wire(100)
    const first = new FakeOutput()
    const seen = () => [wire.isConnected, wire.isDetached, wire.takesMore, wire.output === first]
    assert.deepEqual(seen(), [false, false, false, false])
    assert.equal(wire.hasRoomFor({ resume() {} }), true)
    wire.open(first)
    assert.deepEqual(seen(), [true, false, true, true])
    first.isBlocked = true
    first.hasRoom = false
    assert.deepEqual(seen(), [true, false, false, true])
    assert.equal(wire.hasRoomFor({ resume() {} }), false)
    wire.detach()
    assert.deepEqual(seen(), [false, true, false, false])
    assert.equal(wire.hasRoomFor({ resume() {} }), false)
    // Both ends have not agreed to resume yet.
    wire.open(new FakeOutput())
    assert.deepEqual(seen(), [false, true, false, false])
    wire.reattach(new ResumeState(Buffer.from('token'), 100), 0)
    assert.deepEqual(seen(), [true, false, true, false])
  })

  it('has no room for a stream once it has ended, however it ended', () => {
    const ends: ((wire: Wire) => void)[] = [
      (wire) => wire.fail(new Error('broken')),
      (wire) => wire.lose(new Error('silent')),
      (wire) => {
        wire.isEnded = true
      }
    ]
    for (const end of ends) {
      const wire = new Wire(1_000)
      const output = new FakeOutput()
      wire.open(output)
      assert.equal(wire.hasRoomFor({ resume() {} }), true)
      end(wire)
      assert.equal(wire.hasRoomFor({ resume() {} }), false)
    }
  })

  it('sends what was written before there was a socket', () => {
    const wire = new Wire(100)
    wire.complete(1)
    const output = new FakeOutput()
    wire.open(output)
    assert.deepEqual(describeFrames(output.sent()), ['PAYLOAD 1 C'])
  })

  it('sends once what a lost socket had not sent yet', () => {
    const wire = new Wire(100)
    const resumption = new ResumeState(Buffer.from('token'), 100)
    wire.resumption = resumption
    const [first, second] = [new BusyOutput(), new BusyOutput()]
    wire.open(first)
    wire.complete(1)
    wire.detach()
    wire.complete(3)
    wire.open(second)
    assert.deepEqual(describeFrames(second.sent()), [])
    wire.reattach(resumption, 0)
    assert.deepEqual(describeFrames(second.sent()), ['PAYLOAD 1 C', 'PAYLOAD 3 C'])
    wire.complete(5)
    assert.deepEqual(describeFrames(second.sent()), ['PAYLOAD 5 C'])
  })
})
