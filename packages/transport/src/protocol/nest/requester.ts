/**
 * The asking side of Nest's TCP wire: calls in, frames out; reply packets in, answers out. One instance for
 * each connection, from the moment it is being made. Calls made before it is open wait here.
 */
import type { CallOptions, CallReceiver, StreamCall, StreamOptions } from '../../call.ts'
import {
  CanceledError,
  ConnectionError,
  PayloadTooLargeError,
  RejectedError,
  TimeoutError,
  ValidationError
} from '../../errors.ts'
import { type Pattern, routeOf } from '../../pattern.ts'
import { isStream } from '../../result.ts'
import type { ClientProtocol, Output, Requester, Timer } from '../connection.ts'
import { type PendingCall, PendingRequest, PendingStream, type Recover } from '../pending-call.ts'
import { StreamTable } from '../stream-table.ts'
import { encodeFrame, NestFrameDecoder } from './frame.ts'
import { eventPacket, parsePacket, requestHead, requestPacket, toJson } from './packet.ts'
import { isForeign, readRemoteError } from './reply.ts'

/** What a requester needs beside the bytes. */
export interface NestRequesterOptions {
  /** UTF-16 units that may wait to be handled. */
  readonly maxBufferSize: number
  /** Bytes that may wait to be sent. */
  readonly maxSendBufferSize: number
  /** Milliseconds for a call that says nothing else; 0 for no limit. */
  readonly timeout: number
  readonly timer: Timer
  /** Is asked before a call fails. Default: every call fails that cannot go on. */
  readonly recover?: Recover | undefined
}

/** A frame that waits for the connection to be made. */
interface QueuedFrame {
  readonly frame: string
  /** False if its call has been given up meanwhile. */
  wanted(): boolean
  sent?(): void
  lost?(error: Error): void
}

/** Patterns whose head is kept as text; bounded, because patterns may be made at run time. */
const MAX_HEADS = 1024

/** Asks over one connection. */
export class NestRequester implements ClientProtocol, Requester {
  readonly #options: NestRequesterOptions
  readonly #frames: NestFrameDecoder
  readonly #calls = new StreamTable<PendingCall>(Number.MAX_SAFE_INTEGER)
  readonly #heads = new Map<Pattern, string>()
  #output: Output | undefined
  #queued: QueuedFrame[] = []
  #queuedSize = 0
  #closed = false

  constructor(options: NestRequesterOptions) {
    this.#options = options
    this.#frames = new NestFrameDecoder(options.maxBufferSize)
  }

  get caller(): Requester {
    return this
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
    return this.#calls.size
  }

  /** The connection is there: sends what has waited for it, in order. */
  open(output: Output): void {
    this.#output = output
    const queued = this.#queued
    this.#queued = []
    for (const entry of queued) {
      if (!entry.wanted()) continue
      output.send(entry.frame)
      entry.sent?.()
    }
  }

  request(pattern: Pattern, data: unknown, options?: CallOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.start(new PendingRequest(pattern, 'request', data, options, resolve, reject))
    })
  }

  stream(pattern: Pattern, data: unknown, receiver: CallReceiver, options?: StreamOptions): StreamCall {
    const call = new PendingStream(pattern, data, receiver, options, options?.demand)
    this.start(call)
    return call.handle()
  }

  emit(pattern: Pattern, data: unknown, options?: Pick<CallOptions, 'headers' | 'stickyKey'>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.start(new PendingRequest(pattern, 'event', data, options, () => resolve(), reject))
    })
  }

  cancel(call: PendingCall): void {
    if (this.#calls.delete(call)) call.release()
  }

  // This wire has no demand: values come as fast as the server makes them.
  demand(): void {}

  receive(chunk: Uint8Array): void {
    this.#frames.push(chunk)
    this.resume()
  }

  resume(): void {
    for (let json = this.#frames.next(); json !== undefined; json = this.#frames.next()) this.#handle(json)
  }

  discard(): void {
    this.#frames.discard()
  }

  close(reason?: Error): void {
    this.#closed = true
    this.#options.timer.stop()
    const sent = this.#output !== undefined
    const message = sent ? 'Connection closed' : 'Connection failed'
    const cause = reason === undefined ? '' : `: ${reason.message}`
    const error = () => new ConnectionError(message + cause, sent, reason)
    const queued = this.#queued
    this.#queued = []
    for (const entry of queued) entry.lost?.(error())
    for (const call of this.#calls.all()) this.#fail(call, error())
  }

  /** Gives up the calls whose time has passed. */
  wake(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const call of this.#calls.all()) {
      if (call.deadline > now) next = Math.min(next, call.deadline)
      else this.#fail(call, new TimeoutError(call.name, call.timeout))
    }
    if (next !== Number.POSITIVE_INFINITY) this.#options.timer.wakeAt(next)
  }

  start(call: PendingCall): void {
    call.home = this
    const { data, options } = call
    if (call.kind === 'event') return this.#startEvent(call)
    try {
      const { signal } = options ?? {}
      if (signal?.aborted) throw new CanceledError(call.name, signal.reason)
      const timeout = timeoutOf(options?.timeout ?? this.#options.timeout)
      const head = this.#head(call.pattern)
      const json = dataToJson(data)
      const metadata = headersToJson(options)
      this.#calls.add(call)
      const frame = encodeFrame(requestPacket(head, json, metadata, call.sequence))
      const output = this.#output
      // The open connection with room first; every other case is rare and may cost more.
      if (
        output !== undefined &&
        output.unsent + frame.length <= this.#options.maxSendBufferSize &&
        !this.#closed
      ) {
        output.send(frame)
      } else {
        this.#transmit({ frame, wanted: () => this.#calls.get(call.sequence) === call })
      }
      call.limit(this.#options.timer, timeout)
      if (signal !== undefined) this.#cancelWith(call, signal)
    } catch (error) {
      this.#calls.delete(call)
      this.#giveUp(call, error as Error)
    }
  }

  #startEvent(call: PendingCall): void {
    const lost = (error: Error) => this.#giveUp(call, error)
    try {
      const packet = eventPacket(routeOf(call.pattern), dataToJson(call.data), headersToJson(call.options))
      const sent = () => call.complete()
      this.#transmit({ frame: encodeFrame(packet), wanted: () => true, sent, lost })
    } catch (error) {
      lost(error as Error)
    }
  }

  #cancelWith(call: PendingCall, signal: AbortSignal): void {
    const abort = () => this.#fail(call, new CanceledError(call.name, signal.reason))
    signal.addEventListener('abort', abort, { once: true })
    call.cleanUp = () => signal.removeEventListener('abort', abort)
  }

  #transmit(entry: QueuedFrame): void {
    if (this.#closed) throw new ConnectionError('Connection closed', false)
    const output = this.#output
    const { maxSendBufferSize } = this.#options
    const { frame } = entry
    if (frame.length > maxSendBufferSize) {
      throw new PayloadTooLargeError('maxSendBufferSize', maxSendBufferSize, frame.length, 'characters')
    }
    if ((output?.unsent ?? this.#queuedSize) + frame.length > maxSendBufferSize) {
      throw new RejectedError(`maxSendBufferSize (${maxSendBufferSize} bytes) of unsent calls are waiting`)
    }
    if (output === undefined) {
      this.#queuedSize += frame.length
      this.#queued.push(entry)
    } else {
      output.send(frame)
      entry.sent?.()
    }
  }

  #head(pattern: Pattern): string {
    let head = this.#heads.get(pattern)
    if (head !== undefined) return head
    routeOf(pattern)
    head = requestHead(pattern)
    // Objects can be changed by their owner after the call, so their text is not kept.
    if (typeof pattern !== 'object' && this.#heads.size < MAX_HEADS) this.#heads.set(pattern, head)
    return head
  }

  #handle(json: string): void {
    const packet = parsePacket(json)
    const call = this.#calls.get(Number(packet.id))
    if (call === undefined) return
    if (isForeign(packet)) {
      call.next(packet)
      return this.#complete(call)
    }
    if (packet.err) return this.#fail(call, readRemoteError(packet.err))
    const { response } = packet
    const ended = Boolean(packet.isDisposed)
    const satisfied = (!ended || response !== undefined) && call.next(response)
    if (ended || satisfied) this.#complete(call)
  }

  #complete(call: PendingCall): void {
    // Its owner may have given it up while it took its last value.
    if (!this.#calls.delete(call)) return
    call.release()
    call.complete()
  }

  #fail(call: PendingCall, error: Error): void {
    if (this.#calls.delete(call)) this.#giveUp(call, error)
  }

  #giveUp(call: PendingCall, error: Error): void {
    call.release()
    if (this.#options.recover?.(call, error) !== true) call.fail(error)
  }
}

function dataToJson(data: unknown): string | undefined {
  if (typeof data === 'object' && data !== null && isStream(data)) {
    throw new ValidationError(
      'data',
      "a value (Nest's wire cannot carry a stream; protocol 'rsocket' can)",
      data
    )
  }
  try {
    return toJson(data)
  } catch (cause) {
    throw new ValidationError('data', `a value that JSON can carry (${(cause as Error).message})`, data)
  }
}

function headersToJson(options: Pick<CallOptions, 'headers'> | undefined): string | undefined {
  return options?.headers === undefined ? undefined : JSON.stringify(options.headers)
}

function timeoutOf(timeout: number): number {
  if (timeout >= 0) return timeout
  throw new ValidationError('options.timeout', 'milliseconds, 0 for no limit', timeout)
}
