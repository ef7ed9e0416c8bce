/** A raw client of NestJS's protocol: sends exact bytes and collects frames, without any code that is under test. */
import net from 'node:net'
import { StringDecoder } from 'node:string_decoder'

/** A frame around a JSON text. */
export function frame(json: string): string {
  return `${json.length}#${json}`
}

/** A request packet as text. */
export function request(pattern: unknown, data: unknown, id: unknown = 'I'): string {
  return frame(JSON.stringify({ pattern, data, id }))
}

/** An event packet as text. */
export function event(pattern: unknown, data: unknown): string {
  return frame(JSON.stringify({ pattern, data }))
}

/** One connection to a server. */
export class WirePeer {
  readonly #socket: net.Socket
  readonly #decoder = new StringDecoder('utf8')
  readonly frames: string[] = []
  #text = ''
  #closed = false
  #changed: (() => void)[] = []

  static connect(port: number): Promise<WirePeer> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: '127.0.0.1', port, noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new WirePeer(socket))
      })
    })
  }

  private constructor(socket: net.Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => this.#received(chunk as Buffer))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      this.#notify()
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Writes each chunk separately; at a number, first waits until so many frames have arrived. */
  async send(...entries: readonly (string | Uint8Array | { readonly frames: number })[]): Promise<void> {
    for (const entry of entries) {
      if (typeof entry === 'string' || entry instanceof Uint8Array) {
        await new Promise<void>((resolve) => this.#socket.write(entry, () => setImmediate(resolve)))
      } else await this.received(entry.frames)
    }
  }

  /** Waits until `count` frames have arrived, or the connection is closed. */
  async received(count: number): Promise<void> {
    while (this.frames.length < count && !this.#closed) await this.#change()
  }

  /** Waits until the server has closed the connection. */
  async ended(): Promise<void> {
    while (!this.#closed) await this.#change()
  }

  /** Sends an echo request: when its answer arrives, all that was sent before has been handled. */
  async settle(): Promise<void> {
    const id = 'sentinel'
    const answer = `{"response":"end","isDisposed":true,"id":"${id}"}`
    await this.send(request('echo', 'end', id))
    while (!this.frames.includes(answer) && !this.#closed) await this.#change()
    const at = this.frames.indexOf(answer)
    if (at >= 0) this.frames.splice(at, 1)
  }

  /** Stops reading. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.destroy()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve))
  }

  #notify(): void {
    const waiting = this.#changed
    this.#changed = []
    for (const resolve of waiting) resolve()
  }

  #received(chunk: Buffer): void {
    this.#text += this.#decoder.write(chunk)
    while (true) {
      const hash = this.#text.indexOf('#')
      if (hash < 0) break
      const end = hash + 1 + Number(this.#text.slice(0, hash))
      if (this.#text.length < end) break
      this.frames.push(this.#text.slice(hash + 1, end))
      this.#text = this.#text.slice(end)
    }
    this.#notify()
  }
}
