/** A connection of a protocol without sockets: what it sends is collected, its time is set by hand. */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { Output, ProtocolConnection, Timer } from '../protocol/connection.ts'

/** Takes the place of a session. */
export class FakeOutput implements Output {
  blocked = false
  unsent = 0
  text = ''
  /** Why the connection was ended; `undefined` while it is not. */
  ended: Error | 'without reason' | undefined
  /** It was ended without waiting for the peer. */
  destroyed = false
  adopted: ProtocolConnection | undefined
  #bytes: ByteWriter | undefined
  #chunks: Uint8Array[] = []

  send(text: string): void {
    this.text += text
  }

  attach(bytes: ByteWriter): void {
    this.#bytes = bytes
  }

  adopt(protocol: ProtocolConnection): void {
    this.adopted = protocol
  }

  committed(): void {
    this.#take()
  }

  end(reason?: Error): void {
    this.#take()
    this.ended ??= reason ?? 'without reason'
  }

  destroy(reason?: Error): void {
    this.end(reason)
    this.destroyed = true
  }

  defer(task: () => void): void {
    queueMicrotask(task)
  }

  ready(): undefined {}
  settled(): void {}
  goOn(): void {}

  /** What was sent since the last call. */
  sent(): Uint8Array {
    this.#take()
    const sent = Buffer.concat(this.#chunks)
    this.#chunks = []
    return sent
  }

  #take(): void {
    if (this.#bytes === undefined || this.#bytes.length === 0) return
    this.#chunks.push(Buffer.from(this.#bytes.written))
    this.#bytes.reset()
  }
}

/** A clock that goes when it is told to. */
export class FakeTimer implements Timer {
  time = 0
  at = Number.POSITIVE_INFINITY
  wake: (now: number) => void = () => {}

  now(): number {
    return this.time
  }

  wakeAt(time: number): void {
    this.at = Math.min(this.at, time)
  }

  stop(): void {
    this.at = Number.POSITIVE_INFINITY
  }

  /** Lets so many milliseconds pass. */
  pass(milliseconds: number): void {
    const until = this.time + milliseconds
    while (this.at <= until) {
      this.time = this.at
      this.at = Number.POSITIVE_INFINITY
      this.wake(this.time)
    }
    this.time = until
  }
}
