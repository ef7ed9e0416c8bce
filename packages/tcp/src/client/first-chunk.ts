/**
 * Stands before the protocol of a plain client until the first chunk: a server that speaks TLS answers with an alert,
 * one that speaks HTTP with a status line.
 */
import type { Output, ProtocolConnection } from '../connection/protocol.ts'
import { TlsFailure } from '../socket/tls-failure.ts'

/** Steps aside as soon as something has come that may be of the protocol. */
export class FirstChunk implements ProtocolConnection {
  readonly #protocol: ProtocolConnection
  readonly #refused: (reason: Error) => void
  /** The session, once it is there. */
  output: Output | undefined

  /** @param refused is called when the server is not one of ours */
  constructor(protocol: ProtocolConnection, refused: (reason: Error) => void) {
    this.#protocol = protocol
    this.#refused = refused
  }

  receive(chunk: Uint8Array): void {
    if (isTlsAlert(chunk))
      return this.#refused(
        new TlsFailure('TLS_NEEDED', 'the server speaks TLS, and this client has no options.tls')
      )
    if (isHttp(chunk))
      return this.#refused(
        new Error('an HTTP server answers there, which speaks no messages; check the port')
      )
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

  discard(): void {
    this.#protocol.discard?.()
  }

  close(reason?: Error): void {
    this.#protocol.close(reason)
  }
}

/**
 * A whole alert record: type 21, version 3.x, two bytes, of which the first is 1 or 2. An RSocket frame that begins
 * so would belong to a stream id above 131,000; Nest's frames begin with a digit.
 */
function isTlsAlert(chunk: Uint8Array): boolean {
  const [type, major, minor = 255, high, low, level = 0] = chunk
  return type === 0x15 && major === 3 && minor <= 4 && high === 0 && low === 2 && (level === 1 || level === 2)
}

/** `HTTP/`, which is neither the length of a Nest frame nor that of an RSocket frame that a server sends first. */
function isHttp(chunk: Uint8Array): boolean {
  const [h, t, secondT, p, slash] = chunk
  return h === 0x48 && t === 0x54 && secondT === 0x54 && p === 0x50 && slash === 0x2f
}
