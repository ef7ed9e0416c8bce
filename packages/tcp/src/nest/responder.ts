/**
 * The answering side of Nest's TCP wire: frames in, handlers called, reply packets out. One instance for
 * each connection. Hot path of every server: a request whose handler returns a plain value takes one parse,
 * one look-up, one call and one stringify, and makes no promise and no closure.
 */
import {
  answerWith,
  type Dispatcher,
  INTERNAL_ERROR,
  IncomingMessage,
  isNoHandler,
  isStream,
  isThenable,
  type Logger,
  type Peer,
  RejectedError,
  readFailure,
  reportEvent,
  StreamTable
} from '@elysia-microservices/transport/kit'
import { ConnectionPeer, type PeerSide } from '../connection/peer.ts'
import type { Output, ProtocolConnection } from '../connection/protocol.ts'
import type { Admission } from '../limits/admission.ts'
import type { SharedLimits } from '../limits/server-limits.ts'
import { encodeFrame, NestFrameDecoder } from './frame.ts'
import {
  errorPacket,
  idToJson,
  lastValuePacket,
  type NestPacket,
  noHandlerPacket,
  parsePacket,
  toJson
} from './packet.ts'
import { isPlainRoute, type PatternReader } from './route.ts'
import { RunningReply } from './running-reply.ts'

/** What a responder needs beside the bytes. */
export interface NestResponderOptions {
  readonly dispatcher: Dispatcher
  readonly logger: Logger
  readonly output: Output
  /** UTF-16 units that may wait to be handled. */
  readonly maxBufferSize: number
  /** Shared by the connections of a server. */
  readonly patterns: PatternReader
  readonly limits: SharedLimits
}

/** Answers one connection. */
export class NestResponder implements ProtocolConnection, PeerSide {
  readonly #dispatcher: Dispatcher
  readonly logger: Logger
  readonly output: Output
  readonly #peer: Peer
  readonly #patterns: PatternReader
  readonly #frames: NestFrameDecoder
  readonly #limits: SharedLimits
  /** `undefined` if nothing limits the work of the server. */
  readonly #admission: Admission | undefined
  /** Requests that take more than a turn. */
  readonly #running = new StreamTable<RunningReply>()
  /** Streams with a value that waits for the end of the turn. */
  #unfinished: RunningReply[] = []
  #streams = 0
  #events = 0
  #isClosed = false
  /** Waits for the server to have room. */
  #isWaiting = false

  constructor(options: NestResponderOptions) {
    this.#dispatcher = options.dispatcher
    this.logger = options.logger
    this.output = options.output
    this.#peer = new ConnectionPeer(this)
    this.#patterns = options.patterns
    this.#frames = new NestFrameDecoder(options.maxBufferSize)
    this.#limits = options.limits
    this.#admission = options.limits.admission
  }

  get incomplete(): boolean {
    return this.#frames.incomplete
  }

  get buffered(): number {
    return this.#frames.buffered
  }

  get inFlight(): number {
    return this.#running.size + this.#events
  }

  get streams(): number {
    return this.#streams
  }

  get isHeldBack(): boolean {
    return this.#isWaiting
  }

  receive(chunk: Uint8Array): void {
    this.#frames.push(chunk)
    this.resume()
  }

  resume(): void {
    // While the peer does not read its answers, requests wait here, bounded by limits.receiveBuffer, and reading
    // goes on: Nest's client reads nothing while its own writes are blocked, so pausing would freeze both.
    // It is the same while the server has no room: this wire cannot refuse, and order must be kept.
    while (!this.output.isBlocked && !this.#isClosed) {
      if (this.#admission !== undefined && this.#admission.room === 0) {
        this.#wait(this.#admission)
        break
      }
      const json = this.#frames.next()
      if (json === undefined) return
      this.#handle(parsePacket(json))
    }
    this.#frames.checkSize()
  }

  #wait(admission: Admission): void {
    if (this.#isWaiting || this.#frames.buffered === 0) return
    this.#isWaiting = true
    admission.whenFree(() => {
      this.#isWaiting = false
      if (!this.#isClosed) this.output.goOn()
    })
  }

  discard(): void {
    this.#frames.discard()
  }

  close(): void {
    this.#isClosed = true
    this.#unfinished = []
    for (const reply of this.#running.all()) reply.abort()
  }

  // ── a packet, from its pattern to its answer ─────────────────────────────────────────────────────────

  #handle(packet: NestPacket): void {
    const { pattern, data, metadata } = packet
    // What has neither pattern nor data is no packet of Nest's: an event of no pattern, its id is not answered.
    const id = pattern === undefined && data === undefined ? undefined : packet.id
    let text: string
    let route: string | undefined
    if (typeof pattern === 'string' && isPlainRoute(pattern)) {
      text = pattern
      route = pattern
    } else {
      const read = this.#patterns.read(pattern)
      text = read.text
      route = read.route
    }
    const kind = id === undefined ? 'event' : 'request'
    const message = new IncomingMessage({
      transport: 'tcp',
      kind,
      pattern: text,
      route,
      data,
      metadata,
      peer: this.#peer
    })
    if (id === undefined) this.#handleEvent(message)
    else this.#handleRequest(message, id)
  }

  #handleRequest(message: IncomingMessage, id: unknown): void {
    const idJson = idToJson(id)
    let result: unknown
    try {
      result = this.#dispatcher.request(message)
      if (typeof result === 'object' && result !== null && (isThenable(result) || isStream(result)))
        return this.#run(result, idJson, message)
    } catch (error) {
      return this.fail(idJson, error)
    }
    this.#reply(idJson, result)
  }

  /** The answer takes more than this turn. */
  #run(result: object, idJson: string, message: IncomingMessage): void {
    const reply = new RunningReply(this, idJson, message)
    this.#running.add(reply)
    answerWith(result, reply)
  }

  #handleEvent(message: IncomingMessage): void {
    this.#events++
    reportEvent(this.#dispatcher, message, this.logger, () => {
      this.#events--
      this.output.settled()
    })
  }

  #reply(idJson: string, value: unknown): void {
    let json: string | undefined
    try {
      json = toJson(value)
    } catch (error) {
      return this.fail(idJson, error)
    }
    this.sendPacket(lastValuePacket(json, idJson))
  }

  // ── what running replies need ────────────────────────────────────────────────────────────────────────

  /** Answers with the error of a handler; what its caller may not be told is logged. */
  fail(idJson: string, error: unknown): void {
    if (isNoHandler(error)) return this.sendPacket(noHandlerPacket(idJson))
    const failure = readFailure(error)
    let json: string | undefined
    if ('answer' in failure) {
      try {
        json = toJson(failure.answer)
      } catch (cause) {
        this.logger.error('The error of a handler cannot be written as JSON', cause)
      }
    } else if (failure.logged) {
      this.logger.error('A message handler failed', error)
    }
    this.sendPacket(errorPacket(json ?? JSON.stringify(INTERNAL_ERROR), idJson))
  }

  sendPacket(json: string): void {
    if (!this.#isClosed) this.output.send(encodeFrame(json))
  }

  /** Whether the connection may have one more stream; if not, why. What the handler returned has not begun. */
  openStream(): RejectedError | undefined {
    const { maxStreams } = this.#limits
    if (this.#streams < maxStreams) {
      this.#streams++
      return undefined
    }
    const reason = `The connection has as many streams as limits.streams allows (${maxStreams})`
    this.#limits.refused('streams', reason)
    return new RejectedError(reason)
  }

  hasRoomFor(reply: RunningReply): boolean {
    return this.output.hasRoomFor(reply)
  }

  /** Calls `turnEnded` of the reply once the current turn is over. */
  atTurnEnd(reply: RunningReply): void {
    if (this.#unfinished.length === 0) this.output.defer(this.#endTurn)
    this.#unfinished.push(reply)
  }

  ended(reply: RunningReply): void {
    if (!this.#running.delete(reply)) return
    if (reply.isStream) this.#streams--
    this.output.settled()
  }

  readonly #endTurn = (): void => {
    const unfinished = this.#unfinished
    this.#unfinished = []
    for (const reply of unfinished) reply.turnEnded()
  }
}
