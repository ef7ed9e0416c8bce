/**
 * A connection of a server until it is set up: its first frame must be SETUP or RESUME, and its sender must be
 * accepted. Then a `ServerConnection` replaces the handshake.
 */
import {
  type Codec,
  copyBytes,
  openCodec,
  readUint16,
  readUint31,
  type Timer
} from '@elysia-microservices/transport/kit'
import type { PeerSide } from '../connection/peer.ts'
import type { Output, ProtocolConnection } from '../connection/protocol.ts'
import { Accepted, type Verdict } from './authenticate.ts'
import type { Credentials } from './composite-metadata.ts'
import { FrameInput } from './frame-input.ts'
import { ErrorCode, FrameType, HEADER_LENGTH } from './frame-type.ts'
import { readResume } from './frames.ts'
import type { ServerConnectionOptions } from './options.ts'
import { parseComposite } from './request-metadata.ts'
import { ServerConnection } from './server-connection.ts'
import { readSetup, type Setup } from './setup.ts'
import { judged, setupCredentials, setupRefusal } from './setup-check.ts'
import { Wire } from './wire.ts'

/** One connection that is not set up yet. */
export class ServerHandshake implements ProtocolConnection, PeerSide {
  readonly inFlight = 0
  readonly #options: ServerConnectionOptions
  readonly output: Output
  readonly #timer: Timer
  readonly #wire: Wire
  readonly #input: FrameInput
  /** Time until which the connection must be set up, in the clock of the timer; `Infinity` for no limit. */
  readonly #deadline: number
  #state: 'awaiting setup' | 'authenticating' | 'over' = 'awaiting setup'
  /** Credentials that were sent before RESUME. */
  #pushed: Credentials | undefined
  #isPushed = false

  constructor(options: ServerConnectionOptions, output: Output) {
    const { maxUnsent, maxBufferSize, handshakeTimeout } = options
    this.#options = options
    this.output = output
    this.#timer = options.newTimer(this)
    this.#wire = new Wire(maxUnsent, options.maxFrameLength)
    this.#wire.open(output)
    this.#input = new FrameInput(maxBufferSize, this)
    this.#deadline = handshakeTimeout > 0 ? this.#timer.now() + handshakeTimeout : Number.POSITIVE_INFINITY
    this.#timer.wakeAt(this.#deadline)
  }

  get incomplete(): boolean {
    return this.buffered > 0
  }

  get buffered(): number {
    return this.#input.buffered
  }

  receive(chunk: Uint8Array): void {
    this.#input.receive(chunk)
  }

  /**
   * Does nothing, because a handshake holds nothing back: frames before SETUP are handled at once, and frames after it
   * wait for the verdict.
   */
  resume(): void {}

  discard(): void {
    this.#input.discard()
  }

  /** Rejects the connection at its deadline: the peer has not sent a whole SETUP, or `authenticate` has not decided. */
  wake(now: number): void {
    const { handshakeTimeout } = this.#options
    if (now < this.#deadline) return this.#timer.wakeAt(this.#deadline)
    const code = this.#state === 'authenticating' ? ErrorCode.REJECTED_SETUP : ErrorCode.INVALID_SETUP
    this.#reject(code, `The connection was not set up within limits.handshake (${handshakeTimeout} ms)`)
  }

  close(): void {
    this.#over()
    this.#wire.isEnded = true
    this.#wire.bytes.reset()
  }

  #over(): void {
    this.#state = 'over'
    this.#timer.stop()
  }

  // ── frames ───────────────────────────────────────────────────────────────────────────────────────────

  get mayHandle(): boolean {
    return this.#state === 'awaiting setup'
  }

  /** Handles the first frame: SETUP, or RESUME. */
  handleFrame(buffer: Uint8Array, start: number, end: number): void {
    const type = readUint16(buffer, start + 4) >>> 10
    const isConnectionFrame = readUint31(buffer, start) === 0
    if (isConnectionFrame && type === FrameType.SETUP) this.#setUp(readSetup(buffer, start, end))
    else if (isConnectionFrame && type === FrameType.RESUME) this.#resume(buffer, start, end)
    else if (
      isConnectionFrame &&
      type === FrameType.METADATA_PUSH &&
      (this.#options.authenticate !== undefined || this.#options.resumable !== undefined)
    )
      this.#push(buffer.subarray(start + HEADER_LENGTH, end))
    else this.#reject(ErrorCode.INVALID_SETUP, 'The first frame must be SETUP or RESUME, on stream 0')
  }

  /** The received bytes are not valid RSocket. */
  failed(error: Error): void {
    this.#over()
    this.#wire.fail(error)
  }

  #setUp(setup: Setup): void {
    const refusal = setupRefusal(setup, this.#options)
    if (refusal !== undefined) return this.#reject(refusal.code, refusal.message)
    // `authenticate` gets the certificate of the peer, but cannot call the peer yet.
    this.#judge(
      () => setupCredentials(setup),
      (verdict) => this.#decide(setup, verdict)
    )
  }

  /** Calls `authenticate`, and continues when it has answered. */
  #judge(credentials: () => Credentials | undefined, decide: (verdict: Verdict) => void): void {
    const said = judged(this.#options, credentials, this)
    if (typeof said === 'boolean' || said instanceof Accepted) return decide(said)
    this.#state = 'authenticating'
    void said.then((verdict) => {
      if (this.#state !== 'authenticating') return
      decide(verdict)
      this.output.goOn()
    })
  }

  #decide(setup: Setup, verdict: Verdict): void {
    if (verdict === false) return this.#rejectCredentials()
    // Another connection may have taken the resume token meanwhile.
    const late = this.#state === 'authenticating' ? setupRefusal(setup, this.#options) : undefined
    if (late !== undefined) return this.#reject(late.code, late.message)
    const user = verdict === true ? undefined : verdict.user
    const refused = user === undefined ? undefined : this.#options.refuses?.(user)
    if (refused !== undefined) return this.#reject(ErrorCode.REJECTED_SETUP, refused)
    const codec = openCodec(setup.dataMimeType) as Codec
    const connection = new ServerConnection(
      this.#options,
      setup,
      codec,
      this.#wire,
      this.#input,
      this.#timer,
      user
    )
    this.#input.handler = connection
    this.output.adopt(connection)
  }

  /**
   * Gives the socket to the connection that the client resumes. Unless its token is enough, the connection of a user can only be
   * resumed by the same user, and `authenticate` is called again, because a token may have been stolen and credentials may have expired.
   */
  #resume(buffer: Uint8Array, start: number, end: number): void {
    const request = readResume(buffer, start, end)
    const resume = () => {
      const connection = this.#options.resumable?.take(request.token)
      if (connection === undefined)
        return this.#reject(
          ErrorCode.REJECTED_RESUME,
          'There is no connection with this token to resume; connect again with SETUP'
        )
      this.#over()
      connection.goOn(this.output, request)
    }
    const known = this.#options.resumable?.find(request.token)
    const owner = known?.user
    if (owner === undefined || this.#options.resumesByToken === true) return resume()
    this.#judge(
      () => this.#pushed,
      (verdict) => {
        if (verdict === false) return this.#rejectCredentials()
        if (verdict !== true && verdict.user === owner) {
          const refused = this.#options.refuses?.(owner, known)
          return refused === undefined ? resume() : this.#reject(ErrorCode.REJECTED_RESUME, refused)
        }
        this.#reject(ErrorCode.REJECTED_RESUME, 'The connection with this token belongs to another user')
      }
    )
  }

  /** Stores the credentials for the RESUME that follows, because RESUME has no field for credentials. */
  #push(metadata: Uint8Array): void {
    const { maxHeaderSize } = this.#options.limits
    if (this.#isPushed || metadata.length > maxHeaderSize)
      return this.#reject(
        ErrorCode.INVALID_SETUP,
        `Before RESUME, a client may send only one METADATA_PUSH, of at most ${maxHeaderSize} bytes`
      )
    this.#isPushed = true
    this.#pushed = parseComposite(copyBytes(metadata, 0, metadata.length)).credentials
  }

  #rejectCredentials(): void {
    const message = 'The credentials are not accepted'
    this.#reject(ErrorCode.REJECTED_SETUP, message, JSON.stringify({ code: 'UNAUTHENTICATED', message }))
  }

  /** @param text the text for the peer; default: the message */
  #reject(code: number, message: string, text = message): void {
    this.#over()
    this.#wire.fail(new Error(message), code, text)
  }
}
