/**
 * Collects the data that one connection sends, writes it in few writes, and pauses streams while the peer does not
 * read.
 */
import { type ByteWriter, nextTurn, PayloadTooLargeError } from '@elysia-microservices/transport/kit'
import type { WaitingStream } from './protocol.ts'
import type { Socket } from './socket.ts'

/**
 * Characters or bytes from which a write does not wait for the end of the turn of the event loop. One write for a
 * hundred answers would save system calls, but the other end would be idle until the last answer is made. With 8 KB
 * both ends work at the same time (docs/performance.md, "Batches").
 */
const WRITE_SIZE = 8 * 1024
/** Most characters or bytes that streams may send in one turn of the event loop. */
const STREAM_SIZE = 64 * 1024
/** Unsent bytes above which no new work for the peer begins. */
const HIGH_WATER = 256 * 1024

/** The outgoing data of one connection. A protocol sends either text or bytes. */
export class Outbox {
  readonly #socket: Pick<Socket, 'unsent' | 'write' | 'writeBytes'>
  readonly #later: (task: () => void) => void
  #text = ''
  #bytes: ByteWriter | undefined
  /** Characters or bytes sent in this turn of the event loop. */
  #streamed = 0
  /** Whether the peer has left more than 256 KB unread. Stays true until `unblock`. Only the outbox sets it. */
  isBlocked = false
  /**
   * Streams that wait for the peer to read or for the next turn. A set, because an Observable asks again with every
   * value.
   */
  #waiting: Set<WaitingStream> | undefined

  /** @param later calls its task in the next turn of the event loop, in which waiting streams are resumed */
  constructor(
    socket: Pick<Socket, 'unsent' | 'write' | 'writeBytes'>,
    later: (task: () => void) => void = nextTurn
  ) {
    this.#socket = socket
    this.#later = later
  }

  /** Bytes, or characters not yet converted to bytes, that the kernel has not taken. */
  get unsent(): number {
    return this.#text.length + (this.#bytes?.length ?? 0) + this.#socket.unsent
  }

  get isEmpty(): boolean {
    return this.#text.length === 0 && (this.#bytes === undefined || this.#bytes.length === 0)
  }

  /** Whether enough data is collected for a write at once. */
  get isFull(): boolean {
    return this.#bytes === undefined ? this.#text.length >= WRITE_SIZE : this.#bytes.length >= WRITE_SIZE
  }

  /** Adds text to the collected data. */
  add(text: string): void {
    this.#streamed += text.length
    this.#text += text
  }

  /** Sets the buffer whose content is written from now on. */
  attach(bytes: ByteWriter): void {
    this.#bytes = bytes
  }

  /** Drops the collected data. */
  clear(): void {
    this.#text = ''
    this.#bytes?.reset()
  }

  /**
   * Writes the collected data.
   * @param maxUnsent most bytes that may wait to be sent
   * @returns the error with which the connection must be cut, if more bytes wait
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
    if (unsent > HIGH_WATER) this.isBlocked = true
    return undefined
  }

  /** The kernel has taken bytes. Returns true if the peer was blocked and has now read everything. */
  unblock(): boolean {
    if (!this.isBlocked || this.#socket.unsent > 0) return false
    this.isBlocked = false
    return true
  }

  /** See `Output.hasRoomFor`. */
  hasRoomFor(stream: WaitingStream): boolean {
    if (!this.isBlocked && this.#streamed < STREAM_SIZE) return true
    if (this.#waiting === undefined) this.#wait([stream])
    else this.#waiting.add(stream)
    return false
  }

  /** Resumes waiting streams, unless the peer is blocked. */
  resumeStreams(): void {
    this.#streamed = 0
    if (this.isBlocked) return
    const waiting = this.#waiting
    if (waiting === undefined) return
    this.#waiting = undefined
    const unserved: WaitingStream[] = []
    for (const stream of waiting) {
      if (!this.isBlocked && this.#streamed < STREAM_SIZE) stream.resume()
      else unserved.push(stream)
    }
    if (unserved.length === 0) return
    // The streams that were not served are first in the next turn: otherwise a stream that always has values would take
    // every turn.
    const served: ReadonlySet<WaitingStream> | undefined = this.#waiting
    if (served === undefined) this.#wait(unserved)
    else this.#waiting = new Set([...unserved, ...served])
  }

  #wait(streams: readonly WaitingStream[]): void {
    this.#waiting = new Set(streams)
    // The streams are resumed in another turn, because a stream that always has a value ready would block sockets and
    // timers.
    if (this.isBlocked) return
    // The function is copied to a variable, so that it is not called as a method.
    const later = this.#later
    later(() => this.resumeStreams())
  }
}
