/**
 * Limits the bytes in transit to each of our callers. An engine closes a connection for which it buffers too much
 * (NATS: 64 MiB), and all calls of that connection fail. So the streams and the large answers for one caller share one
 * window. Messages keep their order: a caller that answers a question has received all earlier messages.
 */

import {
  type Logger,
  quietLog,
  readCallerName,
  type Source,
  type Usage
} from '@elysia-microservices/transport/kit'
import { errorPacket, INTERNAL_ERROR } from '@elysia-microservices/transport/nest'
import { QUESTION } from '../batches.ts'
import type { Sender, Words } from '../carrier.ts'
import type { PartedCarrier } from '../parts/parts.ts'
import { repeat } from '../repeat.ts'
import { Room } from '../room.ts'
import { HEARTBEAT, LOST_AFTER, textOf } from '../words.ts'
import type { Control, Controlled } from './control.ts'

/** Most characters in transit to one caller. */
export const CALLER_WINDOW = 8 * 1024 * 1024
/** Most characters of answers that wait for room: in total, and for one caller. */
export const MAX_WAITING = 256 * 1024 * 1024
const MAX_WAITING_OF_ONE = 128 * 1024 * 1024

/** Most callers that are asked for their names. */
const MAX_NAMED = 1_000
const UNNAMED: Source = {}

/** Words of an answer that wait for room. */
interface Waiting {
  readonly replyTo: string
  readonly words: string
  /** The answer, if it must be told when the words are sent. */
  readonly answer: WaitingAnswer | undefined
}

/** An answer whose words may have to wait. */
export interface WaitingAnswer {
  readonly replyTo: string
  /** Called when words that have waited are sent; returns their reply address. */
  leaves(words: string): string | undefined
}

/** One caller, known by its inbox. */
export class Caller implements Controlled, Sender, Source {
  number = 0
  secret = ''
  heardAt = Number.POSITIVE_INFINITY
  /** Number of open streams. */
  streams = 0
  readonly #carrier: PartedCarrier
  readonly #control: Control
  readonly #inbox: string
  readonly room: Room
  #asked = 0
  #isNameAsked = false
  /** The name that the caller has given when it was asked; `undefined` before, or if the caller has no name. */
  name: string | undefined
  #heard: (() => void) | undefined
  readonly waiting: Waiting[] = []
  waitingSize = 0
  readonly #sent: (size: number) => void

  /**
   * @param inbox the inbox with the dot at its end; empty for all callers that do not use this library, and cannot be
   * asked
   * @param sent is called with the number of waiting characters that were sent
   */
  constructor(carrier: PartedCarrier, control: Control, inbox: string, sent: (size: number) => void) {
    this.#carrier = carrier
    this.#control = control
    this.#inbox = inbox
    this.#sent = sent
    this.room = new Room(
      () => this.#ask(),
      () => carrier.isConnected,
      CALLER_WINDOW
    )
    control.add(this)
    this.heardAt = Number.POSITIVE_INFINITY
  }

  get replyTo(): string {
    return this.#inbox + QUESTION
  }

  get reply(): string {
    return this.#control.address(this, this.#asked)
  }

  /** No stream is open, no answer waits, and no reply is expected. */
  get isIdle(): boolean {
    return this.streams === 0 && this.waiting.length === 0 && !this.room.isAsking
  }

  /** Returns whether a stream or a large answer may be sent. If not, `resume` of the sender is called later. */
  hasRoomFor(sender: Sender): boolean {
    return this.room.hasRoomFor(sender) && this.#carrier.hasRoomFor(sender)
  }

  /** There is room: sends the waiting answers. */
  resume(): void {
    while (this.waiting.length > 0 && this.hasRoomFor(this)) this.sendNext()
  }

  sendNext(): void {
    const { replyTo, words, answer } = this.waiting.shift() as Waiting
    this.waitingSize -= words.length
    this.#sent(words.length)
    this.room.use(words.length)
    this.#carrier.publish(replyTo, words, answer?.leaves(words))
  }

  /** Removes the waiting words of an answer that nobody wants any more. */
  forget(answer: WaitingAnswer): void {
    const kept = this.waiting.filter((one) => one.answer !== answer)
    let size = 0
    for (const { words } of kept) size += words.length
    this.#sent(this.waitingSize - size)
    this.waitingSize = size
    this.waiting.splice(0, this.waiting.length, ...kept)
  }

  /** Asks the caller for a confirmation; resolves when the caller has answered, or has been silent for `LOST_AFTER`. */
  #ask(): Promise<void> {
    if (this.#inbox === '') return Promise.resolve()
    this.#asked++
    return new Promise((resolve) => {
      const late = setTimeout(resolve, LOST_AFTER)
      ;(late as { unref?(): void }).unref?.()
      this.#heard = () => {
        clearTimeout(late)
        resolve()
      }
      this.#carrier.publish(this.replyTo, '', this.reply)
    })
  }

  /** Asks the caller for its name, once. */
  askName(): void {
    if (this.#isNameAsked || this.#inbox === '') return
    this.#isNameAsked = true
    this.#carrier.publish(this.replyTo, '', this.reply)
  }

  told(_word: string, { address, words }: { readonly address: string; readonly words: Words }): void {
    // The name of the caller follows the word `Told.heard`.
    this.name ??= readCallerName(textOf(words, 1))
    // An answer to an earlier question is ignored: messages sent since then may not have arrived.
    if (address.endsWith(`.${this.#asked}`)) this.callerGone()
  }

  /** The caller has confirmed all messages, or has gone: nothing is in transit to it any more. */
  callerGone(): void {
    this.#heard?.()
  }

  beat(): void {}
}

/** The callers of one connection. */
export class Callers {
  readonly #carrier: PartedCarrier
  readonly #control: Control
  readonly #logger: Logger
  readonly #byInbox = new Map<string, Caller>()
  readonly #stopSweeping: () => void
  #waitingSize = 0

  constructor(carrier: PartedCarrier, control: Control, logger: Logger) {
    this.#carrier = carrier
    this.#control = control
    this.#logger = logger
    this.#stopSweeping = repeat(() => this.#sweep(), HEARTBEAT)
  }

  /** Characters of large answers that wait for room. */
  get answers(): Usage {
    return { current: this.#waitingSize, limit: MAX_WAITING }
  }

  /** Characters that were sent to callers and that the callers have not confirmed, in total. */
  get onItsWay(): number {
    let size = 0
    for (const { room } of this.#byInbox.values()) size += room.onItsWay
    return size
  }

  /** See `IncomingMessage.source`. Callers beyond `MAX_NAMED` have no name. */
  sourceOf(replyTo: string): Source | undefined {
    const inbox = replyTo.slice(0, replyTo.lastIndexOf('.') + 1)
    if (this.#byInbox.size >= MAX_NAMED && !this.#byInbox.has(inbox)) return UNNAMED
    const caller = this.#at(inbox)
    caller.askName()
    return caller
  }

  /** Returns the caller that a reply address belongs to. */
  of(replyTo: string): Caller {
    return this.#at(replyTo.slice(0, replyTo.lastIndexOf('.') + 1))
  }

  #at(inbox: string): Caller {
    let caller = this.#byInbox.get(inbox)
    if (caller === undefined) {
      caller = new Caller(this.#carrier, this.#control, inbox, (size) => (this.#waitingSize -= size))
      this.#byInbox.set(inbox, caller)
    }
    return caller
  }

  /**
   * Sends words of an answer to one of our callers as soon as there is room, in order.
   * @returns false if too many characters wait already; the caller then gets an error
   */
  sendOf(caller: Caller, answer: WaitingAnswer, words: string): boolean {
    return this.#send(caller, { replyTo: answer.replyTo, words, answer })
  }

  /** Sends a large answer, as soon as there is room, to a caller that does not use this library. */
  sendForeign(replyTo: string, words: string): void {
    this.#send(this.#at(''), { replyTo, words, answer: undefined })
  }

  #send(caller: Caller, waiting: Waiting): boolean {
    const { replyTo, words } = waiting
    const { length } = words
    if (
      this.#waitingSize + length > MAX_WAITING ||
      (caller.waitingSize > 0 && caller.waitingSize + length > MAX_WAITING_OF_ONE)
    ) {
      this.#refuse(replyTo, length)
      return false
    }
    caller.waiting.push(waiting)
    caller.waitingSize += length
    this.#waitingSize += length
    caller.resume()
    return true
  }

  #refuse(replyTo: string, length: number): void {
    quietLog(this.#logger).error(
      'large answers',
      `An answer of ${length} characters is not sent: answers of ${this.#waitingSize} characters already wait for their callers or for the server. Send smaller answers, or streams`
    )
    this.#carrier.publish(replyTo, errorPacket(JSON.stringify(INTERNAL_ERROR), 'null'))
  }

  /** The server is back: questions may have been lost, so they count as answered. */
  restored(): void {
    for (const caller of this.#byInbox.values()) {
      caller.callerGone()
      caller.room.resume()
    }
  }

  /** The service stops: sends the waiting answers even without room. */
  stop(): void {
    this.#stopSweeping()
    for (const caller of this.#byInbox.values()) {
      while (caller.waiting.length > 0) caller.sendNext()
      caller.callerGone()
    }
  }

  #sweep(): void {
    for (const [inbox, caller] of this.#byInbox)
      if (caller.isIdle) {
        this.#byInbox.delete(inbox)
        this.#control.remove(caller)
      }
  }
}
