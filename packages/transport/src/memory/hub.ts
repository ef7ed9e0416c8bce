/** Connects the servers and the clients of one `memory()`. */
import { ByteWriter } from '../bytes/byte-writer.ts'
import type { Codec } from '../codec/codec.ts'
import { openCodec } from '../codec/codecs.ts'
import type { Clock } from '../durable/clock.ts'
import type { EventSender } from '../report-event.ts'
import type { MemoryMessage } from './memory-message.ts'
import { MemoryStore } from './store.ts'

/** Receives the answer to a request for its caller. */
export interface MemoryCaller {
  value(bytes: Uint8Array): void
  /** Headers of the answer, as JSON. */
  set(json: string): void
  end(): void
  /**
   * The request has failed.
   * @param isRejected the other side was busy and has not started the work
   */
  error(text: string, isRejected: boolean): void
  /** The server has stopped before the request ended. */
  lost(): void
  /** The other side takes `n` more values of the channel; 0 means that it takes no more values at all. */
  inputWanted(n: number): void
}

/** A running request, as its caller uses it. */
export interface MemoryRequest {
  requestN(n: number): void
  cancel(): void
  /** Sends a value of the channel. */
  input(bytes: Uint8Array): void
  inputEnded(failure?: Error): void
}

/** A server, as the clients use it. */
/** The form of the answer that a caller wants. */
export interface Wanted {
  /** The caller wants only the first value. */
  readonly isSingle: boolean
  /** Number of values that may be sent at first, and most bytes of values between two grants of demand. */
  readonly demand: number
  readonly window: number
}

export interface MemoryEnd {
  /** Identifies the service: all its servers have the same value, and each event goes to one of them. */
  readonly service: unknown
  /**
   * Answers a request.
   * @param opened is called with the running request, before its handler
   * @throws {PatternNotFoundError} this server has no handler for the pattern
   */
  request(
    message: MemoryMessage,
    wanted: Wanted,
    caller: MemoryCaller,
    opened: (request: MemoryRequest) => void
  ): void
  /** Whether the route has handlers that are not durable. */
  takes(route: string): boolean
  /**
   * Handles an event.
   * @param isStored the event is in the store, from which durable handlers get it
   */
  event(message: MemoryMessage, isStored: boolean, sender: EventSender | undefined): void
}

/** The running servers of one `memory()`, and the codec of all messages. */
export class MemoryHub {
  readonly #mimeType: string
  readonly #servers: MemoryEnd[] = []
  readonly store: MemoryStore
  #turn = 0

  constructor(mimeType: string, clock: Clock) {
    this.#mimeType = mimeType
    this.store = new MemoryStore(clock)
  }

  /** Passes an event to one server of each service that handles it. If no service handles it, one service logs that. */
  sendEvent(message: MemoryMessage, isStored: boolean, sender?: EventSender): void {
    const told = new Set<unknown>()
    const servers = this.inTurn()
    const takers = servers.filter((server) => server.takes(message.route))
    for (const server of takers.length === 0 ? servers.slice(0, 1) : takers) {
      if (told.has(server.service)) continue
      told.add(server.service)
      server.event(message, isStored, sender)
    }
  }

  /** Makes the codec for one direction of one call. */
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

  /** All servers, beginning with a different one each time, so that they share the work. */
  inTurn(): readonly MemoryEnd[] {
    const count = this.#servers.length
    if (count < 2) return this.#servers
    const first = this.#turn++ % count
    return [...this.#servers.slice(first), ...this.#servers.slice(0, first)]
  }
}

/**
 * Encodes a value.
 * @throws {OptionError} the codec cannot carry the value
 */
export function encode(codec: Codec, value: unknown): Uint8Array {
  const out = new ByteWriter()
  try {
    out.data(codec.encode(value))
    return out.copyFrom(0)
  } finally {
    out.reset()
  }
}

/** Decodes a value. */
export function decode(codec: Codec, bytes: Uint8Array): unknown {
  return codec.decode(bytes, 0, bytes.length)
}
