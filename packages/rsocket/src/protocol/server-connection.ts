/** A set-up RSocket connection of a server: answers requests, notices a dead client, drains, and can be resumed. */
import {
  ByteWriter,
  type Caller,
  type Codec,
  PendingCaller,
  quietLog,
  shown,
  type Timer
} from '@elysia-microservices/transport/kit'
import { connectionClosed } from '../connection/connection-errors.ts'
import { ConnectionPeer, type PeerSide } from '../connection/peer.ts'
import type { Output, ProtocolConnection } from '../connection/protocol.ts'
import { reasonOf } from '../connection/system-errors.ts'
import { callerOf } from './caller-entry.ts'
import type { ConnectionRole } from './connection-frames.ts'
import { defaultTimeoutOf } from './default-timeout.ts'
import { toWireError } from './failure-codes.ts'
import type { FrameHandler, FrameInput } from './frame-input.ts'
import { ErrorCode } from './frame-type.ts'
import { type ResumeRequest, writeResumeOk } from './frames.ts'
import { understandsGoingAway } from './going-away.ts'
import { HeldLease, isLeaseWanted } from './lease.ts'
import type { ServerConnectionOptions } from './options.ts'
import { RSocketRequester } from './requester.ts'
import { RSocketResponder } from './responder.ts'
import { ResumeState } from './resume.ts'
import { ServerGate } from './server-gate.ts'
import type { Setup } from './setup.ts'
import { StreamFrames } from './stream-frames.ts'
import type { Wire } from './wire.ts'

/** Milliseconds for a server's call without its own timeout. */
const SERVER_CALL_TIMEOUT = 30_000

/** One connection that is set up. */
export class ServerConnection implements ProtocolConnection, FrameHandler, ConnectionRole, PeerSide {
  readonly #options: ServerConnectionOptions
  /** See `PeerSide.user`. */
  readonly user: string | undefined
  /** See `PeerSide.name`. */
  readonly name: string | undefined
  readonly #timer: Timer
  readonly #wire: Wire
  readonly #input: FrameInput
  readonly #codec: Codec
  readonly #gate: ServerGate
  readonly #responder: RSocketResponder
  readonly #streams: StreamFrames
  /** The lease that the client grants to the server's calls; `undefined` if no lease is needed. */
  readonly #heldLease: HeldLease | undefined
  /** Milliseconds of silence after which the client counts as dead. */
  readonly #maxLifetime: number
  #lastHeard: number
  /** A frame was received since the timer last fired. */
  #isHeard = false
  /** The client's address, as long as the connection can be resumed: a lost socket no longer has an address. */
  #address = ''

  constructor(
    options: ServerConnectionOptions,
    setup: Setup,
    codec: Codec,
    wire: Wire,
    input: FrameInput,
    timer: Timer,
    user?: string
  ) {
    const { transport, limits, logger, dispatcher, resumable, maxMessageSize } = options
    timer.owner = this
    this.#options = options
    this.user = user
    this.name = callerOf(setup)
    this.#timer = timer
    this.#wire = wire
    this.#input = input
    this.#codec = codec
    const isOurs = understandsGoingAway(setup)
    this.#gate = new ServerGate({
      wire,
      timer,
      limits,
      wantsLeases: setup.lease,
      understandsGoingAway: isOurs,
      connection: this
    })
    this.#responder = new RSocketResponder({
      transport,
      wire,
      dispatcher,
      logger,
      peer: new ConnectionPeer(this),
      codec,
      metadata: options.metadataReader(setup.metadataMimeType),
      authenticate: options.authenticate,
      timer,
      limits,
      gate: this.#gate,
      defaultTimeout: defaultTimeoutOf(setup),
      tellsRefusals: isOurs,
      settled: () => this.#settled()
    })
    this.#streams = new StreamFrames({
      connection: this,
      role: 'server',
      wire,
      maxMessageSize,
      requester: undefined,
      responder: this.#responder
    })
    // "If a client-side Requester sets the L flag, the server-side Requester MUST wait for a LEASE frame."
    this.#heldLease = setup.lease ? new HeldLease(() => timer.now()) : undefined
    this.#maxLifetime = setup.maxLifetime
    this.#lastHeard = timer.now()
    timer.wakeAt(this.#lastHeard + this.#maxLifetime)
    if (setup.resumeToken !== undefined && resumable !== undefined) {
      wire.resumption = new ResumeState(setup.resumeToken, resumable.bufferSize)
      resumable.add(setup.resumeToken, this)
      this.#address = addressOf(wire.output)
    }
    this.#gate.open()
  }

  get incomplete(): boolean {
    return this.#input.buffered > 0
  }

  get buffered(): number {
    return this.#input.buffered
  }

  get inFlight(): number {
    return this.#streams.inFlight
  }

  get events(): number {
    return this.#responder.events
  }

  get streams(): number {
    return this.#responder.streams
  }

  receive(chunk: Uint8Array): void {
    this.#isHeard = true
    this.#responder.arrived()
    this.#input.receive(chunk)
  }

  resume(): void {
    this.#streams.requester?.taken()
    this.#responder.arrived()
    this.#input.resume()
  }

  discard(): void {
    this.#input.discard()
    if (!this.#canGoOn) this.#responder.close(lostClient(undefined))
  }

  wake(now: number): void {
    this.#streams.requester?.calls.wake(now)
    this.#responder.expire(now)
    this.#gate.wake(now)
    if (this.#isHeard) this.#lastHeard = now
    this.#isHeard = false
    if (this.#wire.isDetached || this.#wire.isEnded) return
    if (now - this.#lastHeard < this.#maxLifetime)
      return this.#timer.wakeAt(this.#lastHeard + this.#maxLifetime)
    this.#wire.lose(
      new Error(`Nothing has been received for the lifetime of ${this.#maxLifetime} ms that SETUP set`)
    )
    if (this.#wire.isEnded) this.#timer.stop()
  }

  get handsOver(): boolean {
    return this.#gate.understandsGoingAway
  }

  drain(reason = 'The server is stopping'): boolean {
    return this.#gate.drain(reason)
  }

  close(reason?: Error): void {
    const { resumable } = this.#options
    const { resumption } = this.#wire
    if (!this.#canGoOn || resumption === undefined || resumable === undefined) return this.end(reason)
    this.#detach()
    resumable.wait(resumption, this, this.#address)
  }

  /** Whether the connection may be resumed over another socket. */
  get #canGoOn(): boolean {
    return this.#wire.resumption !== undefined && !this.#wire.isEnded && !this.#gate.isDraining
  }

  // ── frames ───────────────────────────────────────────────────────────────────────────────────────────

  get mayHandle(): boolean {
    return !this.#wire.isEnded && this.#wire.output?.isBlocked !== true
  }

  handleFrame(buffer: Uint8Array, start: number, end: number): void {
    this.#streams.handle(buffer, start, end)
  }

  failed(error: Error): void {
    this.#wire.fail(error)
  }

  leased(timeToLive: number, requests: number): void {
    this.#heldLease?.renew(timeToLive, requests)
    this.#streams.requester?.leased()
  }

  alive(): void {
    this.#gate.answered()
  }

  probed(buffer: Uint8Array, start: number, end: number): void {
    if (isLeaseWanted(buffer, start, end)) this.#gate.leaseWanted()
  }

  ended(code: number, data: string): void {
    // "A server MUST ignore an ERROR[INVALID_SETUP|UNSUPPORTED_SETUP|REJECTED_SETUP|REJECTED_RESUME] frame."
    if (code < ErrorCode.CONNECTION_ERROR) return
    if (code === ErrorCode.CONNECTION_CLOSE) return this.#forgetResumption()
    this.#wire.output?.end(new Error(`The client ended the connection: ${data}`))
    this.end()
  }

  /** A server ignores METADATA_PUSH, which has no answer. A METADATA_PUSH that is too long is counted and logged. */
  metadataPushed(_buffer: Uint8Array, start: number, end: number): void {
    const { limits } = this.#options
    const size = end - start
    if (size > limits.maxHeaderSize)
      limits.refused(
        'headers',
        `METADATA_PUSH has ${size} bytes; limits.headerSize allows ${limits.maxHeaderSize}`
      )
  }

  // ── resuming ─────────────────────────────────────────────────────────────────────────────────────────

  /** Continues over another socket, if both ends still store the frames that the other end has not received. */
  goOn(output: Output, request: ResumeRequest): void {
    const wire = this.#wire
    const resumption = wire.resumption as ResumeState
    const timer = this.#timer
    const old = wire.output
    if (old !== undefined) {
      // The client has noticed the loss first: the remaining input of the old socket is ignored.
      old.adopt(NOTHING)
      old.end()
      // The old socket empties its buffer when it closes, which may be much later.
      old.attach(new ByteWriter())
    }
    this.#detach()
    output.adopt(this)
    wire.open(output)
    this.#address = addressOf(output)
    this.#lastHeard = timer.now()
    timer.wakeAt(this.#lastHeard + this.#maxLifetime)
    const { lastReceivedServerPosition: position, firstAvailableClientPosition } = request
    if (!resumption.canResumeFrom(position) || firstAvailableClientPosition > resumption.received) {
      const message =
        'The connection cannot be resumed: frames that one end has not received are no longer stored by the other end'
      wire.fail(new Error(message), ErrorCode.REJECTED_RESUME)
      return this.end()
    }
    writeResumeOk(wire.bytes, resumption.received)
    wire.flush()
    wire.reattach(resumption, position)
    this.#streams.requester?.goOn()
    this.#responder.goOn()
    // "LEASE semantics MUST be restarted upon a new connection by sending a LEASE frame from the server."
    this.#gate.resume()
  }

  /** The connection has ended and cannot be resumed. */
  end(reason?: Error): void {
    this.#forgetResumption()
    this.#wire.isEnded = true
    this.#gate.end()
    this.#timer.stop()
    this.#wire.bytes.reset()
    const lost = lostClient(reason)
    this.#streams.requester?.calls.close(lost)
    this.#responder.close(lost)
  }

  #detach(): void {
    this.#wire.detach()
    this.#input.discard()
    this.#gate.detach()
  }

  #forgetResumption(): void {
    const { resumption } = this.#wire
    if (resumption !== undefined) this.#options.resumable?.forget(resumption.token)
    this.#wire.resumption = undefined
  }

  #settled(): void {
    if (!this.#gate.isOpen) this.#gate.settled()
    this.#wire.output?.settled()
  }

  get output(): Output | undefined {
    return this.#wire.output
  }

  #newRequester(): RSocketRequester {
    const requester = new RSocketRequester({
      role: 'server',
      wire: this.#wire,
      codec: this.#codec,
      logger: this.#options.logger,
      toWireError,
      lease: this.#heldLease,
      timeout: SERVER_CALL_TIMEOUT,
      timer: this.#timer,
      idle: () => this.#settled(),
      eventRefused: (pattern, { message }) =>
        quietLog(this.#options.logger).warn(
          'refused event',
          `The event '${shown(pattern)}' was refused by the client that it was sent to: ${shown(message)}`
        )
    })
    // A handler may make its first call after its client has left.
    if (this.#wire.isEnded) requester.calls.close(lostClient(undefined))
    return requester
  }

  /** Makes calls to the client. The requester is made when it is first used, because most servers only answer. */
  get caller(): Caller {
    this.#streams.requester ??= this.#newRequester()
    const { calls } = this.#streams.requester
    return new PendingCaller((call) => calls.start(call), SERVER_CALL_TIMEOUT)
  }
}

/** The protocol of a socket that no longer belongs to a connection. */
const NOTHING: ProtocolConnection = {
  incomplete: false,
  buffered: 0,
  inFlight: 0,
  receive() {},
  resume() {},
  close() {}
}

/** Makes the errors of calls to the client, and of the inputs of its channels, after the connection has ended. */
function lostClient(reason: Error | undefined) {
  return (mayHaveRun: boolean) => connectionClosed('the client', reason, mayHaveRun, reasonOf)
}

function addressOf(output: Output | undefined): string {
  return output?.remote.remoteAddress ?? 'an unnamed peer'
}
