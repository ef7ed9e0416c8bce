/** A client's connection: calls out, answers in. */
import {
  ChannelFeed,
  type ClientContext,
  ConnectionError,
  errorToText,
  isForeign,
  type NestPacket,
  PatternNotFoundError,
  PayloadTooLargeError,
  type PendingCall,
  ProtocolError,
  RejectedError,
  RpcError,
  readErrorText,
  readRemoteError,
  routeOf,
  type StreamTable
} from '@elysia-microservices/transport/kit'
import { createInbox, type Msg } from '@nats-io/transport-node'
import { Conversation, serviceGone } from './conversation.ts'
import { Link } from './link.ts'
import type { CheckedOptions } from './options.ts'
import { dataToJson, type OutgoingCall } from './outgoing-call.ts'
import {
  bytesOf,
  HEARTBEAT,
  MAX_MESSAGE,
  numberAt,
  prefixed,
  replyToken,
  SAID,
  Said,
  Told,
  textOf
} from './wire.ts'

/** Whose calls they are. */
export interface ClientLinkOwner {
  lost(): void
  restored(): void
  over(error: Error | undefined): void
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

/** Sends calls and finds them by their answers. */
export class ClientLink {
  readonly #owner: ClientLinkOwner
  readonly #context: ClientContext
  readonly #calls: StreamTable<PendingCall>
  readonly #conversations = new Map<PendingCall, Conversation>()
  readonly #inbox: string
  readonly #heartbeat: ReturnType<typeof setInterval>
  /** Events whose arrival at the server is not known yet. */
  #events: PendingCall[] = []
  /** Calls that nobody has listened to, on their way to being sent again. */
  readonly #again = new Set<PendingCall>()
  #restoredAt = Number.NEGATIVE_INFINITY
  readonly #link: Link

  private constructor(
    link: Link,
    options: CheckedOptions,
    context: ClientContext,
    owner: ClientLinkOwner,
    calls: StreamTable<PendingCall>
  ) {
    this.#link = link
    this.#context = context
    this.#owner = owner
    this.#calls = calls
    this.#inbox = `${createInbox(options.connection.inboxPrefix)}.`
    link.subscribe(`${this.#inbox}*`, undefined, (error, message) => {
      if (error === null) this.#receive(message)
      else
        context.logger.error(
          `NATS does not let this client subscribe to its inbox ${this.#inbox}*: it gets no answers`,
          error
        )
    })
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT)
    this.#heartbeat.unref?.()
  }

  /** Connects. @throws {ConnectionError | UnauthenticatedError} it cannot */
  static async open(
    options: CheckedOptions,
    context: ClientContext,
    owner: ClientLinkOwner,
    calls: StreamTable<PendingCall>
  ): Promise<ClientLink> {
    const link = await Link.open(
      options.connection,
      {
        lost: () => owner.lost(),
        restored: () => {
          const now = performance.now()
          made.#restoredAt = now
          for (const conversation of made.#conversations.values()) conversation.restored(now)
          owner.restored()
        },
        refused: (subject, operation, error) => made.#refused(subject, operation, error),
        ended: (error) => owner.over(error)
      },
      context.logger
    )
    const made = new ClientLink(link, options, context, owner, calls)
    return made
  }

  get isConnected(): boolean {
    return this.#link.isConnected
  }

  get server(): string {
    return this.#link.server
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat)
    await this.#link.close()
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  /** Sends a call, whose packet may be from before its number was known. */
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
    const replyTo = this.#replyTo(call)
    if (call.kind === 'stream') this.#converse(call, replyTo)
    const room = this.#link.maxPayload - PART_MARGIN
    if (packet.length * 3 > room) {
      const bytes = bytesOf(packet)
      if (bytes.length > room) return this.#sendLarge(call, outgoing, bytes, room, replyTo)
    }
    this.#link.publish(subject, packet, replyTo, headers)
    call.mayHaveRun = true
  }

  #sendLarge(
    call: PendingCall,
    { subject, headers }: OutgoingCall,
    bytes: Uint8Array,
    room: number,
    replyTo: string
  ): void {
    if (bytes.length > MAX_MESSAGE)
      throw new PayloadTooLargeError('the size of a message of nats()', MAX_MESSAGE, bytes.length, 'bytes')
    const first = room - PART_MARGIN
    this.#converse(call, replyTo).sendLater(bytes.subarray(first), first, first)
    this.#link.publish(subject, prefixed(`~${bytes.length}\n`, bytes.subarray(0, first)), replyTo, headers)
    call.mayHaveRun = true
  }

  #openChannel(call: PendingCall, { subject, packet, headers }: OutgoingCall, input: object): void {
    const replyTo = this.#replyTo(call)
    const conversation = this.#converse(call, replyTo)
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
      hold: (value) => bytesOf(dataToJson(value) ?? ''),
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

  #replyTo(call: PendingCall): string {
    const { options } = call
    const tells = (options?.timeout !== undefined || this.#context.tellTimeout) && call.timeout !== 0
    const left = call.isDelayed ? Math.max(1, call.deadline - performance.now()) : call.timeout
    const demand = call.initialDemand + call.extraDemand
    return this.#inbox + replyToken(call.kind, call.sequence, tells ? left : undefined, demand)
  }

  #converse(call: PendingCall, replyTo: string): Conversation {
    const conversation = new Conversation(this.#link, call, replyTo, call.initialDemand + call.extraDemand)
    this.#conversations.set(call, conversation)
    return conversation
  }

  /** A server has come back, and services may not have. */
  get #isSettling(): boolean {
    return performance.now() - this.#restoredAt < GRACE
  }

  /** Tells the service that a call is given up. */
  cancel(call: PendingCall): void {
    this.#conversations.get(call)?.cancel()
  }

  demand(call: PendingCall, n: number): void {
    this.#conversations.get(call)?.grant(n)
  }

  /** The call is over. */
  forget(call: PendingCall): void {
    this.#conversations.delete(call)
    this.#again.delete(call)
  }

  // ── answers ──────────────────────────────────────────────────────────────────────────────────────────

  #receive(message: Msg): void {
    const { subject, data } = message
    // `r-17-`: the number stands behind the letter and the dash.
    const call = this.#calls.get(numberAt(subject, this.#inbox.length + 2))
    const first = data[0]
    if (call === undefined) {
      if (message.reply && !(first === SAID && data[1] === GONE))
        this.#link.publish(message.reply, Told.canceled)
      return
    }
    if (first === undefined && message.headers?.code === 503) return this.#nobody(call)
    try {
      if (first === SAID) this.#said(call, message, data)
      else {
        const conversation = this.#conversations.get(call)
        conversation?.heard(message.reply ?? '', true)
        conversation?.read(data.length)
        this.#packet(call, message, data)
      }
    } catch (error) {
      this.#owner.giveUp(call, error as Error)
    }
  }

  /** Nobody subscribes to what a call was published to: its pattern, or later its control subject. */
  #nobody(call: PendingCall): void {
    if (this.#conversations.get(call)?.isReached === true) return this.#owner.settled(call, serviceGone())
    call.mayHaveRun = false
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

  #packet(call: PendingCall, message: Msg, data: Uint8Array): void {
    const code = message.headers?.get('Nats-Service-Error-Code')
    if (code) {
      const text = message.headers?.get('Nats-Service-Error') ?? ''
      return this.#owner.settled(call, new RpcError({ code, message: text }, textOf(data)))
    }
    if (data.length === 0) return this.#owner.settled(call)
    const body = bodyOf(data)
    const packet: NestPacket = Object(body)
    if (isForeignTo(call, packet)) {
      this.#value(call, body, data.length)
      return this.#owner.settled(call)
    }
    if (packet.err) return this.#owner.settled(call, readRemoteError(packet.err))
    const hasEnded = Boolean(packet.isDisposed)
    if (!hasEnded || packet.response !== undefined) this.#value(call, packet.response, data.length)
    if (hasEnded) this.#owner.settled(call)
  }

  /** Gives a value to the owner of a call. */
  #value(call: PendingCall, value: unknown, size: number): void {
    if (call.isSettled) return
    if (call.next(value, size)) {
      // A service of Nest's goes on, as it cannot be told.
      this.#conversations.get(call)?.cancel()
      return this.#owner.settled(call)
    }
    const more = call.replenish()
    if (more > 0) this.demand(call, more)
  }

  #said(call: PendingCall, message: Msg, data: Uint8Array): void {
    const word = String.fromCharCode(data[1] as number)
    let conversation = this.#conversations.get(call)
    // Most answers are a value, at once: nothing has to be known of them.
    if (conversation !== undefined || (word !== Said.last && word !== Said.end)) {
      conversation ??= this.#converse(call, message.subject)
      conversation.heard(message.reply ?? '', NUMBERED.has(word))
      conversation.read(data.length)
    }
    this.#obey(call, message, word, data, conversation)
  }

  #obey(
    call: PendingCall,
    message: Msg,
    word: string,
    data: Uint8Array,
    conversation: Conversation | undefined
  ): void {
    switch (word) {
      case Said.last:
        this.#value(call, bodyOf(data, 2), data.length)
        return this.#owner.settled(call)
      case Said.end:
        return this.#owner.settled(call)
      case Said.values: {
        const values = bodyOf(data, 2) as unknown[]
        for (const value of values) this.#value(call, value, data.length / values.length)
        return
      }
      case Said.part:
      case Said.lastPart: {
        const whole = conversation?.part(data.subarray(2), word === Said.lastPart)
        if (whole === undefined) return
        if (whole[0] !== SAID) return this.#packet(call, message, whole)
        return this.#obey(call, message, String.fromCharCode(whole[1] as number), whole, undefined)
      }
      case Said.received:
        return conversation?.sendParts(numberAt(textOf(data, 2), 0))
      case Said.inputGranted: {
        const more = conversation?.inputGranted(numberAt(textOf(data, 2), 0)) ?? 0
        if (more > 0) call.input?.requestN(more)
        return
      }
      case Said.inputStopped:
        return call.input?.stop()
      case Said.rejected: {
        const { message: text, received } = readErrorText(textOf(data, 2))
        return this.#owner.settled(call, new RejectedError(text, received))
      }
      case Said.gone:
        return this.#owner.settled(call, serviceGone())
    }
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────────────

  #refused(subject: string, operation: string, cause: Error): void {
    if (operation !== 'publish') return
    const message = `NATS does not let this client publish to '${subject}'; give its user the permission`
    for (const call of this.#calls.all()) {
      if (routeOf(call.pattern) === subject)
        this.#owner.settled(call, new ConnectionError(message, false, cause, false))
    }
  }

  #beat(): void {
    if (!this.#link.isConnected) return
    const now = performance.now()
    for (const conversation of [...this.#conversations.values()]) {
      try {
        conversation.beat(now)
      } catch (error) {
        this.#owner.settled(conversation.call, error as Error)
      }
    }
  }
}

const GONE = Said.gone.charCodeAt(0)
/** Words that count: those whose loss would be one of the answer. */
const NUMBERED: ReadonlySet<string> = new Set([
  Said.last,
  Said.end,
  Said.values,
  Said.part,
  Said.lastPart,
  Said.rejected
])

/** @throws {ProtocolError} it is not JSON */
function bodyOf(data: Uint8Array, start = 0): unknown {
  try {
    return JSON.parse(textOf(data, start))
  } catch (cause) {
    throw new ProtocolError('The body of an answer is not JSON', cause)
  }
}

/** Whether an answer is of another system, in whole or by a key that Nest does not write: all of it is the value then. */
function isForeignTo({ sequence }: PendingCall, packet: NestPacket): boolean {
  if (isForeign(packet)) return true
  const { err, response, isDisposed, id } = packet
  return err === undefined && response === undefined && isDisposed === undefined && id !== String(sequence)
}
