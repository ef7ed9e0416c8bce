/** The control subjects of one service: where callers say what concerns a call that lasts. */
import type { Msg } from '@nats-io/transport-node'
import type { Link } from './link.ts'
import { HEARTBEAT, LOST_AFTER, numberAt, Said, Told, textOf } from './wire.ts'

/** A call that has a control subject. */
export interface Controlled {
  /** Given when it is added. */
  number: number
  /** When its caller was heard of last. */
  heardAt: number
  /** The control subject with the number of what was sent last, as the reply subject of what is said next. */
  readonly reply: string
  /** Where its caller gets its answer. */
  readonly replyTo: string
  /** What its caller says. @param word the first letter */
  told(word: string, payload: Uint8Array): void
  /** Nobody is there to take the answer. */
  callerGone(): void
  /** Tells the caller that the call goes on. */
  beat(): void
}

/** Milliseconds after which a request that is not answered tells its caller where it can be reached. */
const ACCEPT_AFTER = 25

/** Finds calls by what comes on their control subjects, and notices callers that have gone. */
export class Control {
  readonly #link: Link
  readonly #prefix: string
  readonly #calls = new Map<number, Controlled>()
  readonly #heartbeat: ReturnType<typeof setInterval>
  #last = 0
  /** Those that may have to tell where they can be reached. */
  #unaccepted: Controlled[] = []
  #acceptTimer: ReturnType<typeof setTimeout> | undefined

  /** @param inbox a subject of this service alone */
  constructor(link: Link, inbox: string) {
    this.#link = link
    this.#prefix = `${inbox}.`
    link.subscribe(`${inbox}.>`, undefined, (_error, message) => this.#receive(message))
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT)
    this.#heartbeat.unref?.()
  }

  get size(): number {
    return this.#calls.size
  }

  all(): Controlled[] {
    return [...this.#calls.values()]
  }

  /** The control subject of a call. @param sent the number of its last message */
  subject(number: number, sent: number): string {
    return `${this.#prefix}${number}.${sent}`
  }

  add(call: Controlled): void {
    call.number = ++this.#last
    call.heardAt = performance.now()
    this.#calls.set(call.number, call)
  }

  /** The call whose answer goes to a subject that begins so; `undefined` if there is none. */
  byReply(head: string): Controlled | undefined {
    for (const call of this.#calls.values()) if (call.replyTo.startsWith(head)) return call
    return undefined
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
  }

  stop(): void {
    clearInterval(this.#heartbeat)
    clearTimeout(this.#acceptTimer)
  }

  #accept(): void {
    this.#acceptTimer = undefined
    const unaccepted = this.#unaccepted
    this.#unaccepted = []
    for (const call of unaccepted) if (this.#calls.has(call.number)) call.beat()
  }

  #receive(message: Msg): void {
    const { data } = message
    const call = this.#calls.get(numberAt(message.subject, this.#prefix.length))
    if (data.length === 0) {
      // Nobody subscribes to the reply subject of the call.
      if (message.headers?.code === 503) call?.callerGone()
      return
    }
    const word = String.fromCharCode(data[0] as number)
    if (call === undefined) {
      // Who cancels does not want to know.
      if (message.reply && word !== Told.canceled) this.#link.publish(message.reply, `+${Said.gone}`)
      return
    }
    call.heardAt = performance.now()
    call.told(word, data)
    if (message.reply && this.#calls.has(call.number)) call.beat()
  }

  #beat(): void {
    // Without a server nobody can be heard.
    if (!this.#link.isConnected) return
    const now = performance.now()
    for (const call of this.all()) {
      const silence = now - call.heardAt
      if (silence > LOST_AFTER) call.callerGone()
      else if (silence > HEARTBEAT) call.beat()
    }
  }
}

/** What a grant says: values granted and bytes taken, since the beginning. */
export function readGrant(payload: Uint8Array): { readonly values: number; readonly bytes: number } {
  const [values, bytes] = textOf(payload, 1).split(',').map(Number)
  return { values: values ?? 0, bytes: bytes ?? 0 }
}
