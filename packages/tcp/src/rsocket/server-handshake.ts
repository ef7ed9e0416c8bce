/**
 * A connection of a server until it is set up: its first frame must be SETUP or RESUME, and its sender must be accepted.
 * Then a `ServerConnection` takes its place.
 */
import {
  type Codec,
  openCodec,
  readUint16,
  readUint31,
  type Timer
} from '@elysia-microservices/transport/kit'
import type { PeerSide } from '../connection/peer.ts'
import type { Output, ProtocolConnection } from '../connection/protocol.ts'
import { FrameInput } from './frame-input.ts'
import { ErrorCode, FrameType } from './frame-type.ts'
import { readResume } from './frames.ts'
import type { ServerConnectionOptions } from './options.ts'
import { ServerConnection } from './server-connection.ts'
import { readSetup, type Setup } from './setup.ts'
import { acceptsCredentials, setupRefusal } from './setup-check.ts'
import { Wire } from './wire.ts'

/** One connection that is not set up yet. */
export class ServerHandshake implements ProtocolConnection, PeerSide {
  readonly inFlight = 0
  readonly #options: ServerConnectionOptions
  readonly output: Output
  readonly #timer: Timer
  readonly #wire: Wire
  readonly #input: FrameInput
  /** Time at which it must be set up, in the clock of the timer; `Infinity` for no limit. */
  readonly #deadline: number
  #state: 'awaiting setup' | 'authenticating' | 'over' = 'awaiting setup'

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

  /** Nothing was held back: what comes before SETUP is handled at once, and what comes behind it waits for the verdict. */
  resume(): void {}

  discard(): void {
    this.#input.discard()
  }

  /** Rejects the connection at its deadline: the peer sent no whole SETUP, or `authenticate` did not decide. */
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

  handleFrame(buffer: Buffer, start: number, end: number): void {
    const type = readUint16(buffer, start + 4) >>> 10
    const isConnectionFrame = readUint31(buffer, start) === 0
    if (isConnectionFrame && type === FrameType.SETUP) this.#setUp(readSetup(buffer, start, end))
    else if (isConnectionFrame && type === FrameType.RESUME) this.#resume(buffer, start, end)
    else this.#reject(ErrorCode.INVALID_SETUP, 'The first frame must be SETUP or RESUME, on stream 0')
  }

  failed(error: Error): void {
    this.#over()
    this.#wire.fail(error)
  }

  #setUp(setup: Setup): void {
    const refusal = setupRefusal(setup, this.#options)
    if (refusal !== undefined) return this.#reject(refusal.code, refusal.message)
    // The peer has a certificate to judge by, but no caller yet.
    const accepted = acceptsCredentials(setup, this.#options, this)
    if (typeof accepted === 'boolean') return this.#decide(setup, accepted)
    this.#state = 'authenticating'
    void accepted.then((verdict) => {
      if (this.#state !== 'authenticating') return
      // Another connection may have got the resume token meanwhile.
      const late = verdict ? setupRefusal(setup, this.#options) : undefined
      if (late === undefined) this.#decide(setup, verdict)
      else this.#reject(late.code, late.message)
      this.output.goOn()
    })
  }

  #decide(setup: Setup, isAccepted: boolean): void {
    if (!isAccepted) {
      const message = 'The credentials are not accepted'
      return this.#reject(
        ErrorCode.REJECTED_SETUP,
        message,
        JSON.stringify({ code: 'UNAUTHENTICATED', message })
      )
    }
    const codec = openCodec(setup.dataMimeType) as Codec
    const connection = new ServerConnection(this.#options, setup, codec, this.#wire, this.#input, this.#timer)
    this.#input.handler = connection
    this.output.adopt(connection)
  }

  /** Gives the socket to the connection that the client resumes. */
  #resume(buffer: Buffer, start: number, end: number): void {
    const request = readResume(buffer, start, end)
    const connection = this.#options.resumable?.take(request.token)
    if (connection === undefined)
      return this.#reject(
        ErrorCode.REJECTED_RESUME,
        'There is no connection with this token to resume; connect again with SETUP'
      )
    this.#over()
    connection.goOn(this.output, request)
  }

  /** @param text the text for the peer; default: the message */
  #reject(code: number, message: string, text = message): void {
    this.#over()
    this.#wire.fail(new Error(message), code, text)
  }
}
