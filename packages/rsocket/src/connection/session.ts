/**
 * One connection: the only place where a socket and a protocol meet. The protocol handles received chunks, its output
 * is written once a turn (`outbox.ts`), work is held back while the peer does not read, and messages that never end are
 * noticed (`progress-watch.ts`). Methods that check or end a connection first handle all chunks that were read
 * (`read-queue.ts`).
 */
import {
  type ByteWriter,
  type Logger,
  MicroserviceError,
  nextTurn,
  ProtocolError,
  quietLog,
  shown
} from '@elysia-microservices/transport/kit'
import { afterTask, outside } from '../host.ts'
import { Closing } from './closing.ts'
import { flushAtTurnEnd, flushSoon } from './flush-queue.ts'
import { Outbox } from './outbox.ts'
import { PROGRESS, ProgressWatch } from './progress-watch.ts'
import type { Output, ProtocolConnection, WaitingStream } from './protocol.ts'
import { readQueue } from './read-queue.ts'
import type { Socket, SocketListener } from './socket.ts'
import { TurnWrites } from './turn-writes.ts'

/** Number of bytes after which a connection leaves the rest of the turn to other connections. */
const TURN_SIZE = 262_144
/** Most log lines in 10 seconds about closed connections, because peers choose how many connections they close. */
const MOST_CLOSINGS = 20

const nextTurnOutside = (task: () => void): void => nextTurn(outside(task))

/** Options of a session. */
export interface SessionOptions {
  readonly logger: Logger
  /** Milliseconds without progress after which an incomplete message ends the connection; 0 for no limit. */
  readonly incompleteMessageTimeout: number
  /** Most bytes that may wait to be sent; a connection whose peer leaves more bytes unread is cut. */
  readonly maxUnsent: number
  /** Makes the protocol of a connection whose peer sends first, depending on the first byte. */
  protocol(session: Session, firstByte: number): ProtocolConnection
  /**
   * The socket is closed.
   * @param protocol `undefined` if the peer never sent anything
   */
  closed(session: Session, protocol: ProtocolConnection | undefined, error: Error | undefined): void
}

/** Milliseconds between looks whether the events of a closed connection have ended. */
const LOOK = 20

/** Connects a socket with a protocol. */
export class Session implements SocketListener, Output {
  readonly socket: Socket
  /** A copy of the outbox's `isBlocked`. A field and not a getter, because it is read for each frame. */
  isBlocked = false
  readonly #options: SessionOptions
  readonly #outbox: Outbox
  #protocol: ProtocolConnection | undefined
  /** The protocol is handling a chunk; its output is written afterwards. */
  #isReading = false
  #isFlushAsked = false
  /** Output is collected until the end of this turn. */
  #isCollecting = false
  /** A chunk was read since the last write. */
  #hasRead = false
  /** Decides about the end of the turn. Made for the first write that does not answer a chunk just read. */
  #turns: TurnWrites | undefined
  /** FIN was sent or the socket was destroyed: nothing more is handled or sent. */
  #isEnding = false
  /** Whether `cut` was called. */
  #isCut = false
  #isClosed = false
  /** Bytes read since the connection last left a turn to other connections. */
  #read = 0
  /** Bytes were read or written since the last call of `takeActivity`. */
  #isActive = true
  /** Unsent bytes at the last call of `takeActivity`. */
  #unsentAsked = 0
  #watch: ProgressWatch | undefined
  #closing: Closing | undefined

  constructor(socket: Socket, options: SessionOptions, protocol?: ProtocolConnection) {
    this.socket = socket
    this.#options = options
    this.#outbox = new Outbox(socket, nextTurnOutside)
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

  // ── called by the protocol ───────────────────────────────────────────────────────────────────────────

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
    return !this.#isEnding && this.#outbox.hasRoomFor(stream)
  }

  settled(): void {
    if (this.#closing?.isDraining && this.#protocol?.inFlight === 0) this.#askFlush()
  }

  // ── called by the socket ─────────────────────────────────────────────────────────────────────────────

  data(chunk: Uint8Array): void {
    if (this.#isEnding) return
    readQueue.add(this, chunk)
    this.#read += chunk.length
    if (this.#read >= TURN_SIZE) this.#takeTurns()
  }

  /** Reads no more in this turn: a peer that sends without a pause would keep all other connections waiting. */
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
    // While the connection is blocked, chunks wait until `drain` calls this method again.
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
    // Chunks that arrived before the end are still handled.
    if (!this.#isEnding) {
      readQueue.settle()
      this.#protocol?.left?.()
    }
    this.#isClosed = true
    this.#stop()
    this.#watch?.stop()
    this.#closing?.end()
    this.#options.closed(this, this.#protocol, error)
  }

  // ── end of the connection ────────────────────────────────────────────────────────────────────────────

  /**
   * Drains the connection: ends it when everything in flight is answered. Resolves when the connection is closed, and the
   * handlers of its events have ended or `cut` is called.
   * @param reason the reason for the peer, if the protocol can send it
   */
  async drained(reason?: string): Promise<void> {
    readQueue.settle()
    if (this.#isClosed) return
    const closing = this.#close()
    closing.isDraining = true
    closing.peerCloses = this.#protocol?.drain?.(reason) === true
    this.#leave()
    await closing.closed
    const events = () => this.#protocol?.events ?? 0
    while (events() > 0 && !this.#isCut) await new Promise((resolve) => setTimeout(resolve, LOOK))
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
    this.#stop()
    this.socket.destroy()
  }

  /** Destroys the connection after all received chunks are handled. */
  cut(): void {
    this.#isCut = true
    readQueue.settle()
    this.destroy()
  }

  #close(): Closing {
    this.#closing ??= new Closing(this.socket)
    return this.#closing
  }

  #finish(): void {
    if (this.#isEnding) return
    this.#stop()
    this.#close().finish()
  }

  /** Nothing more is handled or sent from now on. The peer may be slow to close, so memory and streams end at once. */
  #stop(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#outbox.clear()
    this.#protocol?.discard?.()
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
    const peer = name === undefined ? address : `${address} (certificate of ${shown(String(name))})`
    // An error of this library, or a plain Error, has a message about the peer. Any other error is a bug whose stack is
    // needed.
    const isSentence = reason instanceof MicroserviceError || reason.constructor === Error
    quietLog(this.#options.logger).error(
      'closing',
      `Closing the connection of ${peer}: ${shown(reason.message)}`,
      isSentence ? undefined : reason,
      MOST_CLOSINGS
    )
  }

  // ── turns of the event loop ──────────────────────────────────────────────────────────────────────────

  /**
   * A chunk is handled: writes the output in one write, either now or when the other connections of the batch are
   * handled too.
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

  /** Writes the output. Called by the flush queue. */
  flush(): void {
    this.#isFlushAsked = false
    this.#leave()
  }

  /** Writes the collected output, and ends a draining connection that has nothing in flight. */
  #leave(): void {
    if (this.#write() && !this.#isCollecting) this.#collect()
    const closing = this.#closing
    if (closing?.isDraining && !this.#isEnding && this.#isIdle) closing.leave(() => this.#finish())
  }

  /** Writes the collected output. Returns false if there was none. */
  #write(): boolean {
    if (this.#isEnding || this.#outbox.isEmpty) return false
    this.#isActive = true
    const tooMuch = this.#outbox.write(this.#options.maxUnsent)
    this.isBlocked = this.#outbox.isBlocked
    if (tooMuch !== undefined) this.destroy(tooMuch)
    return true
  }

  /** Called after a write. If more output is likely in this turn, collects it until the turn ends. */
  #collect(): void {
    const hasRead = this.#hasRead
    this.#hasRead = false
    // Most connections write only once after each read, and so need no `TurnWrites`.
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

  // ── idle connections, and messages that do not end ───────────────────────────────────────────────────

  /**
   * Whether the connection was active since the last call: bytes were read or written, a request is in flight or a
   * message is incomplete. Requests in flight for a peer that has stopped reading do not count, because they may never
   * end.
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
