/** A peer whose every byte a case chooses, so that it may break the protocol. Frames travel over TCP or a WebSocket. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'

/** How frames travel. A frame begins with its length in three bytes, as over TCP. */
export interface Wire {
  readonly name: string
  /** The bytes that a client sends before its first frame. */
  readonly greeting: string
  /** The answer of a server to it. */
  welcome(greeting: string): string
  encode(frame: Uint8Array): Uint8Array
  /**
   * The first whole message in `bytes`: its frame as over TCP, if it carries one, and its size. `undefined`: there is
   * none yet.
   */
  decode(bytes: Buffer): { readonly frame: Buffer | undefined; readonly size: number } | undefined
}

const overTcp: Wire = {
  name: 'RSocket',
  greeting: '',
  welcome: () => '',
  encode: (frame) => frame,
  decode(bytes) {
    const size = bytes.length < 3 ? Number.POSITIVE_INFINITY : 3 + bytes.readUIntBE(0, 3)
    return bytes.length < size ? undefined : { frame: bytes.subarray(0, size), size }
  }
}

const BINARY = 0x82
const MASKED = 0x80
const CLOSE = Buffer.of(0x88, 0)
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

const overWebSocket: Wire = {
  name: 'WebSocket',
  greeting: [
    'GET /rsocket HTTP/1.1',
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
    '\r\n'
  ].join('\r\n'),
  welcome(greeting) {
    const key = /sec-websocket-key: *(\S+)/i.exec(greeting)?.[1]
    const accepted = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    return [
      'HTTP/1.1 101 Switching Protocols',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Protocol: rsocket',
      `Sec-WebSocket-Accept: ${accepted}`,
      '\r\n'
    ].join('\r\n')
  },
  // Each frame of the cases is shorter than 126 bytes. A mask of zeros changes nothing.
  encode: (frame) =>
    Buffer.concat([Buffer.of(BINARY, MASKED | (frame.length - 3), 0, 0, 0, 0), frame.subarray(3)]),
  decode(bytes) {
    if (bytes.length < 8) return undefined
    const short = (bytes[1] as number) & 0x7f
    const [length, at] = short < 126 ? [short, 2] : [bytes.readUInt16BE(2), 4]
    const size = at + 4 + length
    if (bytes.length < size) return undefined
    if (bytes[0] !== BINARY) return { frame: undefined, size }
    const frame = Buffer.alloc(3 + length)
    frame.writeUIntBE(length, 0, 3)
    for (let n = 0; n < length; n++)
      frame[3 + n] = (bytes[at + 4 + n] as number) ^ (bytes[at + (n % 4)] as number)
    return { frame, size }
  }
}

export const WIRES: readonly Wire[] = [overTcp, overWebSocket]

/** One connection of the peer. */
export class RawPeer {
  readonly socket: net.Socket
  readonly #wire: Wire
  readonly #isServer: boolean

  constructor(socket: net.Socket, wire: Wire, isServer = false) {
    this.socket = socket.on('error', () => {})
    this.#wire = wire
    this.#isServer = isServer
  }

  /** Connects as a client. What the server sends is read and dropped. */
  static async connect(host: string, wire: Wire): Promise<RawPeer> {
    const [hostname, port] = host.split(':')
    const socket = net.connect(Number(port), hostname as string)
    await once(socket, 'connect')
    socket.resume()
    if (wire.greeting !== '') {
      socket.write(wire.greeting)
      await once(socket, 'data')
    }
    return new RawPeer(socket, wire)
  }

  /** Sends frames in one write. */
  send(...frames: readonly Uint8Array[]): void {
    const encoded = frames.map((frame) => this.#wire.encode(frame))
    // A server does not mask its messages.
    this.socket.write(Buffer.concat(this.#isServer ? encoded.map(unmasked) : encoded))
  }
}

function unmasked(message: Uint8Array): Uint8Array {
  if (message[0] !== BINARY) return message
  return Buffer.concat([Buffer.of(BINARY, (message[1] as number) & 0x7f), message.subarray(6)])
}

/** A server that calls `got` with each frame of its clients. @returns the port, and a function that stops the server */
export async function rawServer(wire: Wire, got: (frame: Buffer, peer: RawPeer) => void) {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    const peer = new RawPeer(socket, wire, true)
    let bytes = Buffer.alloc(0)
    let isGreeted = wire.greeting === ''
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      const end = isGreeted ? -1 : bytes.indexOf('\r\n\r\n')
      if (end >= 0) {
        isGreeted = true
        socket.write(wire.welcome(bytes.toString('latin1', 0, end)))
        bytes = bytes.subarray(end + 4)
      }
      while (isGreeted) {
        const next = wire.decode(bytes)
        if (next === undefined) return
        bytes = bytes.subarray(next.size)
        if (next.frame !== undefined) got(next.frame, peer)
        // A client says goodbye.
        else socket.end(CLOSE)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as net.AddressInfo).port,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  }
}
