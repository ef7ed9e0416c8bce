/** The side that is connected to: checks SETUP, authenticates, grants leases, notices dead clients. */
import type { Caller } from '../../call.ts'
import type { Codec } from '../../codec/codec.ts'
import { Codecs } from '../../codec/codecs.ts'
import type { Connection, Dispatcher } from '../../dispatch.ts'
import type { SharedLimits } from '../../limits/server-limits.ts'
import type { Logger } from '../../logger.ts'
import type { Output, ProtocolConnection, Timer } from '../connection.ts'
import { FrameHandler } from './frame-handler.ts'
import { ErrorCode, FrameType, MAX_UINT31 } from './frame-type.ts'
import {
  type ResumeRequest,
  readResume,
  writeError,
  writeLease,
  writeMetadataPush,
  writeResumeOk
} from './frames.ts'
import { goingAwayMetadata, understandsGoingAway } from './going-away.ts'
import { GrantedLeases, type LeaseHost } from './granted-leases.ts'
import { HeldLease } from './lease.ts'
import type { Authenticate, RSocketServerOptions } from './options.ts'
import { type MetadataReader, metadataWriter } from './request-metadata.ts'
import { RSocketRequester } from './requester.ts'
import { type ResponderHost, RSocketResponder } from './responder.ts'
import type { Resumable } from './resumable-connections.ts'
import { ResumeState } from './resume.ts'
import { readSetup, type Setup } from './setup.ts'
import { acceptsCredentials, setupRefusal } from './setup-check.ts'

/** Milliseconds for a server's call that says nothing else. */
const SERVER_CALL_TIMEOUT = 30_000

/** One connection of a server. */
export class RSocketServerConnection extends FrameHandler implements Resumable, ResponderHost, LeaseHost {
  protected override readonly ownParity = 0
  override requester: RSocketRequester | undefined
  protected override responder: RSocketResponder | undefined
  readonly #options: RSocketServerOptions
  #state: 'awaiting setup' | 'authenticating' | 'open' | 'draining' | 'drained' | 'handed over' =
    'awaiting setup'
  #drainReason = ''
  #clientUnderstandsGoingAway = false
  /** Granted to the client, if it waits for leases. */
  #leases: GrantedLeases | undefined
  #heldLease: HeldLease | undefined
  readonly codecs = new Codecs()
  readonly limits: SharedLimits
  /** From SETUP, as soon as it is accepted. */
  dataMimeType = ''
  metadata!: MetadataReader
  #maxLifetime = Number.POSITIVE_INFINITY
  #lastHeard = 0

  /** When it must be set up, in the clock of `timer`; `Infinity` for no limit. */
  readonly #setUpBefore: number

  constructor(options: RSocketServerOptions) {
    super(options)
    this.#options = options
    this.limits = options.limits
    const { handshakeTimeout, timer } = options
    this.#setUpBefore = handshakeTimeout > 0 ? timer.now() + handshakeTimeout : Number.POSITIVE_INFINITY
    if (handshakeTimeout > 0) timer.wakeAt(this.#setUpBefore)
  }

  get dispatcher(): Dispatcher {
    return this.#options.dispatcher as Dispatcher
  }

  get logger(): Logger {
    return this.#options.logger
  }

  get connection(): Connection {
    return this.#options.connection
  }

  get authenticate(): Authenticate | undefined {
    return this.#options.authenticate
  }

  get timer(): Timer {
    return this.#options.timer
  }

  ready(): Promise<void> | undefined {
    return this.output?.ready()
  }

  get isOpen(): boolean {
    return this.#state === 'open' && !this.ended
  }

  override settled(): void {
    this.#leases?.grant()
    this.#closeWhenDrained()
    this.output?.settled()
  }

  override wake(now: number): void {
    if (this.ended) return
    if (this.#state === 'awaiting setup' || this.#state === 'authenticating') return this.#checkHandshake(now)
    this.requester?.expire(now)
    this.responder?.expire(now)
    this.#leases?.grant()
    if (this.heard) this.#lastHeard = now
    this.heard = false
    if (this.detached) return
    if (now - this.#lastHeard >= this.#maxLifetime) {
      return this.lose(
        new Error(`Nothing has been received for the lifetime of ${this.#maxLifetime} ms that SETUP set`)
      )
    }
    if (this.#maxLifetime < Number.POSITIVE_INFINITY)
      this.#options.timer.wakeAt(this.#lastHeard + this.#maxLifetime)
  }

  /** A peer that says half a SETUP, and a hook that never decides, do not keep a connection. */
  #checkHandshake(now: number): void {
    if (now < this.#setUpBefore) return this.#options.timer.wakeAt(this.#setUpBefore)
    const code = this.#state === 'authenticating' ? ErrorCode.REJECTED_SETUP : ErrorCode.INVALID_SETUP
    const { handshakeTimeout } = this.#options
    this.#reject(code, `The connection was not set up within handshakeTimeout (${handshakeTimeout} ms)`)
  }

  drain(reason = 'The server is stopping'): boolean {
    if (this.#state !== 'open') return this.#isDraining
    this.#state = 'draining'
    this.#drainReason = reason
    if (this.#clientUnderstandsGoingAway && this.inFlight > 0) {
      writeMetadataPush(this.bytes, goingAwayMetadata(reason))
      this.output?.committed()
    }
    this.#closeWhenDrained()
    return true
  }

  get #isDraining(): boolean {
    return this.#state === 'draining' || this.#state === 'drained'
  }

  /** CONNECTION_CLOSE comes last: some libraries take it for the end of streams that have not ended. */
  #closeWhenDrained(): void {
    if (this.#state !== 'draining' || this.inFlight > 0) return
    this.#state = 'drained'
    writeError(this.bytes, 0, ErrorCode.CONNECTION_CLOSE, this.#drainReason)
    this.output?.committed()
  }

  override close(reason?: Error): void {
    // A connection that has begun to resume another has nothing of its own.
    if (this.#state === 'handed over') return
    const { resumable } = this.#options
    if (this.resumption !== undefined && resumable !== undefined && !this.ended && this.#state === 'open') {
      this.detach()
      return resumable.wait(this.resumption.token, this)
    }
    this.end(reason)
  }

  /** The connection is over and will not be resumed. */
  end(reason?: Error): void {
    if (this.resumption !== undefined) this.#options.resumable?.forget(this.resumption.token)
    this.ended = true
    this.#leases?.end()
    this.#leases = undefined
    this.#options.timer.stop()
    this.bytes.reset()
    this.requester?.close(true, reason)
    this.responder?.close()
  }

  protected override mayHandle(): boolean {
    return this.#state !== 'authenticating'
  }

  protected override beforeSetup(
    type: number,
    streamId: number,
    buffer: Buffer,
    start: number,
    end: number
  ): boolean {
    if (this.#state !== 'awaiting setup') return false
    if (streamId === 0 && type === FrameType.SETUP) this.#setUp(readSetup(buffer, start, end))
    else if (streamId === 0 && type === FrameType.RESUME) this.#resume(readResume(buffer, start, end))
    else this.#reject(ErrorCode.INVALID_SETUP, 'The first frame must be SETUP or RESUME, on stream 0')
    return true
  }

  protected override lease(timeToLive: number, requests: number): void {
    this.#heldLease?.renew(timeToLive, requests)
    this.requester?.leased()
  }

  protected override metadataPush(buffer: Buffer, start: number, end: number): void {
    const size = end - start
    const { maxHeaderSize } = this.limits
    if (size <= maxHeaderSize) return super.metadataPush(buffer, start, end)
    // It has no answer, so the log is all.
    this.limits.refused('headers', `METADATA_PUSH has ${size} bytes; maxHeaderSize allows ${maxHeaderSize}`)
  }

  protected override connectionError(code: number, data: string): void {
    // "A server MUST ignore an ERROR[INVALID_SETUP|UNSUPPORTED_SETUP|REJECTED_SETUP|REJECTED_RESUME] frame."
    if (code < ErrorCode.CONNECTION_ERROR) return
    if (code === ErrorCode.CONNECTION_CLOSE) {
      // The client leaves for good.
      if (this.resumption !== undefined) this.#options.resumable?.forget(this.resumption.token)
      this.resumption = undefined
      return
    }
    this.output?.end(new Error(`The client ended the connection: ${data}`))
    this.end()
  }

  /** Gives the socket of this connection to the one that is to be resumed. */
  #resume(request: ResumeRequest): void {
    const { resumable } = this.#options
    const connection = resumable?.take(request.token)
    const { output } = this
    if (connection === undefined || output === undefined) {
      return this.#reject(ErrorCode.REJECTED_RESUME, 'There is no connection of this token to resume')
    }
    this.#state = 'handed over'
    this.#options.timer.stop()
    connection.goOn(output, request)
  }

  /** Goes on with another socket, if the other end has what is needed. */
  goOn(output: Output, request: ResumeRequest): void {
    const resumption = this.resumption as ResumeState
    const old = this.output
    if (old !== undefined) {
      // The client has noticed the loss first: what is left of the old socket is nobody's.
      old.adopt(NOTHING)
      old.end()
    }
    this.detach()
    output.adopt(this)
    this.open(output)
    this.#lastHeard = this.#options.timer.now()
    this.#options.timer.wakeAt(this.#lastHeard + this.#maxLifetime)
    const { lastReceivedServerPosition: position, firstAvailableClientPosition } = request
    if (!resumption.canResumeFrom(position) || firstAvailableClientPosition > resumption.received) {
      const message = 'Frames that one side has not received are not kept any more by the other'
      this.fail(new Error(message), ErrorCode.REJECTED_RESUME)
      return this.end()
    }
    writeResumeOk(this.bytes, resumption.received)
    output.committed()
    this.reattach(resumption, position)
    // "LEASE semantics MUST be restarted upon a new connection by sending a LEASE frame from the server."
    this.#leases?.restart()
  }

  #reject(code: number, message: string): void {
    this.fail(new Error(message), code)
  }

  #setUp(setup: Setup): void {
    const refusal = setupRefusal(setup, this.#options)
    if (refusal !== undefined) return this.#reject(refusal.code, refusal.message)
    this.#authenticate(setup)
  }

  #authenticate(setup: Setup): void {
    const accepted = acceptsCredentials(setup, this.#options)
    if (typeof accepted === 'boolean') return this.#authenticated(setup, accepted)
    this.#state = 'authenticating'
    void accepted.then((verdict) => {
      if (this.ended) return
      this.#authenticated(setup, verdict)
      this.resume()
    })
  }

  #authenticated(setup: Setup, accepted: boolean): void {
    if (accepted) this.#accept(setup)
    else this.#reject(ErrorCode.REJECTED_SETUP, 'The credentials are not accepted')
  }

  #accept(setup: Setup): void {
    const { timer } = this.#options
    this.#state = 'open'
    const { resumable } = this.#options
    if (setup.resumeToken !== undefined && resumable !== undefined) {
      this.resumption = new ResumeState(setup.resumeToken, resumable.bufferSize)
      resumable.add(setup.resumeToken, this)
    }
    this.dataMimeType = setup.dataMimeType
    this.#clientUnderstandsGoingAway = understandsGoingAway(setup)
    this.metadata = this.#options.metadataReader(setup.metadataMimeType)
    if (this.#options.dispatcher !== undefined) this.responder = new RSocketResponder(this)
    this.#grantFirstLease(setup)
    this.#lastHeard = timer.now()
    this.#maxLifetime = setup.maxLifetime
    timer.wakeAt(this.#lastHeard + this.#maxLifetime)
    // "If a client-side Requester sets the L flag, the server-side Requester MUST wait for a LEASE frame."
    this.#heldLease = setup.lease ? new HeldLease(() => timer.now()) : undefined
  }

  /** Asks the client. Made when it is first used: most servers only answer. */
  get caller(): Caller {
    const { logger, maxSendBufferSize, timer } = this.#options
    this.requester ??= new RSocketRequester({
      role: 'server',
      host: this,
      sender: this.sender,
      codec: this.codecs.get(this.dataMimeType) as Codec,
      codecs: this.codecs,
      logger,
      metadata: metadataWriter,
      lease: this.#heldLease,
      maxSendBufferSize,
      timeout: SERVER_CALL_TIMEOUT,
      tellTimeout: false,
      timer
    })
    return this.requester
  }

  #grantFirstLease(setup: Setup): void {
    if (!setup.lease) return
    const { lease } = this.#options
    // "If the server accepts the SETUP frame, it MUST send a LEASE frame if it set the L flag."
    if (lease === undefined) return this.sendLease(MAX_UINT31, MAX_UINT31)
    this.#leases = new GrantedLeases(this, lease)
    this.#leases.grant()
  }

  sendLease(timeToLive: number, requests: number): void {
    writeLease(this.bytes, timeToLive, requests)
    this.output?.committed()
  }

  refuse(): string | undefined {
    if (this.#isDraining) return this.#drainReason
    const refusal = this.#refusal()
    if (refusal !== undefined) this.limits.refused('requests', refusal)
    return refusal
  }

  #refusal(): string | undefined {
    const { lease } = this.#options
    if (this.#leases !== undefined) {
      if (!this.#leases.take()) return 'No lease covers the request'
    } else if (lease !== undefined && this.inFlight >= lease.concurrency)
      return `${lease.concurrency} requests of this connection are in flight already`
    const { admission } = this.limits
    if (admission === undefined || admission.room > 0) return undefined
    // The request has used up what it was granted.
    this.#leases?.grant()
    return admission.refusal()
  }
}

/** What a socket has that belongs to no connection any more. */
const NOTHING: ProtocolConnection = {
  incomplete: false,
  buffered: 0,
  inFlight: 0,
  receive() {},
  resume() {},
  close() {}
}
