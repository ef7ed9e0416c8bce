/**
 * Messages as a transport hands them to a dispatcher: one request or event each. They know neither bytes nor handlers.
 */
import type { Caller } from './call.ts'
import type { Source } from './caller-name.ts'
import { guardListeners } from './guarded-signal.ts'
import type { Headers } from './headers.ts'
import type { Logger } from './logger.ts'
import type { PeerCertificate } from './peer-certificate.ts'

/** The other end of the connection that a message came over. Messages from brokers have none. */
export interface Peer {
  /** Its address; `undefined` if the socket has none. */
  readonly address: string | undefined
  /** Its port; `undefined` if the socket has none. */
  readonly port: number | undefined
  /** The certificate that it sent, with TLS and `requestCert`; `undefined` if none. */
  readonly certificate: PeerCertificate | undefined
  /** The user, as `authenticate` of a transport with users has identified it; `undefined` if none has. */
  readonly user?: string | undefined
  /**
   * The name that it gives itself: that of its service, or its client's. Nobody has checked it. `undefined`: it does
   * not say so, as Nest's ends.
   */
  readonly name?: string | undefined
  /** Makes calls to the peer; `undefined` on Nest's wire, which cannot. */
  readonly caller: Caller | undefined
  /** Cuts the connection at once, as if the network had failed; unsent bytes are lost. */
  disconnect(): void
}

/** Facts about a message that was stored before it was delivered. Only transports that store messages have them. */
export interface Delivery {
  /** The id that the publisher or the store gave it. */
  readonly id: string
  /** The group it is delivered to. */
  readonly group: string
  /** Number of deliveries so far, this one included: 1 or more. */
  readonly attempt: number
  /** Whether it was delivered before: `attempt` is 2 or more. */
  readonly redelivered: boolean
  /** Messages with the same key are handled in order; `undefined` if it has no key. */
  readonly key: string | undefined
  /** When it was stored. */
  readonly publishedAt: Date
  /** Milliseconds since then, when it was delivered. */
  readonly age: number
  /** Where it is stored; `undefined` if the engine has no positions. */
  readonly position: string | undefined
}

/** The fields from which a message is made. */
export interface IncomingMessageInit<Data = unknown> {
  /** The name of the transport it came over. */
  readonly transport: string
  readonly kind: 'request' | 'event'
  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  readonly pattern: string
  /** The canonical pattern; `undefined` for one that can name no handler. */
  readonly route: string | undefined
  readonly data: Data
  /** The metadata sent beside the data, as it came. Default: none. */
  readonly metadata?: unknown
  /** Milliseconds that the caller waits, counted from now. Default: no limit is known. */
  readonly timeout?: number | undefined
  /** Default: there is no connection. */
  readonly peer?: Peer | undefined
  /** Where to learn who has sent it, if there is no peer. Default: nobody knows. */
  readonly from?: { readonly replyTo: string; readonly callers: Sources } | undefined
  /** Default: the message was not stored. */
  readonly delivery?: Delivery | undefined
  /** In the place of `metadata` and `delivery`, where these are dear: each is asked for when it is first read. */
  readonly stored?: { readonly metadata: unknown; readonly delivery: Delivery } | undefined
  /** The pattern of the handlers it is for, where the engine has chosen it. Default: they are found by `route`. */
  readonly matched?: string | undefined
  /** The handlers of an event that it is for (`viaOf`). Default: all. */
  readonly via?: string | undefined
}

/** The callers of an engine by the addresses at which they are answered. */
export interface Sources {
  sourceOf(replyTo: string): Source | undefined
}

const NO_HEADERS: Headers = /* @__PURE__ */ Object.freeze({})

/**
 * One request or event on its way to a handler, which destructures its fields. Fields that cost something are made
 * when they are first read.
 */
export class IncomingMessage<Data = unknown> {
  /** The name of the transport the message came over, such as `'tcp'`. */
  readonly transport: string
  /** Whether the caller waits for an answer. */
  readonly kind: 'request' | 'event'
  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  readonly pattern: string
  /** The canonical pattern; `undefined` for one that can name no handler. */
  readonly route: string | undefined
  /** The data that the caller sent; `undefined` if none. */
  readonly data: Data
  /** Milliseconds that the caller waits in all; `undefined` if the caller sets no limit. */
  readonly timeout: number | undefined
  /** The other end of the connection; `undefined` if the transport has none. */
  readonly peer: Peer | undefined
  /** The handlers of an event that it is for (`viaOf`); `undefined`: all. Set before it reaches the handlers. */
  via: string | undefined
  /**
   * The pattern with wildcards, or the RegExp as text, by which the handler was found, or has to be looked up; `undefined`
   * if it was found by `route`, or not yet. So `matched ?? route` of a handled message is one of a bounded number of names.
   */
  matched: string | undefined
  readonly #metadata: unknown
  readonly #delivery: Delivery | undefined
  readonly #stored: IncomingMessageInit['stored']
  readonly #from: IncomingMessageInit['from']
  readonly #expires: number
  #aborter: AbortController | undefined
  /** Gets what listeners of the signal throw; `undefined`: the message is not aborted. */
  #abortedWith: Logger | undefined

  constructor(init: IncomingMessageInit<Data>) {
    const { timeout } = init
    this.transport = init.transport
    this.kind = init.kind
    this.pattern = init.pattern
    this.route = init.route
    this.matched = init.matched
    this.data = init.data
    this.#metadata = init.metadata
    this.timeout = timeout
    this.peer = init.peer
    this.#delivery = init.delivery
    this.#stored = init.stored
    this.#from = init.from
    this.via = init.via
    this.#expires = timeout === undefined ? 0 : performance.now() + timeout
  }

  /** The metadata sent beside the data, as it came; `undefined` if none. See `headers`. */
  get metadata(): unknown {
    return this.#stored === undefined ? this.#metadata : this.#stored.metadata
  }

  /**
   * The sender, as far as it is known: the same object for all messages over one connection. Over an engine, asking
   * makes the service ask its caller, once; so its name may come a little later. `undefined`: it is not known.
   */
  get source(): Source | undefined {
    return this.peer ?? this.#from?.callers.sourceOf(this.#from.replyTo)
  }

  /** Whether it comes from a store. What there is to know of that is dear to read: see `delivery`. */
  get isStored(): boolean {
    return this.#stored !== undefined || this.#delivery !== undefined
  }

  /** Facts about its storage and delivery; `undefined` if it was not stored. */
  get delivery(): Delivery | undefined {
    return this.#stored === undefined ? this.#delivery : this.#stored.delivery
  }

  /** The headers that the caller sent; empty if none. What is no text in `metadata` is left out. */
  get headers(): Headers {
    return headersIn(this.metadata)
  }

  /** Milliseconds left of `timeout`, 0 if it has passed; `undefined` if the caller sets no limit. */
  get remaining(): number | undefined {
    return this.timeout === undefined ? undefined : Math.max(0, this.#expires - performance.now())
  }

  /**
   * Aborts when no caller waits for the result any more, so that the handler can stop its work. The signal of an event
   * never aborts, because the sender of an event does not wait and often disconnects at once.
   */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      this.#aborter = new AbortController()
      guardListeners(this.#aborter.signal, (error) =>
        this.#abortedWith?.error(`A listener of the signal of '${this.pattern}' failed`, error)
      )
      if (this.isAborted) this.#aborter.abort()
    }
    return this.#aborter.signal
  }

  /** Whether nobody waits for the result any more. Unlike `signal.aborted`, it costs nothing. */
  get isAborted(): boolean {
    return this.#abortedWith !== undefined
  }

  /**
   * Aborts `signal`. For the transport that received the message, when no caller waits any more. Never throws.
   * @param logger gets what listeners of the signal throw
   */
  abort(logger: Logger): void {
    this.#abortedWith = logger
    this.#aborter?.abort()
  }
}

/** Nest's callers may write anything into the metadata of a packet. */
function headersIn(metadata: unknown): Headers {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return NO_HEADERS
  const all = metadata as Headers
  // Mostly there is nothing to leave out.
  for (const name in all) {
    if (typeof all[name] !== 'string')
      return Object.fromEntries(Object.entries(all).filter(([, value]) => typeof value === 'string'))
  }
  return all
}
