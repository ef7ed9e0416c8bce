/** Tests answers that share a write, and messages that are handled together. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import { NOBODY } from '@elysia-microservices/rsocket/session'
import { RecordingLogger, TestDispatcher } from '@elysia-microservices/rsocket/testing'
import type { Logger } from '@elysia-microservices/transport/kit'
import type { SocketRuntime } from '../socket/socket.ts'
import { newClient, newServer } from '../testing/ends.ts'

/** A socket that is connected at once and records the writes. */
class RecordedSocket implements Socket {
  readonly remoteAddress = undefined
  readonly remotePort = undefined
  readonly unsent = 0
  listener: SocketListener = NOBODY
  writes: Buffer[] = []
  /** Records when reading was paused and resumed. */
  reads: string[] = []

  write(text: string): void {
    this.writes.push(Buffer.from(text))
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    this.writes.push(Buffer.from(bytes.subarray(0, length)))
  }

  pause(): void {
    this.reads.push('pause')
  }

  resume(): void {
    this.reads.push('resume')
  }

  end(): void {
    this.destroy()
  }

  destroy(): void {
    queueMicrotask(() => this.listener.close())
  }

  /** Returns the number of frames in each write since the last call. */
  frames(): number[] {
    const counts = this.writes.map((bytes) => {
      let count = 0
      for (let at = 0; at < bytes.length; at += 3 + bytes.readUIntBE(at, 3)) count++
      return count
    })
    this.writes = []
    return counts
  }
}

async function connected() {
  const socket = new RecordedSocket()
  const sockets: SocketRuntime = {
    listen: () => assert.fail('nobody listens here'),
    connect: async (_address, accept) => {
      socket.listener = accept(socket)
    }
  }
  const client = newClient({ sockets }, new RecordingLogger())
  await client.connect()
  await null
  socket.writes = []
  const ask = (count: number) => {
    for (let i = 0; i < count; i++) client.request('a', i).catch(() => {})
  }
  return { socket, client, ask }
}

describe('the writes of a session', () => {
  it('let the requests of one turn leave together', async () => {
    const { socket, client, ask } = await connected()
    ask(1)
    ask(3)
    assert.deepEqual(socket.frames(), [])
    await null
    assert.deepEqual(socket.frames(), [4])
    await client.close()
  })

  it('let events of one turn leave together', async () => {
    const { socket, client } = await connected()
    const sent = [1, 2, 3].map((value) => client.emit('a', value))
    await Promise.all(sent)
    assert.deepEqual(socket.frames(), [3])
    await client.close()
  })

  it('end when 8 KB have come together', async () => {
    const { socket, client } = await connected()
    const text = 'x'.repeat(4_000)
    for (let i = 0; i < 6; i++) client.request('a', text).catch(() => {})
    await null
    assert.deepEqual(socket.frames(), [3, 3])
    await client.close()
  })

  it('come together at the end of a turn in which they would follow each other, once this is seen', async () => {
    const { socket, client, ask } = await connected()
    const writes: number[] = []
    for (let round = 0; round < 20; round++) {
      // Makes requests in one turn, each after the previous request was sent.
      for (let request = 0; request < 8; request++) {
        ask(1)
        await null
        await null
      }
      await new Promise((resolve) => setImmediate(resolve))
      const frames = socket.frames()
      assert.equal(
        frames.reduce((sum, count) => sum + count, 0),
        8
      )
      writes.push(frames.length)
    }
    assert.equal(writes[0], 8)
    assert.ok(
      writes.slice(5).every((count) => count <= 2),
      `${writes}`
    )
    await client.close()
  })

  it('do not wait where one request follows the answer to another', async () => {
    const { socket, client, ask } = await connected()
    for (let request = 0; request < 50; request++) {
      ask(1)
      await null
      await null
      assert.deepEqual(socket.frames(), [1])
      await new Promise((resolve) => setImmediate(resolve))
    }
    await client.close()
  })
})

/** Makes an answer `data` to the first request of a client: PAYLOAD with NEXT and COMPLETE on stream 1. */
function answer(data: string): Buffer {
  const frame = Buffer.from(
    `00000000000001${((0x0a << 10) | 0x60).toString(16)}${Buffer.from(data).toString('hex')}`,
    'hex'
  )
  frame.writeUIntBE(frame.length - 3, 0, 3)
  return frame
}

describe('sessions that are read in the same turn', () => {
  const ends: [string, (socket: RecordedSocket) => void][] = [
    ['are closed', (socket) => socket.listener.close()],
    ['are cut', (socket) => socket.listener.close(new Error('reset'))]
  ]
  for (const [what, end] of ends) {
    it(`have handled what came before they ${what}`, async () => {
      const all = await Promise.all(Array.from({ length: 100 }, connected))
      const answers = all.map(({ client }) => client.request('a', 0))
      await null
      for (const [index, { socket }] of all.entries()) {
        socket.listener.data(answer(`${index}`))
        end(socket)
      }
      assert.deepEqual(
        await Promise.all(answers),
        all.map((_, index) => index)
      )
      await Promise.all(all.map(({ client }) => client.close()))
    })
  }

  it('write their answers, and their next requests, after all was read', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, connected))
    const log: string[] = []
    const asked = all.map(async ({ client }) => {
      await client.request('a', 0)
      log.push('answered')
      await client.request('b', 0)
    })
    await null
    for (const { socket } of all) {
      socket.writes = { push: () => log.push('written') } as unknown as Buffer[]
      socket.listener.data(answer('0'))
    }
    for (const promise of asked) promise.catch(() => {})
    await new Promise((resolve) => setImmediate(resolve))
    await null
    assert.equal(log.filter((entry) => entry === 'written').length, all.length)
    // All answers are handled together, or in two batches if the first batch was full.
    assert.match(log.map((entry) => entry[0]).join(''), /^a+w+(a+w+)?$/)
    await Promise.all(all.map(({ client }) => client.close()))
  })
})

describe('a session whose peer sends without a pause', () => {
  it('leaves the rest of a turn to others after 256 KB', async () => {
    const { socket, client } = await connected()
    const part = Buffer.concat(Array.from({ length: 64 }, () => answer('"no call had this"')))
    let given = 0
    while (socket.reads.length === 0) {
      socket.listener.data(part)
      given += part.length
    }
    assert.ok(given >= 256 * 1024 && given < 256 * 1024 + part.length, `${given} bytes`)
    assert.deepEqual(socket.reads, ['pause'])
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(socket.reads, ['pause', 'resume'])
    await client.close()
  })
})

/** Starts a server with connections, and a function that makes a frame of Nest's wire. */
async function serving(request: (data: unknown) => unknown, logger: Logger = new RecordingLogger()) {
  const dispatcher = new TestDispatcher()
  dispatcher.request = (message) => request(message.data)
  let accepted: ((socket: Socket) => SocketListener) | undefined
  const sockets: SocketRuntime = {
    listen: async (address, accept) => {
      accepted = accept
      return { address, stop() {} }
    },
    connect: () => assert.fail('nobody connects here')
  }
  const server = newServer({ sockets }, logger)
  await server.start(dispatcher)
  const connections = Array.from({ length: 100 }, () => {
    const socket = new RecordedSocket()
    // Closes at once, as Bun's sockets do.
    socket.destroy = () => socket.listener.close()
    socket.listener = accepted?.(socket) as SocketListener
    return socket
  })
  const asked = (data: unknown) => {
    const json = JSON.stringify({ pattern: 'a', data, id: '1' })
    return Buffer.from(`${json.length}#${json}`)
  }
  /** Runs one turn in which all connections receive a chunk. */
  const turn = async () => {
    for (const { listener } of connections) listener.data(asked('before'))
    await new Promise((resolve) => setImmediate(resolve))
    for (const socket of connections) socket.writes = []
  }
  for (let turns = 0; turns < 4; turns++) await turn()
  return { server, connections, asked, turn }
}

describe('sessions of a server that are read in the same turn', () => {
  it('have answered when the peer has ended its side', async () => {
    const { server, connections, asked, turn } = await serving((data) => data)
    const [one] = connections as [RecordedSocket]
    // On a busy machine, handling may take so long that chunks are handled at once for a while.
    for (one.listener.data(asked(1)); one.writes.length > 0; one.listener.data(asked(1))) await turn()
    one.listener.eof()
    assert.equal(one.writes.length, 1)
    await server.stop({ drain: 0 })
  })

  it('have answered when their server stops', async () => {
    const { server, connections, asked } = await serving((data) => data)
    for (const { listener } of connections.slice(0, 20)) listener.data(asked(1))
    const stopped = server.stop({ drain: 0 })
    assert.equal(connections.filter(({ writes }) => writes.length === 1).length, 20)
    await stopped
  })

  it('stop with their server, though what one has read closes another', async () => {
    const { server, connections, asked } = await serving((data) => {
      if (data === 'all') for (const socket of connections) socket.destroy()
      return data
    })
    connections[0]?.listener.data(asked('all'))
    await server.stop({ drain: 1 })
  })
})

describe('why a session closes its connection', () => {
  it('is a line without a stack where the peer is to blame', async () => {
    const logged: unknown[][] = []
    const log = (...line: unknown[]) => void logged.push(line)
    const { server, connections } = await serving((data) => data, { error: log, warn: log })
    connections[0]?.listener.data(Buffer.from('no length#{}'))
    // Waits until the chunk was handled in its turn.
    await new Promise((resolve) => setImmediate(resolve))
    await server.stop({ drain: 0 })
    assert.equal(logged.length, 1)
    assert.equal(logged[0]?.length, 1)
    assert.match(String(logged[0]?.[0]), /^Closing the connection of an unnamed peer: /)
  })
})
