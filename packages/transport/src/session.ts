/**
 * One connection: the only place where a socket and a protocol meet. Collects what the protocol sends and
 * writes it once a turn, holds work back while the peer does not read, watches over messages that never end.
 */
import type { ByteWriter } from './bytes/byte-writer.ts'
import type { Connection } from './dispatch.ts'
import { PayloadTooLargeError, ProtocolError } from './errors.ts'
import { flushQueue } from './flush-queue.ts'
import type { Logger } from './logger.ts'
import { PROGRESS, ProgressWatch, type Watched } from './progress-watch.ts'
import type { Output, ProtocolConnection } from './protocol/connection.ts'
import { type Reader, readQueue } from './read-queue.ts'
import type { Socket, SocketListener } from './socket/socket.ts'
import type { PeerCertificate } from './socket/tls.ts'

/** Limits of one connection. */
export interface SessionOptions {
  readonly logger: Logger
  /** Milliseconds without progress after which a message that has begun ends the connection; 0 for no limit. */
  readonly incompleteMessageTimeout: number
  /** Bytes that may wait to be sent; a peer that leaves more unread is cut off. */
  readonly maxSendBufferSize: number
  /** Makes the protocol of the connection, from its first byte if the peer speaks first. */
  protocol(session: Session, firstByte: number): ProtocolConnection
  /** The socket is gone; `protocol` is what the connection spoke, `undefined` if its peer said nothing. */
  closed(session: Session, protocol: ProtocolConnection | undefined, error: Error | undefined): void
}

/**
 * Characters or bytes collected in one turn above which they are written at once. One write for a hundred
 * answers would save system calls, but keep the other end idle until the last of them is made: with 8 KB the
 * two ends work at the same time (docs/performance.md, "Batches").
 */
const WRITE_SIZE = 8 * 1024
/** Characters or bytes a stream may send in one turn. */
const STREAM_SIZE = 64 * 1024
/** Unsent bytes above which no new work is started for the peer. */
const HIGH_WATER = 256 * 1024
/** Milliseconds a peer has to close, once it was told to or got our FIN. */
const CLOSE_TIMEOUT = 2_000

/** Joins a socket and a protocol. */
export class Session implements SocketListener, Reader, Output, Connection, Watched {
  // First what every message touches: with many connections it comes from memory each time, in lines of 64 bytes.
  readonly #socket: Socket
  /** What TLS costs is another matter, and what is gathered comes late where the end comes with the data. */
  readonly #gathers: boolean
  readonly #options: SessionOptions
  #protocol: ProtocolConnection | undefined
  #bytes: ByteWriter | undefined
  #outbox = ''
  #reading = false
  #flushAsked = false
  #blocked = false
  #ending = false
  #drained: (() => void) | undefined
  #streamed = 0
  /** Something has come or gone since `takeActivity` asked. */
  #active = true
  #watch: ProgressWatch | undefined
  /** The peer was told that this side stops, and closes by itself. */
  #peerCloses = false
  #leaving: ReturnType<typeof setTimeout> | undefined
  #closers: Set<() => void> | undefined
  /** Streams that wait until the peer reads. */
  #waiting: (() => void)[] | undefined
  #closed = false
  /** What was unsent when `takeActivity` asked. */
  #unsentAsked = 0

  constructor(socket: Socket, options: SessionOptions, protocol?: ProtocolConnection) {
    this.#socket = socket
    this.#gathers = socket.encrypted !== true
    this.#options = options
    this.#protocol = protocol
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort
  }

  get certificate(): PeerCertificate | undefined {
    return this.#socket.certificate
  }

  /** What it speaks; `undefined` until its peer has said something. */
  get protocol(): ProtocolConnection | undefined {
    return this.#protocol
  }

  get blocked(): boolean {
    return this.#blocked
  }

  get unsent(): number {
    return this.#outbox.length + (this.#bytes?.length ?? 0) + this.#socket.unsent
  }

  onClose(abort: () => void): () => void {
    this.#closers ??= new Set()
    const closers = this.#closers.add(abort)
    return () => closers.delete(abort)
  }

  // ── what the protocol sends ──────────────────────────────────────────────────────────────────────────

  send(text: string): void {
    // Counted even if it goes nowhere: a stream must leave the turn in which it can learn that its peer is gone.
    this.#streamed += text.length
    if (this.#ending) return
    this.#outbox += text
    if (this.#outbox.length >= WRITE_SIZE) this.flush()
    else if (!this.#reading) this.#askFlush()
  }

  adopt(protocol: ProtocolConnection): void {
    this.#protocol = protocol
  }

  attach(bytes: ByteWriter): void {
    this.#bytes = bytes
  }

  committed(): void {
    const bytes = this.#bytes as ByteWriter
    if (this.#ending) {
      this.#streamed += bytes.length
      return bytes.reset()
    }
    if (bytes.length >= WRITE_SIZE) this.flush()
    else if (!this.#reading) this.#askFlush()
  }

  defer(task: () => void): void {
    process.nextTick(task)
  }

  ready(): Promise<void> | undefined {
    if (this.#blocked) {
      this.#waiting ??= []
      const waiting = this.#waiting
      return new Promise((resolve) => waiting.push(resolve))
    }
    if (this.#streamed < STREAM_SIZE) return undefined
    // A stream whose values are all there would never let sockets and timers have their turn.
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#streamed = 0
        resolve()
      })
    })
  }

  settled(): void {
    if (this.#drained !== undefined && this.#protocol?.inFlight === 0) this.#askFlush()
  }

  // ── what the socket brings ───────────────────────────────────────────────────────────────────────────

  data(chunk: Uint8Array): void {
    if (this.#ending) return
    if (this.#gathers) readQueue.add(this, chunk)
    else this.read(chunk)
  }

  eof(): void {
    if (this.#ending) return
    readQueue.handle()
    this.flush()
  }

  read(chunk: Uint8Array): void {
    if (this.#ending) return
    this.#reading = true
    try {
      this.#protocol ??= this.#options.protocol(this, chunk[0] ?? 0)
      this.#protocol.receive(chunk)
    } catch (error) {
      this.#fail(error as Error, 'end')
    }
    this.#endTurn(chunk.length)
  }

  drain(): void {
    if (this.#ending || !this.#blocked || this.#socket.unsent > 0) return
    this.#blocked = false
    this.goOn()
    this.#resumeStreams()
  }

  goOn(): void {
    // `drain` comes back to it.
    if (this.#ending || this.#blocked) return
    this.#reading = true
    try {
      this.#protocol?.resume()
    } catch (error) {
      this.#fail(error as Error, 'end')
    }
    this.#endTurn(PROGRESS)
  }

  close(error?: Error): void {
    // What came before the end still counts.
    if (!this.#ending) readQueue.handle()
    this.#closed = true
    this.#ending = true
    this.#outbox = ''
    this.#protocol?.discard?.()
    this.#watch?.stop()
    clearTimeout(this.#leaving)
    for (const abort of this.#closers ?? []) abort()
    this.#closers = undefined
    this.#resumeStreams()
    this.#drained?.()
    this.#options.closed(this, this.#protocol, error)
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Whether something has come or gone since this was last asked, or is under way: requests, a message that is
   * not complete. What is under way for a peer that takes nothing of what is unsent does not count: it may stay
   * so for ever.
   */
  takeActivity(): boolean {
    const { unsent } = this
    const active = this.#active || unsent < this.#unsentAsked || (unsent === 0 && !this.#isIdle())
    this.#active = false
    this.#unsentAsked = unsent
    return active
  }

  /**
   * Ends the connection when everything in flight is answered. Resolves when it is closed.
   * @param reason for the peer, if the protocol can tell it
   */
  drained(reason?: string): Promise<void> {
    readQueue.handle()
    if (this.#closed) return Promise.resolve()
    return new Promise((resolve) => {
      this.#drained = resolve
      this.#peerCloses = this.#protocol?.drain?.(reason) === true
      this.flush()
    })
  }

  end(reason?: Error): void {
    if (this.#ending) return
    if (reason !== undefined) this.#log(reason)
    this.flush()
    this.#finish()
  }

  destroy(reason?: Error): void {
    if (reason !== undefined && !this.#ending) {
      this.#log(reason)
      this.flush()
    }
    this.#ending = true
    this.#socket.destroy()
  }

  /** Nothing is in flight any more. A request that crossed our word on its way is still refused properly. */
  #leave(): void {
    if (!this.#peerCloses) return this.#finish()
    this.#leaving ??= setTimeout(() => this.#finish(), CLOSE_TIMEOUT).unref()
  }

  #finish(): void {
    if (this.#ending) return
    this.#ending = true
    this.#outbox = ''
    // The peer may take its time to close; what it has sent must not stay for so long.
    this.#protocol?.discard?.()
    this.#socket.end()
    clearTimeout(this.#leaving)
    // Taken back when it has closed: a flood of bad connections would be kept for that long.
    this.#leaving = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT).unref()
  }

  /** Ends the connection because of its peer; what this turn would have answered is not sent, as in Nest. */
  #fail(error: Error, how: 'end' | 'destroy'): void {
    if (this.#ending) return
    this.#log(error)
    if (how === 'destroy') this.destroy()
    else this.#finish()
  }

  #log(reason: Error): void {
    const peer =
      this.remoteAddress === undefined ? 'an unnamed peer' : `${this.remoteAddress}:${this.remotePort}`
    this.#options.logger.error(`Closing the connection of ${peer}: ${reason.message}`, reason)
  }

  // ── turns ────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * What was read is handled: everything it made the protocol send leaves in one write; now, or when the other
   * connections that were read with this one are handled too.
   */
  #endTurn(arrived: number): void {
    this.#reading = false
    this.#active = true
    if (!readQueue.handling) this.flush()
    else if (this.#drained !== undefined || this.#hasOutput) this.#askFlush()
    this.#watchIncomplete(arrived)
  }

  #askFlush(): void {
    if (this.#flushAsked) return
    this.#flushAsked = true
    flushQueue.add(this)
  }

  #resumeStreams(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    for (const resume of waiting ?? []) resume()
  }

  /** Writes what was collected. Called at the end of a turn. */
  flush(): void {
    this.#flushAsked = false
    if (this.#ending) return
    if (this.#hasOutput) this.#write()
    if (this.#drained !== undefined && this.#isIdle()) this.#leave()
  }

  get #hasOutput(): boolean {
    return this.#outbox.length > 0 || (this.#bytes !== undefined && this.#bytes.length > 0)
  }

  #write(): void {
    this.#active = true
    const bytes = this.#bytes
    if (bytes === undefined) {
      const text = this.#outbox
      this.#outbox = ''
      this.#socket.write(text)
    } else {
      this.#streamed += bytes.length
      this.#socket.writeBytes(bytes.buffer, bytes.length)
      bytes.reset()
    }
    const { unsent } = this.#socket
    const { maxSendBufferSize } = this.#options
    if (unsent > maxSendBufferSize) {
      return this.#fail(
        new PayloadTooLargeError('maxSendBufferSize', maxSendBufferSize, unsent, 'unsent bytes'),
        'destroy'
      )
    }
    // Only `drain` takes it back, because it also lets the protocol go on.
    if (unsent > HIGH_WATER) this.#blocked = true
  }

  #isIdle(): boolean {
    const protocol = this.#protocol
    return protocol === undefined || (protocol.inFlight === 0 && !protocol.incomplete)
  }

  // ── messages that do not end ─────────────────────────────────────────────────────────────────────────

  get incomplete(): boolean {
    return !this.#ending && this.#protocol?.incomplete === true
  }

  get held(): boolean {
    return this.#protocol?.held === true
  }

  get unsentBytes(): number {
    return this.#socket.unsent
  }

  stalled(): void {
    const waiting = `${this.#protocol?.buffered} characters of a message arrived, and then (nearly) nothing`
    const timeout = `incompleteMessageTimeout (${this.#options.incompleteMessageTimeout} ms)`
    this.#fail(new ProtocolError(`${waiting} for ${timeout}`), 'destroy')
  }

  #watchIncomplete(arrived: number): void {
    const timeout = this.#options.incompleteMessageTimeout
    if (timeout === 0) return
    if (!this.incomplete) return this.#watch?.complete()
    this.#watch ??= new ProgressWatch(this, timeout)
    this.#watch.incomplete(arrived)
  }
}
