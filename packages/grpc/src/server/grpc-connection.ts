/** One connection of a server: HTTP/2, and the calls that run over it. */
import { GrpcStatus, type RpcCode } from '@elysia-microservices/protobuf/rpc'
import {
  ConnectionPeer,
  type Output,
  type PeerSide,
  type ProtocolConnection,
  type SharedLimits
} from '@elysia-microservices/rsocket'
import type { Dispatcher, Logger, Peer, Timer, TimerOwner } from '@elysia-microservices/transport/kit'
import { Http2Connection } from '../http2/connection.ts'
import type { Field } from '../http2/hpack/field.ts'
import { Keepalive, type KeepaliveTimes, type KeptAlive } from '../http2/keepalive.ts'
import type { Http2Limits } from '../http2/limits.ts'
import type { Http2Stream } from '../http2/stream.ts'
import type { GrpcMethods } from '../methods.ts'
import type { OwnServices } from '../own/own-services.ts'
import { ACCEPTED } from '../wire/encodings.ts'
import { trailersOf } from '../wire/trailers.ts'
import { type CallHandlers, type CallOwner, IncomingCall } from './incoming-call.ts'
import { type Refused, readHead } from './request-head.ts'

const MOST_INCOMPLETE = 67_108_864

/** The parameters of a connection. */
export interface GrpcConnectionInit {
  readonly methods: GrpcMethods
  readonly dispatcher: Dispatcher
  /** The services that the server answers itself. Default: none. */
  readonly own?: OwnServices | undefined
  readonly logger: Logger
  readonly limits?: Partial<Http2Limits>
  /** The limits that all connections share. Default: none. */
  readonly shared?: Pick<SharedLimits, 'admission' | 'refused'> | undefined
  /** When the client is asked for a sign of life. Default: never. */
  readonly keepalive?: KeepaliveTimes | undefined
  /** Bytes from which on an answer is compressed, if its caller can read it. Default: none is. */
  readonly packsFrom?: number | undefined
  /** Most bytes of a message. */
  readonly maxMessageSize: number
  /** Most bytes that an Observable may be ahead of its reader. */
  readonly maxHeldSize: number
  /** Most bytes of messages that have not arrived completely, of all calls. Default: 67,108,864. */
  readonly maxIncompleteSize?: number
  /** Codes of calls for codes of errors of the application. Default: none. */
  readonly errors?: Readonly<Record<string, RpcCode>> | undefined
  /** Makes the timer of the connection. */
  newTimer(owner: TimerOwner): Timer
  /** A call has ended. */
  settled?(): void
}

/** Answers the calls of one connection. */
export class GrpcConnection implements ProtocolConnection, CallOwner, PeerSide, TimerOwner, KeptAlive {
  readonly logger: Logger
  readonly peer: Peer = new ConnectionPeer(this)
  readonly maxMessageSize: number
  readonly maxHeldSize: number
  readonly maxIncompleteSize: number
  readonly packsFrom: number
  readonly errors: Readonly<Record<string, RpcCode>> | undefined
  incompleteSize = 0
  output: Output | undefined
  readonly #init: GrpcConnectionInit
  readonly #timer: Timer
  readonly #http2: Http2Connection
  readonly #keepalive: Keepalive | undefined
  readonly #handlers: CallHandlers
  readonly #ownHandlers: CallHandlers | undefined
  readonly #calls = new Set<IncomingCall>()

  constructor(init: GrpcConnectionInit) {
    this.#init = init
    const { own, keepalive } = init
    this.#handlers = { dispatcher: init.dispatcher, isLimited: true }
    // Probes and tools are answered also when there are too many calls.
    this.#ownHandlers = own && { dispatcher: own.dispatcher, isLimited: false }
    if (keepalive !== undefined) this.#keepalive = new Keepalive(keepalive, this)
    this.logger = init.logger
    this.maxMessageSize = init.maxMessageSize
    this.maxHeldSize = init.maxHeldSize
    this.errors = init.errors
    this.maxIncompleteSize = init.maxIncompleteSize ?? MOST_INCOMPLETE
    this.packsFrom = init.packsFrom ?? Number.POSITIVE_INFINITY
    this.#timer = init.newTimer(this)
    this.#http2 = new Http2Connection({
      role: 'server',
      ...(init.limits && { limits: init.limits }),
      now: () => this.#timer.now(),
      request: (stream, fields, isLast) => this.#request(stream, fields, isLast),
      refused: (what, reason) => init.shared?.refused(what, reason)
    })
  }

  /** A server asks whether calls are in flight or not: connections to clients that are gone must not add up. */
  readonly isWanted = true
  /** GOAWAY tells every client to connect again. */
  readonly handsOver = true

  get incomplete(): boolean {
    return this.#http2.incomplete
  }

  get buffered(): number {
    return this.#http2.buffered
  }

  /** Calls whose handlers run, also those whose callers wait no longer, and streams that are not sent completely. */
  get inFlight(): number {
    return Math.max(this.#calls.size, this.#http2.inFlight)
  }

  /** Number of calls that are answered by a stream. */
  get streams(): number {
    let streams = 0
    for (const call of this.#calls) if (call.isStream) streams++
    return streams
  }

  /** The socket is connected. */
  open(output: Output): void {
    this.output = output
    this.#http2.open(output)
    this.#lookAt(this.#keepalive?.next())
  }

  receive(chunk: Uint8Array): void {
    this.#http2.receive(chunk)
  }

  resume(): void {
    this.#http2.resume()
  }

  drain(reason?: string): boolean {
    return this.#http2.drain(reason)
  }

  discard(): void {
    this.#http2.discard()
  }

  close(reason?: Error): void {
    this.#http2.close(reason)
    this.#timer.stop()
  }

  /** Ends all calls; their callers are told that the server stops. */
  cut(): void {
    for (const call of [...this.#calls]) call.cut()
  }

  wake(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const call of [...this.#calls])
      if (call.deadline <= now) call.timeIsOver()
      else next = Math.min(next, call.deadline)
    this.#lookAt(next)
    this.#lookAt(this.#keepalive?.look(now))
  }

  #lookAt(time: number | undefined): void {
    if (time !== undefined && time < Number.POSITIVE_INFINITY) this.#timer.wakeAt(time)
  }

  // ── keepalive ────────────────────────────────────────────────────────────────────────────────────────

  get heardAt(): number {
    return this.#http2.heardAt
  }

  ping(): void {
    this.#http2.ping(() => {})
  }

  dead(reason: Error): void {
    this.output?.destroy(reason)
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  now(): number {
    return this.#timer.now()
  }

  refusal(): string | undefined {
    const { shared } = this.#init
    const refusal = shared?.admission?.refusal()
    if (refusal !== undefined) shared?.refused('requests', refusal)
    return refusal
  }

  ended(call: IncomingCall): void {
    this.#calls.delete(call)
    this.output?.settled()
    this.#init.settled?.()
  }

  #request(stream: Http2Stream, fields: readonly Field[], isLast: boolean): void {
    const head = readHead(fields)
    if ('reason' in head) return refuse(stream, head)
    const { own, methods } = this.#init
    const ownMethod = own?.method(head.path)
    const method = ownMethod ?? methods.method(head.path)
    if (method === undefined)
      return refuse(stream, { status: GrpcStatus.UNIMPLEMENTED, reason: `There is no method '${head.path}'` })
    const handlers = (ownMethod === undefined ? undefined : this.#ownHandlers) ?? this.#handlers
    const call = new IncomingCall(this, stream, method, head, handlers)
    stream.listener = call
    call.begin(isLast)
    if (call.hasEnded) return
    this.#calls.add(call)
    this.#lookAt(call.deadline)
  }
}

/** Answers a request that is no call, or one of no method. */
function refuse(stream: Http2Stream, { http = 200, status, reason }: Refused): void {
  const fields = [':status', String(http), 'content-type', 'application/grpc', ...trailersOf(status, reason)]
  // A client that compresses in another way learns how it may.
  if (status === GrpcStatus.UNIMPLEMENTED) fields.push('grpc-accept-encoding', ACCEPTED)
  stream.fields(fields, true)
}
