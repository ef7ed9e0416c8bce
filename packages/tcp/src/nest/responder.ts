/**
 * The answering side of Nest's TCP wire: reads frames, calls handlers, sends reply packets. Each connection has its own
 * responder. This is the hot path of every server: a request whose handler returns a plain value takes one parse, one
 * lookup, one call and one stringify, and makes no promise and no closure.
 */

import type { Admission, Output, ProtocolConnection, SharedLimits } from '@elysia-microservices/rsocket'
import { ConnectionPeer, type PeerSide } from '@elysia-microservices/rsocket'
import {
  answerWith,
  type Dispatcher,
  IncomingMessage,
  isStream,
  isThenable,
  isTooDeep,
  type Logger,
  MAX_DEPTH,
  type Peer,
  ProtocolError,
  RejectedError,
  reportEvent,
  StreamTable,
  ValidationError
} from '@elysia-microservices/transport/kit'
import {
  failurePacket,
  idToJson,
  lastValuePacket,
  type NestPacket,
  RunningReply,
  readPacket,
  toJson
} from '@elysia-microservices/transport/nest'
import { encodeFrame, NestFrameDecoder } from './frame.ts'
import type { LeftEvents } from './left-events.ts'
import { isPlainRoute, type PatternReader } from './route.ts'

/** Options of a responder. */
export interface NestResponderOptions {
  readonly dispatcher: Dispatcher
  readonly logger: Logger
  readonly output: Output
  /** Most UTF-16 units that may wait to be handled. */
  readonly maxBufferSize: number
  /** Reads the patterns of packets. All connections of a server share one reader. */
  readonly patterns: PatternReader
  readonly limits: SharedLimits
  /** Handles the events that wait when their client closes the connection. */
  readonly left: LeftEvents
}

/** Answers the requests of one connection. */
export class NestResponder implements ProtocolConnection, PeerSide {
  /** No limit: a connection that has more unsent than limits.sendBuffer is cut, and then its streams end. */
  readonly maxAhead = Number.POSITIVE_INFINITY
  readonly #dispatcher: Dispatcher
  readonly logger: Logger
  readonly output: Output
  readonly #peer: Peer
  readonly #patterns: PatternReader
  readonly #left: LeftEvents
  #frames: NestFrameDecoder
  readonly #limits: SharedLimits
  /** Limits the work of the server; `undefined` if the work is not limited. */
  readonly #admission: Admission | undefined
  /** Requests that take more than one turn. */
  readonly #running = new StreamTable<RunningReply>()
  /** Streams that hold a value back until the end of the turn. Made for the first such stream. */
  #unfinished: RunningReply[] | undefined
  #streams = 0
  #events = 0
  readonly #eventEnded = () => {
    this.#events--
    this.output.settled()
  }

  #isClosed = false
  /** Whether frames wait because the server has no room. */
  #isWaiting = false

  constructor(options: NestResponderOptions) {
    this.#dispatcher = options.dispatcher
    this.logger = options.logger
    this.output = options.output
    this.#peer = new ConnectionPeer(this)
    this.#patterns = options.patterns
    this.#frames = new NestFrameDecoder(options.maxBufferSize)
    this.#left = options.left
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
    // While the peer does not read its answers, requests wait here, limited by limits.receiveBuffer, and reading
    // continues: Nest's client reads nothing while its own writes are blocked, so pausing would freeze both ends.
    // Requests also wait while the server has no room, because Nest's wire cannot refuse them, and their order must be
    // kept.
    while (!this.output.isBlocked && !this.#isClosed) {
      if (this.#admission !== undefined && this.#admission.room === 0) {
        this.#wait(this.#admission)
        break
      }
      const json = this.#frames.next()
      if (json === undefined) return
      this.#handle(readPacket(json), json.length)
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

  left(): void {
    if (this.#isClosed || this.#frames.buffered === 0) return
    const frames = this.#frames
    this.#frames = new NestFrameDecoder(0)
    this.#left.take({
      frames,
      handle: (json) => {
        const packet = readPacket(json)
        if (packet.id === undefined) this.#handle(packet, json.length)
      }
    })
  }

  discard(): void {
    this.#frames.discard()
    this.close()
  }

  close(): void {
    this.#isClosed = true
    for (const reply of this.#running.all()) reply.abort()
  }

  // ── a packet, from its pattern to its answer ─────────────────────────────────────────────────────────

  #handle(packet: NestPacket, size: number): void {
    const { pattern, data, metadata } = packet
    // JSON without pattern and data is not a packet of Nest: it counts as an event without a pattern, and gets no answer.
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
    if (size > 2 * MAX_DEPTH && this.#refusesDepth(packet, message)) return
    if (id === undefined) this.#handleEvent(message)
    else this.#handleRequest(message, id)
  }

  /**
   * Refuses a request whose data is nested too deeply. Only this request fails, because other calls on the connection
   * may belong to other users.
   * @returns false if the data is not nested too deeply
   * @throws {ProtocolError} the message is an event, or its pattern or id is nested too deeply
   */
  #refusesDepth({ id, pattern, data, metadata }: NestPacket, message: IncomingMessage): boolean {
    const expected = `at most ${MAX_DEPTH} levels of arrays and objects`
    if (isTooDeep(id) || isTooDeep(pattern)) throw new ProtocolError(`A packet must have ${expected}`)
    if (!isTooDeep(data) && !isTooDeep(metadata)) return false
    if (message.kind === 'event') throw new ProtocolError(`An event must have ${expected}`)
    this.fail(idToJson(id), new ValidationError('data', expected, data), message)
    return true
  }

  #handleRequest(message: IncomingMessage, id: unknown): void {
    const idJson = idToJson(id)
    let result: unknown
    try {
      result = this.#dispatcher.request(message)
      if (typeof result === 'object' && result !== null && (isThenable(result) || isStream(result)))
        return this.#run(result, idJson, message)
    } catch (error) {
      return this.fail(idJson, error, message)
    }
    this.#reply(idJson, result, message)
  }

  /** Runs a request whose answer takes more than this turn. */
  #run(result: object, idJson: string, message: IncomingMessage): void {
    const reply = new RunningReply(this, idJson, message)
    this.#running.add(reply)
    answerWith(result, reply)
  }

  #handleEvent(message: IncomingMessage): void {
    this.#events++
    reportEvent(this.#dispatcher, message, this.logger, this.#eventEnded)
  }

  #reply(idJson: string, value: unknown, message: IncomingMessage): void {
    let json: string | undefined
    try {
      json = toJson(value)
    } catch (error) {
      return this.fail(idJson, error, message)
    }
    this.sendPacket(lastValuePacket(json, idJson))
  }

  // ── called by running replies ────────────────────────────────────────────────────────────────────────

  /** Answers with the error of a handler. An unexpected error is logged, and the caller gets an internal error. */
  fail(idJson: string, error: unknown, message: IncomingMessage): void {
    this.sendPacket(failurePacket(error, idJson, this.logger, message))
  }

  sendPacket(json: string): void {
    if (!this.#isClosed) this.output.send(encodeFrame(json))
  }

  /** Counts one more stream. Returns the reason if the connection may not have another stream. */
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

  /** Calls `turnEnded` of the reply when the current turn of the event loop has ended. */
  atTurnEnd(reply: RunningReply): void {
    if (this.#unfinished === undefined) {
      this.#unfinished = []
      this.output.defer(() => this.#endTurn())
    }
    this.#unfinished.push(reply)
  }

  ended(reply: RunningReply): void {
    if (!this.#running.delete(reply)) return
    if (reply.isStream) this.#streams--
    this.output.settled()
  }

  #endTurn(): void {
    const unfinished = this.#unfinished ?? []
    this.#unfinished = undefined
    for (const reply of unfinished) reply.turnEnded()
  }
}
