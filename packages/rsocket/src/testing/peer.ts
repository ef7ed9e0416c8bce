/** A connection of a protocol without sockets: what it sends is collected, and the test sets its time. */
import type { ByteWriter, Timer, TimerOwner } from '@elysia-microservices/transport/kit'
import type { Output, ProtocolConnection, WaitingStream } from '../connection/protocol.ts'

/** Replaces the session of a connection. */
export class FakeOutput implements Output {
  remote: Output['remote'] = { remoteAddress: undefined, remotePort: undefined }
  isBlocked = false
  hasRoom = true
  /** Streams that were told that there is no room. */
  readonly waiting: WaitingStream[] = []
  /** Number of bytes that the kernel has not taken. */
  left = 0
  text = ''
  /** Why the connection was ended; `undefined` while it is open. */
  ended: Error | 'without reason' | undefined
  /** The connection was ended without waiting for the peer. */
  destroyed = false
  adopted: ProtocolConnection | undefined
  /** Number of requests and events that have ended, as the protocol has reported. */
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

  /** Returns the bytes that were sent since the last call, as far as the session has released them. */
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

/** A clock that the test moves, and the timers that use it. */
export class FakeClock {
  time = 0
  readonly #timers = new Set<FakeTimer>()

  /** Makes a timer; passed to a connection as `newTimer`. */
  readonly newTimer = (owner: TimerOwner): Timer => {
    const timer = new FakeTimer(() => this.time, owner)
    this.#timers.add(timer)
    return timer
  }

  /** The time of the next wake-up; `Infinity` for none. */
  get next(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...[...this.#timers].map(({ at }) => at))
  }

  /** Moves the clock by a number of milliseconds. */
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
