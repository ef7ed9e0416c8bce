/**
 * Messages as a transport passes them to a dispatcher: each is one request or event. This file depends neither on bytes
 * nor on handlers.
 */
import { type AnswerSet, ASKS_FOR_HEADERS, SentSet } from './answer-headers.ts'
import type { Caller } from './call.ts'
import type { CalledMethod, InvokeGrpc } from './called-method.ts'
import type { Source } from './caller-name.ts'
import { OptionError } from './errors/index.ts'
import { guardListeners } from './guarded-signal.ts'
import { headerText, type MessageHeaders, RESERVED_PREFIX } from './headers.ts'
import type { Logger } from './logger.ts'
import type { PeerCertificate } from './peer-certificate.ts'

/** The other end of the connection over which a message arrived. Messages from engines have no peer. */
export interface Peer {
  /** The address of the peer; `undefined` if the socket has none. */
  readonly address: string | undefined
  /** The port of the peer; `undefined` if the socket has none. */
  readonly port: number | undefined
  /** The certificate that the peer has sent, with TLS and `requestCert`; `undefined` if it has sent none. */
  readonly certificate: PeerCertificate | undefined
  /** The user whom `authenticate` of the transport has identified; `undefined` if there is none. */
  readonly user?: string | undefined
  /**
   * The name that the peer gives itself: the name of its service or of its client. Nobody has checked it. `undefined`
   * if the peer sends no name, as programs that use Nest.
   */
  readonly name?: string | undefined
  /**
   * Makes calls to the peer, in the form that transports use; `undefined` on Nest's wire, which does not allow such calls.
   * `callsTo(peer)` of `elysia-microservices/client` has the calls of a client.
   */
  readonly caller: Caller | undefined
  /** Cuts the connection at once, as if the network had failed; unsent bytes are lost. */
  disconnect(): void
}

/** Facts about a message that was stored before it was delivered. Only transports that store messages have them. */
export interface Delivery {
  /** The id that the publisher or the store has given the message. */
  readonly id: string
  /** The group to which the message is delivered. */
  readonly group: string
  /**
   * Number of times that the handler was given the message, this time included: 1 or more. How exactly an engine knows
   * it, `docs/durable-events.md` says.
   */
  readonly attempt: number
  /** Whether the message was delivered before: `attempt` is 2 or more, or its last process has ended. */
  readonly redelivered: boolean
  /** Messages with the same key are handled in order; `undefined` if the message has no key. */
  readonly key: string | undefined
  /** The time at which the message was stored. */
  readonly publishedAt: Date
  /** Milliseconds from that time until this delivery. */
  readonly age: number
  /** Position of the message in the engine's store; `undefined` if the engine has no positions. */
  readonly position: string | undefined
}

/**
 * How a handler settles its message by hand, as users of Nest do: it is done, it is delivered again, or it becomes a
 * dead letter.
 */
export type Settlement = 'done' | 'again' | 'dead'

/** The parameters of an `IncomingMessage`. */
export interface IncomingMessageInit<Data = unknown> {
  /** The name of the transport over which the message arrived. */
  readonly transport: string
  readonly kind: 'request' | 'event'
  /** The pattern as the caller has written it; an object pattern as its JSON text. */
  readonly pattern: string
  /** The canonical pattern; `undefined` if the pattern cannot belong to a handler. */
  readonly route: string | undefined
  readonly data: Data
  /** The metadata that was sent with the data, unchanged. Default: none. */
  readonly metadata?: unknown
  /** The method of a `.proto` that was called. Default: the transport has no methods. */
  readonly calledMethod?: CalledMethod | undefined
  /** Prepares the calls of handlers of Nest's gRPC. Default: such handlers do not answer the message. */
  readonly invokeGrpc?: InvokeGrpc | undefined
  /** Milliseconds for which the caller waits, counted from `arrivedAt`. Default: no limit is known. */
  readonly timeout?: number | undefined
  /**
   * Milliseconds for which the caller takes values of a stream, counted from `arrivedAt`, which must be given with it.
   * Default: no limit is known.
   */
  readonly lifetime?: number | undefined
  /** When the message arrived, on the clock of `performance.now()`. Default: now. */
  readonly arrivedAt?: number | undefined
  /** Whether the caller takes headers of the answer. Default: whether a header of the message says so. */
  readonly asksForHeaders?: boolean | undefined
  /** The other end of the connection. Default: there is no connection. */
  readonly peer?: Peer | undefined
  /** Finds the sender of the message if there is no peer. Default: the sender is not known. */
  readonly from?: { readonly replyTo: string; readonly callers: Sources } | undefined
  /** Facts about the delivery. Default: the message was not stored. */
  readonly delivery?: Delivery | undefined
  /** Replaces `metadata` and `delivery` if they are expensive to make: each is made when it is first read. */
  readonly stored?: StoredParts | undefined
  /**
   * The pattern of the handlers that get the message, if the engine has chosen it. Default: the handlers are found by
   * `route`.
   */
  readonly matched?: string | undefined
  /** Identifies the handlers that get an event (`viaOf`). Default: all handlers. */
  readonly via?: string | undefined
  /** Settles the message at once, before its handlers have ended. Default: the message waits for its handlers. */
  readonly settle?: ((as: Settlement) => void) | undefined
}

/** The parts of a stored message that few handlers read. */
export interface StoredParts {
  readonly metadata: unknown
  readonly delivery: Delivery
  /** Returns a header of this library without reading the others. Default: it is read with the metadata. */
  own?(name: string): string | undefined
}

/** Finds the caller that belongs to a reply address of an engine. */
export interface Sources {
  /** The caller; `undefined`: it has said nothing of itself. */
  sourceOf(replyTo: string): Source | undefined
}

const NO_HEADERS: MessageHeaders = /* @__PURE__ */ Object.freeze({})

/**
 * One request or event that is passed to a handler, which destructures its fields. Expensive fields are made when they
 * are first read.
 */
export class IncomingMessage<Data = unknown> {
  /** The name of the transport over which the message arrived, such as `'tcp'`. */
  readonly transport: string
  /** Whether the caller waits for an answer. */
  readonly kind: 'request' | 'event'
  /** The pattern as the caller has written it; an object pattern as its JSON text. */
  readonly pattern: string
  /** The canonical pattern; `undefined` if the pattern cannot belong to a handler. */
  readonly route: string | undefined
  /** The data that the caller has sent; `undefined` if it has sent none. */
  readonly data: Data
  /** Milliseconds for which the caller waits in total; `undefined` if the caller sets no limit. */
  readonly timeout: number | undefined
  /** The other end of the connection; `undefined` if the transport has none. */
  readonly peer: Peer | undefined
  /**
   * Identifies the handlers that get an event (`viaOf`); `undefined`: all handlers. Set before the event is passed to
   * handlers.
   */
  via: string | undefined
  /**
   * The pattern with wildcards, or the RegExp as text, by which the handler is found; `undefined` if the handler is
   * found by `route`, or not yet found. So `matched ?? route` of a handled message has a limited number of values.
   */
  matched: string | undefined
  /** How a handler has settled a stored message by hand; `undefined`: its handlers decide by how they end. */
  settled: Settlement | undefined
  /** Whether all middleware of the service have passed the message on to its handlers. False while there are none. */
  isPassedOn = false
  /** The parts that few handlers read. */
  readonly #init: IncomingMessageInit<Data>
  /** When the time is over, on the clock of `performance.now()`; `undefined`: never. */
  #expires: number | undefined
  /** Set when a handler reads `set`. `null`: the answer has begun, and its handler has set nothing before. */
  #set: SentSet | null | undefined
  #aborter: AbortController | undefined
  /** Logs errors that listeners of the signal throw; `undefined`: the message is not aborted. */
  #abortedWith: Logger | undefined

  constructor(init: IncomingMessageInit<Data>) {
    const { timeout } = init
    this.transport = init.transport
    this.kind = init.kind
    this.pattern = init.pattern
    this.route = init.route
    this.matched = init.matched
    this.data = init.data
    this.#init = init
    this.timeout = timeout
    this.peer = init.peer
    this.via = init.via
    this.#expires = timeout === undefined ? undefined : (init.arrivedAt ?? performance.now()) + timeout
  }

  /**
   * The metadata that was sent with the data; `undefined` if there is none. Unchanged, but for fields whose names belong
   * to this library (`elysia-…`), which are left out. See `headers`.
   */
  get metadata(): unknown {
    return withoutOwn(this.#sent)
  }

  /**
   * A header of this library that came with the message (`elysia-…`); `undefined`: there is none, or another program has
   * written headers that cannot be read.
   */
  own(name: string): string | undefined {
    const { stored } = this.#init
    return stored?.own === undefined ? ownIn(stored ?? this.#init, name) : stored.own(name)
  }

  /** The method of a `.proto` that was called; `undefined` on transports without methods. */
  get calledMethod(): CalledMethod | undefined {
    return this.#init.calledMethod
  }

  /** Prepares the calls of handlers of Nest's gRPC; `undefined` on transports without methods. */
  get invokeGrpc(): InvokeGrpc | undefined {
    return this.#init.invokeGrpc
  }

  /** The metadata with the headers of this library. */
  get #sent(): unknown {
    const { stored, metadata } = this.#init
    return stored === undefined ? metadata : stored.metadata
  }

  /**
   * The sender, as far as it is known: the same object for all messages over one connection. Over an engine, reading
   * this property makes the service ask the caller once for its name, so the name may be set a little later.
   * `undefined` if the sender is not known.
   */
  get source(): Source | undefined {
    const { from } = this.#init
    return this.peer ?? from?.callers.sourceOf(from.replyTo)
  }

  /**
   * Headers beside the answer, which the handler sets: `set.headers` before its first value, `set.trailers` before its
   * end. They are sent to callers who ask for them.
   * @throws {OptionError} the message is an event, which has no answer
   */
  get set(): AnswerSet {
    if (this.kind === 'event')
      throw new OptionError('set', `The event '${this.pattern}' has no answer that could have headers`)
    this.#set ??= new SentSet(this.#set === null)
    return this.#set
  }

  /**
   * Takes the headers that are to be sent beside the next value or the end of the answer, as JSON; `undefined`: there are
   * none, or the caller does not ask for them. Called for each value, also if nothing was set.
   * @param isLast the answer ends with it
   */
  takeSet(isLast: boolean): string | undefined {
    const set = this.#set
    if (set === null) return undefined
    if (set === undefined) {
      this.#set = null
      return undefined
    }
    const json = set.take(isLast)
    return json !== undefined && this.#asksForHeaders ? json : undefined
  }

  get #asksForHeaders(): boolean {
    return this.#init.asksForHeaders ?? this.own(ASKS_FOR_HEADERS) !== undefined
  }

  /** Whether the message comes from a store. Cheaper than reading `delivery`. */
  get isStored(): boolean {
    return this.#init.stored !== undefined || this.#init.delivery !== undefined
  }

  /**
   * Settles the message by hand; only the first call counts.
   * @returns false if that has no effect: nobody can deliver the message again, or keep it as a dead letter
   */
  settle(as: Settlement): boolean {
    const { settle } = this.#init
    if (settle === undefined && !this.isStored) return as === 'done'
    if (this.settled === undefined) {
      this.settled = as
      settle?.(as)
    }
    return true
  }

  /** Facts about the message's storage and delivery; `undefined` if the message was not stored. */
  get delivery(): Delivery | undefined {
    const { stored, delivery } = this.#init
    return stored === undefined ? delivery : stored.delivery
  }

  /**
   * The headers that the caller has sent; empty if there are none. Bytes under names that end in `-bin` are texts in
   * Base64 here. Other fields of `metadata` that are not text are left out, and so are those whose names belong to this
   * library (`elysia-…`).
   */
  get headers(): MessageHeaders {
    return headersIn(this.#sent)
  }

  /**
   * Milliseconds left of `timeout`, or of the handler's own time if that ends earlier; 0 if it has passed. Once a stream
   * has begun, those left of the caller's `lifetime`. `undefined`: there is no limit.
   */
  get remaining(): number | undefined {
    return this.#expires === undefined ? undefined : Math.max(0, this.#expires - performance.now())
  }

  /** Leaves at most this number of milliseconds of `remaining`. */
  limit(milliseconds: number): void {
    const end = performance.now() + milliseconds
    this.#expires = Math.min(this.#expires ?? end, end)
  }

  /** Milliseconds for which the caller takes values of a stream in total; `undefined`: it sets no limit. */
  get lifetime(): number | undefined {
    return this.#init.lifetime
  }

  /** The first value of a stream is there: from now on the stream may take any time, or what is left of its lifetime. */
  begins(): void {
    const { lifetime } = this.#init
    this.#expires =
      lifetime === undefined ? undefined : (this.#init.arrivedAt ?? performance.now()) + lifetime
  }

  /** The same message for one of several handlers, whose time may end before that of the others. It aborts with this one. */
  copy(): IncomingMessage<Data> {
    const copy = new IncomingMessage(this.#init)
    copy.via = this.via
    copy.matched = this.matched
    copy.isPassedOn = this.isPassedOn
    copy.#expires = this.#expires
    this.signal.addEventListener('abort', () => copy.abort(this.#abortedWith as Logger))
    return copy
  }

  /**
   * Aborts when no caller waits for the result any more, or when the time of the handler's option `timeout` is over, so
   * that the handler can stop its work. Without that option the signal of an event never aborts, because the sender of
   * an event does not wait and often disconnects at once.
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

  /** Whether no caller waits for the result any more. `signal.aborted` tells the same but makes the signal first. */
  get isAborted(): boolean {
    return this.#abortedWith !== undefined
  }

  /**
   * Aborts `signal`. The transport that has received the message calls `abort` when no caller waits any more. Never
   * throws.
   * @param logger logs errors that listeners of the signal throw
   */
  abort(logger: Logger): void {
    this.#abortedWith = logger
    this.#aborter?.abort()
  }
}

/**
 * A field of this library in metadata; `undefined`: there is none, or another program has written metadata that cannot be
 * read.
 */
export function ownIn(sent: { readonly metadata?: unknown }, name: string): string | undefined {
  try {
    const value: unknown = Object(sent.metadata)[name]
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * The headers of a message, for code that its handler has not asked to read them, such as tracing; `undefined`: another
 * program has written them so that they cannot be read. Only a handler that reads them itself gets that error.
 */
export function readableHeaders<Headers>(message: { readonly headers: Headers }): Headers | undefined {
  try {
    return message.headers
  } catch {
    return undefined
  }
}

/** Metadata without the fields whose names belong to this library. */
function withoutOwn(metadata: unknown): unknown {
  if (typeof metadata !== 'object' || metadata === null || ArrayBuffer.isView(metadata)) return metadata
  for (const name in metadata)
    if (name.startsWith(RESERVED_PREFIX))
      return Object.fromEntries(Object.entries(metadata).filter(([one]) => !one.startsWith(RESERVED_PREFIX)))
  return metadata
}

/** Reads the headers in metadata. A caller that uses Nest may write any value into the metadata of a packet. */
function headersIn(metadata: unknown): MessageHeaders {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return NO_HEADERS
  const all = metadata as MessageHeaders
  // Usually no field has to be left out.
  for (const name in all) {
    if (typeof all[name] !== 'string' || name.startsWith(RESERVED_PREFIX))
      return Object.fromEntries(
        Object.entries(all).flatMap(([one, value]) => {
          const text = one.startsWith(RESERVED_PREFIX) ? undefined : headerText(one, value)
          return text === undefined ? [] : [[one, text]]
        })
      )
  }
  return all
}
