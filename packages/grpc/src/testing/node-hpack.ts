/** HPACK of the runtime's `node:http2`: what it reads from a block, and the blocks that it writes. */
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect as connectNode,
  createServer as createHttp2Server,
  type Http2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  sensitiveHeaders
} from 'node:http2'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { Flag, FRAME_HEADER, FRAME_SIZE, FrameType } from '../http2/frame-type.ts'
import { type Frame, frame, framesIn, headers, PREFACE_BYTES, settings } from './frames.ts'

const HEADER_TABLE_SIZE = 1
const LOOPBACK = '127.0.0.1'

/** The raw end of a connection. */
class RawEnd {
  readonly socket: Socket
  #rest: Buffer = Buffer.alloc(0)
  readonly #frames: Frame[] = []
  #isClosed = false
  #changed = () => {}

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      this.#changed()
    })
  }

  send(...frames: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(frames))
  }

  /** The next frame that is wanted; previous frames are dropped. `undefined`: the connection has ended. */
  async take(isWanted: (frame: Frame) => boolean): Promise<Frame | undefined> {
    while (true) {
      for (let one = this.#frames.shift(); one !== undefined; one = this.#frames.shift())
        if (isWanted(one)) return one
      if (this.#isClosed) return undefined
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    }
  }

  #receive(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    if (PREFACE_BYTES.equals(this.#rest.subarray(0, PREFACE_BYTES.length)))
      this.#rest = this.#rest.subarray(PREFACE_BYTES.length)
    let end = 0
    while (end + FRAME_HEADER <= this.#rest.length) {
      const next = end + FRAME_HEADER + this.#rest.readUIntBE(end, 3)
      if (next > this.#rest.length) break
      end = next
    }
    this.#frames.push(...framesIn(this.#rest.subarray(0, end)))
    this.#rest = this.#rest.subarray(end)
    this.#changed()
  }
}

const isAck = ({ type, flags }: Frame) => type === FrameType.SETTINGS && (flags & Flag.ACK) !== 0

/** The value of a setting; `undefined` if the frame does not have it. */
function settingIn({ type, flags, payload }: Frame, identifier: number): number | undefined {
  if (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0) return undefined
  for (let at = 0; at < payload.length; at += 6)
    if (payload.readUInt16BE(at) === identifier) return payload.readUInt32BE(at + 2)
  return undefined
}

/** The fields of a block, or why there are none. */
export interface Read {
  /** Names and values: name, value, name, value… */
  readonly fields?: readonly string[]
  /** The names of the fields that no proxy may put in a table. */
  readonly secrets?: readonly string[]
  /** The code with which the stream was reset: the block was read, and its message is none. */
  readonly reset?: number
  /** The code with which the connection has ended. */
  readonly goAway?: number
}

/** A server of `node:http2`, for any number of connections. */
export class NodeReaders {
  readonly #server: Http2Server
  readonly #sessions = new Map<number, ServerHttp2Session>()
  readonly #seen = new WeakMap<ServerHttp2Session, Read>()

  private constructor(server: Http2Server) {
    this.#server = server
    server.on('session', (session) => {
      this.#sessions.set((session.socket as Socket).remotePort as number, session)
      session.on('error', () => {})
    })
    server.on('sessionError', () => {})
    server.on(
      'stream',
      (stream: ServerHttp2Stream, fields: IncomingHttpHeaders, _flags: number, rawFields: string[]) => {
        stream.on('error', () => {})
        const secrets = (fields[sensitiveHeaders as unknown as string] ?? []) as readonly string[]
        this.#seen.set(stream.session as ServerHttp2Session, { fields: rawFields, secrets })
        stream.respond({ ':status': 204 }, { endStream: true })
      }
    )
  }

  static async listen(): Promise<NodeReaders> {
    const server = createHttp2Server({ settings: { maxHeaderListSize: 1_000_000 } })
    server.listen(0, LOOPBACK)
    await once(server, 'listening')
    return new NodeReaders(server)
  }

  /** A connection with tables of its own. */
  async connect(): Promise<NodeReader> {
    const socket = connect((this.#server.address() as AddressInfo).port, LOOPBACK)
    await once(socket, 'connect')
    const { localPort } = socket
    const raw = new RawEnd(socket)
    raw.send(PREFACE_BYTES, settings())
    await raw.take(isAck)
    const session = this.#sessions.get(localPort as number) as ServerHttp2Session
    this.#sessions.delete(localPort as number)
    return new NodeReader(raw, session, () => this.#seen.get(session) as Read)
  }

  stop(): void {
    this.#server.close()
  }
}

/** One connection to a server of `node:http2`. */
class NodeReader {
  readonly #raw: RawEnd
  readonly #session: ServerHttp2Session
  readonly #seen: () => Read
  #streamId = -1

  constructor(raw: RawEnd, session: ServerHttp2Session, seen: () => Read) {
    this.#raw = raw
    this.#session = session
    this.#seen = seen
    raw.send(frame(FrameType.SETTINGS, Flag.ACK, 0))
  }

  /** The server announces another size of its table; resolves with the size that it has said, once both know it. */
  async resize(size: number): Promise<number> {
    this.#session.settings({ headerTableSize: size })
    const announced = await this.#raw.take((one) => settingIn(one, HEADER_TABLE_SIZE) !== undefined)
    this.#raw.send(frame(FrameType.SETTINGS, Flag.ACK, 0))
    return settingIn(announced as Frame, HEADER_TABLE_SIZE) as number
  }

  /** Has the server read a block, as a request of its own. */
  async read(block: Uint8Array): Promise<Read> {
    this.#streamId += 2
    const id = this.#streamId
    for (let at = 0; at === 0 || at < block.length; at += FRAME_SIZE) {
      const ending = at + FRAME_SIZE >= block.length ? Flag.END_HEADERS : 0
      const first = at === 0
      const flags = ending | (first ? Flag.END_STREAM : 0)
      const type = first ? FrameType.HEADERS : FrameType.CONTINUATION
      this.#raw.send(frame(type, flags, id, block.subarray(at, at + FRAME_SIZE)))
    }
    const answer = await this.#raw.take(
      ({ type, streamId }) =>
        type === FrameType.GOAWAY ||
        (streamId === id && (type === FrameType.HEADERS || type === FrameType.RST_STREAM))
    )
    if (answer === undefined) throw new Error('The connection has ended without a word')
    if (answer.type === FrameType.GOAWAY) return { goAway: answer.payload.readUInt32BE(4) }
    if (answer.type === FrameType.RST_STREAM) return { reset: answer.payload.readUInt32BE() }
    return this.#seen()
  }

  close(): void {
    this.#raw.socket.destroy()
  }
}

/** Clients of `node:http2`, whose blocks the test reads. */
export class NodeWriters {
  readonly #server: Server
  #accepted: (socket: Socket) => void = () => {}

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => this.#accepted(socket))
  }

  static async listen(): Promise<NodeWriters> {
    const server = createServer()
    server.listen(0, LOOPBACK)
    await once(server, 'listening')
    return new NodeWriters(server)
  }

  /** A client with tables of its own. One at a time. */
  async connect(): Promise<NodeWriter> {
    const accepted = new Promise<Socket>((resolve) => {
      this.#accepted = resolve
    })
    const session = connectNode(`http://${LOOPBACK}:${(this.#server.address() as AddressInfo).port}`)
    session.on('error', () => {})
    const raw = new RawEnd(await accepted)
    raw.send(settings(), frame(FrameType.SETTINGS, Flag.ACK, 0))
    await raw.take(isAck)
    return new NodeWriter(session, raw)
  }

  stop(): void {
    this.#server.close()
  }
}

/** One client of `node:http2`. */
class NodeWriter {
  readonly #session: ClientHttp2Session
  readonly #raw: RawEnd

  constructor(session: ClientHttp2Session, raw: RawEnd) {
    this.#session = session
    this.#raw = raw
  }

  /** Our table has another size; resolves when the client knows. */
  async resize(size: number): Promise<void> {
    this.#raw.send(settings([HEADER_TABLE_SIZE, size]))
    await this.#raw.take(isAck)
  }

  /** The block that the client writes for a request. */
  async block(fields: OutgoingHttpHeaders): Promise<Uint8Array> {
    const request = this.#session.request(fields, { endStream: true })
    request.on('error', () => {})
    const parts: Buffer[] = []
    let streamId = 0
    for (let isWhole = false; !isWhole; ) {
      const part = await this.#raw.take(
        ({ type }) => type === FrameType.HEADERS || type === FrameType.CONTINUATION
      )
      if (part === undefined) throw new Error('The client has ended')
      if ((part.flags & (Flag.PADDED | Flag.PRIORITY)) !== 0 && part.type === FrameType.HEADERS)
        parts.push(contentOf(part))
      else parts.push(part.payload)
      streamId = part.streamId
      isWhole = (part.flags & Flag.END_HEADERS) !== 0
    }
    this.#raw.send(headers(streamId, [[':status', '204']]))
    return Buffer.concat(parts)
  }

  close(): void {
    this.#session.destroy()
    this.#raw.socket.destroy()
  }
}

/** The block in HEADERS with padding or a priority. */
function contentOf({ flags, payload }: Frame): Buffer {
  const isPadded = (flags & Flag.PADDED) !== 0
  const start = (isPadded ? 1 : 0) + ((flags & Flag.PRIORITY) !== 0 ? 5 : 0)
  return payload.subarray(start, payload.length - (isPadded ? (payload[0] as number) : 0))
}
