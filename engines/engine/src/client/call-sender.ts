/** Sends calls: as one message, or value by value. Events are confirmed by the server. */
import {
  ChannelFeed,
  type ClientContext,
  ConnectionError,
  errorToText,
  jsonCodec,
  LONGEST_TIME,
  NotStoredError,
  type OpenCalls,
  PatternNotFoundError,
  PayloadTooLargeError,
  type PendingCall,
  routeOf
} from '@elysia-microservices/transport/kit'
import { addressOfCall } from '../address.ts'
import type { Engine } from '../carrier.ts'
import { MARGIN, type PartedCarrier } from '../parts/parts.ts'
import { newSecret } from '../secret.ts'
import {
  ALL_WINDOWS,
  bytesOf,
  CHANNEL,
  LEAST_WINDOW,
  LOST_AFTER,
  replyHead,
  replyToken,
  STREAM_WINDOW,
  Told,
  textOf,
  valueToJson
} from '../words.ts'
import { Conversation, serviceGone } from './conversation.ts'
import { type OutgoingCall, packetOf } from './outgoing-call.ts'
import { type Now, RequestsOfTurn } from './requests-of-turn.ts'

/**
 * When a server is back, its services may not be back yet. For `GRACE` milliseconds, a request without a listener is
 * sent again every `AGAIN_AFTER` milliseconds.
 */
const GRACE = 5_000
const AGAIN_AFTER = 100
const MAX_HELD_SIZE = 128 * 1024 * 1024

/** Sends calls over one connection. */
export class CallSender {
  /** Calls that need more than one request and one answer. */
  readonly conversations = new Map<PendingCall, Conversation>()
  /** Bytes that all streams together may have in transit. */
  #windows = 0
  readonly #engine: Engine
  readonly #carrier: PartedCarrier
  readonly #inbox: string
  readonly #context: ClientContext
  readonly #calls: OpenCalls
  readonly #requests: RequestsOfTurn
  /** Events that the server has not confirmed yet. */
  #events: PendingCall[] = []
  #restoredAt = Number.NEGATIVE_INFINITY
  /**
   * Calls of which nothing was heard: the time since then, whether all services were asked about the call, and whether
   * one has said that it does not have the call.
   */
  readonly #silent = new Map<PendingCall, { readonly since: number; isAbsent: boolean; isAsked: boolean }>()

  /**
   * @param inbox address for the answers, with the dot at its end
   * @param now measures how soon requests are answered
   */
  constructor(
    engine: Engine,
    carrier: PartedCarrier,
    inbox: string,
    context: ClientContext,
    calls: OpenCalls,
    now?: Now
  ) {
    this.#engine = engine
    this.#carrier = carrier
    this.#inbox = inbox
    this.#context = context
    this.#calls = calls
    this.#requests = new RequestsOfTurn(carrier, inbox, (call, error) => calls.fail(call, error), now)
  }

  /** Sends a call. */
  send(call: PendingCall, outgoing: OutgoingCall): void {
    this.#calls.add(call)
    // Each attempt has a new secret, so the receiver of an earlier attempt cannot answer.
    call.secret = newSecret()
    if (call.kind === 'event') this.#sendEvent(call, outgoing)
    else if (outgoing.input !== undefined) this.#openChannel(call, outgoing, outgoing.input)
    else this.#sendRequest(call, outgoing)
  }

  #sendEvent(call: PendingCall, outgoing: OutgoingCall): void {
    const { address, headers } = outgoing
    const packet = packetOf(call, outgoing)
    const { maxPayload } = this.#carrier
    if (packet.length * 3 > maxPayload - MARGIN) {
      const { length } = bytesOf(packet)
      if (length > maxPayload - MARGIN) {
        const what = `the largest message of the ${this.#engine.title} server`
        throw new PayloadTooLargeError(what, maxPayload, length, 'bytes of an event')
      }
    }
    this.#carrier.emit(address, packet, this.#isSettling ? this.#replyTo(call) : undefined, headers)
    call.mayHaveRun = true
    this.#events.push(call)
    if (this.#events.length === 1) queueMicrotask(() => void this.#confirmEvents())
  }

  /** The events of one turn of the event loop are confirmed together. */
  async #confirmEvents(): Promise<void> {
    const events = this.#events
    this.#events = []
    const attempts = events.map(({ sequence }) => sequence)
    try {
      await this.#carrier.flush()
      // A refusal arrives before the confirmation, but drivers report a refusal a little later.
      await new Promise<void>((resolve) => this.#carrier.atTurnEnd(resolve))
      for (const [index, call] of events.entries())
        if (call.sequence === attempts[index] && !this.#calls.isWaiting(call)) this.#calls.complete(call)
    } catch (cause) {
      const isRefused = cause instanceof NotStoredError
      const lost = 'The connection was lost before the server had confirmed the event'
      // Of several events, it is not known which one was refused.
      const error =
        isRefused && events.length === 1
          ? cause
          : new ConnectionError(isRefused ? cause.message : lost, true, cause)
      for (const [index, call] of events.entries())
        if (call.sequence === attempts[index] && !this.#calls.isWaiting(call)) this.#calls.fail(call, error)
    }
  }

  #sendRequest(call: PendingCall, outgoing: OutgoingCall): void {
    const { address, headers } = outgoing
    const packet = packetOf(call, outgoing)
    const window = this.#windowOf(call)
    const replyTo = this.#replyTo(call, window)
    if (call.kind === 'stream' || packet.length * 3 > this.#carrier.maxPayload - MARGIN) {
      this.converse(call, replyTo, window)
      this.#carrier.publish(address, packet, replyTo, headers, timeLeft(call))
    } else this.#requests.send(call, address, packet, replyTo, headers, timeLeft(call))
    call.mayHaveRun = true
  }

  #openChannel(call: PendingCall, outgoing: OutgoingCall, input: object): void {
    const { address, headers } = outgoing
    const window = this.#windowOf(call)
    const replyTo = this.#replyTo(call, window)
    const conversation = this.converse(call, replyTo, window)
    call.input = new ChannelFeed({
      maxHeldSize: MAX_HELD_SIZE,
      hasRoomFor: (feed) => this.#carrier.hasRoomFor(feed),
      open: (value, isOnly) => {
        const json = isOnly ? valueToJson(value) : jsonCodec.encode(value)
        this.#carrier.publish(address, CHANNEL + packetOf(call, outgoing), replyTo, headers, timeLeft(call))
        call.mayHaveRun = true
        if (json !== undefined) conversation.sendInput(json)
        if (isOnly) conversation.endInput()
      },
      next: (value) => conversation.sendInput(jsonCodec.encode(value)),
      encode: (value) => jsonCodec.encode(value),
      writeHeld: (encoded, out) => out.data(encoded),
      sendHeld: (bytes) => conversation.sendInput(textOf(bytes)),
      complete: () => conversation.endInput(),
      fail: (error) => {
        const failed = `The input of the channel '${call.name}' failed`
        conversation.say(`${Told.inputFailed}${errorToText(error, this.#context.logger, failed)}`)
        this.#calls.giveUp(call, error)
      },
      teardownFailed: (error) =>
        this.#context.logger.error(
          `The clean-up of a stream failed: the input of the channel '${call.name}'`,
          error
        )
    })
    call.input.start(input)
  }

  /**
   * The window of a new stream: a sixteenth of the part of `ALL_WINDOWS` that open streams leave, and at least
   * `LEAST_WINDOW`.
   */
  #windowOf({ kind }: PendingCall): number {
    if (kind !== 'stream') return 0
    const part = Math.floor(((ALL_WINDOWS - this.#windows) * STREAM_WINDOW) / ALL_WINDOWS)
    return Math.max(part, LEAST_WINDOW)
  }

  #replyTo(call: PendingCall, window = 0): string {
    const { kind, sequence, secret } = call
    const timeout = told(timeLeft(call))
    const lifetime = told(call.lifetimeLeft(performance))
    const demand = call.initialDemand + call.extraDemand
    return this.#inbox + replyToken(kind, sequence, secret, timeout, demand, window, lifetime)
  }

  /**
   * Begins a conversation about a call.
   * @param window bytes that its stream may have in transit; 0: the call has no stream
   */
  converse(call: PendingCall, replyTo: string, window = 0): Conversation {
    // A request for one value has no demand, and services ignore a word with a number that is none.
    const granted = call.kind === 'stream' ? call.initialDemand + call.extraDemand : 1
    const conversation = new Conversation(this.#carrier, replyTo, granted, window)
    this.#leave(call)
    this.conversations.set(call, conversation)
    this.#windows += window
    return conversation
  }

  #leave(call: PendingCall): void {
    const conversation = this.conversations.get(call)
    if (conversation === undefined) return
    this.#windows -= conversation.window
    this.conversations.delete(call)
    this.#carrier.forget(conversation.replyTo)
  }

  /** A server is back, but its services may not be back yet. */
  get #isSettling(): boolean {
    return performance.now() - this.#restoredAt < GRACE
  }

  /** Asks about a call of which nothing was heard since the last question. */
  ask(call: PendingCall, now: number): void {
    // A channel is sent with its first value.
    if (call.kind === 'event' || !call.mayHaveRun || this.#calls.isWaiting(call)) return
    const conversation = this.conversations.get(call)
    if (conversation !== undefined && this.#carrier.isSending(conversation.replyTo))
      return void this.#silent.delete(call)
    const silent = this.#silent.get(call)
    if (silent === undefined)
      return void this.#silent.set(call, { since: now, isAbsent: false, isAsked: false })
    if (silent.isAbsent && now - silent.since > LOST_AFTER) return this.#calls.fail(call, serviceGone())
    silent.isAsked = true
    const { kind, sequence, secret, pattern } = call
    this.#carrier.publish(
      this.#carrier.everyone,
      addressOfCall(this.#engine, routeOf(pattern)),
      this.#inbox + replyHead(kind, sequence, secret)
    )
  }

  /**
   * A service has said that it does not have the call: it handles the pattern of the call, or it gets the messages of
   * the pattern without handling them.
   */
  absent(call: PendingCall): void {
    const silent = this.#silent.get(call)
    if (silent !== undefined) silent.isAbsent = true
    else this.#silent.set(call, { since: performance.now(), isAbsent: true, isAsked: false })
  }

  /** Something that uses Nest has answered the call, and may go on. */
  heard(call: PendingCall): void {
    if (this.#silent.size > 0) this.#silent.delete(call)
  }

  /** One of our services has answered the call. */
  answered(call: PendingCall): void {
    if (call.batch === 0) this.#requests.answered(call)
  }

  /**
   * Nobody took a batch of requests.
   * @param token the last segment of the batch's reply address
   */
  nobodyTook(token: string, calls: readonly PendingCall[]): void {
    const batch = this.#requests.nobody(token)
    if (batch === 0) return
    for (const call of calls) if (call.batch === batch) this.#sendAlone(call)
  }

  /** The server does not let this client publish to an address. */
  refused(address: string, calls: readonly PendingCall[], error: Error): void {
    for (const call of calls) {
      const own = addressOfCall(this.#engine, routeOf(call.pattern))
      if (own === address) this.#calls.fail(call, error)
      else if (call.batch !== 0 && this.#carrier.togetherAt(own) === address) this.#sendAlone(call)
    }
  }

  /** Sends the call again, not in a batch. The call has certainly not run. */
  #sendAlone(call: PendingCall): void {
    this.#requests.alone(call)
    call.mayHaveRun = call.mayHaveRunBefore
    this.forget(call)
    this.#calls.wait(call, performance.now())
  }

  /** A server is back. */
  restored(): void {
    this.#restoredAt = performance.now()
    for (const conversation of this.conversations.values()) conversation.restored(this.#restoredAt)
  }

  /** Forgets a call that has ended, or whose current attempt has ended. */
  forget(call: PendingCall): void {
    this.#requests.over(call)
    if (this.conversations.size > 0) this.#leave(call)
    if (this.#silent.size > 0) this.#silent.delete(call)
    const { kind, sequence, secret } = call
    this.#carrier.over?.(this.#inbox + replyHead(kind, sequence, secret))
  }

  /**
   * Nobody listens at the address to which a message of the call was published: that of its pattern, or later its
   * control address.
   */
  nobody(call: PendingCall): void {
    if (this.conversations.get(call)?.isReached === true) return this.#calls.fail(call, serviceGone())
    // Nobody listens where all services were asked about the call. A service that uses Nest may still be handling it.
    if (this.#silent.get(call)?.isAsked === true) return
    call.mayHaveRun = call.mayHaveRunBefore
    if (this.#isSettling && call.input === undefined) {
      this.forget(call)
      this.#calls.wait(call, performance.now() + AGAIN_AFTER)
    } else if (call.kind === 'event') this.#calls.complete(call)
    else this.#calls.fail(call, PatternNotFoundError.nobody(call.name))
  }
}

/** A time as the other side is told it: one that is longer than timers can be counts as none. */
function told(ms: number | undefined): number | undefined {
  return ms !== undefined && ms <= LONGEST_TIME ? ms : undefined
}

/** Milliseconds that the call may still take; `undefined`: no limit. */
function timeLeft({ timeout, isDelayed, deadline }: PendingCall): number | undefined {
  if (timeout === 0) return undefined
  return isDelayed ? Math.max(1, deadline - performance.now()) : timeout
}
