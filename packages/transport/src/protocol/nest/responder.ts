/**
 * The answering side of Nest's TCP wire: frames in, handlers called, reply packets out. One instance for
 * each connection. Hot path of every server: a request whose handler returns a plain value takes one parse,
 * one look-up, one call and one stringify, and makes no promise and no closure.
 */
import type { Connection, Dispatcher } from '../../dispatch.ts'
import { IncomingMessage, NO_HANDLER } from '../../dispatch.ts'
import { RejectedError } from '../../errors.ts'
import { readFailure } from '../../failure.ts'
import type { Admission } from '../../limits/admission.ts'
import type { SharedLimits } from '../../limits/server-limits.ts'
import type { Logger } from '../../logger.ts'
import { isStream, isThenable } from '../../result.ts'
import type { Output, ProtocolConnection } from '../connection.ts'
import { encodeFrame, NestFrameDecoder } from './frame.ts'
import {
  errorPacket,
  INTERNAL_ERROR,
  idToJson,
  lastValuePacket,
  type NestPacket,
  noHandlerPacket,
  parsePacket,
  toJson
} from './packet.ts'
import { isPlainRoute, type PatternReader } from './route.ts'
import { type ReplyContext, StreamReply } from './stream-reply.ts'

/** What a responder needs beside the bytes. */
export interface NestResponderOptions {
  readonly dispatcher: Dispatcher
  readonly logger: Logger
  readonly output: Output
  readonly connection: Connection
  /** UTF-16 units that may wait to be handled. */
  readonly maxBufferSize: number
  /** Shared by the connections of a server. */
  readonly patterns: PatternReader
  readonly limits: SharedLimits
}

/** Answers one connection. */
export class NestResponder implements ProtocolConnection, ReplyContext {
  readonly #dispatcher: Dispatcher
  readonly #logger: Logger
  readonly #output: Output
  readonly #connection: Connection
  readonly #patterns: PatternReader
  readonly #frames: NestFrameDecoder
  readonly #limits: SharedLimits
  /** `undefined` if nothing limits the work of the server. */
  readonly #admission: Admission | undefined
  readonly #streams = new Set<StreamReply>()
  /** Streams with a value that waits for the end of the turn. */
  #held: StreamReply[] = []
  #inFlight = 0
  #closed = false
  /** Waits for the server to have room. */
  #waiting = false

  constructor(options: NestResponderOptions) {
    this.#dispatcher = options.dispatcher
    this.#logger = options.logger
    this.#output = options.output
    this.#connection = options.connection
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
    return this.#inFlight
  }

  get streams(): number {
    return this.#streams.size
  }

  get held(): boolean {
    return this.#waiting
  }

  receive(chunk: Uint8Array): void {
    this.#frames.push(chunk)
    this.resume()
  }

  resume(): void {
    // While the peer does not read its answers, requests wait here, bounded by maxBufferSize, and reading
    // goes on: Nest's client reads nothing while its own writes are blocked, so pausing would freeze both.
    // It is the same while the server has no room: this wire cannot refuse, and order must be kept.
    while (!this.#output.blocked && !this.#closed) {
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
    if (this.#waiting || this.#frames.buffered === 0) return
    this.#waiting = true
    admission.whenFree(() => {
      this.#waiting = false
      if (!this.#closed) this.#output.goOn()
    })
  }

  discard(): void {
    this.#frames.discard()
  }

  close(): void {
    this.#closed = true
    this.#held = []
    for (const stream of [...this.#streams]) stream.abort()
  }

  #handle(packet: NestPacket): void {
    let { pattern, id } = packet
    if (pattern === undefined && packet.data === undefined) {
      // Not a packet of Nest's: handled as an event of no pattern, its id is not answered.
      id = undefined
    }
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
    const message = new IncomingMessage(text, route, packet.data, packet.metadata, this.#connection, kind)
    if (id === undefined) this.#handleEvent(message)
    else this.#handleRequest(message, id)
  }

  #handleRequest(message: IncomingMessage, id: unknown): void {
    const idJson = idToJson(id)
    let result: unknown
    try {
      result = this.#dispatcher.request(message)
    } catch (error) {
      message.end()
      return this.fail(idJson, error)
    }
    if (result === NO_HANDLER) return this.sendPacket(noHandlerPacket(idJson))
    if (typeof result === 'object' && result !== null) {
      if (isThenable(result)) return this.#awaitResult(result, idJson, message)
      if (isStream(result)) return this.#stream(result, idJson, message)
    }
    message.end()
    this.#reply(idJson, result)
  }

  #awaitResult(result: PromiseLike<unknown>, idJson: string, message: IncomingMessage): void {
    this.#inFlight++
    result.then(
      (value) => {
        this.#inFlight--
        if (typeof value === 'object' && value !== null && isStream(value) && !this.#closed) {
          return this.#stream(value, idJson, message)
        }
        message.end()
        this.#reply(idJson, value)
        this.#output.settled()
      },
      (error: unknown) => {
        this.#inFlight--
        message.end()
        this.fail(idJson, error)
        this.#output.settled()
      }
    )
  }

  #stream(result: object, idJson: string, message: IncomingMessage): void {
    const { maxStreams } = this.#limits
    if (this.#streams.size >= maxStreams) return this.#refuseStream(idJson, message, maxStreams)
    const stream = new StreamReply(this, idJson, message)
    this.#inFlight++
    this.#streams.add(stream)
    stream.start(result)
  }

  /** What the handler returned is not taken: a generator has not begun, an Observable is not subscribed to. */
  #refuseStream(idJson: string, message: IncomingMessage, maxStreams: number): void {
    const reason = `The connection has as many streams as maxStreams allows (${maxStreams})`
    this.#limits.refused('streams', reason)
    message.end()
    this.fail(idJson, new RejectedError(reason))
    this.#output.settled()
  }

  #handleEvent(message: IncomingMessage): void {
    const running = this.#dispatcher.event(message)
    if (running === undefined) return
    this.#inFlight++
    void running.then(() => {
      this.#inFlight--
      this.#output.settled()
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

  fail(idJson: string, error: unknown): void {
    const failure = readFailure(error)
    let json: string | undefined
    if ('answer' in failure) {
      try {
        json = toJson(failure.answer)
      } catch (cause) {
        this.#logger.error('The error of a handler cannot be written as JSON', cause)
      }
    } else if (failure.logged) {
      this.#logger.error('A message handler failed', error)
    }
    this.sendPacket(errorPacket(json ?? JSON.stringify(INTERNAL_ERROR), idJson))
  }

  sendPacket(json: string): void {
    if (!this.#closed) this.#output.send(encodeFrame(json))
  }

  ready(): Promise<void> | undefined {
    return this.#output.ready()
  }

  atTurnEnd(stream: StreamReply): void {
    if (this.#held.length === 0) this.#output.defer(this.#endTurn)
    this.#held.push(stream)
  }

  ended(stream: StreamReply): void {
    this.#inFlight--
    this.#streams.delete(stream)
    this.#output.settled()
  }

  readonly #endTurn = (): void => {
    const held = this.#held
    this.#held = []
    for (const stream of held) stream.turnEnded()
  }
}
