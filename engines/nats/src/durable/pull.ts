/**
 * Receives the messages of one JetStream consumer by the pull protocol: requests as many messages as there is room
 * for.
 */
import { numberIn } from '@elysia-microservices/engine'
import type { Logger } from '@elysia-microservices/transport/kit'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { DriverSubscription, Message } from '../driver.ts'
import { headersIn } from '../words/headers.ts'
import { PIN_TIME, PINNED } from './groups.ts'
import type { Subscription } from './names.ts'

/** Milliseconds for which a request is valid, and milliseconds between the heartbeats that the server sends for it. */
const EXPIRES = 30_000
const EXPIRES_PINNED = PIN_TIME / 2
const HEARTBEAT = 2_000
/**
 * While no messages come, each request is valid for twice as long as the one before, up to the first of these times, and
 * has fewer heartbeats: consumers without events cost the server next to nothing.
 */
const EXPIRES_IDLE = 32 * EXPIRES
const HEARTBEAT_IDLE = 5_000
/** Heartbeats in a row that may fail to come before a new request is sent. */
const MISSED = 3
const AGAIN_AFTER = 250
/** Messages in one request. */
const MOST = 256
/** Bytes of the messages in one request, unless one message may be larger. */
const MOST_SIZE = 8 * 1024 * 1024
/** Bytes that the server counts besides the largest payload: the subjects of a message. */
const SUBJECTS = 64 * 1024
/**
 * The smallest share of the room that is requested while an earlier request is still valid. Compared with a quarter,
 * an eighth handled 1.15 times as many events per second, a half 0.9 times as many; a sixteenth was no faster than an
 * eighth.
 */
const LEAST_SHARE = 1 / 8

export interface PullOwner {
  /** Messages that may be requested, besides those that have arrived. */
  readonly room: number
  /** @param data the body of the message, read once: the driver makes a new view at each access */
  receive(message: Message, data: Uint8Array): void
  /** The consumer no longer exists at the server. @param why what the server says */
  gone(why: string): void
  /** Nobody answers for the consumer: it may be deleted, or its server may be electing a leader. */
  doubtful(): void
  /** The server serves another process of the group. Only for ordered handlers. */
  unpinned(): void
}

interface Standing {
  readonly number: number
  /** The messages that were requested, and those of them that have not arrived. */
  readonly batch: number
  left: number
  heardAt: number
  /** Milliseconds between its heartbeats. */
  readonly heartbeat: number
  /** The pin that was sent with the request; `undefined`: the request had none. */
  readonly pin: string | undefined
}

/** Requests the messages of one consumer. */
export class Pull {
  readonly #connection: NatsConnection
  readonly #subject: string
  readonly #owner: PullOwner
  readonly #logger: Logger
  readonly #isPinned: boolean
  readonly #inbox: string
  readonly #title: string
  /** The requests that are still valid, the oldest first: the server serves them in this order. */
  #standing: Standing[] = []
  /** Messages of these requests that have not arrived. */
  #left = 0
  readonly #watch: ReturnType<typeof setInterval>
  #subscribed: DriverSubscription | undefined
  #number = 0
  /** Milliseconds for which the next request is valid, unless it has a pin, and the most that they may become. */
  #expires = EXPIRES
  #longest = EXPIRES_IDLE
  #again: ReturnType<typeof setTimeout> | undefined
  #isStopped = false
  /** The pin that tells the server that it serves this process; see `EarlyEvents`. */
  pin: string | undefined

  constructor(
    connection: NatsConnection,
    { stream, consumer }: Subscription,
    owner: PullOwner,
    logger: Logger,
    isPinned: boolean
  ) {
    this.#connection = connection
    this.#subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`
    this.#title = `'${consumer}' of the stream '${stream}'`
    this.#owner = owner
    this.#logger = logger
    this.#isPinned = isPinned
    this.#inbox = connection.newStoreInbox()
    this.#watch = setInterval(() => this.checkSilence(performance.now()), HEARTBEAT)
    this.#watch.unref?.()
  }

  start(): void {
    this.#subscribed = this.#connection.subscribe(`${this.#inbox}*`, undefined, (error, message) => {
      if (error === null) this.#receive(message)
      else
        this.#logger.error(
          `NATS does not let this service receive ${this.#title}; give its user the right to subscribe to ${this.#inbox}*`,
          error
        )
    })
    this.fill()
  }

  /**
   * Whether the server serves no process, or another one, and nothing comes. Then one message is requested for a long
   * time: with that message comes the pin, which is to be sent with requests for more.
   */
  get #isResting(): boolean {
    return this.#isPinned && this.pin === undefined && this.#expires > EXPIRES
  }

  /** Requests as many messages as there is room for, but does not send a request for each single message. */
  fill(): void {
    if (this.#isStopped || !this.#connection.isConnected || this.#again !== undefined) return
    const { room } = this.#owner
    const [first] = this.#standing
    // Without messages for the first request, further ones would only wait at the server as well.
    if (first !== undefined && first.left === first.batch) return
    const most = this.#isResting ? 1 : MOST
    const wanted = Math.min(most, room - this.#left)
    if (wanted <= 0 || wanted < Math.min(most, room) * LEAST_SHARE) return
    const number = ++this.#number
    const expires = this.#isPinned && !this.#isResting ? EXPIRES_PINNED : this.#expires
    const heartbeat = expires > EXPIRES ? HEARTBEAT_IDLE : HEARTBEAT
    const heardAt = performance.now()
    this.#standing.push({ number, batch: wanted, left: wanted, heardAt, heartbeat, pin: this.pin })
    this.#left += wanted
    const request: Record<string, unknown> = {
      batch: wanted,
      // The server ends each request that has less room than the next message needs.
      max_bytes: Math.max(MOST_SIZE, this.#connection.maxPayload + SUBJECTS),
      expires: expires * 1_000_000,
      idle_heartbeat: heartbeat * 1_000_000
    }
    if (this.#isPinned) request['group'] = PINNED
    if (this.#isPinned && this.pin !== undefined) request['id'] = this.pin
    this.#connection.publish(this.#subject, JSON.stringify(request), `${this.#inbox}${number}`)
  }

  /** The connection has a server again. The server has forgotten all earlier requests. */
  restored(): void {
    this.#standing = []
    this.#left = 0
    this.fill()
  }

  /** Stops requesting messages. Messages that the server has already sent may still arrive until this resolves. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    clearInterval(this.#watch)
    clearTimeout(this.#again)
    // Messages that are on their way still arrive; they are given back.
    if (this.#connection.isConnected) {
      let late: ReturnType<typeof setTimeout> | undefined
      const isLate = new Promise((resolve) => {
        late = setTimeout(resolve, HEARTBEAT)
      })
      await Promise.race([this.#subscribed?.drain().catch(() => {}), isLate])
      clearTimeout(late)
    } else this.#subscribed?.unsubscribe()
  }

  #receive(message: Message): void {
    // The server's own messages have no data. So headers are read only of messages without data: reading headers is
    // slow.
    const { data, reply = '' } = message
    // An event without data is told by its reply address, because its publisher may have given it any headers.
    if (data.length === 0 && !reply.startsWith('$JS.ACK.')) {
      const headers = headersIn(message)
      if (headers && headers.code !== 0) return this.#status(message, headers.code, headers.description)
    }
    this.#expires = EXPIRES
    const first = this.#standing[0]
    if (first !== undefined) {
      first.heardAt = performance.now()
      this.#left--
      if (--first.left === 0) this.#standing.shift()
    }
    this.#owner.receive(message, data)
    if (first !== undefined && first.left === first.batch - 1) this.fill()
  }

  #status(message: Message, code: number, description: string): void {
    const number = numberIn(message.subject, this.#inbox.length)
    const standing = this.#standing.find((one) => one.number === number)
    if (code === 100) {
      for (const one of this.#standing) one.heardAt = performance.now()
      return
    }
    if (standing === undefined) return
    this.#forget(standing)
    if (code === 408) this.#expires = Math.min(2 * this.#expires, this.#longest)
    // The request has expired, or all of its messages have arrived.
    if (code === 408 || code === 404 || /batch completed|maxbytes/i.test(description)) return this.fill()
    if (code === 423) {
      // Only a refusal with the current pin counts: an older request may be refused after this process got a new pin.
      if (standing.pin === this.pin) {
        this.pin = undefined
        this.#owner.unpinned()
      }
      return this.fill()
    }
    if (this.#expires > EXPIRES && /max ?request ?expires/i.test(description)) {
      // Somebody has given the consumer a limit.
      this.#expires = this.#longest = EXPIRES
      return this.fill()
    }
    if (/deleted|not found/i.test(description)) this.#owner.gone(description)
    else if (code === 503) this.#owner.doubtful()
    else if (!/leadership change|shutdown/i.test(description))
      this.#logger.warn(
        `NATS has ended a request for ${this.#title}: ${code} ${description}; sending a new request`
      )
    this.#askLater()
  }

  #askLater(): void {
    if (this.#isStopped) return
    this.#again ??= setTimeout(() => {
      this.#again = undefined
      this.fill()
    }, AGAIN_AFTER)
  }

  /** Gives up requests of which nothing is heard. @param now milliseconds of `performance.now()` */
  checkSilence(now: number): void {
    if (!this.#connection.isConnected) return
    for (const one of this.#standing) if (now - one.heardAt > MISSED * one.heartbeat) this.#forget(one)
    this.fill()
  }

  #forget(standing: Standing): void {
    this.#left -= standing.left
    this.#standing = this.#standing.filter((one) => one !== standing)
  }
}
