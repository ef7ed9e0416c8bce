/** One connection of a client: HTTP/2, and the calls that are made over it. */
import { headerList, writeTimeout } from '@elysia-microservices/protobuf/rpc'
import {
  type ClientProtocol,
  cannotConnect,
  connectionClosed,
  type Output,
  type Reason
} from '@elysia-microservices/rsocket'
import {
  type CallSender,
  ChannelFeed,
  isStream,
  type Logger,
  OpenCalls,
  OptionError,
  type PendingCall,
  RESERVED_PREFIX,
  type Recover,
  RpcError,
  routeOf,
  type Timer,
  type TimerOwner
} from '@elysia-microservices/transport/kit'
import { Http2Connection } from '../http2/connection.ts'
import { ErrorCode, nameOfCode, TOO_MANY_PINGS } from '../http2/error-code.ts'
import { Keepalive, type KeepaliveTimes, type KeptAlive } from '../http2/keepalive.ts'
import type { Http2Limits } from '../http2/limits.ts'
import type { GrpcMethod, GrpcMethods } from '../methods.ts'
import { encodeFramed, framed } from '../wire/message-writer.ts'
import { USER_AGENT } from '../wire/user-agent.ts'
import { type CallOwner, OutgoingCall } from './outgoing-call.ts'

const NOTHING = new Uint8Array()
/** How servers end a call whose time is over: by a status, or, as grpc-go does, by RST_STREAM with CANCEL. */
const OF_TIME: ReadonlySet<string> = new Set(['DEADLINE_EXCEEDED', 'CANCELLED'])

/** The parameters of a connection. */
export interface GrpcClientConnectionInit {
  readonly methods: GrpcMethods
  readonly logger: Logger
  readonly limits?: Partial<Http2Limits>
  /** Most bytes of a message. */
  readonly maxMessageSize: number
  /** Most bytes that an Observable may be ahead of the other side. */
  readonly maxHeldSize: number
  /** Bytes from which on a message is compressed. Default: none is. */
  readonly packsFrom?: number | undefined
  /** When the server is asked for a sign of life, while calls are in flight. Default: never. */
  readonly keepalive?: KeepaliveTimes | undefined
  /** The server says that it was asked too often. */
  pingsTooOften?(): void
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /** The name of the server: `host:port`. */
  readonly authority: string
  /** Whether the connection uses TLS. */
  readonly isSecure: boolean
  /** The server's address for messages, such as `grpc://localhost:4000`. */
  readonly where: string
  /** Says why the socket was lost. Default: the message of its error. */
  readonly reasonOf?: Reason | undefined
  readonly endpoint?: string | undefined
  readonly recover?: Recover | undefined
  /** Makes the timer of the connection. */
  newTimer(owner: TimerOwner): Timer
  /** The server goes away: no new calls may be made on this connection. */
  goingAway(): void
  /** Takes a call that was not sent, because the server goes away. Default: such calls wait for the end. */
  handOver?(call: PendingCall): void
}

/** One connection of a client. Calls may be made before the connection is open. */
export class GrpcClientConnection implements ClientProtocol, CallSender, CallOwner, TimerOwner, KeptAlive {
  readonly calls: OpenCalls
  readonly maxMessageSize: number
  readonly #init: GrpcClientConnectionInit
  readonly #timer: Timer
  readonly #http2: Http2Connection
  readonly #keepalive: Keepalive | undefined
  readonly #packsFrom: number
  #output: Output | undefined
  /** Why this side has ended the connection. */
  #lost: Error | undefined
  #isLeaving = false

  constructor(init: GrpcClientConnectionInit) {
    const { timeout, recover, endpoint, limits, keepalive, packsFrom = Number.POSITIVE_INFINITY } = init
    this.#init = init
    this.#packsFrom = packsFrom
    if (keepalive !== undefined) this.#keepalive = new Keepalive(keepalive, this)
    this.maxMessageSize = init.maxMessageSize
    this.#timer = init.newTimer(this)
    this.calls = new OpenCalls({
      sender: this,
      timeout,
      timer: this.#timer,
      recover,
      isConnected: true,
      endpoint: () => endpoint,
      idle: () => this.#output?.settled()
    })
    this.#http2 = new Http2Connection({
      role: 'client',
      ...(limits && { limits }),
      now: () => this.#timer.now(),
      changed: () => this.#changed()
    })
  }

  get incomplete(): boolean {
    return this.#http2.buffered > 0
  }

  get buffered(): number {
    return this.#http2.buffered
  }

  get inFlight(): number {
    return this.calls.inFlight
  }

  get isEnded(): boolean {
    return this.#http2.isEnded
  }

  /** Why the server has ended the connection, if it has said so. */
  get reason(): Error | undefined {
    const { goAway } = this.#http2
    if (goAway === undefined || goAway.errorCode === ErrorCode.NO_ERROR) return this.#lost
    return new Error(`the server ended it (${nameOfCode(goAway.errorCode)}): ${goAway.reason}`)
  }

  open(output: Output): void {
    this.#output = output
    this.#http2.open(output)
    this.calls.release(() => this.#http2.canOpen)
  }

  receive(chunk: Uint8Array): void {
    this.#http2.receive(chunk)
  }

  resume(): void {
    this.#http2.resume()
  }

  drain(): boolean {
    return false
  }

  leave(): void {
    this.#http2.leave()
  }

  confirm(): Promise<void> {
    return new Promise((resolve) => this.#http2.ping(resolve))
  }

  discard(): void {
    this.#http2.discard()
  }

  close(reason?: Error): void {
    const { where, reasonOf } = this.#init
    const cause = this.reason ?? reason
    const make = this.#output === undefined ? cannotConnect : connectionClosed
    this.#timer.stop()
    this.#http2.close(cause)
    this.calls.close((mayHaveRun) => make(where, cause, mayHaveRun, reasonOf))
  }

  wake(now: number): void {
    this.calls.wake(now)
    this.#lookAt(this.#keepalive?.look(now))
  }

  #lookAt(time: number | undefined): void {
    if (time !== undefined && time < Number.POSITIVE_INFINITY) this.#timer.wakeAt(time)
  }

  // ── keepalive ────────────────────────────────────────────────────────────────────────────────────────

  /** Without calls nobody waits for the server. */
  get isWanted(): boolean {
    return this.calls.inFlight > 0
  }

  get heardAt(): number {
    return this.#http2.heardAt
  }

  ping(): void {
    this.#http2.ping(() => {})
  }

  dead(reason: Error): void {
    this.#lost = reason
    this.#output?.destroy(reason)
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  send(call: PendingCall): void {
    // A call whose time ends before the connection is there is never sent.
    if (this.#output === undefined || !this.#http2.canOpen) return this.calls.wait(call)
    const method = this.#methodOf(call)
    const { data } = call
    if (typeof data === 'object' && data !== null && isStream(data))
      return this.#sendStream(call, method, data)
    const message = framed(method.input.encode(data), this.#packsFrom)
    this.#open(call, method).data(message, true)
  }

  cancel(call: PendingCall): void {
    outgoingOf(call)?.stream?.cancel(ErrorCode.CANCEL)
  }

  demand(call: PendingCall, n: number): void {
    outgoingOf(call)?.demand(n)
  }

  over(call: PendingCall): void {
    const outgoing = outgoingOf(call)
    call.attachment = undefined
    outgoing?.over()
    // An answer may come before all values were sent: they are not wanted any more.
    if (outgoing?.stream?.isSending === true) outgoing.stream.cancel(ErrorCode.CANCEL)
  }

  complete(call: PendingCall): void {
    this.calls.complete(call)
  }

  fail(call: PendingCall, error: Error): void {
    const now = this.#timer.now()
    // Both ends know the deadline. The server's word that it has passed may be read before the timer of this end fires.
    if (call.deadline <= now && error instanceof RpcError && OF_TIME.has(error.code)) this.calls.wake(now)
    else this.calls.fail(call, error)
  }

  giveUp(call: PendingCall, error: Error): void {
    this.calls.giveUp(call, error)
  }

  #methodOf(call: PendingCall): GrpcMethod {
    const { pattern } = call
    const route = typeof pattern === 'string' ? pattern : routeOf(pattern)
    const method = this.#init.methods.method(route)
    if (method === undefined) throw new OptionError('pattern', `There is no method '${route}' in the .proto`)
    return method
  }

  #open(call: PendingCall, method: GrpcMethod): NonNullable<OutgoingCall['stream']> {
    const fields = this.#fieldsOf(call, method)
    if (this.#http2.isTooLarge(fields))
      throw new OptionError('options.headers', 'The headers are more than the server accepts')
    const outgoing = new OutgoingCall(this, call, method)
    this.calls.add(call)
    call.attachment = outgoing
    call.mayHaveRun = true
    this.#lookAt(this.#keepalive?.next())
    outgoing.stream = this.#http2.request(fields, false, outgoing)
    return outgoing.stream
  }

  #fieldsOf(call: PendingCall, method: GrpcMethod): string[] {
    const { authority, isSecure } = this.#init
    const isPacked = this.#packsFrom < Number.POSITIVE_INFINITY
    const fields = [
      ':method',
      'POST',
      ':scheme',
      isSecure ? 'https' : 'http',
      ':path',
      `/${method.path}`,
      ':authority',
      authority,
      'te',
      'trailers',
      'content-type',
      'application/grpc',
      'grpc-accept-encoding',
      'gzip'
    ]
    if (isPacked) fields.push('grpc-encoding', 'gzip')
    const time = this.#timeOf(call)
    if (time !== undefined) fields.push('grpc-timeout', writeTimeout(time))
    let userAgent = USER_AGENT
    for (const [name, value] of headerList('options.headers', call.headers ?? {}))
      if (name === 'user-agent') userAgent = value
      // Only ends of this library know these.
      else if (!name.startsWith(RESERVED_PREFIX)) fields.push(name, value)
    fields.push('user-agent', userAgent)
    return fields
  }

  /**
   * Milliseconds that the server has; `undefined`: no limit. The deadline of gRPC is that of the whole call: of a stream its
   * `lifetime`, as its timeout ends with the first value.
   */
  #timeOf(call: PendingCall): number | undefined {
    if (call.kind === 'stream') return call.lifetimeLeft(this.#timer)
    return call.timeout > 0 ? Math.max(1, Math.ceil(call.deadline - this.#timer.now())) : undefined
  }

  /** A call whose data is a stream: its values are sent as far as the server has room. */
  #sendStream(call: PendingCall, method: GrpcMethod, source: object): void {
    const { maxHeldSize, logger } = this.#init
    const stream = this.#open(call, method)
    const send = (value: unknown) => {
      const { buffer, length } = encodeFramed(method.input, value, this.#packsFrom)
      stream.data(buffer, false, length)
    }
    const feed: ChannelFeed = new ChannelFeed({
      maxHeldSize,
      hasRoomFor: () => stream.hasRoom,
      open: (value, isOnly) => {
        // An empty stream has no first value.
        if (isOnly) return stream.data(NOTHING, true)
        send(value)
        feed.requestN(Number.POSITIVE_INFINITY)
      },
      next: send,
      encode: (value) => method.input.encode(value),
      writeHeld: (encoded, out) => out.bytes(framed(encoded as Uint8Array, this.#packsFrom)),
      sendHeld: (bytes) => stream.data(bytes, false),
      complete: () => stream.data(NOTHING, true),
      fail: (error) => this.calls.giveUp(call, error),
      teardownFailed: (error) =>
        logger.error(`The clean-up of a stream failed: the input of the channel '${call.name}'`, error)
    })
    call.input = feed
    feed.start(source)
  }

  /** More streams may be opened, or the server goes away. */
  #changed(): void {
    if (this.#http2.isLeaving) this.#serverLeaves()
    else if (this.calls.waiting > 0) this.calls.release(() => this.#http2.canOpen)
  }

  #serverLeaves(): void {
    if (this.#isLeaving || this.isEnded) return
    this.#isLeaving = true
    const { goingAway, handOver, pingsTooOften } = this.#init
    const { goAway } = this.#http2
    if (goAway?.errorCode === ErrorCode.ENHANCE_YOUR_CALM && goAway.reason === TOO_MANY_PINGS)
      pingsTooOften?.()
    goingAway()
    if (handOver !== undefined) this.calls.handOver(handOver)
  }
}

function outgoingOf(call: PendingCall): OutgoingCall | undefined {
  return call.attachment as OutgoingCall | undefined
}
