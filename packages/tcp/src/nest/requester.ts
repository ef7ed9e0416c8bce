/**
 * The asking side of Nest's TCP wire: turns calls into frames, and reply packets into answers. Each connection has its
 * own requester, which also stores the calls made before the connection is open.
 */

import type { ClientProtocol, Output } from '@elysia-microservices/rsocket'
import {
  cannotConnect,
  connectionClosed,
  reasonOf as reasonInWords,
  sendBufferFull
} from '@elysia-microservices/rsocket'
import {
  type CallSender,
  isStream,
  MAX_DEPTH,
  OpenCalls,
  OptionError,
  type Pattern,
  PayloadTooLargeError,
  type PendingCall,
  ProtocolError,
  type Recover,
  reasonOf,
  routeOf,
  StreamTable,
  TimeoutError,
  type Timer,
  type TimerOwner
} from '@elysia-microservices/transport/kit'
import {
  eventPacket,
  isForeign,
  isPartTooDeep,
  readPacket,
  readRemoteError,
  requestHead,
  requestPacket,
  toJson
} from '@elysia-microservices/transport/nest'
import { encodeFrame, NestFrameDecoder } from './frame.ts'

/** Options of a requester. */
export interface NestRequesterOptions {
  /** The server's address for messages, such as `tcp://localhost:4000`. */
  readonly where: string
  /** Most UTF-16 units that may wait to be handled. */
  readonly maxBufferSize: number
  /** Most bytes that may wait to be sent. */
  readonly maxUnsent: number
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /** Makes the timer of the connection. */
  newTimer(owner: TimerOwner): Timer
  /** Called before a call fails; returns true if the function has taken the call over. Default: the call fails. */
  readonly recover?: Recover | undefined
  /** The name of the server, for the errors of calls. Default: the server has no name. */
  readonly endpoint?: string | undefined
  /** New calls should use another connection, because this one seems to be dead. Default: they use this one. */
  goingAway?(): void
}

/** Number of calls in a row that time out, without any byte of the server, after which the connection seems dead. */
const SILENT_CALLS = 3

/** Most patterns whose packet head is stored as text; limited, because patterns may be made at run time. */
const MAX_HEADS = 1024

/** Makes calls over one connection. */
export class NestRequester implements ClientProtocol, CallSender {
  readonly calls: OpenCalls
  readonly #options: NestRequesterOptions
  readonly #frames: NestFrameDecoder
  readonly #heads = new Map<Pattern, string>()
  #output: Output | undefined
  /** Frames that wait for the connection, by their calls. */
  readonly #queued = new Map<PendingCall, string>()
  #queuedSize = 0
  /** Number of calls that have timed out since the server last sent something. */
  #silentCalls = 0

  constructor(options: NestRequesterOptions) {
    const { timeout, newTimer: timer, endpoint } = options
    const recover: Recover = (call, error) => {
      if (error instanceof TimeoutError) this.#timedOut()
      return options.recover?.(call, error) === true
    }
    this.#options = options
    this.#frames = new NestFrameDecoder(options.maxBufferSize)
    const table = new StreamTable<PendingCall>(Number.MAX_SAFE_INTEGER)
    this.calls = new OpenCalls({ sender: this, timeout, timer, table, recover, endpoint: () => endpoint })
  }

  get incomplete(): boolean {
    return this.#frames.incomplete
  }

  get buffered(): number {
    return this.#frames.buffered
  }

  get inFlight(): number {
    return this.calls.inFlight
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  send(call: PendingCall): void {
    const frame = call.kind === 'event' ? eventFrame(call) : this.#requestFrame(call)
    const output = this.#output
    this.#checkRoom(frame, output?.unsent ?? this.#queuedSize)
    if (output !== undefined) return this.#write(output, call, frame)
    if (call.kind === 'event') this.calls.keep(call)
    this.#queuedSize += frame.length
    this.#queued.set(call, frame)
  }

  /**
   * Does nothing, because Nest's wire has no message for it: the server answers nevertheless, and the answer is
   * dropped.
   */
  cancel(): void {}

  /** If the call still waits for the connection, its frame is dropped. */
  over(call: PendingCall): void {
    const frame = this.#queued.size === 0 ? undefined : this.#queued.get(call)
    if (frame === undefined) return
    this.#queued.delete(call)
    this.#queuedSize -= frame.length
  }

  #requestFrame(call: PendingCall): string {
    const head = this.#head(call.pattern)
    const data = dataToJson(call.data)
    if (call.asksForHeaders)
      throw new OptionError(
        'options.onHeaders',
        "Nest's wire cannot carry headers of an answer (options.onHeaders, options.onTrailers); protocol 'rsocket' can"
      )
    const metadata = headersToJson(call)
    this.calls.add(call)
    return encodeFrame(requestPacket(head, data, metadata, call.sequence))
  }

  #checkRoom({ length }: string, unsent: number): void {
    const { maxUnsent } = this.#options
    if (unsent + length <= maxUnsent) return
    if (length > maxUnsent)
      throw new PayloadTooLargeError('limits.sendBuffer', maxUnsent, length, 'characters')
    throw sendBufferFull(unsent, length, maxUnsent)
  }

  #head(pattern: Pattern): string {
    let head = this.#heads.get(pattern)
    if (head !== undefined) return head
    routeOf(pattern)
    head = requestHead(pattern)
    // The text of an object is not stored, because its owner may change the object after the call.
    if (typeof pattern !== 'object' && this.#heads.size < MAX_HEADS) this.#heads.set(pattern, head)
    return head
  }

  // ── answers of the server ────────────────────────────────────────────────────────────────────────────

  receive(chunk: Uint8Array): void {
    this.#silentCalls = 0
    this.#frames.push(chunk)
    this.resume()
  }

  resume(): void {
    if (this.#output?.isBlocked === false) this.calls.taken()
    for (let json = this.#frames.next(); json !== undefined; json = this.#frames.next()) this.#handle(json)
  }

  discard(): void {
    this.#frames.discard()
  }

  #handle(json: string): void {
    const { calls } = this
    const packet = readPacket(json)
    const call = calls.get(Number(packet.id))
    if (call === undefined) return
    if (Object.values(packet).some((part) => isPartTooDeep(part, json.length)))
      return calls.fail(
        call,
        new ProtocolError(`The answer has more than ${MAX_DEPTH} levels of arrays and objects`)
      )
    if (isForeign(packet)) {
      calls.value(call, packet, json.length)
      return calls.complete(call)
    }
    if (packet.err) return calls.fail(call, readRemoteError(packet.err))
    const { response } = packet
    const hasEnded = Boolean(packet.isDisposed)
    if (!hasEnded || response !== undefined) calls.value(call, response, json.length)
    if (hasEnded) calls.complete(call)
  }

  // ── connection ───────────────────────────────────────────────────────────────────────────────────────

  /** The connection is open: sends the waiting calls, in order. */
  open(output: Output): void {
    this.#output = output
    for (const [call, frame] of this.#queued) this.#write(output, call, frame)
    this.#queued.clear()
  }

  #write(output: Output, call: PendingCall, frame: string): void {
    output.send(frame)
    call.mayHaveRun = true
    if (call.kind !== 'event') return
    // An event has no answer: it is complete as soon as a socket that is not blocked has taken it.
    if (output.isBlocked) this.calls.keep(call)
    else this.calls.complete(call)
  }

  /** Nest's wire has no sign of life by which a dead connection could be told from slow handlers. */
  #timedOut(): void {
    if (this.#output !== undefined && ++this.#silentCalls === SILENT_CALLS) this.#options.goingAway?.()
  }

  close(reason?: Error): void {
    const { where } = this.#options
    const error = this.#output === undefined ? cannotConnect : connectionClosed
    this.calls.close((mayHaveRun) => error(where, reason, mayHaveRun, reasonInWords))
  }
}

function eventFrame(call: PendingCall): string {
  return encodeFrame(eventPacket(routeOf(call.pattern), dataToJson(call.data), headersToJson(call)))
}

function dataToJson(data: unknown): string | undefined {
  if (typeof data === 'object' && data !== null && isStream(data))
    throw new OptionError('data', "Nest's wire cannot carry a stream as data; protocol 'rsocket' can")
  try {
    return toJson(data)
  } catch (cause) {
    throw new OptionError('data', `data cannot be carried by JSON: it ${reasonOf(cause)}`, cause)
  }
}

function headersToJson({ headers }: PendingCall): string | undefined {
  return headers === undefined ? undefined : JSON.stringify(headers)
}
