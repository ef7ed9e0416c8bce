/** Events on their way into a stream: many at a time, in order, each until the server says that it has it. */
import {
  CanceledError,
  ConnectionError,
  DeadlineTimer,
  NotStoredError,
  OverloadedError,
  PayloadTooLargeError,
  type Published,
  TimeoutError
} from '@elysia-microservices/transport/kit'
import { createInbox, type Msg } from '@nats-io/transport-node'
import type { Link } from '../link.ts'
import { numberAt, replyToken } from '../wire.ts'
import { adviceOnFull } from './full.ts'
import { type OutgoingEvent, type PubAck, readPubAck } from './outgoing-event.ts'

/** Events that the server has not confirmed yet; a stream of it takes some 10,000. */
const WINDOW = 512
const WINDOW_SIZE = 16 * 1024 * 1024
/** Events that may wait for their turn. */
const MAX_WAITING = 65_536
const MAX_WAITING_SIZE = 64 * 1024 * 1024
/** Bytes left for headers and subjects in a message. */
const HEAD_ROOM = 4_096
/** Milliseconds after which an event is sent again that nobody has confirmed: its server is gone, perhaps. */
const AGAIN_AFTER = 5_000
/** Milliseconds between attempts while the server stores nothing. */
const REFUSED_PAUSE = 250
/** Subjects of which it is known that a stream stores them; bounded, because patterns may be made at run time. */
const MAX_KNOWN = 1_024

interface Entry {
  readonly event: OutgoingEvent
  readonly sequence: number
  readonly deadline: number
  /** When it was sent first, and last; 0: not yet. */
  firstSentAt: number
  sentAt: number
  /** It has ended; where it stood in line is skipped. */
  isOver: boolean
  readonly resolve: (published: Published) => void
  readonly reject: (error: Error) => void
  readonly forget: () => void
}

export interface PublisherOptions {
  /** Makes sure that a stream stores a subject. */
  ensure(subject: string): Promise<void>
  readonly inboxPrefix: string | undefined
  /** Milliseconds in which an id is stored once. */
  readonly duplicateWindow: number
}

/** Publishes over one connection after the other. */
export class Publisher {
  readonly #options: PublisherOptions
  readonly #timer = new DeadlineTimer({ wake: (now) => this.#expire(now) })
  readonly #known = new Set<string>()
  /** Not sent, or to be sent again, in order. */
  #waiting: Entry[] = []
  #waitingCount = 0
  #waitingSize = 0
  /** Sent and not confirmed, in order. */
  readonly #flight = new Map<number, Entry>()
  #flightSize = 0
  /** Refused for now; sent again, in order, when nothing else is in flight. */
  #refused: Entry[] = []
  #link: Link | undefined
  #inbox = ''
  #sequence = 0
  #isEnsuring = false
  #pause: ReturnType<typeof setTimeout> | undefined
  #again: ReturnType<typeof setInterval> | undefined
  #closed: Error | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** Whether nothing is to be published at the moment. */
  get isIdle(): boolean {
    return this.#flight.size + this.#waitingCount + this.#refused.length === 0
  }

  /** Takes a new connection. */
  attach(link: Link): void {
    this.#link = link
    this.#known.clear()
    this.#inbox = `${createInbox(this.#options.inboxPrefix)}.`
    link.subscribe(`${this.#inbox}*`, undefined, (error, message) => {
      if (error === null) this.#confirmed(message)
    })
    this.restored()
  }

  /** The connection has its server again: what was not confirmed is sent once more, before all else. */
  restored(): void {
    this.#refused = [...this.#flight.values(), ...this.#refused]
    this.#flight.clear()
    this.#flightSize = 0
    this.#resend()
  }

  /** The driver has given the connection up; `attach` follows with the next. */
  detach(): void {
    this.#link = undefined
  }

  /** Resolves when a stream has the event. */
  publish(event: OutgoingEvent): Promise<Published> {
    return new Promise((resolve, reject) => {
      const { signal, timeout, payload, pattern } = event
      if (this.#closed !== undefined) return reject(this.#closed)
      if (signal?.aborted === true) return reject(new CanceledError(pattern, signal.reason, false))
      const size = payload.length
      if (this.#waitingCount >= MAX_WAITING || this.#waitingSize + size > MAX_WAITING_SIZE)
        return reject(
          new OverloadedError(
            `${this.#waitingCount} events (${this.#waitingSize} bytes) wait to be published already; await publish()`
          )
        )
      const abort = () =>
        this.#end(entry, new CanceledError(pattern, signal?.reason, entry.firstSentAt !== 0))
      const entry: Entry = {
        event,
        sequence: this.#sequence++,
        deadline: timeout === 0 ? Number.POSITIVE_INFINITY : performance.now() + timeout,
        firstSentAt: 0,
        sentAt: 0,
        isOver: false,
        resolve,
        reject,
        forget: () => signal?.removeEventListener('abort', abort)
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiting.push(entry)
      this.#waitingCount++
      this.#waitingSize += size
      if (entry.deadline < Number.POSITIVE_INFINITY) this.#timer.wakeAt(entry.deadline)
      this.#send()
    })
  }

  /** Fails all that is not confirmed. */
  close(error: Error, unsent: Error = error): void {
    this.#closed = unsent
    this.#timer.stop()
    clearTimeout(this.#pause)
    clearInterval(this.#again)
    for (const entry of this.#all()) this.#end(entry, entry.firstSentAt === 0 ? unsent : error)
  }

  /** Fails what has not been sent, and cannot be. */
  failWaiting(error: Error): void {
    for (const entry of [...this.#waiting]) if (!entry.isOver) this.#end(entry, error)
  }

  #all(): Entry[] {
    return [...this.#flight.values(), ...this.#refused, ...this.#waiting].filter(isOpen)
  }

  #send(): void {
    const link = this.#link
    if (link?.isConnected !== true || this.#isEnsuring || this.#refused.length > 0) return
    let sent = 0
    while (sent < this.#waiting.length && this.#flight.size < WINDOW && this.#flightSize < WINDOW_SIZE) {
      const entry = this.#waiting[sent] as Entry
      if (entry.isOver) {
        sent++
        continue
      }
      if (!this.#known.has(entry.event.subject)) {
        void this.#ensure(entry)
        break
      }
      sent++
      this.#transmit(link, entry)
    }
    if (sent > 0) this.#waiting = this.#waiting.slice(sent)
  }

  #transmit(link: Link, entry: Entry): void {
    const { event, sequence } = entry
    const room = link.maxPayload - HEAD_ROOM
    if (event.payload.length > room)
      return this.#end(
        entry,
        new PayloadTooLargeError(
          'max_payload of the NATS server',
          room,
          event.payload.length,
          'bytes of an event'
        )
      )
    if (entry.firstSentAt === 0) this.#leave(entry)
    entry.sentAt = performance.now()
    if (entry.firstSentAt === 0) entry.firstSentAt = entry.sentAt
    this.#flight.set(sequence, entry)
    this.#flightSize += event.payload.length
    if (this.#again === undefined) {
      this.#again = setInterval(() => this.#checkSilence(), AGAIN_AFTER / 4)
      this.#again.unref?.()
    }
    try {
      link.publish(
        event.subject,
        event.payload,
        this.#inbox + replyToken('event', sequence, undefined),
        event.headers
      )
    } catch (error) {
      this.#end(entry, error as Error)
    }
  }

  /** The first event for a subject waits until a stream stores it; so do all behind it. */
  async #ensure(entry: Entry): Promise<void> {
    const { subject } = entry.event
    this.#isEnsuring = true
    let pause = 0
    try {
      await this.#options.ensure(subject)
      if (this.#known.size >= MAX_KNOWN) this.#known.clear()
      this.#known.add(subject)
    } catch (error) {
      const { retryable } = error as { retryable?: unknown }
      if (retryable !== true)
        for (const one of this.#all()) if (one.event.subject === subject) this.#end(one, error as Error)
      // An error that may pass is that of the events whose time is over meanwhile.
      this.#lastRefusal = error as Error
      pause = retryable === true ? REFUSED_PAUSE : 0
    } finally {
      this.#isEnsuring = false
    }
    if (this.#closed !== undefined) return
    if (pause === 0) this.#resend()
    else this.#later(() => this.#resend())
  }

  #lastRefusal: Error | undefined

  #later(task: () => void): void {
    clearTimeout(this.#pause)
    this.#pause = setTimeout(task, REFUSED_PAUSE)
  }

  #confirmed(message: Msg): void {
    // `e-17-`: so services of ours that hear the event too know it for one.
    const entry = this.#flight.get(numberAt(message.subject, this.#inbox.length + 2))
    if (entry === undefined) return
    if (message.data.length === 0 && message.headers?.code === 503) {
      this.#land(entry)
      // Nobody stores the subject: its stream is gone, or not there yet.
      this.#known.delete(entry.event.subject)
      return this.#refuse(
        entry,
        new NotStoredError(`No stream stores '${entry.event.subject}' at the moment`, true)
      )
    }
    const said = readPubAck(message)
    // Somebody who has no business to has answered.
    if (said === undefined) return
    this.#land(entry)
    if (said.error !== undefined) return this.#failed(entry, said.error)
    const { id, isOwnId } = entry.event
    this.#settle(entry)
    entry.resolve({ id, position: String(said.seq), duplicate: said.duplicate === true && !isOwnId })
    this.#resend()
  }

  #failed(entry: Entry, { code, description }: NonNullable<PubAck['error']>): void {
    const { subject } = entry.event
    const full = adviceOnFull(description)
    const advice = full === undefined ? '' : `; ${full}`
    const error = new NotStoredError(
      `NATS does not store the event '${subject}': it says '${description}' (${code})${advice}`,
      true
    )
    // What passes by itself: a leader is elected, or too much came at once.
    if (full === undefined && (code === 503 || code === 429)) return this.#refuse(entry, error)
    this.#end(entry, error)
    this.#resend()
  }

  #refuse(entry: Entry, error: Error): void {
    this.#lastRefusal = error
    this.#refused.push(entry)
    this.#later(() => this.#resend())
  }

  /** Sends again what was refused or lost, in order, once nothing is in flight that could come before it. */
  #resend(): void {
    const link = this.#link
    if (this.#refused.length === 0) return this.#send()
    if (link?.isConnected !== true || this.#flight.size > 0 || this.#isEnsuring) return
    const refused = this.#refused.filter(isOpen).sort((one, other) => one.sequence - other.sequence)
    const unknown = refused.find(({ event }) => !this.#known.has(event.subject))
    if (unknown !== undefined) return void this.#ensure(unknown)
    this.#refused = []
    const now = performance.now()
    for (const entry of refused) {
      // By now the server may have forgotten the id, and would store the event a second time.
      if (now - entry.firstSentAt < this.#options.duplicateWindow * 0.8) this.#transmit(link, entry)
      else this.#end(entry, this.#unknown(entry))
    }
    this.#send()
  }

  #checkSilence(): void {
    if (this.isIdle) {
      clearInterval(this.#again)
      this.#again = undefined
      return
    }
    const [oldest] = this.#flight.values()
    if (oldest !== undefined && performance.now() - oldest.sentAt > AGAIN_AFTER) this.restored()
  }

  #expire(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const entry of this.#all()) {
      if (entry.deadline > now) next = Math.min(next, entry.deadline)
      else this.#end(entry, this.#tooLate(entry))
    }
    if (next < Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  #tooLate(entry: Entry): Error {
    const { pattern, timeout } = entry.event
    if (entry.firstSentAt === 0 && this.#lastRefusal !== undefined) return this.#lastRefusal
    const isThere = this.#link?.isConnected === true && entry.firstSentAt !== 0
    // It is silent when its disk is full.
    const silent = isThere ? ' (the NATS server is there: its log says more, also of a full disk)' : ''
    const why = this.#lastRefusal === undefined ? silent : ` (${this.#lastRefusal.message})`
    return new TimeoutError(
      pattern,
      timeout,
      entry.firstSentAt !== 0,
      `Nobody has confirmed within ${timeout} ms that the event '${pattern}' is stored${why}; publish it again with its id`
    )
  }

  #unknown({ event }: Entry): Error {
    return new ConnectionError(
      `The connection to NATS was lost before it was known whether the event '${event.pattern}' is stored; publish it again with its id`,
      true
    )
  }

  /** It is not in flight any more. */
  #land(entry: Entry): void {
    if (this.#flight.delete(entry.sequence)) this.#flightSize -= entry.event.payload.length
  }

  #settle(entry: Entry): void {
    entry.forget()
    this.#lastRefusal = undefined
  }

  #end(entry: Entry, error: Error): void {
    this.#land(entry)
    if (entry.isOver) return
    entry.isOver = true
    if (entry.firstSentAt === 0) this.#leave(entry)
    entry.forget()
    entry.reject(error)
    // Not one by one: many end together while there is no server.
    if (this.#waiting.length > 2 * this.#waitingCount + 16) this.#waiting = this.#waiting.filter(isOpen)
    if (this.#refused.length > 16) return
    this.#refused = this.#refused.filter(isOpen)
  }

  /** It does not wait for its first sending any more. */
  #leave({ event }: Entry): void {
    this.#waitingCount--
    this.#waitingSize -= event.payload.length
  }
}

function isOpen({ isOver }: Entry): boolean {
  return !isOver
}
