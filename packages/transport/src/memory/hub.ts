/** Where the servers and the clients of one `memory()` meet. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import type { Codec } from '../codec/codec.ts'
import { openCodec } from '../codec/codecs.ts'
import type { Headers } from '../headers.ts'

/** A message on its way. */
export interface MemoryMessage {
  /** The pattern as its JSON text, or the text itself. */
  readonly pattern: string
  readonly route: string
  /** The encoded data; `undefined` where it comes value by value. */
  readonly data: Uint8Array | undefined
  /** As a wire would carry them: a copy. */
  readonly headers: Headers | undefined
  readonly timeout: number | undefined
}

/** How a caller hears of its answer. */
export interface MemoryCaller {
  value(bytes: Uint8Array): void
  end(): void
  /** @param isRejected the handler says that it is busy and has not started */
  error(text: string, isRejected: boolean): void
  /** The server has stopped before the request ended. */
  lost(): void
  /** The other side takes `n` more values of the channel; 0: no more at all. */
  inputWanted(n: number): void
}

/** How a caller goes on with a request of its own. */
export interface MemoryRequest {
  requestN(n: number): void
  cancel(): void
  /** A value of the channel. */
  input(bytes: Uint8Array): void
  inputEnded(failure?: Error): void
}

/** A server, as the clients see it. */
export interface MemoryEnd {
  /** What servers of one service have in common: each event goes to one of them. */
  readonly service: unknown
  /**
   * Answers a request.
   * @param opened is called before its handler is, with what the caller goes on with
   * @throws {PatternNotFoundError} nobody handles its pattern here
   */
  request(
    message: MemoryMessage,
    isSingle: boolean,
    demand: number,
    caller: MemoryCaller,
    opened: (request: MemoryRequest) => void
  ): void
  /** Takes an event. */
  event(message: MemoryMessage): void
}

/** The servers that have started, and the codec of everything that passes. */
export class MemoryHub {
  readonly #mimeType: string
  readonly #servers: MemoryEnd[] = []
  #turn = 0

  constructor(mimeType: string) {
    this.#mimeType = mimeType
  }

  /** The codec for one direction of one call. */
  openCodec(): Codec {
    return openCodec(this.#mimeType) as Codec
  }

  add(server: MemoryEnd): void {
    this.#servers.push(server)
  }

  remove(server: MemoryEnd): void {
    const index = this.#servers.indexOf(server)
    if (index !== -1) this.#servers.splice(index, 1)
  }

  get isEmpty(): boolean {
    return this.#servers.length === 0
  }

  /** All servers, another one first each time: they take turns. */
  inTurn(): readonly MemoryEnd[] {
    const count = this.#servers.length
    if (count < 2) return this.#servers
    const first = this.#turn++ % count
    return [...this.#servers.slice(first), ...this.#servers.slice(0, first)]
  }
}

/** The bytes of a value. @throws {OptionError} the codec cannot carry it */
export function encode(codec: Codec, value: unknown): Uint8Array {
  const out = new ByteWriter()
  try {
    codec.encode(value, out)
    return out.copyFrom(0)
  } finally {
    out.reset()
  }
}

/** The value of bytes. */
export function decode(codec: Codec, bytes: Uint8Array): unknown {
  return codec.decode(bytes, 0, bytes.length)
}
