/** What shares a write, and what leaves at once. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Socket, SocketListener, SocketRuntime } from './socket/socket.ts'
import { NOBODY } from './socket/socket.ts'
import { TcpClient } from './tcp/client.ts'

/** A socket that is connected at once and remembers what is written. */
class RecordedSocket implements Socket {
  readonly remoteAddress = undefined
  readonly remotePort = undefined
  readonly unsent = 0
  listener: SocketListener = NOBODY
  writes: Buffer[] = []

  write(text: string): void {
    this.writes.push(Buffer.from(text))
  }

  writeBytes(bytes: Uint8Array, length: number): void {
    this.writes.push(Buffer.from(bytes.subarray(0, length)))
  }

  end(): void {
    this.destroy()
  }

  destroy(): void {
    queueMicrotask(() => this.listener.close())
  }

  /** How many frames each write since the last look had. */
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
  const client = new TcpClient({ sockets, logger: { error() {}, warn() {} } })
  await client.connect()
  await null
  socket.writes = []
  const ask = (count: number) => {
    for (let i = 0; i < count; i++) client.request('a', i).catch(() => {})
  }
  return { socket, client, ask }
}

describe('the writes of a session', () => {
  it('let a request that is alone leave at once, and those behind it leave together', async () => {
    const { socket, client, ask } = await connected()
    ask(1)
    assert.deepEqual(socket.frames(), [1])
    ask(3)
    assert.deepEqual(socket.frames(), [])
    await null
    assert.deepEqual(socket.frames(), [3])
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
    const { socket, client, ask } = await connected()
    ask(1)
    socket.writes = []
    const text = 'x'.repeat(4_000)
    for (let i = 0; i < 6; i++) client.request('a', text).catch(() => {})
    await null
    assert.deepEqual(socket.frames(), [3, 3])
    await client.close()
  })
})
