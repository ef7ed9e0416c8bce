/** A connection of a protocol without sockets: what it sends is collected, its time is set by hand. */
import type { ByteWriter, Timer, TimerOwner } from '@elysia-microservices/transport/kit'
import type { Output, ProtocolConnection, WaitingStream } from '../connection/protocol.ts'

/** Takes the place of a session. */
export class FakeOutput implements Output {
  remote: Output['remote'] = { remoteAddress: undefined, remotePort: undefined }
  isBlocked = false
  hasRoom = true
  /** Streams that were told that there is no room. */
  readonly waiting: WaitingStream[] = []
  /** Bytes that the kernel has not taken. */
  left = 0
  text = ''
  /** Why the connection was ended; `undefined` while it is not. */
  ended: Error | 'without reason' | undefined
  /** It was ended without waiting for the peer. */
  destroyed = false
  adopted: ProtocolConnection | undefined
  /** Requests and events that it was told have ended. */
  settlements = 0
  #bytes: ByteWriter | undefined
  #chunks: Uint8Array[] = []

  get unsent(): number {
    return this.left + (this.#bytes?.length ?? 0)
  }

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

  hasRoomFor(stream: WaitingStream): boolean {
    if (!this.hasRoom) this.waiting.push(stream)
    return this.hasRoom
  }

  settled(): void {
    this.settlements++
  }

  goOn(): void {
    this.adopted?.resume()
  }

  /** The bytes that were sent since the last call, as far as the session has released them. */
  sent(): Uint8Array {
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

/** A clock that goes when it is told to, and the timers that are set by it. */
export class FakeClock {
  time = 0
  readonly #timers = new Set<FakeTimer>()

  /** Makes a timer: what a connection is given for `newTimer`. */
  readonly newTimer = (owner: TimerOwner): Timer => {
    const timer = new FakeTimer(() => this.time, owner)
    this.#timers.add(timer)
    return timer
  }

  /** The time of the next wake-up; `Infinity` for none. */
  get next(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...[...this.#timers].map(({ at }) => at))
  }

  /** Lets so many milliseconds pass. */
  pass(milliseconds: number): void {
    const until = this.time + milliseconds
    while (this.next <= until) {
      this.time = this.next
      for (const timer of this.#timers) timer.fireAt(this.time)
    }
    this.time = until
  }
}

class FakeTimer implements Timer {
  at = Number.POSITIVE_INFINITY
  readonly now: () => number
  owner: TimerOwner
  #isStopped = false

  constructor(now: () => number, owner: TimerOwner) {
    this.now = now
    this.owner = owner
  }

  wakeAt(time: number): void {
    if (!this.#isStopped) this.at = Math.min(this.at, time)
  }

  stop(): void {
    this.#isStopped = true
    this.at = Number.POSITIVE_INFINITY
  }

  fireAt(time: number): void {
    if (this.at > time) return
    this.at = Number.POSITIVE_INFINITY
    this.owner.wake(time)
  }
}
