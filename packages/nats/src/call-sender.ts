/** Calls on their way out: in one message, in parts, or value by value; events are confirmed. */
import {
  ChannelFeed,
  type ClientContext,
  ConnectionError,
  errorToText,
  PatternNotFoundError,
  PayloadTooLargeError,
  type PendingCall,
  routeOf
} from '@elysia-microservices/transport/kit'
import { Conversation, serviceGone } from './conversation.ts'
import type { Link } from './link.ts'
import { dataToJson, type OutgoingCall } from './outgoing-call.ts'
import {
  ALL_WINDOWS,
  bytesOf,
  CALLS,
  LEAST_WINDOW,
  LOST_AFTER,
  MAX_MESSAGE,
  prefixed,
  replyHead,
  replyToken,
  STREAM_WINDOW,
  Told,
  textOf
} from './wire.ts'

/** Whose calls they are. */
export interface CallOwner {
  /** The service has ended a call. @param error `undefined`: well */
  settled(call: PendingCall, error?: Error): void
  /** Nobody listens yet: a call that has not run is to be sent again. */
  again(call: PendingCall): void
  /** A call is to be given up here: its service is told. */
  giveUp(call: PendingCall, error: Error): void
}

/**
 * Milliseconds after a lost server is back, or another found, in which services may not have come back yet: what nobody
 * listens to is sent again, after so many milliseconds each time.
 */
const GRACE = 5_000
const AGAIN_AFTER = 100
const MAX_HELD_SIZE = 128 * 1024 * 1024
/** Bytes left for headers and subjects in a message that is as large as the server allows. */
const PART_MARGIN = 1024

/** Sends calls over one connection. */
export class CallSender {
  /** Calls that are more than a question and an answer. */
  readonly conversations = new Map<PendingCall, Conversation>()
  /** Bytes that all of them may have on their way. */
  #windows = 0
  readonly #link: Link
  readonly #inbox: string
  readonly #context: ClientContext
  readonly #owner: CallOwner
  /** Events whose arrival at the server is not known yet. */
  #events: PendingCall[] = []
  /** Calls that nobody has listened to, on their way to being sent again. */
  readonly #again = new Set<PendingCall>()
  #restoredAt = Number.NEGATIVE_INFINITY
  /** Calls of which nothing is heard: since when, and whether a service has said that it has no such call. */
  readonly #silent = new Map<PendingCall, { readonly since: number; isAbsent: boolean }>()

  /** @param inbox where answers come, with the dot behind it */
  constructor(link: Link, inbox: string, context: ClientContext, owner: CallOwner) {
    this.#link = link
    this.#inbox = inbox
    this.#context = context
    this.#owner = owner
  }

  /** Sends a call. What fails it is told. */
  send(call: PendingCall, outgoing: OutgoingCall): void {
    try {
      if (call.kind === 'event') this.#sendEvent(call, outgoing)
      else if (outgoing.input !== undefined) this.#openChannel(call, outgoing, outgoing.input)
      else this.#sendRequest(call, outgoing)
    } catch (error) {
      this.#owner.settled(call, error as Error)
    }
  }

  #sendEvent(call: PendingCall, { subject, packet, headers }: OutgoingCall): void {
    const { maxPayload } = this.#link
    if (packet.length * 3 > maxPayload - PART_MARGIN) {
      const { length } = bytesOf(packet)
      if (length > maxPayload - PART_MARGIN)
        throw new PayloadTooLargeError(
          'max_payload of the NATS server',
          maxPayload,
          length,
          'bytes of an event'
        )
    }
    this.#link.publish(subject, packet, this.#isSettling ? this.#replyTo(call) : undefined, headers)
    call.mayHaveRun = true
    this.#events.push(call)
    if (this.#events.length === 1) queueMicrotask(() => void this.#confirmEvents())
  }

  /** Events of one turn are confirmed together: the server has read what stands before our PING. */
  async #confirmEvents(): Promise<void> {
    const events = this.#events
    this.#events = []
    try {
      await this.#link.flush()
      // A refusal came before the confirmation, and the driver tells of it a little later.
      await new Promise((resolve) => setImmediate(resolve))
      for (const call of events) if (!this.#again.has(call)) this.#owner.settled(call)
    } catch (cause) {
      const error = new ConnectionError(
        'The connection to NATS was lost before the server had confirmed the event',
        true,
        cause
      )
      for (const call of events) this.#owner.settled(call, error)
    }
  }

  #sendRequest(call: PendingCall, outgoing: OutgoingCall): void {
    const { subject, packet, headers } = outgoing
    const window = this.#windowOf(call)
    const replyTo = this.#replyTo(call, window)
    if (call.kind === 'stream') this.converse(call, replyTo, window)
    const room = this.#link.maxPayload - PART_MARGIN
    if (packet.length * 3 > room) {
      const bytes = bytesOf(packet)
      if (bytes.length > room) return this.#sendLarge(call, outgoing, bytes, room, replyTo, window)
    }
    this.#link.publish(subject, packet, replyTo, headers)
    call.mayHaveRun = true
  }

  #sendLarge(
    call: PendingCall,
    { subject, headers }: OutgoingCall,
    bytes: Uint8Array,
    room: number,
    replyTo: string,
    window: number
  ): void {
    if (bytes.length > MAX_MESSAGE)
      throw new PayloadTooLargeError('the size of a message of nats()', MAX_MESSAGE, bytes.length, 'bytes')
    const first = room - PART_MARGIN
    this.converse(call, replyTo, window).sendLater(bytes.subarray(first), first, first)
    this.#link.publish(subject, prefixed(`~${bytes.length}\n`, bytes.subarray(0, first)), replyTo, headers)
    call.mayHaveRun = true
  }

  #openChannel(call: PendingCall, { subject, packet, headers }: OutgoingCall, input: object): void {
    const window = this.#windowOf(call)
    const replyTo = this.#replyTo(call, window)
    const conversation = this.converse(call, replyTo, window)
    call.input = new ChannelFeed({
      maxHeldSize: MAX_HELD_SIZE,
      hasRoomFor: () => true,
      open: (value, isOnly) => {
        const json = isOnly && value === undefined ? undefined : (dataToJson(value) ?? '')
        const bytes = bytesOf(packet)
        this.#link.publish(subject, prefixed(`~${bytes.length} channel\n`, bytes), replyTo, headers)
        call.mayHaveRun = true
        if (json !== undefined) conversation.sendInput(json)
        if (isOnly) conversation.endInput()
      },
      next: (value) => conversation.sendInput(dataToJson(value) ?? ''),
      encode: (value) => dataToJson(value) ?? '',
      writeHeld: (encoded, out) => out.data(encoded),
      sendHeld: (bytes) => conversation.sendInput(textOf(bytes)),
      complete: () => conversation.endInput(),
      fail: (error) => {
        const failed = `The input of the channel '${call.name}' failed`
        conversation.say(`${Told.inputFailed}${errorToText(error, this.#context.logger, failed)}`)
        this.#owner.giveUp(call, error)
      },
      teardownFailed: (error) => this.#context.logger.error('The clean-up of a stream failed', error)
    })
    call.input.start(input)
  }

  /** The window of a new stream: a sixteenth of what the open ones leave of `ALL_WINDOWS`, and not less than the least. */
  #windowOf({ kind }: PendingCall): number {
    if (kind !== 'stream') return 0
    const part = Math.floor(((ALL_WINDOWS - this.#windows) * STREAM_WINDOW) / ALL_WINDOWS)
    return Math.max(part, LEAST_WINDOW)
  }

  #replyTo(call: PendingCall, window = 0): string {
    const { options } = call
    const tells = (options?.timeout !== undefined || this.#context.tellTimeout) && call.timeout !== 0
    const left = call.isDelayed ? Math.max(1, call.deadline - performance.now()) : call.timeout
    const demand = call.initialDemand + call.extraDemand
    return this.#inbox + replyToken(call.kind, call.sequence, tells ? left : undefined, demand, window)
  }

  /** Begins a conversation about a call. @param window bytes that its stream may have on their way; 0: it is none */
  converse(call: PendingCall, replyTo: string, window = 0): Conversation {
    const granted = call.initialDemand + call.extraDemand
    const conversation = new Conversation(this.#link, call, replyTo, granted, window)
    this.#leave(call)
    this.conversations.set(call, conversation)
    this.#windows += window
    return conversation
  }

  #leave(call: PendingCall): void {
    this.#windows -= this.conversations.get(call)?.window ?? 0
    this.conversations.delete(call)
  }

  /** A server has come back, and services may not have. */
  get #isSettling(): boolean {
    return performance.now() - this.#restoredAt < GRACE
  }

  /** Asks about a call of which nothing has been heard since the last time. */
  ask(call: PendingCall, now: number): void {
    if (call.kind === 'event' || this.#again.has(call)) return
    const silent = this.#silent.get(call)
    if (silent === undefined) return void this.#silent.set(call, { since: now, isAbsent: false })
    if (silent.isAbsent && now - silent.since > LOST_AFTER) return this.#owner.settled(call, serviceGone())
    const replyTo = this.#inbox + replyHead(call.kind, call.sequence)
    this.#link.publish(CALLS, `${routeOf(call.pattern)} ${replyTo}`)
  }

  /** A service that handles the pattern of a call does not have it. */
  absent(call: PendingCall): void {
    const silent = this.#silent.get(call)
    if (silent !== undefined) silent.isAbsent = true
  }

  /** A server has come back. */
  restored(): void {
    this.#restoredAt = performance.now()
    for (const conversation of this.conversations.values()) conversation.restored(this.#restoredAt)
  }

  /** The call is over. */
  forget(call: PendingCall): void {
    this.#leave(call)
    this.#again.delete(call)
    this.#silent.delete(call)
  }

  /** Nobody subscribes to what a call was published to: its pattern, or later its control subject. */
  nobody(call: PendingCall): void {
    if (this.conversations.get(call)?.isReached === true) return this.#owner.settled(call, serviceGone())
    // An earlier attempt may have run.
    if (call.retries === 0) call.mayHaveRun = false
    if (this.#isSettling && call.input === undefined) {
      this.#again.add(call)
      setTimeout(() => {
        if (this.#again.delete(call)) this.#owner.again(call)
      }, AGAIN_AFTER)
    } else if (call.kind === 'event') this.#owner.settled(call)
    else
      this.#owner.settled(
        call,
        new PatternNotFoundError(PatternNotFoundError.of(call.name).message, call.name)
      )
  }
}
