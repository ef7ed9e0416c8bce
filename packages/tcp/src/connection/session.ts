/**
 * One connection: the only place where a socket and a protocol meet. What was read is handled by the protocol, what
 * that sends is written once a turn (`outbox.ts`), work is held back while the peer does not read, and messages that
 * never end are noticed (`progress-watch.ts`). Whoever asks a session how it is, or ends it, gets it as it is after
 * everything that has been read was handled (`read-queue.ts`).
 */
import { type ByteWriter, type Logger, ProtocolError } from '@elysia-microservices/transport/kit'
import type { Socket, SocketListener } from '../socket/socket.ts'
import { Closing } from './closing.ts'
import { flushQueue, turnQueue } from './flush-queue.ts'
import { Outbox } from './outbox.ts'
import { PROGRESS, ProgressWatch } from './progress-watch.ts'
import type { Output, ProtocolConnection, WaitingStream } from './protocol.ts'
import { readQueue } from './read-queue.ts'
import { TurnWrites } from './turn-writes.ts'

/** Limits of one connection. */
export interface SessionOptions {
  readonly logger: Logger
  /** Milliseconds without progress after which a message that has begun ends the connection; 0 for no limit. */
  readonly incompleteMessageTimeout: number
  /** Bytes that may wait to be sent; a peer that leaves more unread is cut off. */
  readonly maxUnsent: number
  /** Makes the protocol of the connection, from its first byte if the peer speaks first. */
  protocol(session: Session, firstByte: number): ProtocolConnection
  /** The socket is gone; `protocol` is what the connection spoke, `undefined` if its peer said nothing. */
  closed(session: Session, protocol: ProtocolConnection | undefined, error: Error | undefined): void
}

/** Joins a socket and a protocol. */
export class Session implements SocketListener, Output {
  readonly socket: Socket
  readonly #options: SessionOptions
  readonly #outbox: Outbox
  #protocol: ProtocolConnection | undefined
  /** The protocol is handling what was read: what it sends leaves at the end. */
  #isReading = false
  #isFlushAsked = false
  /** What follows in this turn is collected until it ends. */
  #isCollecting = false
  /** Something has been read since the last write. */
  #hasRead = false
  /** Made for the first write that was not for what was read. */
  #turns: TurnWrites | undefined
  /** FIN is sent, or the socket destroyed: nothing more is handled or sent. */
  #isEnding = false
  #isClosed = false
  /** Something has come or gone since `takeActivity` asked. */
  #isActive = true
  /** What was unsent when `takeActivity` asked. */
  #unsentAsked = 0
  #watch: ProgressWatch | undefined
  #closing: Closing | undefined

  constructor(socket: Socket, options: SessionOptions, protocol?: ProtocolConnection) {
    this.socket = socket
    this.#options = options
    this.#outbox = new Outbox(socket)
    this.#protocol = protocol
  }

  get remote(): Socket {
    return this.socket
  }

  /** What it speaks; `undefined` until its peer has said something. */
  get protocol(): ProtocolConnection | undefined {
    return this.#protocol
  }

  get isBlocked(): boolean {
    return this.#outbox.isBlocked
  }

  get unsent(): number {
    return this.#outbox.unsent
  }

  // ── what the protocol sends ──────────────────────────────────────────────────────────────────────────

  send(text: string): void {
    this.#outbox.add(text)
    this.committed()
  }

  attach(bytes: ByteWriter): void {
    this.#outbox.attach(bytes)
  }

  committed(): void {
    if (this.#isEnding) this.#outbox.clear()
    else if (this.#outbox.isFull) this.#write()
    else if (!this.#isReading) this.#askFlush()
  }

  adopt(protocol: ProtocolConnection): void {
    this.#protocol = protocol
  }

  defer(task: () => void): void {
    process.nextTick(task)
  }

  hasRoomFor(stream: WaitingStream): boolean {
    return this.#outbox.hasRoomFor(stream)
  }

  settled(): void {
    if (this.#closing?.isDraining && this.#protocol?.inFlight === 0) this.#askFlush()
  }

  // ── what the socket brings ───────────────────────────────────────────────────────────────────────────

  data(chunk: Uint8Array): void {
    if (this.#isEnding) return
    // With TLS nothing is gained by it, and the end may come together with the data.
    if (this.socket.encrypted === true) this.read(chunk)
    else readQueue.add(this, chunk)
  }

  eof(): void {
    if (this.#isEnding) return
    readQueue.settle()
    this.#leave()
  }

  /** Handles a chunk: called by the read queue. */
  read(chunk: Uint8Array): void {
    if (this.#isEnding) return
    this.#isReading = true
    try {
      this.#protocol ??= this.#options.protocol(this, chunk[0] ?? 0)
      this.#protocol.receive(chunk)
    } catch (error) {
      this.#fail(error as Error)
    }
    this.#endTurn(chunk.length)
  }

  drain(): void {
    if (this.#isEnding || !this.#outbox.unblock()) return
    this.goOn()
    this.#outbox.resumeStreams()
  }

  goOn(): void {
    // `drain` comes back to it.
    if (this.#isEnding || this.#outbox.isBlocked) return
    this.#isReading = true
    try {
      this.#protocol?.resume()
    } catch (error) {
      this.#fail(error as Error)
    }
    this.#endTurn(PROGRESS)
  }

  close(error?: Error): void {
    // What came before the end still counts.
    if (!this.#isEnding) readQueue.settle()
    this.#isClosed = true
    this.#isEnding = true
    this.#outbox.clear()
    this.#protocol?.discard?.()
    this.#watch?.stop()
    this.#closing?.end()
    this.#options.closed(this, this.#protocol, error)
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Ends the connection when everything in flight is answered. Resolves when it is closed.
   * @param reason for the peer, if the protocol can tell it
   */
  async drained(reason?: string): Promise<void> {
    readQueue.settle()
    if (this.#isClosed) return
    const closing = this.#close()
    closing.isDraining = true
    closing.peerCloses = this.#protocol?.drain?.(reason) === true
    this.#leave()
    await closing.closed
  }

  end(reason?: Error): void {
    readQueue.settle()
    if (this.#isEnding) return
    if (reason !== undefined) this.#log(reason)
    this.#write()
    this.#finish()
  }

  destroy(reason?: Error): void {
    if (reason !== undefined && !this.#isEnding) {
      this.#log(reason)
      this.#write()
    }
    this.#isEnding = true
    this.socket.destroy()
  }

  /** The same, once what has been read is handled: for those who judge the connection by what has come. */
  cut(): void {
    readQueue.settle()
    this.destroy()
  }

  #close(): Closing {
    this.#closing ??= new Closing(this.socket)
    return this.#closing
  }

  #finish(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#outbox.clear()
    // The peer may take its time to close; what it has sent must not stay for so long.
    this.#protocol?.discard?.()
    this.#close().finish()
  }

  /** Ends the connection because of its peer; what this turn would have answered is not sent, as in Nest. */
  #fail(error: Error): void {
    if (this.#isEnding) return
    this.#log(error)
    this.#finish()
  }

  #log(reason: Error): void {
    const { remoteAddress, remotePort } = this.socket
    const peer = remoteAddress === undefined ? 'an unnamed peer' : `${remoteAddress}:${remotePort}`
    this.#options.logger.error(`Closing the connection of ${peer}: ${reason.message}`, reason)
  }

  // ── turns ────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * What was read is handled: everything it made the protocol send leaves in one write; now, or when the other
   * connections that were read with this one are handled too.
   */
  #endTurn(arrived: number): void {
    this.#isReading = false
    this.#hasRead = true
    this.#isActive = true
    if (readQueue.isHandling || this.#isCollecting) {
      if (this.#closing !== undefined || !this.#outbox.isEmpty) this.#askFlush()
    } else this.#leave()
    this.#watchIncomplete(arrived)
  }

  #askFlush(): void {
    if (this.#isFlushAsked) return
    if (this.#isCollecting) return this.#turns?.collected()
    this.#isFlushAsked = true
    flushQueue.add(this)
  }

  /** Called by the queue, once what was asked for together is there. */
  flush(): void {
    this.#isFlushAsked = false
    this.#leave()
  }

  /** Writes what was collected, and leaves if it was the last of a connection that drains. */
  #leave(): void {
    if (this.#write() && !this.#isCollecting) this.#collect()
    const closing = this.#closing
    if (closing?.isDraining && !this.#isEnding && this.#isIdle) closing.leave(() => this.#finish())
  }

  /** Writes what was collected; whether there was something. */
  #write(): boolean {
    if (this.#isEnding || this.#outbox.isEmpty) return false
    this.#isActive = true
    const tooMuch = this.#outbox.write(this.#options.maxUnsent)
    if (tooMuch !== undefined) this.destroy(tooMuch)
    return true
  }

  /** If more is likely to follow in this turn, it leaves together at its end. */
  #collect(): void {
    const hasRead = this.#hasRead
    this.#hasRead = false
    // Most connections write once for what was read.
    if (hasRead && this.#turns === undefined) return
    this.#turns ??= new TurnWrites(() => this.#flushTurn())
    if (!this.#turns.written(hasRead)) return
    this.#isCollecting = true
    turnQueue.add(this.#turns)
  }

  #flushTurn(): void {
    this.#isCollecting = false
    this.#leave()
  }

  get #isIdle(): boolean {
    const protocol = this.#protocol
    return protocol === undefined || (protocol.inFlight === 0 && !protocol.incomplete)
  }

  // ── connections over which nothing goes, and messages that do not end ────────────────────────────────

  /**
   * Whether something has come or gone since this was last asked, or is under way: requests, a message that is
   * not complete. What is under way for a peer that takes nothing of what is unsent does not count: it may stay
   * so for ever.
   */
  takeActivity(): boolean {
    readQueue.settle()
    const { unsent } = this
    const isActive = this.#isActive || unsent < this.#unsentAsked || (unsent === 0 && !this.#isIdle)
    this.#isActive = false
    this.#unsentAsked = unsent
    return isActive
  }

  #watchIncomplete(arrived: number): void {
    const timeout = this.#options.incompleteMessageTimeout
    if (timeout === 0) return
    if (!this.#isIncomplete) return this.#watch?.complete()
    this.#watch ??= new ProgressWatch(timeout, {
      look: () => {
        readQueue.settle()
        return this.#isIncomplete
          ? { unsent: this.socket.unsent, isHeldBack: this.#protocol?.isHeldBack === true }
          : undefined
      },
      stalled: () => this.#stalled(timeout)
    })
    this.#watch.incomplete(arrived, this.socket.unsent)
  }

  get #isIncomplete(): boolean {
    return !this.#isEnding && this.#protocol?.incomplete === true
  }

  #stalled(timeout: number): void {
    const arrived = `${this.#protocol?.buffered} characters of a message arrived, and then (nearly) nothing`
    this.destroy(new ProtocolError(`${arrived} for limits.incompleteMessage (${timeout} ms)`))
  }
}
