/** Tests one connection from its first byte to its end, with a socket and a protocol that do what the test says. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { RecordingLogger } from '../testing/service.ts'
import type { ProtocolConnection } from './protocol.ts'
import { readQueue } from './read-queue.ts'
import { Session } from './session.ts'
import type { Socket, SocketListener } from './socket.ts'
import { NOBODY } from './socket.ts'

/** A socket that records its calls, in order. */
class RecordedSocket implements Socket {
  readonly remoteAddress = '192.0.2.1'
  readonly remotePort = 5
  certificate: Socket['certificate']
  listener: SocketListener = NOBODY
  unsent = 0
  /** The number of bytes that each write leaves unsent. */
  left = 0
  readonly told: string[] = []

  write(text: string): void {
    this.told.push(text)
    this.unsent += this.left
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    this.write(Buffer.from(bytes.subarray(0, length)).toString())
  }

  pause(): void {
    this.told.push('pause')
  }

  resume(): void {
    this.told.push('resume')
  }

  end(): void {
    this.told.push('FIN')
  }

  destroy(): void {
    this.told.push('destroy')
  }

  /** Returns the calls to the socket since the last call of `news`. */
  news(): string[] {
    return this.told.splice(0)
  }
}

class Protocol implements ProtocolConnection {
  inFlight = 0
  incomplete = false
  buffered = 0
  isHeldBack = false
  readonly told: string[] = []
  /** Called with each chunk after it was recorded. */
  onChunk: (text: string) => void = () => {}

  receive(chunk: Uint8Array): void {
    const text = Buffer.from(chunk).toString()
    this.told.push(text)
    this.onChunk(text)
  }

  resume(): void {
    this.told.push('resume')
  }

  discard(): void {
    this.told.push('discard')
  }

  drain(): boolean {
    this.told.push('drain')
    return false
  }

  close(): void {}
}

const bytes = (text: string) => Buffer.from(text)
/** Resolves after everything that this turn writes. */
const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

let socket: RecordedSocket
let protocol: Protocol
let session: Session
let logger: RecordingLogger
let firstBytes: number[]
let closed: { readonly protocol: unknown; readonly error: Error | undefined }[]

beforeEach(() => {
  socket = new RecordedSocket()
  protocol = new Protocol()
  logger = new RecordingLogger()
  firstBytes = []
  closed = []
  session = new Session(socket, {
    logger,
    incompleteMessageTimeout: 0,
    maxUnsent: 1_000,
    protocol: (_session, first) => {
      firstBytes.push(first)
      return protocol
    },
    closed: (_session, of, error) => closed.push({ protocol: of, error })
  })
})

/** Delivers a chunk and waits until it is handled, because the queue may let chunks wait for each other. */
function came(text: string): Promise<void> {
  session.data(bytes(text))
  return turn()
}

/** Makes the queue gather chunks, as it does when many connections are busy. */
async function gather(): Promise<void> {
  let waiting = 0
  const readers = Array.from({ length: 8 }, () => ({ read: () => void waiting-- }))
  while (waiting === 0) {
    await turn()
    for (const reader of readers) {
      waiting++
      readQueue.add(reader, bytes('x'))
    }
  }
  await turn()
}

describe('a connection', () => {
  it('has the protocol of its first byte, made once', async () => {
    assert.equal(session.protocol, undefined)
    await came('1#')
    await came('a')
    assert.equal(session.protocol, protocol)
    assert.deepEqual(firstBytes, [0x31])
    assert.deepEqual(protocol.told, ['1#', 'a'])
  })

  it('writes what a chunk was answered at once, and together', async () => {
    protocol.onChunk = () => {
      session.send('a')
      session.send('b')
      assert.deepEqual(socket.news(), [])
    }
    await came('x')
    assert.deepEqual(socket.news(), ['ab'])
  })

  it('writes bytes of its protocol, too', async () => {
    const writer = new ByteWriter()
    protocol.onChunk = () => writer.bytes(bytes('abc'))
    session.attach(writer)
    await came('x')
    assert.deepEqual(socket.news(), ['abc'])
    assert.equal(writer.length, 0)
  })

  it('writes the rest behind what 8 KB have filled', async () => {
    protocol.onChunk = () => {
      session.send('a'.repeat(8 * 1024))
      assert.equal(socket.news().length, 1)
      session.send('b')
    }
    await came('x')
    assert.deepEqual(socket.news(), ['b'])
  })

  it('writes at once, however often, what each chunk is answered', () => {
    protocol.onChunk = () => session.send('a')
    for (let round = 0; round < 100; round++) {
      session.read(bytes('x'))
      assert.deepEqual(socket.news(), ['a'])
    }
  })

  it('writes by itself what is sent when nothing was read', async () => {
    session.send('a')
    session.send('b')
    assert.deepEqual(socket.news(), [])
    await null
    assert.deepEqual(socket.news(), ['ab'])
    await turn()
    session.send('c')
    await turn()
    assert.deepEqual(socket.news(), ['c'])
  })

  it('reads on in the next turn when it has had 256 KB, and not sooner', async () => {
    for (let round = 0; round < 3; round++) {
      session.data(Buffer.alloc(256 * 1024 - 1))
      assert.deepEqual(socket.news(), [])
      session.data(Buffer.alloc(1))
      assert.deepEqual(socket.news(), ['pause'])
      await turn()
      assert.deepEqual(socket.news(), ['resume'])
    }
  })

  it('goes on when the peer has read everything, and not before', async () => {
    socket.left = 300 * 1024
    session = new Session(
      socket,
      { logger, incompleteMessageTimeout: 0, maxUnsent: 1e9, protocol: () => protocol, closed: () => {} },
      protocol
    )
    protocol.onChunk = () => session.send('x')
    await came('a')
    assert.equal(session.isBlocked, true)
    assert.equal(session.unsent, 300 * 1024)
    socket.unsent = 1
    session.drain()
    session.goOn()
    assert.deepEqual(protocol.told, ['a'])
    socket.unsent = 0
    session.drain()
    assert.equal(session.isBlocked, false)
    assert.deepEqual(protocol.told, ['a', 'resume'])
  })
})

describe('a connection is active', () => {
  it('when it was opened, read or wrote', async () => {
    const seen = () => [session.takeActivity(), session.takeActivity()]
    assert.deepEqual(seen(), [true, false])
    await came('x')
    assert.deepEqual(seen(), [true, false])
    session.send('a')
    await turn()
    assert.deepEqual(seen(), [true, false])
  })

  it('when bytes have come that still wait for those of others', async () => {
    await gather()
    session.takeActivity()
    session.data(bytes('a'))
    assert.deepEqual(protocol.told, [])
    assert.equal(session.takeActivity(), true)
    assert.deepEqual(protocol.told, ['a'])
  })

  it('as long as something is in flight or incomplete for a peer that reads', async () => {
    await came('x')
    session.takeActivity()
    for (const change of [{ inFlight: 1 }, { inFlight: 0, incomplete: true }]) {
      Object.assign(protocol, change)
      assert.deepEqual([session.takeActivity(), session.takeActivity()], [true, true])
      socket.unsent = 10
      assert.equal(session.takeActivity(), false)
      socket.unsent = 0
      session.takeActivity()
    }
    protocol.incomplete = false
    assert.equal(session.takeActivity(), false)
  })

  it('when its peer has read some of what was unsent', async () => {
    await came('x')
    socket.unsent = 10
    session.takeActivity()
    assert.equal(session.takeActivity(), false)
    socket.unsent = 9
    assert.deepEqual([session.takeActivity(), session.takeActivity()], [true, false])
    socket.unsent = 12
    assert.equal(session.takeActivity(), false)
  })
})

describe('a connection ends', () => {
  it('with a FIN behind what was collected, and forgets what it received', async () => {
    await came('x')
    session.send('bye')
    session.end(new Error('it is over'))
    assert.deepEqual(socket.news(), ['bye', 'FIN'])
    assert.deepEqual(protocol.told, ['x', 'discard'])
    assert.deepEqual(logger.lines, ['Closing the connection of 192.0.2.1:5: it is over'])
    session.end(new Error('again'))
    session.send('late')
    session.data(bytes('late'))
    session.goOn()
    session.drain()
    session.eof()
    assert.deepEqual(socket.news(), [])
    assert.deepEqual(protocol.told, ['x', 'discard'])
    assert.equal(logger.lines.length, 1)
    assert.equal(session.unsent, 0)
    session.close()
  })

  const ways: [how: string, end: () => void][] = [
    ['with a FIN', () => session.end()],
    ['for a reason', () => session.destroy(new Error('enough'))],
    ['cut off', () => session.cut()],
    ['by its socket', () => session.close()]
  ]
  for (const [how, end] of ways)
    it(`${how}: its protocol hears it at once, and no stream has room any more`, async () => {
      await came('x')
      assert.equal(session.hasRoomFor({ resume: assert.fail }), true)
      end()
      assert.deepEqual(protocol.told, ['x', 'discard'])
      assert.equal(session.hasRoomFor({ resume: assert.fail }), false)
      await turn()
      session.close()
      assert.deepEqual(protocol.told, ['x', 'discard'])
    })

  it('without a word where there is no reason', async () => {
    session.end()
    assert.deepEqual(socket.news(), ['FIN'])
    assert.deepEqual(logger.lines, [])
    session.close()
  })

  it('at once when it is cut off, behind what was collected if there is a reason', async () => {
    session.send('bye')
    session.destroy(new Error('enough'))
    assert.deepEqual(socket.news(), ['bye', 'destroy'])
    assert.equal(logger.lines.length, 1)
    session.destroy(new Error('again'))
    assert.deepEqual(socket.news(), ['destroy'])
    assert.equal(logger.lines.length, 1)
    session.close()
  })

  it('at once without a reason, and writes nothing then', async () => {
    session.send('lost')
    session.cut()
    await turn()
    assert.deepEqual(socket.news(), ['destroy'])
    session.close()
  })

  it('when its protocol throws: it is told of no answers of that turn', async () => {
    protocol.onChunk = () => {
      session.send('half')
      throw new Error('bad \u001b frame')
    }
    await came('x')
    assert.deepEqual(socket.news(), ['FIN'])
    assert.equal(logger.lines.length, 1)
    assert.ok(!logger.lines[0]?.includes('\u001b'))
    session.close()
  })

  it('once, where its protocol ends it and throws then', async () => {
    protocol.onChunk = () => {
      session.end(new Error('it is over'))
      throw new Error('and so is this')
    }
    await came('x')
    assert.deepEqual(socket.news(), ['FIN'])
    assert.equal(logger.lines.length, 1)
    session.close()
  })

  it('never for a message that is not complete, without a limit for these', async () => {
    protocol.incomplete = true
    await came('x')
    await new Promise((resolve) => setTimeout(resolve, 10))
    assert.deepEqual(socket.news(), [])
    session.close()
  })

  it('when its protocol throws as it goes on', async () => {
    await came('x')
    protocol.resume = () => {
      throw new Error('bad frame')
    }
    session.goOn()
    assert.deepEqual(socket.news(), ['FIN'])
    session.close()
  })

  it('when more waits than may, and says which limit it was', async () => {
    socket.left = 1_001
    session.send('a')
    await turn()
    assert.deepEqual(socket.news(), ['a', 'destroy'])
    assert.match(logger.lines[0] ?? '', /limits\.sendBuffer/)
    session.close()
  })

  it('by its socket: its owner is told of the protocol and the error, once everything that came was handled', async () => {
    session.data(bytes('x'))
    const reset = new Error('reset')
    session.close(reset)
    assert.deepEqual(closed, [{ protocol, error: reset }])
    assert.deepEqual(protocol.told, ['x', 'discard'])
    session.send('late')
    assert.deepEqual([session.unsent, socket.news()], [0, []])
  })

  it('by its socket before anything has come: there is no protocol', async () => {
    session.close()
    assert.deepEqual(closed, [{ protocol: undefined, error: undefined }])
  })

  it('is named by its certificate in the log, too', async () => {
    socket.certificate = { subject: { CN: 'orders' } } as unknown as Socket['certificate']
    session.end(new Error('it is over'))
    assert.match(logger.lines[0] ?? '', /of 192\.0\.2\.1:5 \(certificate of "?'?orders/)
    session.close()
  })
})

describe('a connection drains', () => {
  it('at once where nothing is in flight', async () => {
    await came('x')
    const drained = session.drained('going')
    assert.deepEqual(socket.news(), ['FIN'])
    assert.deepEqual(protocol.told, ['x', 'drain', 'discard'])
    session.close()
    await drained
    await session.drained()
  })

  it('before anything has come', async () => {
    const drained = session.drained()
    assert.deepEqual(socket.news(), ['FIN'])
    session.close()
    await drained
  })

  it('without waiting where it is closed already', async () => {
    session.close()
    await session.drained()
    assert.deepEqual(socket.news(), [])
  })

  it('when everything in flight is answered, behind the answers', async () => {
    protocol.inFlight = 2
    await came('x')
    const drained = session.drained()
    session.settled()
    await turn()
    assert.deepEqual(socket.news(), [])
    protocol.inFlight = 1
    session.send('one')
    session.settled()
    await turn()
    assert.deepEqual(socket.news(), ['one'])
    protocol.inFlight = 0
    session.send('two')
    session.settled()
    await turn()
    assert.deepEqual(socket.news(), ['two', 'FIN'])
    session.close()
    await drained
  })

  it('when a message that had begun is complete', async () => {
    await came('x')
    protocol.incomplete = true
    const drained = session.drained()
    assert.deepEqual(socket.news(), [])
    protocol.incomplete = false
    await came('y')
    await turn()
    assert.deepEqual(socket.news(), ['FIN'])
    session.close()
    await drained
  })

  it('does not mind what settles where it does not drain', async () => {
    await came('x')
    session.settled()
    await turn()
    assert.deepEqual(socket.news(), [])
  })
})
