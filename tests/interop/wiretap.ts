/** A proxy between a client and a server that passes everything on and records the frames. */
import { once } from 'node:events'
import net from 'node:net'

/** The header fields of a frame. */
export interface SeenFrame {
  readonly from: 'client' | 'server'
  readonly streamId: number
  readonly type: string
  readonly flags: number
  /** The length in bytes, without the length field. */
  readonly length: number
}

const TYPES: Readonly<Record<number, string>> = {
  1: 'SETUP',
  2: 'LEASE',
  3: 'KEEPALIVE',
  4: 'REQUEST_RESPONSE',
  5: 'REQUEST_FNF',
  6: 'REQUEST_STREAM',
  7: 'REQUEST_CHANNEL',
  8: 'REQUEST_N',
  9: 'CANCEL',
  10: 'PAYLOAD',
  11: 'ERROR',
  12: 'METADATA_PUSH',
  13: 'RESUME',
  14: 'RESUME_OK'
}

const FOLLOWS = 0x80
/** Types of frames that can be fragmented; in other frames the bit has another meaning. */
const CUT = new Set(['REQUEST_RESPONSE', 'REQUEST_FNF', 'REQUEST_STREAM', 'REQUEST_CHANNEL', 'PAYLOAD'])

/** Milliseconds after which a frame counts as missing. */
const PATIENCE = 10_000

export class Wiretap {
  readonly frames: SeenFrame[] = []
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  #look: (() => void)[] = []
  #muted = false

  private constructor(target: number) {
    this.#server = net.createServer((client) => {
      const server = net.connect(target, '127.0.0.1')
      this.#join(client, server, 'client')
      this.#join(server, client, 'server')
    })
  }

  /** @param target the port to which everything is passed on */
  static async between(target: number): Promise<Wiretap> {
    const tap = new Wiretap(target)
    tap.#server.listen(0, '127.0.0.1')
    await once(tap.#server, 'listening')
    return tap
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  count(match: Partial<SeenFrame>): number {
    return this.#matching(match).length
  }

  /** Resolves with the matching frames once there are this many. */
  async seen(match: Partial<SeenFrame>, count = 1): Promise<readonly SeenFrame[]> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_resolve, reject) => {
      const fail = () =>
        reject(new Error(`No ${JSON.stringify(match)}; ${JSON.stringify(this.frames.slice(-20))}`))
      timer = setTimeout(fail, PATIENCE)
    })
    try {
      while (this.count(match) < count) {
        const more = new Promise<void>((resolve) => this.#look.push(resolve))
        await Promise.race([more, late])
      }
    } finally {
      clearTimeout(timer)
    }
    return this.#matching(match)
  }

  /** Counts fragments: in how many frames one side has said that more fragments of the payload follow. */
  fragments(from: SeenFrame['from']): number {
    return this.frames.filter(
      (frame) => frame.from === from && (frame.flags & FOLLOWS) !== 0 && CUT.has(frame.type)
    ).length
  }

  /** Passes nothing on from now on, as if the other side had vanished. */
  mute(): void {
    this.#muted = true
  }

  /** Closes the open connections; new ones are possible. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cut()
    await closed
  }

  #matching(match: Partial<SeenFrame>): readonly SeenFrame[] {
    const wanted = Object.entries(match) as [keyof SeenFrame, unknown][]
    return this.frames.filter((frame) => wanted.every(([key, value]) => frame[key] === value))
  }

  #join(one: net.Socket, other: net.Socket, from: SeenFrame['from']): void {
    this.#sockets.add(one)
    let rest = Buffer.alloc(0)
    one.on('data', (chunk: Buffer) => {
      rest = this.#note(Buffer.concat([rest, chunk]), from)
      if (!this.#muted) other.write(chunk)
    })
    one.on('end', () => {
      if (!this.#muted) other.end()
    })
    // A connection that is closed may fail at both ends.
    one.on('error', () => {
      if (!this.#muted) other.destroy()
    })
    one.on('close', () => {
      this.#sockets.delete(one)
      if (!this.#muted) other.end()
    })
  }

  #note(bytes: Buffer, from: SeenFrame['from']): Buffer<ArrayBuffer> {
    let at = 0
    while (at + 3 <= bytes.length) {
      const length = bytes.readUIntBE(at, 3)
      if (at + 3 + length > bytes.length) break
      const typeAndFlags = bytes.readUInt16BE(at + 7)
      this.frames.push({
        from,
        streamId: bytes.readUInt32BE(at + 3),
        type: TYPES[typeAndFlags >>> 10] ?? `0x${(typeAndFlags >>> 10).toString(16)}`,
        flags: typeAndFlags & 0x3ff,
        length
      })
      at += 3 + length
    }
    for (const look of this.#look.splice(0)) look()
    return Buffer.from(bytes.subarray(at))
  }
}
