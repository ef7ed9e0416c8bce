/**
 * The asking side of an RSocket connection: turns calls into request frames, and PAYLOAD and ERROR frames into answers.
 * Calls without a lease wait. This is the hot path of every client. How a call begins and ends is in `OpenCalls`.
 */
import {
  type CallSender,
  ChannelFeed,
  type Codec,
  isStream,
  jsonCodec,
  type Logger,
  OpenCalls,
  openCodec,
  type PendingCall,
  ProtocolError,
  type Recover,
  readFront,
  readUint24,
  routeOf,
  StreamTable,
  type Timer,
  unsendable
} from '@elysia-microservices/transport/kit'
import { fromWireError, readEventRefusal, type ToWireError } from './failure-codes.ts'
import { ErrorCode, Flag, FrameType, LENGTH_FIELD } from './frame-type.ts'
import type { HeldLease } from './lease.ts'
import { dataOf, type Payload, unreadOf } from './payload.ts'
import { answerHeadersOf, dataMimeTypeOf, metadataWriter } from './request-metadata.ts'
import { sequenceOf, type Wire } from './wire.ts'

/** The parameters of a requester. */
export interface RequesterInit {
  readonly role: 'client' | 'server'
  readonly wire: Wire
  /** The codec of the connection's data. */
  readonly codec: Codec
  readonly logger: Logger
  /** Makes the ERROR frame for a channel whose input failed. */
  readonly toWireError: ToWireError
  /** The lease that requests use; `undefined` if no lease is needed. */
  readonly lease: HeldLease | undefined
  /** Tells the other side that calls wait for a lease. Default: the other side is not told. */
  askForLease?(): void
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /** The timeout that the other side knows of calls that do not tell theirs. Default: 0, no limit. */
  readonly knownTimeout?: number | undefined
  readonly timer: Timer
  /** Called when no call is in flight any more. */
  idle(): void
  /** Called before a call fails; returns true if the function has taken the call over. Default: the call fails. */
  readonly recover?: Recover | undefined
  /** The other side has refused an event that had left this process. Default: nothing happens. */
  readonly eventRefused?: ((pattern: string, error: Error) => void) | undefined
  /** The name of the server, for errors. Default: the server has no name. */
  readonly endpoint?: string | undefined
  /** Gives numbers to the calls. Default: an empty `streamTable`. */
  readonly table?: StreamTable<PendingCall>
}

/** The first value of a channel that waits for a lease. */
interface FirstValue {
  readonly data: unknown
  /** Whether no other value follows. May change while the value waits. */
  isOnly: boolean
}

/**
 * Makes the table of one side's calls. The stream ids of a client are 1, 3, 5 to 2^31-1, those of a server 2, 4, 6 to
 * 2^31-2; then they start again.
 * @param last the last sequence number in use
 */
export function streamTable(role: 'client' | 'server', last = 0): StreamTable<PendingCall> {
  return new StreamTable(role === 'client' ? 2 ** 30 : 2 ** 30 - 1, last)
}

/** Sends calls over one connection. */
export class RSocketRequester implements CallSender {
  readonly calls: OpenCalls
  readonly #wire: Wire
  readonly #codec: Codec
  readonly #timer: Timer
  readonly #lease: HeldLease | undefined
  readonly #askForLease: (() => void) | undefined
  /** The other side knows that calls wait for a lease. SETUP and RESUME tell it, too. */
  #hasAskedForLease = true
  readonly #knownTimeout: number
  readonly #tellRefusal: RequesterInit['eventRefused']
  /** streamId = 2 × sequence − offset. The offset is 1 for clients, whose ids are odd, and 0 for servers. */
  readonly #offset: 0 | 1
  readonly #logger: Logger
  readonly #toWireError: ToWireError
  readonly #table: StreamTable<PendingCall>
  /** Channels that wait for a lease. Made for the first such channel. */
  #channels: Map<PendingCall, FirstValue> | undefined

  constructor(init: RequesterInit) {
    const { timer, timeout, idle, recover, endpoint, table = streamTable(init.role) } = init
    this.#table = table
    this.#wire = init.wire
    this.#codec = init.codec
    this.#timer = timer
    this.#lease = init.lease
    this.#askForLease = init.askForLease
    this.#knownTimeout = init.knownTimeout ?? 0
    this.#tellRefusal = init.eventRefused
    this.#offset = init.role === 'client' ? 1 : 0
    this.#logger = init.logger
    this.#toWireError = init.toWireError
    this.calls = new OpenCalls({
      sender: this,
      timeout,
      timer,
      table,
      recover,
      isConnected: true,
      endpoint: () => endpoint,
      idle
    })
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  send(call: PendingCall): void {
    // A frame that was written cannot be taken back, so a call whose time ends before the connection is there is never
    // sent.
    if (this.#wire.isUnopened) return this.calls.wait(call)
    const { kind, data, initialDemand } = call
    if (kind !== 'event' && typeof data === 'object' && data !== null && isStream(data))
      return this.#sendChannel(call, data)
    const lease = this.#lease
    // Without a lease the call waits for the next lease, after the calls that already wait.
    if (lease !== undefined && !lease.use()) return this.#waitForLease(call)
    const type =
      kind === 'request'
        ? FrameType.REQUEST_RESPONSE
        : kind === 'event'
          ? FrameType.REQUEST_FNF
          : FrameType.REQUEST_STREAM
    this.#send(call, type, 0, initialDemand, data)
  }

  cancel(call: PendingCall): void {
    if (call.kind !== 'event' && call.sequence !== 0) this.#wire.cancel(this.#streamIdOf(call))
  }

  demand(call: PendingCall, n: number): void {
    if (n > 0 && call.sequence !== 0) this.#wire.requestN(this.#streamIdOf(call), n)
  }

  over(call: PendingCall): void {
    this.#channels?.delete(call)
  }

  #streamIdOf({ sequence }: PendingCall): number {
    return sequence * 2 - this.#offset
  }

  /**
   * Starts a channel, whose request is sent with the first value; or sends the request, if the first value is there.
   */
  #sendChannel(call: PendingCall, source: object): void {
    const first = this.#channels?.get(call)
    if (first !== undefined) return this.#openChannel(call, first)
    this.calls.keep(call)
    this.#startChannel(call, source)
  }

  #openChannel(call: PendingCall, first: FirstValue): void {
    if (this.#lease?.use() === false) {
      this.#channels ??= new Map()
      this.#channels.set(call, first)
      return this.#waitForLease(call)
    }
    this.#channels?.delete(call)
    const initialN = call.kind === 'request' ? 1 : call.initialDemand
    this.#send(call, FrameType.REQUEST_CHANNEL, first.isOnly ? Flag.COMPLETE : 0, initialN, first.data)
  }

  #waitForLease(call: PendingCall): void {
    this.calls.wait(call)
    if (this.#hasAskedForLease) return
    this.#hasAskedForLease = true
    this.#askForLease?.()
  }

  #startChannel(call: PendingCall, source: object): void {
    const wire = this.#wire
    const codec = this.#codec
    /** Whether values wait that were written before the call had its stream id. */
    let isUnaddressed = false
    call.input = new ChannelFeed({
      maxHeldSize: wire.maxUnsent,
      hasRoomFor: (feed) => wire.hasRoomFor(feed),
      open: (data, isOnly) => {
        try {
          this.#openChannel(call, { data, isOnly })
        } catch (error) {
          this.calls.fail(call, unsendable(error))
        }
      },
      next: (value) => {
        const data = codec.encode(value)
        // A `toJSON` of the value may have ended the call.
        if (call.isSettled) return
        wire.payload(this.#streamIdOf(call), Flag.NEXT, undefined, data)
      },
      encode: (value) => codec.encode(value),
      writeHeld: (encoded, out) => {
        if (call.sequence === 0) isUnaddressed = true
        wire.hold(call.sequence === 0 ? 0 : this.#streamIdOf(call), undefined, encoded, out)
      },
      sendHeld: (bytes) => {
        if (isUnaddressed) address(bytes, this.#streamIdOf(call))
        wire.held(bytes)
      },
      complete: () => {
        if (call.sequence !== 0) return wire.complete(this.#streamIdOf(call))
        // The request waits for a lease, and no second value follows.
        const first = this.#channels?.get(call)
        if (first !== undefined) first.isOnly = true
      },
      fail: (error) => {
        const { code, data } = this.#toWireError(
          error,
          this.#logger,
          `The input of the channel '${call.name}' failed`
        )
        if (call.sequence !== 0 && !call.isSettled) wire.error(this.#streamIdOf(call), code, data)
        this.calls.fail(call, error)
      },
      teardownFailed: (error) =>
        this.#logger.error(`The clean-up of a stream failed: the input of the channel '${call.name}'`, error)
    })
    call.input.start(source)
  }

  #metadataOf(call: PendingCall): Uint8Array {
    const { pattern, headers } = call
    const route = typeof pattern === 'string' ? pattern : routeOf(pattern)
    const lifetime = call.lifetimeLeft(this.#timer)
    return metadataWriter.write(route, headers, this.#toldTimeoutOf(call), call.window, lifetime)
  }

  /** Milliseconds that the other side has for the call, 0 for no limit; `undefined`: it knows, or need not know. */
  #toldTimeoutOf(call: PendingCall): number | undefined {
    const { kind, timeout, isDelayed } = call
    if (kind === 'event') return undefined
    // A call that has not waited has its whole timeout left, so the clock need not be read.
    if (timeout === 0 || !isDelayed) return timeout === this.#knownTimeout ? undefined : timeout
    return Math.max(1, Math.ceil(call.deadline - this.#timer.now()))
  }

  #send(call: PendingCall, type: number, flags: number, initialN: number, data: unknown): void {
    const lease = this.#lease
    if (lease === undefined) {
      this.#write(call, type, flags, initialN, data)
      return
    }
    let isSent = false
    try {
      isSent = this.#write(call, type, flags, initialN, data)
    } finally {
      // The unused request is given back. Otherwise the other side would wait for this request of its lease.
      if (!isSent) lease.giveBack()
    }
  }

  /** Writes a request. Returns false if it was not sent, because encoding its data has ended the call. */
  #write(call: PendingCall, type: number, flags: number, initialN: number, data: unknown): boolean {
    const { calls } = this
    const wire = this.#wire
    const codec = this.#codec
    const metadata = this.#metadataOf(call)
    // The data is encoded before the call gets its stream id, because a `toJSON` may make calls, end this call or close
    // the connection.
    const encoded = codec.encode(data)
    if (call.isSettled) return false
    calls.add(call)
    try {
      const demand = initialN < 0 ? -1 : initialN + call.extraDemand
      wire.request(this.#streamIdOf(call), type, flags, demand, metadata, encoded)
    } catch (error) {
      // The stream id is given back, because stream ids must not have gaps.
      calls.takeBack(call)
      throw error
    }
    call.mayHaveRun = true
    if (type !== FrameType.REQUEST_FNF) return true
    // An event has no answer: it is complete as soon as a socket that is not blocked has taken it.
    if (wire.takesMore) calls.complete(call)
    else calls.keep(call)
    return true
  }

  // ── frames of the other side ─────────────────────────────────────────────────────────────────────────

  /** Handles a PAYLOAD for one of our streams. */
  payload(streamId: number, flags: number, payload: Payload): void {
    const { calls } = this
    const call = calls.get(sequenceOf(streamId))
    if (call === undefined) return
    const hasEnded = (flags & Flag.COMPLETE) !== 0
    if (payload.metadataStart >= 0 && call.asksForHeaders) {
      try {
        call.hear(answerHeadersOf(payload))
      } catch (error) {
        call.isOver = hasEnded
        return calls.giveUp(call, error as Error)
      }
      if (call.isSettled) return
    }
    let isSatisfied = false
    if (flags & Flag.NEXT) {
      let value: unknown
      try {
        const codec = this.#codecOf(payload)
        const isUnread = call.options?.leavesUnread === true && codec === jsonCodec
        value = isUnread ? unreadOf(payload) : dataOf(payload, codec)
      } catch (error) {
        call.isOver = hasEnded
        return calls.giveUp(call, unsendable(error))
      }
      // `isOver` is set before `next`, because the receiver may cancel the stream during its last value
      // (`firstValueFrom` does).
      if (hasEnded && call.input === undefined) call.isOver = true
      try {
        isSatisfied = call.next(value, payload.dataEnd - payload.dataStart)
      } catch (error) {
        return calls.giveUp(call, error as Error)
      }
    }
    if (isSatisfied || hasEnded) {
      // The other side keeps a channel open until both directions have ended, or until the channel is cancelled.
      if (call.input !== undefined && !(hasEnded && call.input.stopped)) this.#wire.cancel(streamId)
      if (calls.end(call) && !isSatisfied) call.complete()
      return
    }
    const demand = call.replenish()
    if (demand > 0 && !call.isSettled) this.#wire.requestN(streamId, demand)
  }

  /** Handles an ERROR for one of our streams. */
  error(streamId: number, code: number, said: string): void {
    const { calls } = this
    const call = calls.get(sequenceOf(streamId))
    if (call === undefined) return this.#eventRefused(code, said)
    let data = said
    try {
      const front = call.asksForHeaders ? readFront(said) : undefined
      call.hear(front?.json)
      data = front?.words ?? said
    } catch (error) {
      return calls.fail(call, error as Error)
    }
    // A server that knows the deadline may answer before a busy client has noticed it: this is a timeout as well.
    const isLate = code === ErrorCode.CANCELED && this.#timer.now() >= call.deadline
    calls.fail(call, isLate ? call.timedOut() : fromWireError(code, data, call.name))
  }

  /** The ERROR is of no call that is open, so it may be that of an event. */
  #eventRefused(code: number, data: string): void {
    const tell = this.#tellRefusal
    const refusal = tell && readEventRefusal(code, data)
    if (refusal !== undefined) tell?.(refusal.pattern, refusal.error)
  }

  /** The other side takes `n` more values of a channel. */
  requestN(streamId: number, n: number): void {
    this.calls.get(sequenceOf(streamId))?.input?.requestN(n)
  }

  /** The other side takes no more values of a channel. */
  inputCanceled(streamId: number): void {
    this.calls.get(sequenceOf(streamId))?.input?.stop()
  }

  /** @throws {ProtocolError} there is no codec for the type of the data */
  #codecOf(payload: Payload): Codec {
    const mimeType = payload.metadataStart < 0 ? undefined : dataMimeTypeOf(payload)
    if (mimeType === undefined || mimeType === this.#codec.mimeType) return this.#codec
    const codec = openCodec(mimeType)
    if (codec === undefined) throw new ProtocolError(`There is no codec for data of type ${mimeType}`)
    return codec
  }

  // ── called by the connection ─────────────────────────────────────────────────────────────────────────

  /** The connection is open: sends the calls that have waited for it. */
  opened(): void {
    this.calls.release()
    this.taken()
  }

  /** The connection was resumed over another socket, of which channels that have waited know nothing. */
  goOn(): void {
    this.#hasAskedForLease = true
    this.taken()
    for (const call of this.#table.all()) call.input?.resume()
  }

  /** Nothing more is sent: stops the inputs of channels. A channel that was not sent yet may go to another connection. */
  stopInputs(): void {
    for (const call of this.#table.all()) if (call.mayHaveRun) call.input?.stop()
  }

  /** The socket is no longer blocked, or there is a new socket: completes the events that have waited for it. */
  taken(): void {
    if (this.#wire.takesMore) this.calls.taken()
  }

  /** A lease has arrived: sends calls that wait for a lease, and asks for another one if calls still wait. */
  leased(): void {
    this.#hasAskedForLease = false
    this.calls.release(() => this.#lease?.isLeft !== false)
    if (this.#hasAskedForLease || this.calls.waiting === 0) return
    this.#hasAskedForLease = true
    this.#askForLease?.()
  }
}

/** Writes the stream id into frames that were written before the stream id was known. */
function address(frames: Uint8Array, streamId: number): void {
  const view = new DataView(frames.buffer, frames.byteOffset, frames.length)
  for (let at = 0; at < frames.length; at += LENGTH_FIELD + readUint24(frames, at))
    view.setUint32(at + LENGTH_FIELD, streamId)
}
