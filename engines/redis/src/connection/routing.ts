/**
 * Finds the receivers of a request or an event: the processes of this library's services, each on a channel of its
 * own, and NestJS services.
 */
import type { CarriedHeaders, Words } from '@elysia-microservices/engine'
import type { DriverConnection } from '../driver.ts'
import {
  answersOf,
  CHANGES,
  channelOfInbox,
  isInbox,
  type Place,
  readChange,
  TOGETHER
} from '../words/channels.ts'
import { frameOf, idOfAnswer, nestEvent, nestRequest, STORED } from '../words/frames.ts'
import { Directory } from './directory.ts'
import { NestAnswers } from './nest-answers.ts'

/** Milliseconds for which it is remembered that only NestJS services receive the requests of a channel. */
const NEST_FOR = 10_000
/** Channels for which this is remembered; limited, because patterns may be created at run time. */
const MAX_REMEMBERED = 1_024

/** A request to be sent. */
export interface Request {
  readonly route: string
  readonly words: Words
  readonly reply: string | undefined
  readonly headers: CarriedHeaders | undefined
  /** Whether only services of this library can read the request. */
  readonly isForOurs: boolean
}

/** The connection over which requests and events are sent. */
export interface Sending {
  readonly isConnected: boolean
  /** Publishes. @param heard is called with the number of receivers */
  send(channel: string, words: Words, heard?: (receivers: number) => void): Promise<number>
  /** Waits for the answer to a command before a message is sent. */
  defer(address: string, task: Promise<void>): void
  /** Reports that a message could not be published. */
  unsent(address: string, error: Error): void
  /** Reports that nobody has received the request with this reply address. */
  nobody(reply: string | undefined): void
}

/** Stores events that are emitted to durable handlers. */
export interface EmittedEvents {
  /** Stores an event if a durable handler has its pattern. @returns whether one has */
  store(route: string, packet: string, headers: CarriedHeaders | undefined): Promise<boolean>
  /** Forgets the known durable handlers, because there may be others by now. */
  forget(): void
}

/** Finds receivers for the messages of one connection. */
export class Routing {
  stored: EmittedEvents | undefined
  readonly #sending: Sending
  readonly #driver: DriverConnection
  readonly #directory = new Directory()
  readonly #answers: NestAnswers
  readonly #nestUntil = new Map<string, number>()
  /** Resolves when all events so far have been sent; `undefined`: no event is being prepared. */
  #eventsSent: Promise<unknown> | undefined
  #refreshing: Promise<void> | undefined
  #refreshAgain: Promise<void> | undefined
  /** Whether changes arrive, and whether the list of processes has arrived that they change. */
  #isFollowing = false
  #hasList = false

  constructor(sending: Sending, driver: DriverConnection) {
    this.#sending = sending
    this.#driver = driver
    this.#answers = new NestAnswers(driver)
  }

  // ── requests ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends a request to one process; to the next one if that process has gone; to NestJS services if there is no
   * process.
   * @param isFresh whether the processes have just been looked up for this request
   * @param isBehindEvents whether the events that were emitted before the request have been sent
   */
  ask(request: Request, isFresh = false, isBehindEvents = isFresh): void {
    const { route, words, reply, headers } = request
    const sending = this.#sending
    // Before an event is sent, its receivers are looked up; a later request must not overtake the event.
    // It need not wait for the events that were emitted after it.
    if (this.#eventsSent !== undefined && !isBehindEvents) {
      const asked = this.#eventsSent.then(() => this.ask(request, false, true))
      return sending.defer(route, asked)
    }
    const place = this.#directory.next(route)
    if (place !== undefined) {
      void sending.send(place.channel, frameOf(route, words, reply, headers), (receivers) => {
        if (receivers > 0) return
        this.#directory.remove(place)
        // If the server was lost in between, the call has failed already.
        if (sending.isConnected) this.ask(request, false, true)
      })
      return
    }
    if (isFresh || performance.now() < (this.#nestUntil.get(route) ?? 0)) {
      if (request.isForOurs) return sending.nobody(reply)
      return sending.defer(route, this.#askNest(request))
    }
    sending.defer(
      route,
      this.#refresh().then(
        () => this.ask(request, true),
        // The server cannot be asked who listens.
        (error: Error) => sending.unsent(request.isForOurs ? TOGETHER + route : route, error)
      )
    )
  }

  async #askNest(request: Request): Promise<void> {
    const { route, words, reply, headers } = request
    if (reply !== undefined) await this.#answers.hear(answersOf(route), reply)
    // In a cluster, a NestJS service at another node would handle the request, and the caller would be told that
    // nobody has received it.
    if (await this.#driver.mayMiss(route)) return this.#sending.nobody(reply)
    // Services of this library receive what is published for NestJS, but ignore requests that this library's clients
    // send to NestJS services.
    const ours = this.#directory.hearing(route).size
    const packet = reply === undefined ? words : nestRequest(words, reply, headers)
    const receivers = await this.#sending.send(route, packet)
    if (receivers === 0) return this.#sending.nobody(reply)
    if (ours < receivers && performance.now() < (this.#nestUntil.get(route) ?? 0)) return
    // A process of this library may have started in between: then perhaps no NestJS service has received the request.
    await this.#refresh()
    if (this.#directory.hearing(route).size >= receivers)
      return this.#directory.next(route) === undefined
        ? this.#sending.nobody(reply)
        : this.ask(request, false, true)
    if (this.#nestUntil.size >= MAX_REMEMBERED) this.#nestUntil.clear()
    this.#nestUntil.set(route, performance.now() + NEST_FOR)
  }

  /** Called with each call that is over; `undefined` while no call waits for a NestJS service. */
  get over(): ((head: string) => void) | undefined {
    return this.#answers.isNeeded ? this.#over : undefined
  }

  readonly #over = (head: string) => this.#answers.over(head)

  /** Whether a channel is one on which NestJS services answer. */
  isAnswers(channel: string): boolean {
    return this.#answers.has(channel)
  }

  /** The inbox to which an answer of a NestJS service belongs; `undefined`: the answer is for another client. */
  inboxOf(answer: string): { readonly channel: string; readonly address: string } | undefined {
    const id = idOfAnswer(answer)
    return id !== undefined && isInbox(id) ? { channel: channelOfInbox(id), address: id } : undefined
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────────────

  /** Sends an event to all listeners, and stores it if durable handlers have its pattern. */
  async emit(route: string, packet: string, reply?: string, headers?: CarriedHeaders): Promise<void> {
    const sent = this.#store(route, packet, reply, headers)
    const all = Promise.allSettled([this.#eventsSent, sent]).then(() => {
      if (this.#eventsSent === all) this.#eventsSent = undefined
    })
    this.#eventsSent = all
    const { isStored, heard } = await sent
    if (!(await heard) && !isStored) this.#sending.nobody(reply)
  }

  async #store(
    route: string,
    packet: string,
    reply: string | undefined,
    headers: CarriedHeaders | undefined
  ): Promise<{ readonly isStored: boolean; readonly heard: Promise<boolean> }> {
    const isStored = (await this.stored?.store(route, packet, headers)) === true
    return { isStored, ...(await this.#spread(route, packet, reply, headers, isStored)) }
  }

  /**
   * Sends an event to one process of each queue, and then on the channel of NestJS to every other listener.
   * @param isStored whether the event was stored for durable handlers
   * @returns once the event is sent: a promise of whether anybody has received it
   */
  async #spread(
    route: string,
    packet: string,
    reply: string | undefined,
    headers: CarriedHeaders | undefined,
    isStored: boolean
  ): Promise<{ readonly heard: Promise<boolean> }> {
    await this.follow()
    const queues = this.#directory.queuesOf(route)
    const sent = this.#emitToAll(queues, route, frameOf(route, packet, reply, headers))
    sent.push(this.#sending.send(route, nestEvent(packet, headers, namesOf(queues, isStored))))
    return { heard: Promise.all(sent).then((receivers) => receivers.some((count) => count > 0)) }
  }

  /**
   * The receivers of a published durable event besides the store, as far as `follow` has found them.
   * @returns the names that are listed in the message for NestJS, and a function that sends the event to all other
   * receivers; `undefined`: there are none
   */
  listeners(route: string): {
    readonly reached: readonly string[]
    readonly send: ((packet: string, headers: CarriedHeaders | undefined) => void) | undefined
  } {
    const queues = this.#directory.queuesOf(route)
    const reached = namesOf(queues, true)
    const send = (packet: string, headers: CarriedHeaders | undefined) => {
      for (const sent of this.#emitToAll(queues, route, frameOf(route, packet, undefined, headers)))
        sent.catch(() => {})
    }
    return { reached, send: queues.length === 0 ? undefined : send }
  }

  #emitToAll(queues: Queues, route: string, frame: Words): Promise<number>[] {
    return queues.map((members) => this.#emitTo(members, route, frame))
  }

  async #emitTo(members: readonly Place[], route: string, frame: Words): Promise<number> {
    for (const place of members) {
      if ((await this.#sending.send(place.channel, frame)) > 0) return 1
      this.#directory.remove(place)
    }
    // All processes of the queue have gone, and new ones may have started.
    const name = memberName(members[0] as Place)
    await this.#refresh()
    for (const [first] of this.#directory.queuesOf(route))
      if (first !== undefined && memberName(first) === name) return this.#sending.send(first.channel, frame)
    return 0
  }

  // ── processes ────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Keeps the list of processes up to date from now on. Resolves when there is a list: an event that did not wait for it
   * would go to all processes of a service, as if they were none of this library's.
   */
  async follow(): Promise<void> {
    if (!this.#hasList) await (this.#refreshing ?? this.#refresh())
  }

  /**
   * Looks up all processes. If a look-up is under way, another one follows it, so that the result is not older than
   * this call.
   */
  #refresh(): Promise<void> {
    if (this.#refreshing === undefined) {
      this.#refreshing = this.#lookUp().finally(() => {
        this.#refreshing = undefined
      })
      return this.#refreshing
    }
    this.#refreshAgain ??= this.#refreshing
      .catch(() => {})
      .then(() => {
        this.#refreshAgain = undefined
        return this.#refresh()
      })
    return this.#refreshAgain
  }

  async #lookUp(): Promise<void> {
    // The subscription to changes comes first, so that no change is missed between it and the look-up.
    if (!this.#isFollowing) await this.#driver.subscribe(CHANGES)
    this.#isFollowing = true
    this.#directory.update(await this.#driver.services())
    this.#hasList = true
  }

  /** Applies a message that a process has started or is stopping. */
  changed(words: string): void {
    if (!this.#isFollowing || !this.#sending.isConnected) return
    const change = readChange(words)
    // A look-up that is under way may return a list that is older than this change, so the look-up is repeated.
    if (change === undefined || this.#refreshing !== undefined) this.#refresh().catch(() => {})
    if (change !== undefined) this.#directory.change(change)
  }

  /** The server is lost. */
  lost(): void {
    this.#nestUntil.clear()
  }

  /** There is a server again. */
  restored(): void {
    this.stored?.forget()
    if (this.#isFollowing) this.#refresh().catch(() => {})
  }

  close(): void {
    this.#answers.close()
  }
}

/** For each queue, the processes of which one receives an event. */
type Queues = readonly (readonly Place[])[]

/** The names of all queues that receive an event, and of the store. */
function namesOf(queues: Queues, isStored: boolean): string[] {
  const names = queues.map(([first]) => memberName(first as Place))
  return isStored ? [...names, STORED] : names
}

/** The queue of a subscription, or the id of its process if there is no queue. */
function memberName({ queue, id }: Place): string {
  return queue === '' ? id : queue
}
