/** The asking side of one connection: it sends calls and receives answers. */

import {
  type ClientContext,
  ConnectionError,
  callerName,
  endedWithin,
  type Front,
  type OpenCalls,
  type PendingCall,
  ProtocolError,
  RejectedError,
  readErrorText,
  readFront,
  type StreamTable
} from '@elysia-microservices/transport/kit'
import { isForeign, type NestPacket, readRemoteError } from '@elysia-microservices/transport/nest'
import { ANSWERS, QUESTION, REQUESTS, readAnswers } from '../batches.ts'
import type { Carried, Carrier, Engine } from '../carrier.ts'
import { inParts, type PartedCarrier } from '../parts/parts.ts'
import { plain } from '../plain.ts'
import { repeat } from '../repeat.ts'
import { SECRET_LENGTH } from '../secret.ts'
import {
  bodyOf,
  HEARTBEAT,
  inputLost,
  letterAt,
  numberIn,
  SAID,
  Said,
  Told,
  textOf,
  VERSION
} from '../words.ts'
import { CallSender } from './call-sender.ts'
import { type Conversation, serviceGone } from './conversation.ts'
import type { OutgoingCall } from './outgoing-call.ts'
import type { Now } from './requests-of-turn.ts'

/**
 * Most milliseconds that a closing client waits until it can tell the services of its open calls that nobody waits for
 * them any more. Our services send their control address after 25 ms; services that use Nest never do.
 */
const LEAVING = 250

/** Sends calls, and finds the call that an answer belongs to. */
export class Requester {
  readonly #engine: Engine
  readonly #carrier: PartedCarrier
  readonly #calls: OpenCalls
  readonly #table: StreamTable<PendingCall>
  readonly #sender: CallSender
  readonly #inbox: string
  readonly #name: string | undefined
  readonly #stopBeating: () => void
  /** While the client closes: the numbers of the calls whose services cannot be told yet. */
  #untold: Set<number> | undefined
  #allTold: (() => void) | undefined

  /**
   * @param table the table in which `calls` stores its calls by number
   * @param now measures how soon requests are answered
   */
  constructor(
    engine: Engine,
    carrier: Carrier,
    context: ClientContext,
    calls: OpenCalls,
    table: StreamTable<PendingCall>,
    now?: Now
  ) {
    this.#engine = engine
    this.#carrier = inParts(carrier)
    this.#calls = calls
    this.#table = table
    this.#inbox = carrier.newInbox()
    this.#name = context.name
    this.#sender = new CallSender(engine, this.#carrier, this.#inbox, context, calls, now)
    this.#stopBeating = repeat(() => this.#beat(), HEARTBEAT)
  }

  /**
   * Starts to listen for answers.
   * @throws {ConnectionError} the server does not allow to listen, or does not answer
   */
  async listen(): Promise<void> {
    let refusal: Error | undefined
    this.#carrier.listen(
      this.#inbox,
      (message) => this.#receive(message),
      (error) => {
        refusal = error
      },
      (address) => this.#callAt(address) !== undefined
    )
    // If the server is lost now, the carrier's listener is told.
    await this.#carrier.flush().catch(() => {})
    if (refusal === undefined) return
    await this.close()
    // The server has only not answered.
    if (refusal instanceof ConnectionError && refusal.retryable) throw refusal
    const { title, inboxOption } = this.#engine
    const other = inboxOption === undefined ? '' : `, or set ${inboxOption}`
    const message = `${title} does not let this client subscribe to ${this.#inbox}*, where its answers come; give its user the permission${other}`
    throw new ConnectionError(message, false, refusal, false)
  }

  get isConnected(): boolean {
    return this.#carrier.isConnected
  }

  get server(): string {
    return this.#carrier.server
  }

  /** Closes the connection, after the services of open calls were told. @param end cancels all open calls */
  async close(end?: () => void): Promise<void> {
    this.#stopBeating()
    this.#untold = new Set()
    end?.()
    if (this.#untold.size > 0 && this.isConnected) {
      const told = new Promise<void>((resolve) => {
        this.#allTold = resolve
      })
      await endedWithin(told, LEAVING)
    }
    await this.#carrier.close()
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────────────

  send(call: PendingCall, outgoing: OutgoingCall): void {
    this.#sender.send(call, outgoing)
  }

  /** Tells the service that a call is cancelled. */
  cancel(call: PendingCall): void {
    const conversation = this.#sender.conversations.get(call)
    if (conversation?.isReached === true) conversation.cancel()
    // Other services are told when their first message comes, so a closing client waits for it.
    else if (call.mayHaveRun && call.kind !== 'event') this.#untold?.add(call.sequence)
  }

  demand(call: PendingCall, n: number): void {
    this.#sender.conversations.get(call)?.grant(n)
  }

  /** A call or its current attempt has ended. */
  over(call: PendingCall): void {
    this.#sender.forget(call)
  }

  /** A server is back. */
  restored(): void {
    this.#sender.restored()
  }

  /** The server does not let this client publish to an address. */
  refused(address: string, error: ConnectionError): void {
    this.#sender.refused(address, this.#table.all(), error)
  }

  // ── answers ──────────────────────────────────────────────────────────────────────────────────────────

  /** Finds the call for a reply address, whose secret must match: `1r17-<secret>-` behind our inbox. */
  #callAt(address: string): PendingCall | undefined {
    const start = this.#inbox.length + 2
    const dash = address.indexOf('-', start)
    const call = this.#calls.get(numberIn(address, start, dash))
    if (call === undefined || !address.startsWith(call.secret, dash + 1)) return undefined
    return address.startsWith(VERSION, start - 2) && address.charAt(dash + 1 + SECRET_LENGTH) === '-'
      ? call
      : undefined
  }

  #receive(message: Carried): void {
    const { address } = message
    const { length } = this.#inbox
    if (address.startsWith(ANSWERS, length) && address.length === length + ANSWERS.length)
      readAnswers(textOf(message.words), this.#receiveOne)
    else if (address.startsWith(QUESTION, length)) this.#heard(message.reply)
    else if (!address.startsWith(REQUESTS, length)) this.#receiveAt(address, message)
    else if (message.isNobody === true) this.#sender.nobodyTook(address.slice(length), this.#table.all())
  }

  /**
   * Answers the question of a service whether all its messages have arrived (messages keep their order), and tells it
   * the name of this client.
   */
  #heard(reply: string): void {
    if (this.#carrier.isInbox(reply))
      this.#carrier.publish(reply, Told.heard + (callerName(this.#name) ?? ''))
  }

  /** Receives one answer of a batch. */
  readonly #receiveOne = (token: string, words: string): void => {
    const address = this.#inbox + token
    this.#receiveAt(address, { address, words, reply: '', headers: undefined })
  }

  #receiveAt(address: string, message: Carried): void {
    const { words, reply } = message
    const call = this.#callAt(address)
    const isSaid = letterAt(words) === SAID
    if (isSaid && call !== undefined && letterAt(words, 1) === Said.headers)
      return this.#withHeaders(call, message)
    if (call === undefined) {
      if (reply !== '' && !(isSaid && letterAt(words, 1) === Said.gone) && this.#carrier.isInbox(reply))
        this.#carrier.publish(reply, Told.canceled)
      if (this.#untold !== undefined) this.#told(address, this.#untold)
      return
    }
    if (message.isNobody === true) return this.#sender.nobody(call)
    try {
      if (message.refusal !== undefined) throw message.refusal
      this.#answered(call, message)
    } catch (error) {
      this.#calls.giveUp(call, error as Error)
    }
  }

  /** Receives words that have headers of the answer in front of them. */
  #withHeaders(call: PendingCall, message: Carried): void {
    try {
      const text = textOf(message.words)
      const { json, words } = readFront(text) as Front
      this.#answered(call, { ...plain(message), words }, { json, size: text.length - words.length })
    } catch (error) {
      this.#calls.giveUp(call, error as Error)
    }
  }

  #answered(call: PendingCall, message: Carried, front?: Heard): void {
    const { words, reply } = message
    if (letterAt(words) === SAID) return this.#said(call, message, front)
    const conversation = this.#sender.conversations.get(call)
    if (conversation?.heard(reply, true) === false) return
    const text = textOf(words)
    this.#sender.heard(call)
    conversation?.read(text.length + (front?.size ?? 0), call.isPaused)
    call.hear(front?.json)
    this.#packet(call, message, text)
  }

  /** The client closes, and the service of the call at this address was told or has answered. */
  #told(address: string, untold: Set<number>): void {
    const start = this.#inbox.length + VERSION.length + 1
    untold.delete(numberIn(address, start, address.indexOf('-', start)))
    if (untold.size === 0) this.#allTold?.()
  }

  #packet(call: PendingCall, message: Carried, text: string): void {
    const failure = message.headers === undefined ? undefined : this.#engine.foreignError?.(message)
    if (failure !== undefined) return this.#calls.fail(call, failure)
    if (text === '') return this.#calls.complete(call)
    const body = bodyOf(text)
    const packet: NestPacket = Object(body)
    if (isForeignTo(call, packet, this.#inbox)) {
      if (call.kind === 'event') return
      const answer = this.#engine.engineAnswer?.(body, call.name)
      if (answer !== undefined) return this.#calls.fail(call, answer)
      return this.#last(call, body, text.length)
    }
    if (packet.err) return this.#calls.fail(call, readRemoteError(packet.err))
    const hasEnded = Boolean(packet.isDisposed)
    if (hasEnded && packet.response === undefined) this.#calls.complete(call)
    else if (hasEnded) this.#last(call, packet.response, text.length)
    else this.#calls.value(call, packet.response, text.length)
  }

  /** Passes on the last value of an answer. `isOver` is set, because the service need not be told to stop. */
  #last(call: PendingCall, value: unknown, size: number): void {
    call.isOver = true
    this.#calls.value(call, value, size)
    this.#calls.complete(call)
  }

  #said(call: PendingCall, { words, reply, address }: Carried, front?: Heard): void {
    const word = letterAt(words, 1)
    this.#sender.answered(call)
    if (word === Said.absent) return this.#sender.absent(call)
    const text = textOf(words, 2)
    let conversation = this.#sender.conversations.get(call)
    // Most answers are one value that comes at once: they need no conversation.
    if (conversation !== undefined || (word !== Said.last && word !== Said.end)) {
      conversation ??= this.#sender.converse(call, address)
      const isNumbered = NUMBERED.has(word)
      if (!conversation.heard(reply, isNumbered)) return
      // Counts characters as the service does, which may be fewer than bytes.
      if (isNumbered) conversation.read(text.length + 2 + (front?.size ?? 0), call.isPaused)
    }
    call.hear(front?.json)
    this.#obey(call, word, text, conversation)
  }

  #obey(call: PendingCall, word: string, text: string, conversation: Conversation | undefined): void {
    switch (word) {
      case Said.last:
        return this.#last(call, bodyOf(text), text.length)
      case Said.end:
        return this.#calls.complete(call)
      case Said.values: {
        const values = bodyOf(text)
        if (!Array.isArray(values)) throw new ProtocolError('The values of a stream are not a list')
        for (const value of values) this.#calls.value(call, value, text.length / values.length)
        return
      }
      case Said.inputGranted: {
        const more = conversation?.inputGranted(numberIn(text, 0)) ?? 0
        if (more > 0) call.input?.requestN(more)
        return
      }
      case Said.inputStopped:
        return call.input?.stop()
      case Said.rejected: {
        const { message, received } = readErrorText(text)
        return this.#calls.fail(call, new RejectedError(message, received))
      }
      case Said.inputLost:
        return this.#calls.fail(call, inputLost())
      case Said.gone:
        return this.#calls.fail(call, serviceGone())
    }
  }

  #beat(): void {
    if (!this.isConnected) return
    const now = performance.now()
    for (const call of this.#table.all()) {
      try {
        const conversation = this.#sender.conversations.get(call)
        if (conversation?.isReached === true) conversation.beat(now)
        else this.#sender.ask(call, now)
      } catch (error) {
        this.#calls.fail(call, error as Error)
      }
    }
  }
}

/** Headers of the answer in front of words, and their size in characters. */
interface Heard {
  readonly json: string
  readonly size: number
}

/** Words with a number, by which a lost message is noticed, because the answer would be incomplete without it. */
const NUMBERED: ReadonlySet<string> = new Set([Said.last, Said.end, Said.values, Said.rejected])

/**
 * Returns whether an answer comes from another system: it has not the form of a packet, or has a key that Nest does not
 * write. Then the whole answer is the value.
 * @param inbox beginning of the id where all clients receive all answers
 */
function isForeignTo({ sequence }: PendingCall, packet: NestPacket, inbox: string): boolean {
  if (isForeign(packet)) return true
  const { err, response, isDisposed, id } = packet
  if (err !== undefined || response !== undefined || isDisposed !== undefined) return false
  return id !== String(sequence) && !(typeof id === 'string' && id.startsWith(inbox))
}
