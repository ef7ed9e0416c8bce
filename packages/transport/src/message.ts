/**
 * What arrives: one request or event, as a transport hands it to a dispatcher. It knows nothing of bytes, and
 * nothing of handlers.
 */
import type { Caller } from './call.ts'
import { guardListeners } from './guarded-signal.ts'
import type { Headers } from './headers.ts'
import type { Logger } from './logger.ts'
import type { PeerCertificate } from './peer-certificate.ts'

/** The other end of the connection a message came on. Messages of brokers have none. */
export interface Peer {
  /** Its address; `undefined` where the socket has none. */
  readonly address: string | undefined
  /** Its port; `undefined` where the socket has none. */
  readonly port: number | undefined
  /** The certificate it has shown, with TLS and `requestCert`; `undefined` if none. */
  readonly certificate: PeerCertificate | undefined
  /** Calls it; `undefined` where the protocol cannot (Nest's). */
  readonly caller: Caller | undefined
  /** Cuts the connection off at once, as if the network had failed; what is not sent is lost. */
  disconnect(): void
}

/** Where a message was stored before it came, and how often it has come. Only of transports that store. */
export interface Delivery {
  /** What its publisher, or the store, calls it. */
  readonly id: string
  /** How often it was delivered, this time included: 1 or more. */
  readonly attempt: number
  /** It was delivered before: `attempt` is 2 or more. */
  readonly redelivered: boolean
  /** Messages of one key are handled in order; `undefined` if it has none. */
  readonly key: string | undefined
  /** When it was stored. */
  readonly publishedAt: Date
}

/** What a message is made from. */
export interface IncomingMessageInit<Data = unknown> {
  /** The name of the transport it came by. */
  readonly transport: string
  readonly kind: 'request' | 'event'
  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  readonly pattern: string
  /** The canonical pattern; `undefined` for one that can name no handler. */
  readonly route: string | undefined
  readonly data: Data
  /** What was sent beside the data, as it came. Default: nothing. */
  readonly metadata?: unknown
  /** Milliseconds the caller waits, counted from now. Default: it does not say. */
  readonly timeout?: number | undefined
  /** Default: there is no connection. */
  readonly peer?: Peer | undefined
  /** Default: the message was not stored. */
  readonly delivery?: Delivery | undefined
}

const NO_HEADERS: Headers = Object.freeze({})

/**
 * One request or event on its way to a handler. Its fields are what a handler destructures; those that cost
 * something are made when they are first read.
 */
export class IncomingMessage<Data = unknown> {
  /** The name of the transport the message came by, such as `'tcp'`. */
  readonly transport: string
  /** Whether the caller waits for an answer. */
  readonly kind: 'request' | 'event'
  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  readonly pattern: string
  /** The canonical pattern; `undefined` for one that can name no handler. */
  readonly route: string | undefined
  /** What the caller sent; `undefined` if nothing. */
  readonly data: Data
  /** What was sent beside the data, as it came; `undefined` if nothing. See `headers`. */
  readonly metadata: unknown
  /** Milliseconds the caller waits, counted from its sending; `undefined` if it does not say. */
  readonly timeout: number | undefined
  /** The other end of the connection; `undefined` where there is none. */
  readonly peer: Peer | undefined
  /** Where it was stored before it came; `undefined` if nowhere. */
  readonly delivery: Delivery | undefined
  readonly #expires: number
  #aborter: AbortController | undefined
  #isAborted = false
  #logger: Logger | undefined

  constructor(init: IncomingMessageInit<Data>) {
    const { timeout } = init
    this.transport = init.transport
    this.kind = init.kind
    this.pattern = init.pattern
    this.route = init.route
    this.data = init.data
    this.metadata = init.metadata
    this.timeout = timeout
    this.peer = init.peer
    this.delivery = init.delivery
    this.#expires = timeout === undefined ? 0 : performance.now() + timeout
  }

  /** Headers the caller sent; empty if none. */
  get headers(): Headers {
    const { metadata } = this
    return typeof metadata === 'object' && metadata !== null ? (metadata as Headers) : NO_HEADERS
  }

  /** Milliseconds that are left of `timeout`, 0 if it has passed; `undefined` if the caller does not say. */
  get remaining(): number | undefined {
    return this.timeout === undefined ? undefined : Math.max(0, this.#expires - performance.now())
  }

  /**
   * Aborts when nobody waits for the result any more: work should stop then. That of an event never does:
   * its sender does not wait, and often leaves at once.
   */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      this.#aborter = new AbortController()
      guardListeners(this.#aborter.signal, (error) =>
        this.#logger?.error(`A listener of the signal of '${this.pattern}' failed`, error)
      )
      if (this.#isAborted) this.#aborter.abort()
    }
    return this.#aborter.signal
  }

  /**
   * For the transport that received the message: nobody waits for its result any more. Never throws.
   * @param logger gets what listeners of the signal throw
   */
  abort(logger: Logger): void {
    this.#isAborted = true
    this.#logger = logger
    this.#aborter?.abort()
  }
}
