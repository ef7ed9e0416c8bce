/**
 * The control addresses of one service: callers send messages about a call that lasts to the control address of that
 * call.
 */
import type { Logger } from '@elysia-microservices/transport/kit'
import type { Carried } from '../carrier.ts'
import type { PartedCarrier } from '../parts/parts.ts'
import { repeat } from '../repeat.ts'
import { newSecret, SECRET_LENGTH } from '../secret.ts'
import { HEARTBEAT, LOST_AFTER, letterAt, numberIn, Said, Told } from '../words.ts'

/** A call that has a control address. */
export interface Controlled {
  /** The number of the call, set when the call is added. */
  number: number
  /** The secret in the control address; empty until the address is needed. */
  secret: string
  /** The time at which the caller was last heard. */
  heardAt: number
  /** The control address with the number of the last message that was sent: the reply address of the next message. */
  readonly reply: string
  /** The address at which the caller receives the answer. */
  readonly replyTo: string
  /**
   * The caller has sent a message to the control address.
   * @param word the first letter of the message
   */
  told(word: string, message: Carried): void
  /** The caller has gone, so nobody takes the answer. */
  callerGone(): void
  /** Tells the caller that the call goes on. */
  beat(): void
}

/** Milliseconds after which a request without an answer tells its caller the control address. */
const ACCEPT_AFTER = 25

/** Finds the call that a message to a control address belongs to, and notices callers that have gone. */
export class Control {
  readonly #carrier: PartedCarrier
  /** The inbox of this service. */
  readonly inbox: string
  readonly #calls = new Map<number, Controlled>()
  /**
   * Calls by the part of the reply address that ends with the secret. The Map is made at the first question of a
   * caller, and kept while callers ask.
   */
  #byReply: Map<string, Controlled> | undefined
  #isAsked = false
  readonly #stopBeating: () => void
  #last = 0
  /** Calls that may have to tell their control addresses. */
  #unaccepted: Controlled[] = []
  #acceptTimer: ReturnType<typeof setTimeout> | undefined
  /** Number of messages that matched no call, or had the wrong secret. */
  strayed = 0

  constructor(carrier: PartedCarrier, logger: Logger) {
    this.#carrier = carrier
    this.inbox = carrier.newInbox()
    carrier.listen(
      this.inbox,
      (message) => this.#receive(message),
      (error) =>
        logger.error(
          `This service may not listen at ${this.inbox}, so its callers cannot cancel; give its user the right to subscribe there`,
          error
        ),
      (address) => this.#callAt(address) !== undefined
    )
    this.#stopBeating = repeat(() => this.#beat(), HEARTBEAT)
  }

  /**
   * Returns the control address of a call.
   * @param sent the number of the call's last message
   */
  address(call: Controlled, sent: number): string {
    if (call.secret === '') call.secret = newSecret()
    return `${this.inbox}${call.number}-${call.secret}.${sent}`
  }

  add(call: Controlled): void {
    call.number = ++this.#last
    call.heardAt = performance.now()
    this.#calls.set(call.number, call)
    this.#byReply?.set(headOf(call.replyTo), call)
  }

  /**
   * Returns the call whose reply address begins with `head`, which ends with the secret; `undefined` if there is none.
   */
  byReply(head: string): Controlled | undefined {
    this.#isAsked = true
    this.#byReply ??= new Map([...this.#calls.values()].map((call) => [headOf(call.replyTo), call]))
    return this.#byReply.get(head)
  }

  /** Lets a call tell its control address, unless the call ends soon. */
  acceptLater(call: Controlled): void {
    this.#unaccepted.push(call)
    this.#acceptTimer ??= setTimeout(() => this.#accept(), ACCEPT_AFTER)
  }

  /** The server is back: the silence of callers while it was lost does not count. */
  restored(): void {
    const now = performance.now()
    for (const call of this.#calls.values()) call.heardAt = Math.max(call.heardAt, now)
  }

  remove(call: Controlled): void {
    this.#calls.delete(call.number)
    this.#byReply?.delete(headOf(call.replyTo))
  }

  /** No caller can be heard any more: calls that are still running are aborted. */
  stop(): void {
    this.#stopBeating()
    clearTimeout(this.#acceptTimer)
    for (const call of [...this.#calls.values()]) call.callerGone()
  }

  #accept(): void {
    this.#acceptTimer = undefined
    const unaccepted = this.#unaccepted
    this.#unaccepted = []
    for (const call of unaccepted) if (this.#calls.has(call.number)) call.beat()
  }

  #receive(message: Carried): void {
    const { address, reply } = message
    const call = this.#callAt(address)
    // The engine reports that nobody listens at the reply address of the call.
    if (message.isNobody === true) return call?.callerGone()
    const word = letterAt(message.words)
    if (call === undefined) {
      this.strayed++
      // A caller that cancels needs no reply.
      if (reply !== '' && word !== Told.canceled && this.#carrier.isInbox(reply))
        this.#carrier.publish(reply, `+${Said.gone}`)
      return
    }
    call.heardAt = performance.now()
    call.told(word, message)
    if (reply !== '' && this.#calls.has(call.number)) call.beat()
  }

  /** Returns the call that a control address belongs to, if the secret matches. */
  #callAt(address: string): Controlled | undefined {
    const start = this.inbox.length
    const dash = address.indexOf('-', start)
    const call = this.#calls.get(numberIn(address, start, dash))
    const end = dash + 1 + SECRET_LENGTH
    return call !== undefined && call.secret !== '' && address.slice(dash + 1, end) === call.secret
      ? call
      : undefined
  }

  #beat(): void {
    if (!this.#isAsked) this.#byReply = undefined
    this.#isAsked = false
    // Without a server no caller can be heard.
    if (!this.#carrier.isConnected) return
    const now = performance.now()
    for (const call of [...this.#calls.values()]) {
      const silence = now - call.heardAt
      if (silence > LOST_AFTER) call.callerGone()
      else if (silence > HEARTBEAT) call.beat()
    }
  }
}

/** Returns the part of one of our reply addresses that ends with the dash behind the secret. */
function headOf(replyTo: string): string {
  const dash = replyTo.indexOf('-', replyTo.lastIndexOf('.') + 1)
  return replyTo.slice(0, dash + SECRET_LENGTH + 2)
}
