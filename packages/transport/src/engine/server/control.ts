/** The control addresses of one service: where callers say what concerns a call that lasts. */
import type { Logger } from '../../logger.ts'
import type { Carried } from '../carrier.ts'
import type { PartedCarrier } from '../parts/parts.ts'
import { repeat } from '../repeat.ts'
import { newSecret, SECRET_LENGTH } from '../secret.ts'
import { HEARTBEAT, LOST_AFTER, letterAt, numberIn, Said, Told } from '../words.ts'

/** A call that has a control address. */
export interface Controlled {
  /** Given when it is added. */
  number: number
  /** Made when its control address is first asked for; empty before. */
  secret: string
  /** When its caller was heard of last. */
  heardAt: number
  /** The control address with the number of what was sent last, as the reply address of what is said next. */
  readonly reply: string
  /** Where its caller gets its answer. */
  readonly replyTo: string
  /** Its caller has sent a message to the control address. @param word the first letter of the message */
  told(word: string, message: Carried): void
  /** Nobody is there to take the answer. */
  callerGone(): void
  /** Tells the caller that the call goes on. */
  beat(): void
}

/** Milliseconds after which a request that is not answered tells its caller where it can be reached. */
const ACCEPT_AFTER = 25

/** Finds calls by what comes at their control addresses, and notices callers that have gone. */
export class Control {
  readonly #carrier: PartedCarrier
  /** The inbox of this service. */
  readonly inbox: string
  readonly #calls = new Map<number, Controlled>()
  /** By the reply address up to its secret; made when somebody asks, and kept as long as somebody does. */
  #byReply: Map<string, Controlled> | undefined
  #isAsked = false
  readonly #stopBeating: () => void
  #last = 0
  /** Calls that may have to tell where they can be reached. */
  #unaccepted: Controlled[] = []
  #acceptTimer: ReturnType<typeof setTimeout> | undefined
  /** Messages that addressed no call as its caller does. */
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

  /** The control address of a call. @param sent the number of its last message */
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

  /** The call whose answer goes to an address that begins so, up to its secret; `undefined` if there is none. */
  byReply(head: string): Controlled | undefined {
    this.#isAsked = true
    this.#byReply ??= new Map([...this.#calls.values()].map((call) => [headOf(call.replyTo), call]))
    return this.#byReply.get(head)
  }

  /** Has a call say where it can be reached, unless it ends soon. */
  acceptLater(call: Controlled): void {
    this.#unaccepted.push(call)
    this.#acceptTimer ??= setTimeout(() => this.#accept(), ACCEPT_AFTER)
  }

  /** There is a server again: nobody could be heard for a while. */
  restored(): void {
    const now = performance.now()
    for (const call of this.#calls.values()) call.heardAt = Math.max(call.heardAt, now)
  }

  remove(call: Controlled): void {
    this.#calls.delete(call.number)
    this.#byReply?.delete(headOf(call.replyTo))
  }

  stop(): void {
    this.#stopBeating()
    clearTimeout(this.#acceptTimer)
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
    // Nobody listens at the reply address of the call.
    if (message.isNobody === true) return call?.callerGone()
    const word = letterAt(message.words)
    if (call === undefined) {
      this.strayed++
      // A caller that cancels does not want to know.
      if (reply !== '' && word !== Told.canceled && this.#carrier.isInbox(reply))
        this.#carrier.publish(reply, `+${Said.gone}`)
      return
    }
    call.heardAt = performance.now()
    call.told(word, message)
    if (reply !== '' && this.#calls.has(call.number)) call.beat()
  }

  /** The call whose control address it is, its secret included. */
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
    // Without a server nobody can be heard.
    if (!this.#carrier.isConnected) return
    const now = performance.now()
    for (const call of [...this.#calls.values()]) {
      const silence = now - call.heardAt
      if (silence > LOST_AFTER) call.callerGone()
      else if (silence > HEARTBEAT) call.beat()
    }
  }
}

/** One of our reply addresses up to the dash behind its secret. */
function headOf(replyTo: string): string {
  const dash = replyTo.indexOf('-', replyTo.lastIndexOf('.') + 1)
  return replyTo.slice(0, dash + SECRET_LENGTH + 2)
}
