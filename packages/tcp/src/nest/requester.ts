/**
 * The asking side of Nest's TCP wire: turns calls into frames, and reply packets into answers. Each connection has its
 * own, which also keeps the calls made before the connection is open.
 */
import {
  eventPacket,
  isForeign,
  isStream,
  OptionError,
  type Pattern,
  PayloadTooLargeError,
  type PendingCall,
  parsePacket,
  type Recover,
  readRemoteError,
  reasonOf,
  requestHead,
  requestPacket,
  routeOf,
  StreamTable,
  type Timer,
  type TimerOwner,
  toJson,
  unsendable
} from '@elysia-microservices/transport/kit'
import { cannotConnect, connectionClosed, sendBufferFull } from '../connection/connection-errors.ts'
import type { ClientProtocol, Output } from '../connection/protocol.ts'
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
  /** Is asked before a call fails. Default: the call fails. */
  readonly recover?: Recover | undefined
}

/** Most patterns whose head is kept as text; limited, because patterns may be made at run time. */
const MAX_HEADS = 1024

/** Makes calls over one connection. */
export class NestRequester implements ClientProtocol {
  readonly #options: NestRequesterOptions
  readonly #timer: Timer
  readonly #frames: NestFrameDecoder
  readonly #calls = new StreamTable<PendingCall>(Number.MAX_SAFE_INTEGER)
  readonly #heads = new Map<Pattern, string>()
  #output: Output | undefined
  /** Frames that wait for the connection, by their calls. */
  readonly #queued = new Map<PendingCall, string>()
  #queuedSize = 0
  /** Events that a blocked socket has not taken yet: their callers wait. */
  readonly #events = new Set<PendingCall>()
  #isClosed = false

  constructor(options: NestRequesterOptions) {
    this.#options = options
    this.#timer = options.newTimer(this)
    this.#frames = new NestFrameDecoder(options.maxBufferSize)
  }

  get started(): number {
    return this.#calls.last
  }

  get incomplete(): boolean {
    return this.#frames.incomplete
  }

  get buffered(): number {
    return this.#frames.buffered
  }

  get inFlight(): number {
    return this.#calls.size + this.#events.size
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  start(call: PendingCall): void {
    call.holder = this
    call.isSettled = false
    try {
      if (this.#isClosed) throw connectionClosed(this.#options.where, undefined, false)
      call.prepare(this.#timer, this.#options.timeout, this.#fail)
      const frame = call.kind === 'event' ? eventFrame(call) : this.#requestFrame(call)
      const output = this.#output
      this.#checkRoom(frame, output?.unsent ?? this.#queuedSize)
      if (output === undefined) {
        this.#queuedSize += frame.length
        this.#queued.set(call, frame)
      } else {
        this.#send(output, call, frame)
      }
    } catch (error) {
      this.#fail(call, unsendable(error))
    }
  }

  cancel(call: PendingCall): void {
    this.#end(call)
  }

  // Nest's wire has no demand: values come as fast as the server makes them.
  demand(): void {}

  #requestFrame(call: PendingCall): string {
    const head = this.#head(call.pattern)
    const data = dataToJson(call.data)
    const metadata = headersToJson(call)
    this.#calls.add(call)
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
    // The text of an object is not kept, because its owner may change it after the call.
    if (typeof pattern !== 'object' && this.#heads.size < MAX_HEADS) this.#heads.set(pattern, head)
    return head
  }

  // ── answers from the server ────────────────────────────────────────────────────────────────────────────

  receive(chunk: Uint8Array): void {
    this.#frames.push(chunk)
    this.resume()
  }

  resume(): void {
    this.#eventsTaken()
    for (let json = this.#frames.next(); json !== undefined; json = this.#frames.next()) this.#handle(json)
  }

  discard(): void {
    this.#frames.discard()
  }

  #handle(json: string): void {
    const packet = parsePacket(json)
    const call = this.#calls.get(Number(packet.id))
    if (call === undefined) return
    if (isForeign(packet)) {
      call.next(packet, json.length)
      return this.#complete(call)
    }
    if (packet.err) return this.#fail(call, readRemoteError(packet.err))
    const { response } = packet
    const hasEnded = Boolean(packet.isDisposed)
    const isSatisfied = (!hasEnded || response !== undefined) && call.next(response, json.length)
    if (hasEnded || isSatisfied) this.#complete(call)
  }

  // ── the connection, and the time ─────────────────────────────────────────────────────────────────────

  /** The connection is open: sends the waiting calls, in order. */
  open(output: Output): void {
    this.#output = output
    for (const [call, frame] of this.#queued) this.#send(output, call, frame)
    this.#queued.clear()
  }

  #send(output: Output, call: PendingCall, frame: string): void {
    output.send(frame)
    call.mayHaveRun = true
    if (call.kind !== 'event') return
    // An event has no answer: it is done when a socket has it that is not blocked.
    if (output.isBlocked) this.#events.add(call)
    else this.#complete(call)
  }

  /** The socket is not blocked any more: events that waited for it are done. */
  #eventsTaken(): void {
    if (this.#events.size === 0 || this.#output?.isBlocked !== false) return
    for (const call of [...this.#events]) this.#complete(call)
  }

  /** Every call that has not ended. */
  #pending(): Set<PendingCall> {
    return new Set([...this.#calls.all(), ...this.#queued.keys(), ...this.#events])
  }

  /** Gives up the calls whose time has passed. */
  wake(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const call of this.#pending()) {
      if (call.deadline > now) next = Math.min(next, call.deadline)
      else this.#fail(call, call.timedOut(call.mayHaveRun))
    }
    if (next !== Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  close(reason?: Error): void {
    this.#isClosed = true
    this.#timer.stop()
    const { where } = this.#options
    const wasConnected = this.#output !== undefined
    for (const call of this.#pending()) {
      const error = wasConnected
        ? connectionClosed(where, reason, true)
        : cannotConnect(where, reason, call.mayHaveRun)
      this.#fail(call, error)
    }
  }

  // ── the end of a call ────────────────────────────────────────────────────────────────────────────────

  #complete(call: PendingCall): void {
    // The receiver may have given up the call while it took the last value.
    if (this.#end(call)) call.complete()
  }

  readonly #fail = (call: PendingCall, error: Error): void => {
    if (this.#end(call) && this.#options.recover?.(call, error) !== true) call.fail(error)
  }

  /** The one place where a call ends. Returns false if it had already ended. */
  #end(call: PendingCall): boolean {
    if (call.isSettled) return false
    call.isSettled = true
    this.#calls.delete(call)
    if (this.#queued.size > 0) this.#unqueue(call)
    this.#events.delete(call)
    call.release()
    return true
  }

  /** The call is not sent, if it still waits for the connection. */
  #unqueue(call: PendingCall): void {
    const frame = this.#queued.get(call)
    if (frame === undefined) return
    this.#queued.delete(call)
    this.#queuedSize -= frame.length
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

function headersToJson({ options }: PendingCall): string | undefined {
  return options?.headers === undefined ? undefined : JSON.stringify(options.headers)
}
