/**
 * One connection: the only place where a socket and a protocol meet. The protocol handles what was read, its output is
 * written once a turn (`outbox.ts`), work is held back while the peer does not read, and messages that never end are
 * noticed (`progress-watch.ts`). Methods that judge or end a connection first handle everything that was read
 * (`read-queue.ts`).
 */
import {
  type ByteWriter,
  type Logger,
  MicroserviceError,
  ProtocolError,
  quietLog,
  shown
} from '@elysia-microservices/transport/kit'
import { afterTask, nextTurn } from '../host.ts'
import { Closing } from './closing.ts'
import { flushAtTurnEnd, flushSoon } from './flush-queue.ts'
import { Outbox } from './outbox.ts'
import { PROGRESS, ProgressWatch } from './progress-watch.ts'
import type { Output, ProtocolConnection, WaitingStream } from './protocol.ts'
import { readQueue } from './read-queue.ts'
import type { Socket, SocketListener } from './socket.ts'
import { TurnWrites } from './turn-writes.ts'

/** Bytes after which a connection leaves the rest of the turn to others. */
const TURN_SIZE = 256 * 1024
/** Most lines about closed connections in 10 s: peers choose how many there are. */
const MOST_CLOSINGS = 20

/** Options of a session. */
export interface SessionOptions {
  readonly logger: Logger
  /** Milliseconds without progress after which a message that has begun ends the connection; 0 for no limit. */
  readonly incompleteMessageTimeout: number
  /** Most bytes that may wait to be sent; a peer that leaves more unread is cut off. */
  readonly maxUnsent: number
  /** Makes the protocol of a connection whose peer speaks first, from its first byte. */
  protocol(session: Session, firstByte: number): ProtocolConnection
  /** The socket is gone. @param protocol `undefined` if the peer never sent anything */
  closed(session: Session, protocol: ProtocolConnection | undefined, error: Error | undefined): void
}

/** Joins a socket and a protocol. */
export class Session implements SocketListener, Output {
  readonly socket: Socket
  /** As the outbox says: a field, because it is read for each frame. */
  isBlocked = false
  readonly #options: SessionOptions
  readonly #outbox: Outbox
  #protocol: ProtocolConnection | undefined
  /** The protocol is handling a chunk; its output is written afterwards. */
  #isReading = false
  #isFlushAsked = false
  /** Output is collected until the end of this turn. */
  #isCollecting = false
  /** Something has been read since the last write. */
  #hasRead = false
  /** Made for the first write that did not answer something just read. */
  #turns: TurnWrites | undefined
  /** FIN was sent or the socket destroyed: nothing more is handled or sent. */
  #isEnding = false
  #isClosed = false
  /** Bytes read since the connection last left a turn to others. */
  #read = 0
  /** Bytes were read or written since the last `takeActivity`. */
  #isActive = true
  /** Unsent bytes at the last `takeActivity`. */
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

  /** The protocol; `undefined` until the peer has sent something. */
  get protocol(): ProtocolConnection | undefined {
    return this.#protocol
  }

  get unsent(): number {
    return this.#outbox.unsent
  }

  // ── calls from the protocol ──────────────────────────────────────────────────────────────────────────

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
    afterTask(task)
  }

  hasRoomFor(stream: WaitingStream): boolean {
    return this.#outbox.hasRoomFor(stream)
  }

  settled(): void {
    if (this.#closing?.isDraining && this.#protocol?.inFlight === 0) this.#askFlush()
  }

  // ── calls from the socket ───────────────────────────────────────────────────────────────────────────

  data(chunk: Uint8Array): void {
    if (this.#isEnding) return
    readQueue.add(this, chunk)
    this.#read += chunk.length
    if (this.#read >= TURN_SIZE) this.#takeTurns()
  }

  /** Reads nothing more in this turn: a peer that sends without a pause would keep all others waiting. */
  #takeTurns(): void {
    this.#read = 0
    this.socket.pause()
    nextTurn(() => this.socket.resume())
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
    this.isBlocked = false
    this.goOn()
    this.#outbox.resumeStreams()
  }

  goOn(): void {
    // If blocked, `drain` calls this again.
    if (this.#isEnding || this.isBlocked) return
    this.#isReading = true
    try {
      this.#protocol?.resume()
    } catch (error) {
      this.#fail(error as Error)
    }
    this.#endTurn(PROGRESS)
  }

  close(error?: Error): void {
    // Chunks that came before the end are still handled.
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
   * Drains the connection: ends it when everything in flight is answered. Resolves when it is closed.
   * @param reason is told to the peer if the protocol can
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

  /** Destroys the connection after handling everything that was read. */
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
    // The peer may be slow to close; the bytes it sent must not be kept until then.
    this.#protocol?.discard?.()
    this.#close().finish()
  }

  /** Ends the connection because of an error of its peer. As in Nest, answers of this turn are not sent. */
  #fail(error: Error): void {
    if (this.#isEnding) return
    this.#log(error)
    this.#finish()
  }

  #log(reason: Error): void {
    const { remoteAddress, remotePort } = this.socket
    const address = remoteAddress === undefined ? 'an unnamed peer' : `${remoteAddress}:${remotePort}`
    const name = this.socket.certificate?.subject['CN']
    const peer = name === undefined ? address : `${address}, the certificate's ${shown(String(name))}`
    // Errors of this library, and plain ones, are sentences about the peer; others are defects, whose stack is needed.
    const isSentence = reason instanceof MicroserviceError || reason.constructor === Error
    quietLog(this.#options.logger).error(
      'closing',
      `Closing the connection of ${peer}: ${shown(reason.message)}`,
      isSentence ? undefined : reason,
      MOST_CLOSINGS
    )
  }

  // ── turns ────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * A chunk is handled: writes the output in one write, now or when the other connections of the batch are handled too.
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
    flushSoon(this)
  }

  /** Called by the flush queue. */
  flush(): void {
    this.#isFlushAsked = false
    this.#leave()
  }

  /** Writes what was collected, and ends a draining connection that has nothing in flight. */
  #leave(): void {
    if (this.#write() && !this.#isCollecting) this.#collect()
    const closing = this.#closing
    if (closing?.isDraining && !this.#isEnding && this.#isIdle) closing.leave(() => this.#finish())
  }

  /** Writes what was collected. Returns whether there was anything. */
  #write(): boolean {
    if (this.#isEnding || this.#outbox.isEmpty) return false
    this.#isActive = true
    const tooMuch = this.#outbox.write(this.#options.maxUnsent)
    this.isBlocked = this.#outbox.isBlocked
    if (tooMuch !== undefined) this.destroy(tooMuch)
    return true
  }

  /** After a write: if more output is likely in this turn, collects it until the turn ends. */
  #collect(): void {
    const hasRead = this.#hasRead
    this.#hasRead = false
    // Most connections write only once after each read, and need no `TurnWrites`.
    if (hasRead && this.#turns?.isDue !== true) return
    this.#turns ??= new TurnWrites(() => this.#flushTurn())
    if (!this.#turns.written(hasRead)) return
    this.#isCollecting = true
    flushAtTurnEnd(this.#turns)
  }

  #flushTurn(): void {
    this.#isCollecting = false
    this.#leave()
  }

  get #isIdle(): boolean {
    const protocol = this.#protocol
    return protocol === undefined || (protocol.inFlight === 0 && !protocol.incomplete)
  }

  // ── idle connections, and messages that do not end ────────────────────────────────

  /**
   * Whether the connection was active since the last call: bytes were read or written, or something is in flight or
   * incomplete. Work in flight for a peer that has stopped reading does not count, because it may never end.
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
    if (this.#isEnding || this.#protocol?.incomplete !== true) return this.#watch?.complete()
    this.#watch ??= new ProgressWatch(
      timeout,
      () => {
        readQueue.settle()
        const { isHeldBack = false } = this.#protocol ?? {}
        const isIncomplete = !this.#isEnding && this.#protocol?.incomplete === true
        return isIncomplete ? { unsent: this.socket.unsent, isHeldBack } : undefined
      },
      () => this.#stalled(timeout)
    )
    this.#watch.incomplete(arrived, this.socket.unsent)
  }

  #stalled(timeout: number): void {
    const arrived = `${this.#protocol?.buffered} characters of a message arrived, and then less than ${PROGRESS}`
    this.destroy(new ProtocolError(`${arrived} more within limits.incompleteMessage (${timeout} ms)`))
  }
}
