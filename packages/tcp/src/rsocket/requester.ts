/**
 * The asking side of an RSocket connection: turns calls into request frames, and PAYLOAD and ERROR frames into answers.
 * Calls without a lease wait here. Hot path of every client, in one story: how a call begins, is answered, and ends
 * exactly once, whatever ends it.
 */
import {
  type CallHolder,
  ChannelFeed,
  type Codec,
  ConnectionError,
  isStream,
  jsonCodec,
  type Logger,
  OverloadedError,
  openCodec,
  type PendingCall,
  ProtocolError,
  type Recover,
  readUint24,
  routeOf,
  StreamTable,
  type Timer,
  unsendable
} from '@elysia-microservices/transport/kit'
import { fromWireError, toWireError } from './failure-codes.ts'
import { ErrorCode, Flag, FrameType } from './frame-type.ts'
import { sequenceOf } from './frames.ts'
import type { HeldLease } from './lease.ts'
import { dataOf, type Payload, unreadOf } from './payload.ts'
import { dataMimeTypeOf, metadataWriter } from './request-metadata.ts'
import { encodeAlone, type Wire } from './wire.ts'

/** The parts from which a requester is made. */
export interface RequesterInit {
  readonly role: 'client' | 'server'
  readonly wire: Wire
  /** The codec of the connection's data. */
  readonly codec: Codec
  readonly logger: Logger
  /** The lease that requests use; `undefined` if none is needed. */
  readonly lease: HeldLease | undefined
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /** Whether the other side is told `timeout`. The timeout of a single call is always told. */
  readonly tellTimeout: boolean
  readonly timer: Timer
  /** Is called when no call is in flight any more. */
  idle(): void
  /** Is asked before a call fails. Default: the call fails. */
  readonly recover?: Recover | undefined
  /** Numbers the calls. Default: an empty `streamTable`. */
  readonly calls?: StreamTable<PendingCall>
}

/** Most calls that may wait for a lease. */
const MAX_WAITING = 65_536
const LENGTH_FIELD = 3

/** A request frame that waits to be sent. */
interface Outgoing {
  readonly type: number
  /** May change while it waits: the input of a channel may end. */
  flags: number
  readonly initialN: number
  readonly metadata: Uint8Array
  readonly data: unknown
}

/**
 * Makes the table of one side's calls. A client's stream ids are 1, 3, 5 to 2^31-1, a server's 2, 4, 6 to 2^31-2; then
 * they start again. @param last the last sequence number in use
 */
export function streamTable(role: 'client' | 'server', last = 0): StreamTable<PendingCall> {
  return new StreamTable(role === 'client' ? 2 ** 30 : 2 ** 30 - 1, last)
}

/** Makes calls over one connection. */
export class RSocketRequester implements CallHolder {
  readonly #wire: Wire
  readonly #codec: Codec
  readonly #calls: StreamTable<PendingCall>
  readonly #timer: Timer
  readonly #lease: HeldLease | undefined
  readonly #timeout: number
  readonly #tellTimeout: boolean
  /** streamId = 2 × sequence − offset. 1 for clients, whose ids are odd; 0 for servers. */
  readonly #offset: 0 | 1
  readonly #logger: Logger
  readonly #idle: () => void
  readonly #recover: Recover | undefined
  #isClosed = false
  /**
   * Calls not sent yet, in order, with the frames that wait for a lease; `undefined` for a channel that waits for its
   * first value. Made for the first of them.
   */
  #waiting: Map<PendingCall, Outgoing | undefined> | undefined
  /** Events that wait for a socket, or for a blocked one: their callers wait. Made for the first of them. */
  #events: Set<PendingCall> | undefined

  constructor(init: RequesterInit) {
    this.#wire = init.wire
    this.#codec = init.codec
    this.#calls = init.calls ?? streamTable(init.role)
    this.#timer = init.timer
    this.#lease = init.lease
    this.#timeout = init.timeout
    this.#tellTimeout = init.tellTimeout
    this.#offset = init.role === 'client' ? 1 : 0
    this.#logger = init.logger
    this.#idle = init.idle
    this.#recover = init.recover
  }

  /** Calls in flight. */
  get inFlight(): number {
    return this.#calls.size + (this.#waiting?.size ?? 0) + (this.#events?.size ?? 0)
  }

  /** Number of calls made so far. */
  get started(): number {
    return this.#calls.last
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  /** Sends a call, new or made again. */
  start(call: PendingCall): void {
    call.holder = this
    call.isSettled = false
    call.streamId = 0
    try {
      if (this.#isClosed) throw new ConnectionError('The connection is closed', false)
      call.prepare(this.#timer, this.#timeout, this.#abandon)
      const { kind, data } = call
      const metadata = this.#metadataOf(call)
      if (kind === 'event') this.#request(call, FrameType.REQUEST_FNF, metadata)
      else if (typeof data === 'object' && data !== null && isStream(data))
        this.#startChannel(call, data, metadata)
      else
        this.#request(
          call,
          kind === 'request' ? FrameType.REQUEST_RESPONSE : FrameType.REQUEST_STREAM,
          metadata
        )
    } catch (error) {
      this.#fail(call, unsendable(error))
    }
  }

  cancel(call: PendingCall): void {
    this.#giveUp(call)
  }

  demand(call: PendingCall, n: number): void {
    // Demand granted before the request is sent becomes part of the request.
    if (call.streamId !== 0 && !call.isSettled) this.#wire.requestN(call.streamId, n)
  }

  #request(call: PendingCall, type: number, metadata: Uint8Array): void {
    const { data, initialDemand: initialN } = call
    const lease = this.#lease
    // A lease is used up, or over, while calls wait for the next one: this call comes behind them.
    if (lease === undefined || lease.use()) this.#send(call, type, 0, initialN, metadata, data)
    else this.#wait(call, { type, flags: 0, initialN, metadata, data })
  }

  #startChannel(call: PendingCall, source: object, metadata: Uint8Array): void {
    const initialN = call.kind === 'request' ? 1 : call.initialDemand
    this.#waiting ??= new Map()
    this.#waiting.set(call, undefined)
    const wire = this.#wire
    const codec = this.#codec
    /** Values wait that were written before the call had its stream id. */
    let isUnaddressed = false
    call.input = new ChannelFeed({
      maxHeldSize: wire.maxUnsent,
      hasRoomFor: (feed) => wire.hasRoomFor(feed),
      open: (data, isOnly) => {
        const flags = isOnly ? Flag.COMPLETE : 0
        const outgoing = { type: FrameType.REQUEST_CHANNEL, flags, initialN, metadata, data }
        if (this.#lease?.use() === false) return this.#wait(call, outgoing)
        this.#waiting?.delete(call)
        this.#trySend(call, outgoing)
      },
      next: (value) => {
        const data = codec.encode(value)
        // A `toJSON` may have ended the call whose value it is.
        if (call.isSettled) return codec.takenBack?.()
        wire.payload(call.streamId, Flag.NEXT, undefined, codec, data)
      },
      encode: (value) => encodeAlone(codec, value),
      writeHeld: (encoded, out) => {
        if (call.streamId === 0) isUnaddressed = true
        wire.hold(call.streamId, undefined, encoded, out)
      },
      sendHeld: (bytes) => {
        if (isUnaddressed) address(bytes, call.streamId)
        wire.held(bytes, codec)
      },
      complete: () => {
        if (call.streamId !== 0) return wire.complete(call.streamId)
        // The request waits for a lease, and is all there is.
        const outgoing = this.#waiting?.get(call)
        if (outgoing !== undefined) outgoing.flags |= Flag.COMPLETE
      },
      fail: (error) => {
        const { code, data } = toWireError(
          error,
          this.#logger,
          `The input of the channel '${call.name}' failed`
        )
        if (call.streamId !== 0 && !call.isSettled) wire.error(call.streamId, code, data)
        this.#fail(call, error)
      },
      teardownFailed: (error) => this.#logger.error('The clean-up of a stream failed', error)
    })
    call.input.start(source)
  }

  #metadataOf(call: PendingCall): Uint8Array {
    const { pattern, options } = call
    const isTold = call.kind !== 'event' && (options?.timeout !== undefined || this.#tellTimeout)
    const route = typeof pattern === 'string' ? pattern : routeOf(pattern)
    return metadataWriter.write(route, options?.headers, isTold ? this.#left(call) : undefined)
  }

  /** Milliseconds that the other side has for the call; `undefined` for no limit. */
  #left(call: PendingCall): number | undefined {
    if (call.timeout === 0) return undefined
    // A call that did not have to wait has all its time left: saves asking the clock.
    if (!call.isDelayed) return call.timeout
    return Math.max(1, Math.ceil(call.deadline - this.#timer.now()))
  }

  #wait(call: PendingCall, outgoing: Outgoing): void {
    this.#waiting ??= new Map()
    if (this.#waiting.size >= MAX_WAITING)
      throw new OverloadedError(
        `${MAX_WAITING} calls already wait for a lease of the server; make fewer calls at the same time`
      )
    this.#waiting.set(call, outgoing)
  }

  #trySend(call: PendingCall, { type, flags, initialN, metadata, data }: Outgoing): void {
    try {
      this.#send(call, type, flags, initialN, metadata, data)
    } catch (error) {
      this.#fail(call, unsendable(error))
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
    const wire = this.#wire
    const codec = this.#codec
    // Before the call has a stream: a `toJSON` may make calls of its own, and may end this one or the connection.
    const encoded = codec.encode(data)
    if (call.isSettled) return codec.takenBack?.()
    if (this.#isClosed) throw new ConnectionError('The connection is closed', false)
    this.#calls.add(call)
    const streamId = call.sequence * 2 - this.#offset
    try {
      const demand = initialN < 0 ? -1 : initialN + call.extraDemand
      wire.request(streamId, type, flags, demand, metadata, codec, encoded)
    } catch (error) {
      // Stream ids must not have gaps.
      this.#calls.takeBack(call)
      throw error
    }
    if (type !== FrameType.REQUEST_FNF) {
      call.streamId = streamId
      return
    }
    // An event has no answer: it is done when a socket has it that is not blocked.
    this.#calls.delete(call)
    if (wire.takesMore) {
      if (this.#finish(call)) call.complete()
    } else {
      this.#events ??= new Set()
      this.#events.add(call)
    }
  }

  // ── frames from the other side ────────────────────────────────────────────────────────────────────────

  /** Handles a PAYLOAD for one of our streams. */
  payload(streamId: number, flags: number, payload: Payload): void {
    const call = this.#calls.get(sequenceOf(streamId))
    if (call === undefined) return
    let isSatisfied = false
    if (flags & Flag.NEXT) {
      let value: unknown
      try {
        const codec = this.#codecOf(payload)
        const isUnread = call.options?.leavesUnread === true && codec === jsonCodec
        value = isUnread ? unreadOf(payload) : dataOf(payload, codec)
      } catch (error) {
        if ((flags & Flag.COMPLETE) === 0) this.#wire.cancel(streamId)
        return this.#fail(call, unsendable(error))
      }
      // Set before `next`, because the receiver may give up the stream during its last value (`firstValueFrom` does).
      if (flags & Flag.COMPLETE && call.input === undefined) call.isOver = true
      isSatisfied = call.next(value, payload.dataEnd - payload.dataStart)
    }
    if (isSatisfied || flags & Flag.COMPLETE) {
      const hasEnded = (flags & Flag.COMPLETE) !== 0
      // A channel stays open at the other side until both directions have ended, or until it is cancelled.
      if (call.input !== undefined && !(hasEnded && call.input.stopped)) this.#wire.cancel(streamId)
      if (this.#finish(call) && !isSatisfied) call.complete()
      return
    }
    const demand = call.replenish()
    if (demand > 0 && !call.isSettled) this.#wire.requestN(streamId, demand)
  }

  /** Handles an ERROR for one of our streams. */
  error(streamId: number, code: number, data: string): void {
    const call = this.#calls.get(sequenceOf(streamId))
    if (call === undefined) return
    // A server that knows the deadline may answer before a busy client has noticed it: that is a timeout too.
    const isLate = code === ErrorCode.CANCELED && this.#timer.now() >= call.deadline
    this.#fail(call, isLate ? call.timedOut(true) : fromWireError(code, data, call.name))
  }

  /** The other side takes `n` more values of a channel. */
  requestN(streamId: number, n: number): void {
    this.#calls.get(sequenceOf(streamId))?.input?.requestN(n)
  }

  /** The other side takes no more values of a channel. */
  inputCanceled(streamId: number): void {
    this.#calls.get(sequenceOf(streamId))?.input?.stop()
  }

  /** @throws {ProtocolError} there is no codec for the type of the data */
  #codecOf(payload: Payload): Codec {
    const mimeType = payload.metadataStart < 0 ? undefined : dataMimeTypeOf(payload)
    if (mimeType === undefined || mimeType === this.#codec.mimeType) return this.#codec
    const codec = openCodec(mimeType)
    if (codec === undefined || codec.stateful)
      throw new ProtocolError(`There is no codec for data of type ${mimeType}`)
    return codec
  }

  // ── calls from the connection ─────────────────────────────────────────────────────────────────────────

  /** The connection is open, or its socket not blocked any more: events that waited for it are done. */
  taken(): void {
    if (this.#events === undefined || !this.#wire.takesMore) return
    for (const call of [...this.#events]) if (this.#finish(call)) call.complete()
  }

  /** A lease has come: sends calls that wait for one. */
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
    for (const call of [...this.#calls.all(), ...(this.#waiting?.keys() ?? []), ...(this.#events ?? [])]) {
      if (call.deadline > now) next = Math.min(next, call.deadline)
      else this.#abandon(call, call.timedOut(call.streamId !== 0 || this.#events?.has(call) === true))
    }
    if (next !== Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  /** The connection is gone for good. @param error makes the error of a call @param sent frames may have been sent */
  close(error: (mayHaveRun: boolean) => Error, sent: boolean): void {
    this.#isClosed = true
    for (const call of [...this.#calls.all(), ...(this.#events ?? [])])
      this.#fail(call, error(sent || call.mayHaveRun))
    for (const call of this.#waiting?.keys() ?? []) this.#fail(call, error(call.mayHaveRun))
  }

  // ── the end of a call ────────────────────────────────────────────────────────────────────────────────

  /** Gives up a call and fails it with the error. */
  readonly #abandon = (call: PendingCall, error: Error): void => {
    if (this.#giveUp(call) && this.#recover?.(call, error) !== true) call.fail(error)
  }

  /** Gives up a call and tells the other side. Returns false if it had already ended. */
  #giveUp(call: PendingCall): boolean {
    if (!this.#finish(call)) return false
    if (call.streamId !== 0 && !call.isOver) this.#wire.cancel(call.streamId)
    return true
  }

  #fail(call: PendingCall, error: Error): void {
    if (this.#finish(call) && this.#recover?.(call, error) !== true) call.fail(error)
  }

  /** The one place where a call ends. Returns false if it had already ended. */
  #finish(call: PendingCall): boolean {
    if (call.isSettled) return false
    call.isSettled = true
    this.#calls.delete(call)
    this.#waiting?.delete(call)
    this.#events?.delete(call)
    call.release()
    if (this.inFlight === 0) this.#idle()
    return true
  }
}

/** Gives frames their stream id, which was not known when they were written. */
function address(frames: Uint8Array, streamId: number): void {
  const view = new DataView(frames.buffer, frames.byteOffset, frames.length)
  for (let at = 0; at < frames.length; at += LENGTH_FIELD + readUint24(frames, at))
    view.setUint32(at + LENGTH_FIELD, streamId)
}
