/** An RSocket connection of a client: sends SETUP and KEEPALIVE, honours leases, resumes after a loss. */
import {
  type Codec,
  forOneMore,
  type OpenCalls,
  OptionError,
  openCodec,
  ProtocolError,
  readErrorText,
  readUint16,
  readUint31,
  readUint63,
  TimeoutError,
  type Timer,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import { cannotConnect, connectionClosed } from '../connection/connection-errors.ts'
import type { ClientProtocol, FrameOutput, Output } from '../connection/protocol.ts'
import type { AnswerWatch } from './answer-watch.ts'
import type { Credentials } from './composite-metadata.ts'
import type { ConnectionRole } from './connection-frames.ts'
import { type FrameHandler, FrameInput } from './frame-input.ts'
import { ErrorCode, FrameType, HEADER_LENGTH, MAX_UINT31 } from './frame-type.ts'
import {
  errorCodeName,
  writeError,
  writeKeepalive,
  writeLease,
  writeMetadataPush,
  writeResume
} from './frames.ts'
import { isGoingAway } from './going-away.ts'
import { HeldLease, LEASE_WANTED } from './lease.ts'
import { MimeType } from './mime-type.ts'
import type { ClientConnectionOptions } from './options.ts'
import { RSocketRequester } from './requester.ts'
import { ResumeState } from './resume.ts'
import { writeSetup } from './setup.ts'
import { setupMetadata } from './setup-metadata.ts'
import { StreamFrames } from './stream-frames.ts'
import { Wire } from './wire.ts'

const NO_DATA = new Uint8Array()
/**
 * `#`, the data of the keepalive behind SETUP. A server on Nest's wire takes all before it for the length of a packet,
 * which is no number, and closes the connection at once; otherwise it would wait for that length, and say nothing.
 */
const NO_LENGTH_OF_NEST = Uint8Array.of(0x23)

/** One connection of a client. Calls may be made before the connection is open. */
export class ClientConnection implements ClientProtocol, FrameHandler, ConnectionRole {
  readonly #options: ClientConnectionOptions
  readonly #timer: Timer
  readonly #wire: Wire
  readonly #input: FrameInput
  readonly #lease: HeldLease | undefined
  readonly calls: OpenCalls
  readonly #requester: RSocketRequester
  readonly #streams: StreamFrames
  /** Why the server has ended the connection, if the server has said so. */
  #reason: Error | undefined
  #lastHeard = 0
  /** A frame was received since the timer last fired. */
  #isHeard = false
  #nextKeepalive = Number.POSITIVE_INFINITY
  readonly #answers: AnswerWatch | undefined
  /** The server has announced that it goes away. */
  #isServerLeaving = false
  /** This side drains, and tells the server when its calls have ended. */
  #isLeaving = false
  /** Resolve the promises of `confirm`. */
  #confirmed: (() => void)[] = []

  constructor(options: ClientConnectionOptions) {
    const { dataMimeType, logger, timeout, toWireError, maxMessageSize } = options
    const codec = openCodec(dataMimeType) as Codec | undefined
    if (codec === undefined) throw OptionError.expected('options.codec', 'the name of a codec', dataMimeType)
    this.#options = options
    const timer = options.newTimer(this)
    const wire = new Wire(options.maxUnsent, options.maxFrameLength)
    this.#timer = timer
    this.#answers = options.answers?.(timer)
    this.#wire = wire
    this.#input = new FrameInput(options.maxBufferSize, this)
    this.#lease = options.lease ? new HeldLease(() => timer.now()) : undefined
    this.#requester = new RSocketRequester({
      role: 'client',
      wire,
      codec,
      logger,
      toWireError,
      lease: this.#lease,
      askForLease: () => this.#askForLease(),
      timeout,
      knownTimeout: options.knownTimeout,
      timer,
      idle: () => this.#settled(),
      recover: (call, error) => {
        if (error instanceof TimeoutError) this.#callTimedOut()
        return options.recover?.(call, error) === true
      },
      eventRefused: options.eventRefused,
      endpoint: options.endpoint
    })
    this.calls = this.#requester.calls
    const responder = options.responder?.({ wire, logger, codec, timer, settled: () => this.#settled() })
    this.#streams = new StreamFrames({
      connection: this,
      role: 'client',
      wire,
      maxMessageSize,
      requester: this.#requester,
      responder
    })
    const { resume } = options
    if (resume !== undefined) {
      wire.resumption = new ResumeState(crypto.getRandomValues(new Uint8Array(16)), resume.bufferSize)
      // The watch asks the server for a sign at once.
      wire.resumption.isKnown = this.#answers === undefined
    }
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

  get streams(): number {
    return this.#streams.responder?.streams ?? 0
  }

  // ── socket and time ──────────────────────────────────────────────────────────────────────────────────

  /**
   * The socket is connected, for the first time or again.
   * @param credentials the credentials of the client; a server of this library requires them again before a lost
   * connection is resumed
   */
  open(output: FrameOutput, credentials?: Credentials): void {
    const wire = this.#wire
    const { resumption } = wire
    if (resumption !== undefined && wire.isDetached) {
      if (credentials !== undefined) writeMetadataPush(wire.bytes, setupMetadata(credentials))
      writeResume(wire.bytes, {
        token: resumption.token,
        lastReceivedServerPosition: resumption.received,
        firstAvailableClientPosition: resumption.firstAvailable
      })
    } else this.#setUp(credentials)
    // Only servers use the other methods of an output, and only Nest's wire writes text.
    wire.open(output as Output)
    this.#requester.opened()
    // The answers of the last socket do not count for this one.
    if (this.#isHeard) this.#answers?.heard(false)
    this.#isHeard = false
    this.#answers?.expect()
    this.#lastHeard = this.#timer.now()
    this.#nextKeepalive = this.#lastHeard + this.#options.keepaliveInterval
    this.#timer.wakeAt(this.#nextKeepalive)
  }

  receive(chunk: Uint8Array): void {
    this.#isHeard = true
    const { resumption } = this.#wire
    if (resumption?.isKnown === false) {
      resumption.isKnown = true
      this.#requester.taken()
    }
    this.#streams.responder?.arrived()
    this.#input.receive(chunk)
  }

  resume(): void {
    this.#requester.taken()
    this.#streams.responder?.arrived()
    this.#input.resume()
  }

  discard(): void {
    this.#input.discard()
    const wire = this.#wire
    if (wire.resumption !== undefined && !wire.isEnded) return
    this.#requester.stopInputs()
    const { where } = this.#options
    this.#streams.responder?.close((mayHaveRun) => connectionClosed(where, undefined, mayHaveRun))
  }

  wake(now: number): void {
    const wire = this.#wire
    if (wire.isEnded) return
    this.calls.wake(now)
    this.#streams.responder?.expire(now)
    if (this.#isHeard) {
      this.#lastHeard = now
      this.#answers?.heard(!wire.isDetached)
    }
    this.#isHeard = false
    if (wire.output === undefined) return
    const { keepaliveInterval } = this.#options
    const silence = this.#answers?.wake(now) ?? this.#silence(now)
    if (silence !== undefined) {
      // The server cannot resume a connection that it has never accepted.
      if (this.#answers?.isAccepted === false) wire.resumption = undefined
      if (wire.resumption === undefined) this.#reason = silence
      return wire.lose(silence)
    }
    if (now >= this.#nextKeepalive) {
      this.#nextKeepalive = now + keepaliveInterval
      writeKeepalive(wire.bytes, true, wire.resumption?.received ?? 0, NO_DATA)
      wire.flush()
    }
    this.#timer.wakeAt(this.#nextKeepalive)
  }

  /** The error of a connection on which nothing has arrived for the keepalive's lifetime. */
  #silence(now: number): Error | undefined {
    const { keepaliveLifetime } = this.#options
    if (now - this.#lastHeard < keepaliveLifetime) return undefined
    return new Error(`nothing has been received for rsocket.keepalive.lifetime (${keepaliveLifetime} ms)`)
  }

  /** A call has timed out. If nothing has arrived, the connection may be dead, so the server is asked. */
  #callTimedOut(): void {
    const answers = this.#answers
    if (answers === undefined || answers.isWaiting || this.#isHeard || !this.#wire.isConnected) return
    void this.confirm()
    answers.expect()
  }

  confirm(): Promise<void> {
    writeKeepalive(this.#wire.bytes, true, 0, NO_DATA)
    this.#wire.flush()
    return new Promise((resolve) => {
      this.#confirmed.push(resolve)
    })
  }

  /** Whether the socket is lost and no other socket has replaced it yet, also while the server is asked to resume. */
  get isResuming(): boolean {
    return this.#wire.isDetached
  }

  lost(): boolean {
    const wire = this.#wire
    if (wire.resumption === undefined || wire.isEnded) return false
    wire.detach()
    this.#input.discard()
    return true
  }

  drain(): boolean {
    this.#isLeaving = true
    if (this.inFlight === 0) this.leave()
    return false
  }

  get reason(): Error | undefined {
    return this.#reason
  }

  leave(): void {
    this.#isLeaving = false
    const wire = this.#wire
    if (wire.resumption === undefined || wire.output === undefined || wire.isEnded) return
    writeError(wire.bytes, 0, ErrorCode.CONNECTION_CLOSE, 'The client has closed')
    wire.flush()
  }

  close(reason?: Error): void {
    const wire = this.#wire
    const { where, reasonOf } = this.#options
    const isOpened = wire.output !== undefined || wire.isDetached
    const cause = this.#reason ?? reason
    wire.isEnded = true
    this.#timer.stop()
    wire.bytes.reset()
    const error = (mayHaveRun: boolean) => {
      if (cause instanceof UnauthenticatedError) return forOneMore(cause)
      return (isOpened ? connectionClosed : cannotConnect)(where, cause, mayHaveRun, reasonOf)
    }
    this.calls.close(error)
    this.#streams.responder?.close(error)
  }

  // ── frames ───────────────────────────────────────────────────────────────────────────────────────────

  get mayHandle(): boolean {
    return !this.#wire.isEnded && this.#wire.output?.isBlocked !== true
  }

  handleFrame(buffer: Uint8Array, start: number, end: number): void {
    if (this.#wire.isDetached) this.#handleResumption(buffer, start, end)
    else this.#streams.handle(buffer, start, end)
  }

  failed(error: Error): void {
    this.#wire.fail(error)
  }

  leased(timeToLive: number, requests: number): void {
    this.#lease?.renew(timeToLive, requests)
    this.#requester.leased()
  }

  alive(): void {
    for (const resolve of this.#confirmed.splice(0)) resolve()
  }

  ended(code: number, data: string): void {
    if (code === ErrorCode.CONNECTION_CLOSE) return this.#serverLeaves()
    const said = readErrorText(data)
    this.#reason =
      said.code === 'UNAUTHENTICATED'
        ? new UnauthenticatedError(`${this.#options.where}: ${said.message}`, said.received)
        : new Error(`the server ended it (${errorCodeName(code)}): ${said.message}`)
    this.#wire.isEnded = true
    this.#wire.output?.end()
  }

  /** The server has sent METADATA_PUSH. */
  metadataPushed(buffer: Uint8Array, start: number, end: number): void {
    if (isGoingAway(buffer, start, end)) this.#serverLeaves()
  }

  /** Handles a frame before the server has agreed to resume: only RESUME_OK and ERROR count. */
  #handleResumption(buffer: Uint8Array, start: number, end: number): void {
    const wire = this.#wire
    const type = readUint16(buffer, start + 4) >>> 10
    if (readUint31(buffer, start) !== 0) return
    if (type === FrameType.ERROR) return this.#streams.handle(buffer, start, end)
    if (type !== FrameType.RESUME_OK) return
    if (start + HEADER_LENGTH + 8 > end) throw new ProtocolError('RESUME_OK ends before its position')
    const position = readUint63(buffer, start + HEADER_LENGTH)
    const resumption = wire.resumption as ResumeState
    if (!resumption.canResumeFrom(position))
      return wire.fail(new Error(`Resumed at position ${position}, which is no longer kept`))
    wire.reattach(resumption, position)
    this.#requester.goOn()
    this.#streams.responder?.goOn()
    this.#options.resumed?.()
  }

  /**
   * The server goes away. A server with requests in flight announces it twice, so the second announcement is ignored.
   */
  #serverLeaves(): void {
    if (this.#isServerLeaving) return
    this.#isServerLeaving = true
    const { goingAway, handOver } = this.#options
    goingAway()
    // A server that goes away grants no more leases.
    if (handOver !== undefined) this.calls.handOver(handOver)
  }

  /** Tells the server that calls wait for a lease. A server of this library leaves idle clients without one. */
  #askForLease(): void {
    const wire = this.#wire
    // SETUP and RESUME ask as well.
    if (!wire.isConnected) return
    writeKeepalive(wire.bytes, true, wire.resumption?.received ?? 0, LEASE_WANTED)
    wire.flush()
  }

  #settled(): void {
    if (this.#isLeaving && this.inFlight === 0) this.leave()
    this.#wire.output?.settled()
  }

  #setUp(credentials: Credentials | undefined): void {
    const { dataMimeType, keepaliveInterval, keepaliveLifetime, lease } = this.#options
    const { bytes, resumption } = this.#wire
    // Frames that were written before there was a socket follow SETUP.
    const early = bytes.copyFrom(0)
    bytes.reset()
    writeSetup(bytes, {
      keepaliveInterval,
      maxLifetime: keepaliveLifetime,
      metadataMimeType: MimeType.COMPOSITE_METADATA,
      dataMimeType,
      lease,
      resumeToken: resumption?.token,
      metadata: setupMetadata(credentials, this.#options.introduce),
      data: undefined
    })
    // "The client-side Responder MUST send a LEASE frame after a SETUP frame with the L flag set."
    if (lease && this.#streams.responder !== undefined) writeLease(bytes, MAX_UINT31, MAX_UINT31)
    // The answer proves that somebody reads the connection, also while all calls of the client take long.
    if (this.#answers !== undefined) writeKeepalive(bytes, true, 0, NO_LENGTH_OF_NEST)
    bytes.bytes(early)
  }
}
