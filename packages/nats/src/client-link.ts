/** A client's connection: calls out, answers in. */
import {
  type ClientContext,
  ConnectionError,
  isForeign,
  type NestPacket,
  OptionError,
  PatternNotFoundError,
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
import { type CallOwner, CallSender } from './call-sender.ts'
import { type Conversation, serviceGone } from './conversation.ts'
import { Link } from './link.ts'
import type { CheckedOptions } from './options.ts'
import type { OutgoingCall } from './outgoing-call.ts'
import { HEARTBEAT, jsonOf, numberAt, SAID, Said, Told, textOf } from './wire.ts'

/** Who has the connection. */
export interface ClientLinkOwner extends CallOwner {
  lost(): void
  restored(): void
  over(error: Error | undefined): void
}

/** Sends calls and finds them by their answers. */
export class ClientLink {
  readonly #owner: ClientLinkOwner
  readonly #calls: StreamTable<PendingCall>
  readonly #sender: CallSender
  readonly #inbox: string
  readonly #heartbeat: ReturnType<typeof setInterval>
  readonly #link: Link

  private constructor(
    link: Link,
    options: CheckedOptions,
    context: ClientContext,
    owner: ClientLinkOwner,
    calls: StreamTable<PendingCall>
  ) {
    this.#link = link
    this.#owner = owner
    this.#calls = calls
    this.#inbox = `${createInbox(options.connection.inboxPrefix)}.`
    this.#sender = new CallSender(link, this.#inbox, context, owner)
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT)
    this.#heartbeat.unref?.()
  }

  /**
   * Connects.
   * @throws {ConnectionError} it cannot, or may not subscribe to an inbox
   * @throws {UnauthenticatedError} the server does not accept the credentials
   */
  static async open(
    options: CheckedOptions,
    context: ClientContext,
    owner: ClientLinkOwner,
    calls: StreamTable<PendingCall>
  ): Promise<ClientLink> {
    const link = await Link.open(options.connection, {
      lost: () => owner.lost(),
      restored: () => {
        made.#sender.restored()
        owner.restored()
      },
      refused: (subject, operation, error) => made.#refused(subject, operation, error),
      unpublished: (_subject, cause) => {
        throw new OptionError('options.headers', `The message cannot be published: ${cause.message}`, cause)
      },
      failed: (error) => context.logger.error('A message of NATS could not be handled', error),
      ended: (error) => owner.over(error)
    })
    const made = new ClientLink(link, options, context, owner, calls)
    await made.#listen()
    return made
  }

  async #listen(): Promise<void> {
    const subject = `${this.#inbox}*`
    let refusal: Error | undefined
    this.#link.subscribe(subject, undefined, (error, message) => {
      if (error === null) this.#receive(message)
      else refusal = error
    })
    // A server that is lost now is noticed elsewhere.
    await this.#link.flush().catch(() => {})
    if (refusal === undefined) return
    await this.close()
    const message = `NATS does not let this client subscribe to ${subject}, where its answers come; give its user the permission, or set inboxPrefix`
    throw new ConnectionError(message, false, refusal, false)
  }

  /** What it sends over. */
  get link(): Link {
    return this.#link
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

  /** Sends a call. What fails it is told. */
  send(call: PendingCall, outgoing: OutgoingCall): void {
    this.#sender.send(call, outgoing)
  }

  /** Tells the service that a call is given up. */
  cancel(call: PendingCall): void {
    this.#sender.conversations.get(call)?.cancel()
  }

  demand(call: PendingCall, n: number): void {
    this.#sender.conversations.get(call)?.grant(n)
  }

  /** The call is over. */
  forget(call: PendingCall): void {
    this.#sender.forget(call)
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
    if (first === undefined && message.headers?.code === 503) return this.#sender.nobody(call)
    try {
      if (first === SAID) this.#said(call, message, data)
      else {
        const conversation = this.#sender.conversations.get(call)
        conversation?.heard(message.reply ?? '', true)
        conversation?.read(data.length)
        this.#packet(call, message, data)
      }
    } catch (error) {
      this.#owner.giveUp(call, error as Error)
    }
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
      if (call.kind === 'event') return
      if (isStorage(body)) return this.#owner.settled(call, onlyStored(call))
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
      this.#sender.conversations.get(call)?.cancel()
      return this.#owner.settled(call)
    }
    const more = call.replenish()
    if (more > 0) this.demand(call, more)
  }

  #said(call: PendingCall, message: Msg, data: Uint8Array): void {
    const word = String.fromCharCode(data[1] as number)
    let conversation = this.#sender.conversations.get(call)
    if (word === Said.absent) return this.#sender.absent(call)
    // Most answers are a value, at once: nothing has to be known of them.
    if (conversation !== undefined || (word !== Said.last && word !== Said.end)) {
      conversation ??= this.#sender.converse(call, message.subject)
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
    for (const call of this.#calls.all()) {
      try {
        const conversation = this.#sender.conversations.get(call)
        if (conversation?.isReached === true) conversation.beat(now)
        else this.#sender.ask(call, now)
      } catch (error) {
        this.#owner.settled(call, error as Error)
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
    return jsonOf(textOf(data, start))
  } catch (cause) {
    throw new ProtocolError('The body of an answer is not JSON', cause)
  }
}

/** What JetStream says to whoever waits for an answer: it has stored the message, and nobody else answers. */
function isStorage(body: unknown): boolean {
  const { stream, seq } = Object(body) as { stream?: unknown; seq?: unknown }
  return typeof stream === 'string' && typeof seq === 'number' && Object.keys(body as object).length <= 4
}

function onlyStored({ name }: PendingCall): PatternNotFoundError {
  return new PatternNotFoundError(
    `Nobody answers '${name}': a stream of NATS stores it, as a durable event; send it by publish()`,
    name
  )
}

/** Whether an answer is of another system, in whole or by a key that Nest does not write: all of it is the value then. */
function isForeignTo({ sequence }: PendingCall, packet: NestPacket): boolean {
  if (isForeign(packet)) return true
  const { err, response, isDisposed, id } = packet
  return err === undefined && response === undefined && isDisposed === undefined && id !== String(sequence)
}
