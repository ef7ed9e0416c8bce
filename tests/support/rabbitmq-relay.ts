/** A server between clients and RabbitMQ, for tests of what becomes of single frames. */
import net from 'node:net'

/** `basic.ack`, as the class and the method of a frame. */
const ACK = (60 << 16) | 80
/** Bytes of a frame besides its content: type, channel and size before it, one byte behind it. */
const AROUND = 8

/** @param join is called with both ends of each connection, and passes on what they say */
export async function between(port: number, join: (client: net.Socket, server: net.Socket) => void) {
  const relay = net.createServer((client) => {
    const server = net.connect(port, '127.0.0.1')
    for (const socket of [client, server]) socket.on('error', () => {})
    join(client, server)
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  const url = `amqp://127.0.0.1:${(relay.address() as net.AddressInfo).port}`
  return { url, close: () => relay.close() }
}

/** Cuts the bytes of a socket into frames. */
export function eachFrame(socket: net.Socket, take: (frame: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= AROUND) {
      const end = AROUND + rest.readUInt32BE(3)
      if (rest.length < end) return
      take(rest.subarray(0, end))
      rest = rest.subarray(end)
    }
  })
}

/** Whether the server says by a frame that it has a published message. */
export const isConfirmation = (frame: Buffer): boolean => frame[0] === 1 && frame.readUInt32BE(7) === ACK
