/** Stands before the protocol of a plain client until the first chunk: a server that speaks TLS answers with an alert. */
import type { Output, ProtocolConnection } from '../protocol/connection.ts'

/** Steps aside as soon as something that is no alert has come. */
export class FirstChunk implements ProtocolConnection {
  readonly #protocol: ProtocolConnection
  readonly #refused: () => void
  /** The session, once it is there. */
  output: Output | undefined

  /** @param refused is called when the server wants TLS */
  constructor(protocol: ProtocolConnection, refused: () => void) {
    this.#protocol = protocol
    this.#refused = refused
  }

  receive(chunk: Uint8Array): void {
    if (isTlsAlert(chunk)) return this.#refused()
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
