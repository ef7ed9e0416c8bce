/**
 * The asking side of an RSocket connection: calls in, request frames out; PAYLOAD and ERROR frames in,
 * answers out. Calls that have no lease wait here. Hot path of every client, and one story: how a call begins, is
 * answered and ends, which it must exactly once whoever ends it.
 */
import type { CallOptions, CallReceiver, StreamCall, StreamOptions } from '../../call.ts'
import type { Codec } from '../../codec/codec.ts'
import type { Codecs } from '../../codec/codecs.ts'
import {
  CanceledError,
  ConnectionError,
  ProtocolError,
  RejectedError,
  TimeoutError,
  ValidationError
} from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { type Pattern, routeOf } from '../../pattern.ts'
import { isStream } from '../../result.ts'
import type { Requester, Timer } from '../connection.ts'
import { type PendingCall, PendingRequest, PendingStream, type Recover } from '../pending-call.ts'
import { StreamTable } from '../stream-table.ts'
import { ChannelFeed } from './channel-feed.ts'
import { fromWireError, toWireError } from './failure-codes.ts'
import type { FrameSender } from './frame-sender.ts'
import { ErrorCode, Flag, FrameType } from './frame-type.ts'
import type { HeldLease } from './lease.ts'
import type { RawPayload } from './reassembly.ts'
import { dataMimeTypeOf, type MetadataWriter } from './request-metadata.ts'

/** The connection of a requester, as it sees it. */
export interface RequesterHost {
  /** Whether what is sent reaches a socket. */
  readonly connected: boolean
  /** Bytes that wait to be sent now. */
  readonly unsent: number
  /** No call waits any more. */
  settled(): void
}

/** What a requester needs of its connection. */
export interface RequesterInit {
  readonly role: 'client' | 'server'
  readonly host: RequesterHost
  readonly sender: FrameSender
  /** The codec of the connection's data. */
  readonly codec: Codec
  /** All codecs: an answer may be of another type. */
  readonly codecs: Codecs
  readonly logger: Logger
  readonly metadata: MetadataWriter
  /** The lease to ask for before a request; `undefined` if none is needed. */
  readonly lease: HeldLease | undefined
  /** Bytes that may wait to be sent. */
  readonly maxSendBufferSize: number
  /** Milliseconds for a call that says nothing else; 0 for no limit. */
  readonly timeout: number
  /** Whether the other side is told how long the caller waits, where the call does not say itself. */
  readonly tellTimeout: boolean
  readonly timer: Timer
  /** Is asked before a call fails. Default: every call fails that cannot go on. */
  readonly recover?: Recover | undefined
  /** Numbers the calls. Default: an empty one, see `streamTable`. */
  readonly calls?: StreamTable<PendingCall>
}

/** Calls that may wait for a lease. */
const MAX_WAITING = 65_536

/** A request frame that is still to be sent. */
interface Outgoing {
  readonly type: number
  readonly flags: number
  readonly initialN: number
  readonly metadata: Uint8Array
  readonly data: unknown
}

/**
 * The table of one side's calls. Stream ids of a client are 1, 3, 5 to 2^31-1, of a server 2, 4, 6 to 2^31-2;
 * then they start again. `last`: the sequence number given last.
 */
export function streamTable(role: 'client' | 'server', last = 0): StreamTable<PendingCall> {
  return new StreamTable(role === 'client' ? 2 ** 30 : 2 ** 30 - 1, last)
}

/**
 * Asks over one connection. What every call needs stands in fields of its own: of many connections with a call
 * each, none is in the processor's cache when its turn comes, and each object on the way is a wait for memory.
 */
export class RSocketRequester implements Requester {
  readonly #host: RequesterHost
  readonly #sender: FrameSender
  readonly #codec: Codec
  readonly #calls: StreamTable<PendingCall>
  readonly #timer: Timer
  readonly #metadata: MetadataWriter
  readonly #lease: HeldLease | undefined
  readonly #maxSendBufferSize: number
  readonly #timeout: number
  readonly #tellTimeout: boolean
  /** What the double of a call's number is less by to be its stream id: ids of a client are odd. */
  readonly #offset: 0 | 1
  #closed = false
  /**
   * Calls not sent yet: in order, with what they wait a lease for; a channel without its first value has none.
   * Made for the first of them.
   */
  #waiting: Map<PendingCall, Outgoing | undefined> | undefined
  /** Events that stand in the buffer of a connection that is not there yet. Made for the first of them. */
  #events: Set<PendingCall> | undefined
  readonly #codecs: Codecs
  readonly #logger: Logger
  readonly #recover: Recover | undefined

  constructor(init: RequesterInit) {
    this.#host = init.host
    this.#sender = init.sender
    this.#codec = init.codec
    this.#calls = init.calls ?? streamTable(init.role)
    this.#timer = init.timer
    this.#metadata = init.metadata
    this.#lease = init.lease
    this.#maxSendBufferSize = init.maxSendBufferSize
    this.#timeout = init.timeout
    this.#tellTimeout = init.tellTimeout
    this.#offset = init.role === 'client' ? 1 : 0
    this.#codecs = init.codecs
    this.#logger = init.logger
    this.#recover = init.recover
  }

  /** Calls that have no answer yet. */
  get inFlight(): number {
    return this.#calls.size + (this.#waiting?.size ?? 0)
  }

  get started(): number {
    return this.#calls.last
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

  start(call: PendingCall): void {
    call.home = this
    call.settled = false
    call.streamId = 0
    const { kind, data } = call
    if (kind === 'event') this.#start(call, FrameType.REQUEST_FNF)
    else if (isStreamOfValues(data))
      this.#startChannel(call, kind === 'request' ? 1 : call.initialDemand, data)
    else this.#start(call, kind === 'request' ? FrameType.REQUEST_RESPONSE : FrameType.REQUEST_STREAM)
  }

  cancel(call: PendingCall): void {
    this.#cancel(call)
  }

  demand(call: PendingCall, n: number): void {
    // What is asked for before the request leaves is part of the request.
    if (call.streamId !== 0 && !call.settled) this.#sender.requestN(call.streamId, n)
  }

  pushMetadata(metadata: Uint8Array): void {
    if (this.#closed) throw new ConnectionError('Connection closed', false)
    this.#sender.metadataPush(metadata)
  }

  /** A PAYLOAD for one of our streams. */
  payload(streamId: number, flags: number, payload: RawPayload): void {
    const call = this.#calls.get(sequenceOf(streamId))
    let satisfied = false
    if (flags & Flag.NEXT) {
      if (call === undefined) return this.skip(payload)
      let codec: Codec | undefined
      let value: unknown
      try {
        codec = this.#codecOf(payload)
        value = codec.decode(payload.buffer, payload.dataStart, payload.dataEnd)
      } catch (error) {
        // What a codec with a memory has not understood, it will not understand later either.
        if (codec?.stateful) throw error
        if ((flags & Flag.COMPLETE) === 0) this.#sender.cancel(streamId)
        return this.#fail(call, error as Error)
      }
      // `firstValueFrom` gives a stream up in the turn in which it gets its only value.
      if (flags & Flag.COMPLETE && call.input === undefined) call.over = true
      satisfied = call.next(value)
    }
    if (call === undefined) return
    if (satisfied || flags & Flag.COMPLETE) {
      const ended = (flags & Flag.COMPLETE) !== 0
      // A channel goes on at the other side until both directions have ended, or it is told.
      if (call.input !== undefined && !(ended && call.input.stopped)) this.#sender.cancel(streamId)
      if (this.#finish(call) && !satisfied) call.complete()
      return
    }
    const demand = call.replenish()
    if (demand > 0 && !call.settled) this.#sender.requestN(streamId, demand)
  }

  /** A value that nobody waits for: a codec with a memory must see it all the same. */
  skip(payload: RawPayload): void {
    const codec = this.#codec
    if (!codec.stateful) return
    const mimeType = payload.metadataStart < 0 ? undefined : dataMimeTypeOf(payload)
    if (mimeType === undefined || mimeType === codec.mimeType)
      codec.decode(payload.buffer, payload.dataStart, payload.dataEnd)
  }

  /** An ERROR for one of our streams. */
  error(streamId: number, code: number, data: string): void {
    const call = this.#calls.get(sequenceOf(streamId))
    if (call === undefined) return
    // A server that was told of the deadline may be heard before a busy client has looked at its own clock.
    const late = code === ErrorCode.CANCELED && this.#timer.now() >= call.deadline
    this.#fail(call, late ? new TimeoutError(call.name, call.timeout) : fromWireError(code, data, call.name))
  }

  /** The other side takes `n` more values of a channel. */
  requestN(streamId: number, n: number): void {
    this.#calls.get(sequenceOf(streamId))?.input?.requestN(n)
  }

  /** The other side takes no more values of a channel. */
  inputCanceled(streamId: number): void {
    this.#calls.get(sequenceOf(streamId))?.input?.stop()
  }

  /** The connection is there: events that have waited for it are on their way. */
  connected(): void {
    for (const call of [...(this.#events ?? [])]) if (this.#finish(call)) call.complete()
  }

  /** A lease has come: sends what has waited for one. */
  leased(): void {
    for (const [call, outgoing] of this.#waiting ?? []) {
      if (outgoing === undefined) continue
      if (this.#lease?.use() === false) return
      this.#waiting?.delete(call)
      this.#trySend(call, outgoing)
    }
  }

  /** Gives up the calls whose time has passed. */
  expire(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const call of [...this.#calls.all(), ...(this.#waiting?.keys() ?? [])]) {
      if (call.deadline > now) next = Math.min(next, call.deadline)
      else this.#cancel(call, new TimeoutError(call.name, call.timeout))
    }
    if (next !== Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  /** The connection is gone for good. @param sent whether frames may have reached the other side */
  close(sent: boolean, reason?: Error): void {
    this.#closed = true
    const text = `${sent ? 'Connection closed' : 'Connection failed'}${reason === undefined ? '' : `: ${reason.message}`}`
    for (const call of this.#calls.all()) this.#fail(call, new ConnectionError(text, sent, reason))
    for (const call of [...(this.#waiting?.keys() ?? []), ...(this.#events ?? [])])
      this.#fail(call, new ConnectionError(text, false, reason))
  }

  #start(call: PendingCall, type: number): void {
    const { data, initialDemand: initialN } = call
    try {
      this.#prepare(call)
      const metadata = this.#metadataOf(call)
      const lease = this.#lease
      if (lease === undefined || (!this.#waiting?.size && lease.use())) {
        this.#send(call, type, 0, initialN, metadata, data)
      } else this.#wait(call, { type, flags: 0, initialN, metadata, data })
    } catch (error) {
      this.#fail(call, error as Error)
    }
  }

  #startChannel(call: PendingCall, initialN: number, source: object): void {
    try {
      this.#prepare(call)
      const metadata = this.#metadataOf(call)
      this.#waiting ??= new Map()
      this.#waiting.set(call, undefined)
      call.input = new ChannelFeed({
        open: (data, complete) => {
          const flags = complete ? Flag.COMPLETE : 0
          const outgoing = { type: FrameType.REQUEST_CHANNEL, flags, initialN, metadata, data }
          if (this.#lease?.use() === false) return this.#wait(call, outgoing)
          this.#waiting?.delete(call)
          this.#trySend(call, outgoing)
        },
        next: (value) =>
          this.#sender.payload(
            call.streamId,
            FrameType.PAYLOAD,
            Flag.NEXT,
            -1,
            undefined,
            this.#codec,
            value
          ),
        complete: () => this.#sender.complete(call.streamId),
        fail: (error) => {
          const { code, data } = toWireError(error, this.#logger)
          if (call.streamId !== 0 && !call.settled) this.#sender.error(call.streamId, code, data)
          this.#fail(call, error)
        }
      })
      call.input.start(source)
    } catch (error) {
      this.#fail(call, error as Error)
    }
  }

  /** What every call needs before its frame: it may be too late, and must not wait for ever. */
  #prepare(call: PendingCall): void {
    if (this.#closed) throw new ConnectionError('Connection closed', false)
    const { options } = call
    const timeout = call.kind === 'event' ? 0 : (options?.timeout ?? this.#timeout)
    if (!(timeout >= 0)) throw new ValidationError('options.timeout', 'milliseconds, 0 for no limit', timeout)
    const signal = options?.signal
    if (signal?.aborted) throw new CanceledError(call.name, signal.reason)
    call.limit(this.#timer, timeout)
    if (signal === undefined) return
    const abort = () => this.#cancel(call, new CanceledError(call.name, signal.reason))
    signal.addEventListener('abort', abort, { once: true })
    call.cleanUp = () => signal.removeEventListener('abort', abort)
  }

  #metadataOf(call: PendingCall): Uint8Array {
    const { pattern, options } = call
    const told = call.kind !== 'event' && (options?.timeout !== undefined || this.#tellTimeout)
    const route = typeof pattern === 'string' ? pattern : routeOf(pattern)
    return this.#metadata.write(route, options?.headers, told ? this.#left(call) : undefined)
  }

  /** Milliseconds the other side has for the call; `undefined` for no limit. */
  #left(call: PendingCall): number | undefined {
    if (call.timeout === 0) return undefined
    // A call that comes to its first connection at once has all its time; the clock need not be asked.
    if (!call.delayed) return call.timeout
    return Math.max(1, Math.ceil(call.deadline - this.#timer.now()))
  }

  #wait(call: PendingCall, outgoing: Outgoing): void {
    this.#waiting ??= new Map()
    if (this.#waiting.size >= MAX_WAITING)
      throw new RejectedError(`${MAX_WAITING} calls wait for a lease already`)
    this.#waiting.set(call, outgoing)
  }

  #trySend(call: PendingCall, { type, flags, initialN, metadata, data }: Outgoing): void {
    try {
      this.#send(call, type, flags, initialN, metadata, data)
    } catch (error) {
      this.#fail(call, error as Error)
    }
  }

  #send(
    call: PendingCall,
    type: number,
    flags: number,
    initialN: number,
    metadata: Uint8Array,
    data: unknown
  ): void {
    const host = this.#host
    if (host.unsent > this.#maxSendBufferSize) {
      throw new RejectedError(
        `More than maxSendBufferSize (${this.#maxSendBufferSize} bytes) of calls wait to be sent`
      )
    }
    this.#calls.add(call)
    const streamId = call.sequence * 2 - this.#offset
    try {
      const demand = initialN < 0 ? -1 : initialN + call.extraDemand
      this.#sender.payload(streamId, type, flags, demand, metadata, this.#codec, data)
    } catch (error) {
      // Stream ids leave no gaps.
      this.#calls.takeBack(call)
      throw error
    }
    if (type !== FrameType.REQUEST_FNF) {
      call.streamId = streamId
      return
    }
    // Nobody answers an event: it is done when it is with the connected socket.
    this.#calls.delete(call)
    if (host.connected) {
      if (this.#finish(call)) call.complete()
    } else {
      this.#events ??= new Set()
      this.#events.add(call)
    }
  }

  /** @throws {ProtocolError} it is of a type that there is no codec for */
  #codecOf(payload: RawPayload): Codec {
    const mimeType = payload.metadataStart < 0 ? undefined : dataMimeTypeOf(payload)
    if (mimeType === undefined) return this.#codec
    const codec = this.#codecs.get(mimeType)
    if (codec === undefined) throw new ProtocolError(`There is no codec for data of type ${mimeType}`)
    return codec
  }

  /** Gives a call up and tells the other side. */
  #cancel(call: PendingCall, error?: Error): void {
    if (!this.#finish(call)) return
    if (call.streamId !== 0 && !call.over) this.#sender.cancel(call.streamId)
    if (error !== undefined && this.#recover?.(call, error) !== true) call.fail(error)
  }

  #fail(call: PendingCall, error: Error): void {
    if (this.#finish(call) && this.#recover?.(call, error) !== true) call.fail(error)
  }

  /** The one place where a call ends; false if it has ended before. */
  #finish(call: PendingCall): boolean {
    if (call.settled) return false
    call.settled = true
    this.#calls.delete(call)
    this.#waiting?.delete(call)
    this.#events?.delete(call)
    call.release()
    if (this.inFlight === 0) this.#host.settled()
    return true
  }
}

/** The number of a stream in its table. Unsigned: 2^31-1 is a stream id too. */
function sequenceOf(streamId: number): number {
  return (streamId + 1) >>> 1
}

function isStreamOfValues(data: unknown): data is object {
  return typeof data === 'object' && data !== null && isStream(data)
}
