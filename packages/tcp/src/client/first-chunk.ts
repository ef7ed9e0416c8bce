/**
 * Checks the first chunk that a client without TLS receives: a TLS server answers with an alert, an HTTP server with a
 * status line.
 */
import type { Output, ProtocolConnection } from '@elysia-microservices/rsocket'
import { TlsFailure } from '../socket/tls-failure.ts'

/** Replaces the protocol until the first chunk has arrived. */
export class FirstChunk implements ProtocolConnection {
  readonly #protocol: ProtocolConnection
  readonly #refused: (reason: Error) => void
  /** Whether the server has sent something. */
  hasReceived = false
  /** The session; set as soon as it exists. */
  output: Output | undefined

  /** @param refused is called when the server speaks TLS or HTTP */
  constructor(protocol: ProtocolConnection, refused: (reason: Error) => void) {
    this.#protocol = protocol
    this.#refused = refused
  }

  receive(chunk: Uint8Array): void {
    this.hasReceived = true
    if (isTlsAlert(chunk))
      return this.#refused(
        new TlsFailure('TLS_NEEDED', 'the server speaks TLS, and this client has no options.tls')
      )
    if (isHttp(chunk))
      return this.#refused(new Error('an HTTP server answered, not a microservice; check the port'))
    this.output?.adopt(this.#protocol)
    this.#protocol.receive(chunk)
  }

  get incomplete(): boolean {
    return this.#protocol.incomplete
  }

  get buffered(): number {
    return this.#protocol.buffered
  }

  get inFlight(): number {
    return this.#protocol.inFlight
  }

  resume(): void {
    this.#protocol.resume()
  }

  drain(): boolean {
    return this.#protocol.drain?.() === true
  }

  close(reason?: Error): void {
    this.#protocol.close(reason)
  }
}

/**
 * Whether a chunk is a TLS alert: type 21, version 3.x, length 2, level 1 or 2. An RSocket frame that begins with these
 * bytes would have a stream id above 131,000; Nest's frames begin with a digit.
 */
function isTlsAlert(chunk: Uint8Array): boolean {
  const [type, major, minor = 255, high, low, level] = chunk
  return type === 0x15 && major === 3 && minor <= 4 && high === 0 && low === 2 && (level === 1 || level === 2)
}

/** Whether a chunk begins with `HTTP/`, as no first frame of a Nest or RSocket server does. */
function isHttp(chunk: Uint8Array): boolean {
  const [h, t, secondT, p, slash] = chunk
  return h === 0x48 && t === 0x54 && secondT === 0x54 && p === 0x50 && slash === 0x2f
}
