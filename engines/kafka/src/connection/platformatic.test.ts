import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { type KafkaOptions, kafkaOptions } from '../options/options.ts'
import { platformatic, serverName } from './platformatic.ts'

it("a broker's certificate is asked for by the broker's name, and not by its address", () => {
  assert.equal(serverName('kafka-1.example', undefined), 'kafka-1.example')
  for (const address of ['127.0.0.1', '::1']) assert.equal(serverName(address, undefined), '')
  assert.equal(serverName('127.0.0.1', 'kafka-1.example'), 'kafka-1.example')
})

describe('a connection of the driver', () => {
  const ends: (() => unknown)[] = []
  afterEach(() => {
    for (const end of ends.splice(0)) end()
  })

  /** A server that never says anything, and a connection that is being made to it. */
  async function connecting(options: KafkaOptions = {}, signal?: AbortSignal) {
    const server = net.createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    let closed = 0
    const broker = { host: '127.0.0.1', port }
    const connection = platformatic.connect(broker, kafkaOptions(options), 'c', () => void closed++, signal)
    const [socket] = (await once(server, 'connection')) as [net.Socket]
    socket.on('error', () => {})
    ends.push(
      () => server.close(),
      () => socket.destroy()
    )
    return { broker, connection, socket, closed: () => closed }
  }

  /** The end of a socket; what comes before it is not read. */
  const ended = (socket: net.Socket) => once(socket.resume(), 'close')

  it('that is lost tells it once, and what waits for an answer fails', async () => {
    const { broker, connection, socket, closed } = await connecting()
    const made = await connection
    assert.equal(made.broker, broker)
    const asked = assert.rejects(made.groups())
    assert.equal(closed(), 0)
    socket.destroy()
    await asked
    while (closed() === 0) await new Promise(setImmediate)
    assert.equal(closed(), 1)
  })

  it('ends its socket when it is closed or destroyed', async () => {
    for (const how of ['close', 'destroy'] as const) {
      const { connection, socket } = await connecting()
      const made = await connection
      const end = ended(socket)
      await made[how]()
      await end
    }
  })

  it('that is refused is an error of the attempt, and of nothing else', async () => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const attempt = platformatic.connect({ host: '127.0.0.1', port }, kafkaOptions({}), 'c', () => {})
    await assert.rejects(attempt, /failed/)
  })

  it('that is given up while the broker says nothing ends its socket', async () => {
    const stopping = new AbortController()
    const { connection, socket } = await connecting({ tls: true }, stopping.signal)
    const end = ended(socket)
    const failed = assert.rejects(connection)
    stopping.abort()
    await failed
    await end
  })

  it('begins with TLS if there are options of TLS, and names the broker', async () => {
    const { connection, socket } = await connecting({ tls: { servername: 'kafka-1.example' } })
    const [hello] = (await once(socket, 'data')) as [Buffer]
    // The type of a record of TLS with which a handshake begins.
    assert.equal(hello[0], 22)
    assert.ok(hello.includes('kafka-1.example'))
    socket.destroy()
    await assert.rejects(connection)
  })

  it('begins with the mechanism of SASL if there are credentials', async () => {
    const sasl = { mechanism: 'SCRAM-SHA-512', username: 'u', password: 'p' } as const
    const { connection, socket } = await connecting({ sasl })
    const [handshake] = (await once(socket, 'data')) as [Buffer]
    // SaslHandshake, behind the length of the request.
    assert.equal(handshake.readInt16BE(4), 17)
    assert.ok(handshake.includes('SCRAM-SHA-512'))
    socket.destroy()
    await assert.rejects(connection)
  })
})
