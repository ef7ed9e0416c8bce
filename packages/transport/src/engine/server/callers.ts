/**
 * Limits the messages on their way to each of our callers. An engine cuts off a connection for which it holds too much
 * (NATS: 64 MiB), with all of its calls; so the streams and the large answers for one caller have one window together.
 * Messages keep their order: a caller that answers a question has all that was sent before it.
 */

import { readCallerName, type Source } from '../../caller-name.ts'
import type { Logger } from '../../logger.ts'
import { errorPacket } from '../../nest/packet.ts'
import { INTERNAL_ERROR } from '../../nest/words.ts'
import { quietLog } from '../../quiet-log.ts'
import type { Gauge } from '../../transport.ts'
import { QUESTION } from '../batches.ts'
import type { Sender, Words } from '../carrier.ts'
import type { PartedCarrier } from '../parts/parts.ts'
import { repeat } from '../repeat.ts'
import { Room } from '../room.ts'
import { HEARTBEAT, LOST_AFTER, textOf } from '../words.ts'
import type { Control, Controlled } from './control.ts'

/** Bytes on their way to one caller. */
export const CALLER_WINDOW = 8 * 1024 * 1024
/** Characters of answers that wait for room, in all and for one caller. */
export const MAX_WAITING = 256 * 1024 * 1024
const MAX_WAITING_OF_ONE = 128 * 1024 * 1024

/** Callers that are asked for their names. */
const MAX_NAMED = 1_000
const UNNAMED: Source = {}

/** Words of an answer that waits. */
interface Waiting {
  readonly replyTo: string
  readonly words: string
  /** The answer, if it is to be told when they leave. */
  readonly answer: WaitingAnswer | undefined
}

/** An answer whose words may have to wait. */
export interface WaitingAnswer {
  readonly replyTo: string
  /** Words that have waited leave: gives their reply address. */
  leaves(words: string): string | undefined
}

/** One inbox. */
export class Caller implements Controlled, Sender, Source {
  number = 0
  secret = ''
  heardAt = Number.POSITIVE_INFINITY
  /** Streams that are open. */
  streams = 0
  readonly #carrier: PartedCarrier
  readonly #control: Control
  readonly #inbox: string
  readonly room: Room
  #asked = 0
  #isNameAsked = false
  /** The name that it has given when it was asked; `undefined` before, or if it gave none. */
  name: string | undefined
  #heard: (() => void) | undefined
  readonly waiting: Waiting[] = []
  waitingSize = 0
  readonly #sent: (size: number) => void

  /**
   * @param inbox with the dot behind it; empty: of callers that are not ours, and cannot be asked
   * @param sent is told of waiting characters that have left
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

  /** Nobody sends, and nothing is to be heard. */
  get isIdle(): boolean {
    return this.streams === 0 && this.waiting.length === 0 && !this.room.isAsking
  }

  /** Whether a stream or a large answer may be sent. If not, its sender is called when it may. */
  hasRoomFor(sender: Sender): boolean {
    return this.room.hasRoomFor(sender) && this.#carrier.hasRoomFor(sender)
  }

  /** There is room: what waits is sent. */
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

  /** An answer is not wanted any more: its words do not leave. */
  forget(answer: WaitingAnswer): void {
    const kept = this.waiting.filter((one) => one.answer !== answer)
    let size = 0
    for (const { words } of kept) size += words.length
    this.#sent(this.waitingSize - size)
    this.waitingSize = size
    this.waiting.splice(0, this.waiting.length, ...kept)
  }

  /** Asks the caller; resolves when it has answered, or has been silent for `LOST_AFTER`. */
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

  /** Asks for its name, once. */
  askName(): void {
    if (this.#isNameAsked || this.#inbox === '') return
    this.#isNameAsked = true
    this.#carrier.publish(this.replyTo, '', this.reply)
  }

  told(_word: string, { address, words }: { readonly address: string; readonly words: Words }): void {
    // Behind the word that all has come.
    this.name ??= readCallerName(textOf(words, 1))
    // To an earlier question: what was sent since then may not have come.
    if (address.endsWith(`.${this.#asked}`)) this.callerGone()
  }

  /** Nothing is on its way to it any more. */
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

  /** Large answers that wait for room. */
  get answers(): Gauge {
    return { current: this.#waitingSize, limit: MAX_WAITING }
  }

  /** Characters that were sent and that callers have not confirmed, of all callers together. */
  get onItsWay(): number {
    let size = 0
    for (const { room } of this.#byInbox.values()) size += room.onItsWay
    return size
  }

  /** See `IncomingMessage.source`. Whom there is no room for stays without a name. */
  sourceOf(replyTo: string): Source | undefined {
    const inbox = replyTo.slice(0, replyTo.lastIndexOf('.') + 1)
    if (this.#byInbox.size >= MAX_NAMED && !this.#byInbox.has(inbox)) return UNNAMED
    const caller = this.#at(inbox)
    caller.askName()
    return caller
  }

  /** Our caller that is answered at an address. */
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
   * Sends words of an answer to one of our callers as soon as there is room for them, in their order.
   * @returns false: too much waits already, and its caller has been told
   */
  sendOf(caller: Caller, answer: WaitingAnswer, words: string): boolean {
    return this.#send(caller, { replyTo: answer.replyTo, words, answer })
  }

  /** Sends a large answer to a caller that is not ours as soon as there is room for it. */
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
      `An answer of ${length} characters is not sent: ${this.#waitingSize} wait already until their callers, or the server, take them. Send less at once, or streams`
    )
    this.#carrier.publish(replyTo, errorPacket(JSON.stringify(INTERNAL_ERROR), 'null'))
  }

  /** There is a server again: questions may be lost. */
  restored(): void {
    for (const caller of this.#byInbox.values()) {
      caller.callerGone()
      caller.room.resume()
    }
  }

  /** The service stops: what waits is sent, room or not. */
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
