/**
 * The asking side of an RSocket connection: calls in, request frames out; PAYLOAD and ERROR frames in,
 * answers out. Calls that have no lease wait here. Hot path of every client, and one story: how a call begins, is
 * answered and ends, which it must exactly once whoever ends it.
 */
import {
  type CallHolder,
  ChannelFeed,
  type Codec,
  ConnectionError,
  isStream,
  type Logger,
  OverloadedError,
  openCodec,
  type PendingCall,
  ProtocolError,
  type Recover,
  routeOf,
  StreamTable,
  type Timer
} from '@elysia-microservices/transport/kit'
import { fromWireError, toWireError } from './failure-codes.ts'
import { ErrorCode, Flag, FrameType } from './frame-type.ts'
import { sequenceOf } from './frames.ts'
import type { HeldLease } from './lease.ts'
import { dataOf, type Payload } from './payload.ts'
import { dataMimeTypeOf, metadataWriter } from './request-metadata.ts'
import type { Wire } from './wire.ts'

/** What a requester needs of its connection. */
export interface RequesterInit {
  readonly role: 'client' | 'server'
  readonly wire: Wire
  /** The codec of the connection's data. */
  readonly codec: Codec
  readonly logger: Logger
  /** The lease to ask for before a request; `undefined` if none is needed. */
  readonly lease: HeldLease | undefined
  /** Milliseconds for a call that says nothing else; 0 for no limit. */
  readonly timeout: number
  /** Whether the other side is told how long the caller waits, where the call does not say itself. */
  readonly tellTimeout: boolean
  readonly timer: Timer
  /** Is called when no call waits any more. */
  idle(): void
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

/** Asks over one connection. */
export class RSocketRequester implements CallHolder {
  readonly #wire: Wire
  readonly #codec: Codec
  readonly #calls: StreamTable<PendingCall>
  readonly #timer: Timer
  readonly #lease: HeldLease | undefined
  readonly #timeout: number
  readonly #tellTimeout: boolean
  /** streamId = 2 × sequence − offset: 1 for clients, whose ids are odd, 0 for servers. */
  readonly #offset: 0 | 1
  readonly #logger: Logger
  readonly #idle: () => void
  readonly #recover: Recover | undefined
  #isClosed = false
  /**
   * Calls not sent yet: in order, with what is to be sent when there is a lease; a channel without its first value has
   * nothing yet. Made for the first of them.
   */
  #waiting: Map<PendingCall, Outgoing | undefined> | undefined
  /** Events that stand in the buffer of a connection that is not there yet. Made for the first of them. */
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

  /** Calls that have no answer yet. */
  get inFlight(): number {
    return this.#calls.size + (this.#waiting?.size ?? 0)
  }

  /** Calls made so far. */
  get started(): number {
    return this.#calls.last
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  /** Sends a call: a new one, or one that has failed elsewhere. */
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
      this.#fail(call, error as Error)
    }
  }

  cancel(call: PendingCall): void {
    this.#giveUp(call)
  }

  demand(call: PendingCall, n: number): void {
    // What is asked for before the request leaves is part of the request.
    if (call.streamId !== 0 && !call.isSettled) this.#wire.requestN(call.streamId, n)
  }

  #request(call: PendingCall, type: number, metadata: Uint8Array): void {
    const { data, initialDemand: initialN } = call
    const lease = this.#lease
    if (lease === undefined || (!this.#waiting?.size && lease.use()))
      this.#send(call, type, 0, initialN, metadata, data)
    else this.#wait(call, { type, flags: 0, initialN, metadata, data })
  }

  #startChannel(call: PendingCall, source: object, metadata: Uint8Array): void {
    const initialN = call.kind === 'request' ? 1 : call.initialDemand
    this.#waiting ??= new Map()
    this.#waiting.set(call, undefined)
    const wire = this.#wire
    const codec = this.#codec
    call.input = new ChannelFeed({
      maxHeldSize: wire.maxUnsent,
      open: (data, isOnly) => {
        const flags = isOnly ? Flag.COMPLETE : 0
        const outgoing = { type: FrameType.REQUEST_CHANNEL, flags, initialN, metadata, data }
        if (this.#lease?.use() === false) return this.#wait(call, outgoing)
        this.#waiting?.delete(call)
        this.#trySend(call, outgoing)
      },
      next: (value) => wire.payload(call.streamId, FrameType.PAYLOAD, Flag.NEXT, -1, undefined, codec, value),
      hold: (value) => wire.hold(call.streamId, undefined, codec, value),
      sendHeld: (bytes) => wire.held(bytes, codec),
      complete: () => wire.complete(call.streamId),
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

  /** Milliseconds the other side has for the call; `undefined` for no limit. */
  #left(call: PendingCall): number | undefined {
    if (call.timeout === 0) return undefined
    // A call that comes to its first connection at once has all its time; the clock need not be asked.
    if (!call.isDelayed) return call.timeout
    return Math.max(1, Math.ceil(call.deadline - this.#timer.now()))
  }

  #wait(call: PendingCall, outgoing: Outgoing): void {
    this.#waiting ??= new Map()
    if (this.#waiting.size >= MAX_WAITING)
      throw new OverloadedError(`${MAX_WAITING} calls wait for a lease of the server already`)
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
    const wire = this.#wire
    if (wire.unsent > wire.maxUnsent)
      throw new OverloadedError(
        `${wire.unsent} bytes of calls wait to be sent, more than limits.sendBuffer allows (${wire.maxUnsent})`
      )
    this.#calls.add(call)
    const streamId = call.sequence * 2 - this.#offset
    try {
      const demand = initialN < 0 ? -1 : initialN + call.extraDemand
      wire.payload(streamId, type, flags, demand, metadata, this.#codec, data)
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
    if (wire.isConnected) {
      if (this.#finish(call)) call.complete()
    } else {
      this.#events ??= new Set()
      this.#events.add(call)
    }
  }

  // ── what the other side sends ────────────────────────────────────────────────────────────────────────

  /** A PAYLOAD for one of our streams. */
  payload(streamId: number, flags: number, payload: Payload): void {
    const call = this.#calls.get(sequenceOf(streamId))
    if (call === undefined) return
    let isSatisfied = false
    if (flags & Flag.NEXT) {
      let value: unknown
      try {
        value = dataOf(payload, this.#codecOf(payload))
      } catch (error) {
        if ((flags & Flag.COMPLETE) === 0) this.#wire.cancel(streamId)
        return this.#fail(call, error as Error)
      }
      // `firstValueFrom` gives a stream up in the turn in which it gets its only value.
      if (flags & Flag.COMPLETE && call.input === undefined) call.isOver = true
      isSatisfied = call.next(value, payload.dataEnd - payload.dataStart)
    }
    if (isSatisfied || flags & Flag.COMPLETE) {
      const hasEnded = (flags & Flag.COMPLETE) !== 0
      // A channel goes on at the other side until both directions have ended, or it is told.
      if (call.input !== undefined && !(hasEnded && call.input.stopped)) this.#wire.cancel(streamId)
      if (this.#finish(call) && !isSatisfied) call.complete()
      return
    }
    const demand = call.replenish()
    if (demand > 0 && !call.isSettled) this.#wire.requestN(streamId, demand)
  }

  /** An ERROR for one of our streams. */
  error(streamId: number, code: number, data: string): void {
    const call = this.#calls.get(sequenceOf(streamId))
    if (call === undefined) return
    // A server that was told of the deadline may be heard before a busy client has looked at its own clock.
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

  /** @throws {ProtocolError} it is of a type that there is no codec for */
  #codecOf(payload: Payload): Codec {
    const mimeType = payload.metadataStart < 0 ? undefined : dataMimeTypeOf(payload)
    if (mimeType === undefined || mimeType === this.#codec.mimeType) return this.#codec
    const codec = openCodec(mimeType)
    if (codec === undefined || codec.stateful)
      throw new ProtocolError(`There is no codec for data of type ${mimeType}`)
    return codec
  }

  // ── what the connection says ─────────────────────────────────────────────────────────────────────────

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
      else this.#abandon(call, call.timedOut(call.streamId !== 0))
    }
    if (next !== Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  /** The connection is gone for good. @param error the reason; `sent`: frames may have reached the other side */
  close(error: (mayHaveRun: boolean) => Error, sent: boolean): void {
    this.#isClosed = true
    for (const call of this.#calls.all()) this.#fail(call, error(sent))
    for (const call of [...(this.#waiting?.keys() ?? []), ...(this.#events ?? [])])
      this.#fail(call, error(false))
  }

  // ── the end of a call ────────────────────────────────────────────────────────────────────────────────

  /** Gives a call up, for a reason that its owner gets to know. */
  readonly #abandon = (call: PendingCall, error: Error): void => {
    if (this.#giveUp(call) && this.#recover?.(call, error) !== true) call.fail(error)
  }

  /** Gives a call up and tells the other side; false if it has ended before. */
  #giveUp(call: PendingCall): boolean {
    if (!this.#finish(call)) return false
    if (call.streamId !== 0 && !call.isOver) this.#wire.cancel(call.streamId)
    return true
  }

  #fail(call: PendingCall, error: Error): void {
    if (this.#finish(call) && this.#recover?.(call, error) !== true) call.fail(error)
  }

  /** The one place where a call ends; false if it has ended before. */
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
