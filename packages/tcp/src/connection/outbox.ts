/** What one connection has to send: collected, written in few writes, and held back while the peer does not read. */
import { type ByteWriter, PayloadTooLargeError } from '@elysia-microservices/transport/kit'
import { outside } from '../outside.ts'
import type { Socket } from '../socket/socket.ts'
import type { WaitingStream } from './protocol.ts'

/**
 * Characters or bytes collected in one turn above which they are written at once. One write for a hundred
 * answers would save system calls, but keep the other end idle until the last of them is made: with 8 KB the
 * two ends work at the same time (docs/performance.md, "Batches").
 */
const WRITE_SIZE = 8 * 1024
/** Characters or bytes that streams may send in one turn. */
const STREAM_SIZE = 64 * 1024
/** Unsent bytes above which no new work is started for the peer. */
const HIGH_WATER = 256 * 1024

/** Collects and writes. A protocol sends either text or bytes. */
export class Outbox {
  readonly #socket: Socket
  #text = ''
  #bytes: ByteWriter | undefined
  /** What streams have sent in this turn. */
  #streamed = 0
  #isBlocked = false
  /** Streams that wait until the peer reads, or for the next turn; each once, though an Observable asks for each value. */
  #waiting: Set<WaitingStream> | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** The peer leaves more than 256 KB unread. Only `unblock` ends it. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** Bytes, or characters not yet made bytes, that have not reached the kernel. */
  get unsent(): number {
    return this.#text.length + (this.#bytes?.length ?? 0) + this.#socket.unsent
  }

  get isEmpty(): boolean {
    return this.#text.length === 0 && (this.#bytes === undefined || this.#bytes.length === 0)
  }

  /** Enough was collected for a write of its own. */
  get isFull(): boolean {
    return this.#bytes === undefined ? this.#text.length >= WRITE_SIZE : this.#bytes.length >= WRITE_SIZE
  }

  add(text: string): void {
    this.#streamed += text.length
    this.#text += text
  }

  attach(bytes: ByteWriter): void {
    this.#bytes = bytes
  }

  /** Forgets what was collected. What is given up counts too: a stream must leave the turn to learn of its end. */
  clear(): void {
    this.#text = ''
    if (this.#bytes === undefined) return
    this.#streamed += this.#bytes.length
    this.#bytes.reset()
  }

  /**
   * Writes what was collected.
   * @param maxUnsent bytes that may wait to be sent
   * @returns why the connection has to be cut off: more would wait
   */
  write(maxUnsent: number): PayloadTooLargeError | undefined {
    const bytes = this.#bytes
    if (bytes === undefined) {
      const text = this.#text
      this.#text = ''
      this.#socket.write(text)
    } else {
      this.#streamed += bytes.length
      this.#socket.writeBytes(bytes.buffer, bytes.length)
      bytes.reset()
    }
    const { unsent } = this.#socket
    if (unsent > maxUnsent)
      return new PayloadTooLargeError('limits.sendBuffer', maxUnsent, unsent, 'unsent bytes')
    if (unsent > HIGH_WATER) this.#isBlocked = true
    return undefined
  }

  /** The kernel has taken bytes. True if the peer has read all, having been blocked. */
  unblock(): boolean {
    if (!this.#isBlocked || this.#socket.unsent > 0) return false
    this.#isBlocked = false
    return true
  }

  /** See `Output.hasRoomFor`. */
  hasRoomFor(stream: WaitingStream): boolean {
    if (!this.#isBlocked && this.#streamed < STREAM_SIZE) return true
    if (this.#waiting === undefined) {
      this.#waiting = new Set([stream])
      // A stream whose values are all there would never let sockets and timers have their turn.
      if (!this.#isBlocked) setImmediate(outside(() => this.resumeStreams()))
    } else this.#waiting.add(stream)
    return false
  }

  /** Lets the streams that wait go on; those of a peer that is blocked wait on. */
  resumeStreams(): void {
    this.#streamed = 0
    if (this.#isBlocked) return
    const waiting = this.#waiting
    this.#waiting = undefined
    for (const stream of waiting ?? []) stream.resume()
  }
}
