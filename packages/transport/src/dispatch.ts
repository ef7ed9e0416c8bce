/**
 * The interface between a protocol and whoever answers: a protocol turns bytes into messages and hands them
 * to a dispatcher; it knows nothing of handlers, a dispatcher nothing of bytes.
 */

import type { Caller } from './call.ts'
import type { PeerCertificate } from './socket/tls.ts'

/** Text that travels beside the data: trace context, tenant, credentials. */
export type Headers = Readonly<Record<string, string>>

/** The answer of a dispatcher to a request that nobody handles. */
export const NO_HANDLER: unique symbol = Symbol('no handler')

/** Who answers messages: the registry of a plugin, a Nest application. */
export interface Dispatcher {
  /**
   * Answers a request with its value, or with a promise, an Observable or an (async) iterator of values;
   * with `NO_HANDLER` if nobody handles the pattern. What it throws is the answer too, as an error.
   */
  request(message: IncomingMessage): unknown
  /**
   * Hands an event to all its handlers. It reports their failures itself and never throws.
   * A promise settles when the handlers have ended: a draining server waits for it.
   */
  event(message: IncomingMessage): void | Promise<void>
}

/** The connection a message came on, as far as its handler may know it. */
export interface Connection {
  /** Address of the peer; `undefined` where the socket has none. */
  readonly remoteAddress: string | undefined
  /** Port of the peer; `undefined` where the socket has none. */
  readonly remotePort: number | undefined
  /** The certificate the peer has shown, with TLS and `requestCert`; `undefined` if none. */
  readonly certificate?: PeerCertificate | undefined
  /** Asks the other side of the connection; `undefined` where the protocol cannot (Nest's). */
  readonly caller?: Caller | undefined
  /**
   * Calls `abort` when nobody waits for the message any more: the connection is lost.
   * Returns the function that takes the call back.
   */
  onClose(abort: () => void): () => void
  /** Cuts the connection off at once, as if the network had failed; what is not sent is lost. */
  destroy?(): void
}

const NO_HEADERS: Headers = Object.freeze({})

/**
 * One request or event on its way to a handler. Its fields are what a handler destructures; those that cost
 * something are made when they are first read.
 */
export class IncomingMessage<Data = unknown> {
  /** What the caller sent; `undefined` if nothing. */
  readonly data: Data
  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  readonly pattern: string
  /** The canonical pattern; `undefined` for one that can name no handler. */
  readonly route: string | undefined
  /** What was sent beside the data, as it came; `undefined` if nothing. See `headers`. */
  readonly metadata: unknown
  /** The connection the message came on. */
  readonly connection: Connection
  /** Whether the caller waits for an answer. */
  readonly kind: 'request' | 'event'
  /** Milliseconds the caller waits, counted from its sending; `undefined` if it does not say. */
  readonly deadline: number | undefined
  readonly #expires: number
  #aborter: AbortController | undefined
  #release: (() => void) | undefined
  #ended = false
  #aborted = false

  constructor(
    pattern: string,
    route: string | undefined,
    data: Data,
    metadata: unknown,
    connection: Connection,
    kind: 'request' | 'event',
    deadline?: number
  ) {
    this.pattern = pattern
    this.route = route
    this.data = data
    this.metadata = metadata
    this.connection = connection
    this.kind = kind
    this.deadline = deadline
    this.#expires = deadline === undefined ? 0 : performance.now() + deadline
  }

  /** Kind of the transport the message came by. */
  get transport(): 'tcp' {
    return 'tcp'
  }

  /** Headers the caller sent; empty if none. */
  get headers(): Headers {
    const { metadata } = this
    return typeof metadata === 'object' && metadata !== null ? (metadata as Headers) : NO_HEADERS
  }

  /** Milliseconds that are left of the deadline, 0 if it has passed; `undefined` if the caller does not say. */
  get remaining(): number | undefined {
    return this.deadline === undefined ? undefined : Math.max(0, this.#expires - performance.now())
  }

  /**
   * Aborts when nobody waits for the result any more: work should stop then. That of an event never does:
   * its sender does not wait, and often leaves at once.
   */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      const aborter = new AbortController()
      this.#aborter = aborter
      if (this.#aborted) aborter.abort()
      else if (this.kind === 'request' && !this.#ended)
        this.#release = this.connection.onClose(() => aborter.abort())
    }
    return this.#aborter.signal
  }

  /** Called by the protocol once the message is answered: its signal no longer needs the connection. */
  end(): void {
    this.#ended = true
    if (this.#release !== undefined) {
      this.#release()
      this.#release = undefined
    }
  }

  /** Called by the protocol when the caller has given the message up: aborts its signal. */
  abort(): void {
    this.end()
    this.#aborted = true
    this.#aborter?.abort()
  }
}
