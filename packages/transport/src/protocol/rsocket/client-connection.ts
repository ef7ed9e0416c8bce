/** The side that connects: sends SETUP and KEEPALIVE, honours leases. */
import { ByteWriter } from '../../bytes/byte-writer.ts'
import { readUint63 } from '../../bytes/read.ts'
import { Codecs } from '../../codec/codecs.ts'
import { ConnectionError, ProtocolError, ValidationError } from '../../errors.ts'
import { NO_LIMITS } from '../../limits/server-limits.ts'
import type { ClientProtocol, Output, Requester } from '../connection.ts'
import { beginEntry, type Credentials, endEntry, writeCredentials } from './composite-metadata.ts'
import { FrameHandler } from './frame-handler.ts'
import { ErrorCode, FrameType, HEADER_LENGTH, MAX_UINT31 } from './frame-type.ts'
import { errorCodeName, writeError, writeKeepalive, writeLease, writeResume } from './frames.ts'
import { isGoingAway, writeUnderstandsGoingAway } from './going-away.ts'
import { HeldLease } from './lease.ts'
import { MimeType } from './mime-type.ts'
import type { RSocketClientOptions } from './options.ts'
import { MetadataReader, metadataWriter } from './request-metadata.ts'
import { RSocketRequester } from './requester.ts'
import { RSocketResponder } from './responder.ts'
import { ResumeState } from './resume.ts'
import { writeSetup } from './setup.ts'

const NO_DATA = new Uint8Array()

/** One connection of a client, from the moment it is being made. Calls may be made before it is open. */
export class RSocketClientConnection extends FrameHandler implements ClientProtocol {
  protected override readonly ownParity = 1
  protected override readonly requester: RSocketRequester
  protected override readonly responder: RSocketResponder | undefined
  readonly #options: RSocketClientOptions
  readonly #lease: HeldLease | undefined
  /** Why the server ends the connection, if it says so. */
  #reason: Error | undefined
  #lastHeard = 0
  #nextKeepalive = Number.POSITIVE_INFINITY
  /** The server has said that it is going away. */
  #goingAway = false
  /** This side has begun to leave, and says so when its streams have ended. */
  #leaving = false
  /** Waits for a sign of life. */
  #confirmed: (() => void) | undefined

  constructor(options: RSocketClientOptions) {
    super(options)
    this.#options = options
    const { dataMimeType, dispatcher, logger, connection, maxSendBufferSize, timeout, tellTimeout } = options
    const codecs = new Codecs()
    const codec = codecs.get(dataMimeType)
    if (codec === undefined) throw new ValidationError('options.codec', 'a known MIME type', dataMimeType)
    this.#lease = options.lease ? new HeldLease(() => options.timer.now()) : undefined
    this.requester = new RSocketRequester({
      role: 'client',
      host: this,
      sender: this.sender,
      codec,
      codecs,
      logger,
      metadata: metadataWriter,
      lease: this.#lease,
      maxSendBufferSize,
      timeout,
      tellTimeout,
      timer: options.timer,
      recover: options.recover
    })
    if (dispatcher !== undefined) {
      this.responder = new RSocketResponder({
        dispatcher,
        logger,
        sender: this.sender,
        connection,
        codecs,
        dataMimeType,
        metadata: new MetadataReader(MimeType.COMPOSITE_METADATA),
        authenticate: undefined,
        timer: options.timer,
        limits: NO_LIMITS,
        refuse: () => undefined,
        ready: () => this.output?.ready(),
        settled: () => this.settled()
      })
    }
    const { resume } = options
    if (resume !== undefined)
      this.resumption = new ResumeState(crypto.getRandomValues(new Uint8Array(16)), resume.bufferSize)
    this.#setUp()
  }

  get caller(): Requester {
    return this.requester
  }

  override wake(now: number): void {
    if (this.ended) return
    this.requester.expire(now)
    if (this.heard) this.#lastHeard = now
    this.heard = false
    const { keepaliveInterval, keepaliveLifetime } = this.#options
    if (this.output === undefined) return
    if (now - this.#lastHeard >= keepaliveLifetime) {
      const reason = new Error(`nothing has been received for keepaliveLifetime (${keepaliveLifetime} ms)`)
      if (this.resumption === undefined) this.#reason = reason
      return this.lose(reason)
    }
    if (now >= this.#nextKeepalive) {
      this.#nextKeepalive = now + keepaliveInterval
      writeKeepalive(this.bytes, true, this.resumption?.received ?? 0, NO_DATA)
      this.output.committed()
    }
    this.#options.timer.wakeAt(this.#nextKeepalive)
  }

  override open(output: Output): void {
    if (this.resumption !== undefined && this.detached) {
      writeResume(this.bytes, {
        token: this.resumption.token,
        lastReceivedServerPosition: this.resumption.received,
        firstAvailableClientPosition: this.resumption.firstAvailable
      })
    }
    super.open(output)
    if (!this.detached) this.requester.connected()
    this.#lastHeard = this.#options.timer.now()
    this.#nextKeepalive = this.#lastHeard + this.#options.keepaliveInterval
    this.#options.timer.wakeAt(this.#nextKeepalive)
  }

  confirm(): Promise<void> {
    writeKeepalive(this.bytes, true, 0, NO_DATA)
    this.output?.committed()
    return new Promise((resolve) => {
      this.#confirmed = resolve
    })
  }

  lost(): boolean {
    if (this.resumption === undefined || this.ended) return false
    this.detach()
    return true
  }

  drain(): boolean {
    this.#leaving = true
    if (this.inFlight === 0) this.leave()
    return false
  }

  leave(): void {
    this.#leaving = false
    if (this.resumption === undefined || this.output === undefined || this.ended) return
    writeError(this.bytes, 0, ErrorCode.CONNECTION_CLOSE, 'The client has closed')
    this.output.committed()
  }

  override settled(): void {
    if (this.#leaving && this.inFlight === 0) this.leave()
    this.output?.settled()
  }

  override close(reason?: Error): void {
    this.ended = true
    this.#options.timer.stop()
    this.bytes.reset()
    this.requester.close(this.output !== undefined || this.detached, this.#reason ?? reason)
    this.responder?.close()
  }

  protected override beforeSetup(
    type: number,
    streamId: number,
    buffer: Buffer,
    start: number,
    end: number
  ): boolean {
    const { resumption } = this
    if (!this.detached || resumption === undefined) return false
    // Until the server agrees, only RESUME_OK or an ERROR means anything.
    if (streamId !== 0) return true
    if (type !== FrameType.RESUME_OK) return type !== FrameType.ERROR
    if (start + HEADER_LENGTH + 8 > end) throw new ProtocolError('RESUME_OK ends before its position')
    const position = readUint63(buffer, start + HEADER_LENGTH)
    if (resumption.canResumeFrom(position)) this.reattach(resumption, position)
    else
      this.fail(
        new Error(`The server has received up to ${position}; the frames behind are not kept any more`)
      )
    return true
  }

  protected override alive(): void {
    this.#confirmed?.()
  }

  protected override lease(timeToLive: number, requests: number): void {
    this.#lease?.renew(timeToLive, requests)
    this.requester.leased()
  }

  protected override connectionError(code: number, data: string): void {
    if (code === ErrorCode.CONNECTION_CLOSE) return this.#serverLeaves()
    this.#reason = new ConnectionError(`the server ended it (${errorCodeName(code)}): ${data}`, true)
    this.ended = true
    this.output?.end()
  }

  protected override metadataPush(buffer: Buffer, start: number, end: number): void {
    if (isGoingAway(buffer, start, end)) this.#serverLeaves()
    else super.metadataPush(buffer, start, end)
  }

  /** Comes twice where the server has something in flight. */
  #serverLeaves(): void {
    if (this.#goingAway) return
    this.#goingAway = true
    this.#options.goingAway()
  }

  #setUp(): void {
    const { dataMimeType, keepaliveInterval, keepaliveLifetime, lease, credentials } = this.#options
    writeSetup(this.bytes, {
      keepaliveInterval,
      maxLifetime: keepaliveLifetime,
      metadataMimeType: MimeType.COMPOSITE_METADATA,
      dataMimeType,
      lease,
      resumeToken: this.resumption?.token,
      metadata: setupMetadata(credentials),
      data: undefined
    })
    // "The client-side Responder MUST send a LEASE frame after a SETUP frame with the L flag set."
    if (lease && this.responder !== undefined) writeLease(this.bytes, MAX_UINT31, MAX_UINT31)
  }
}

function setupMetadata(credentials: Credentials | undefined): Uint8Array {
  const out = new ByteWriter()
  if (credentials !== undefined) {
    const entry = beginEntry(out, MimeType.AUTHENTICATION)
    writeCredentials(out, credentials)
    endEntry(out, entry)
  }
  writeUnderstandsGoingAway(out)
  const metadata = out.copyFrom(0)
  out.reset()
  return metadata
}
