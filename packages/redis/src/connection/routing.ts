/** Finds the receivers of a request or an event: our processes, each at a channel of its own, and Nest's services. */
import type { CarriedHeaders, Words } from '@elysia-microservices/transport/engine'
import {
  ALL_SERVICES,
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
import type { Link } from './link.ts'
import { NestAnswers } from './nest-answers.ts'

/** Milliseconds for which only services of Nest's are known to take requests at a channel. */
const NEST_FOR = 10_000
/** Channels of which that is remembered; bounded, because patterns may be made at run time. */
const MAX_REMEMBERED = 1_024

/** A request on its way to its receiver. */
export interface Request {
  readonly route: string
  readonly words: Words
  readonly reply: string | undefined
  readonly headers: CarriedHeaders | undefined
  /** Only our services can read it. */
  readonly isForOurs: boolean
}

/** The connection that it is sent over. */
export interface Sending {
  readonly isConnected: boolean
  /** Publishes. @param heard is told how many have got it */
  send(channel: string, words: Words, heard?: (receivers: number) => void): Promise<number>
  /** Goes on after a command was answered. */
  defer(address: string, task: Promise<void>): void
  /** Something has not been published. */
  unsent(address: string, error: Error): void
  /** Nobody has got what wants its answer at an address. */
  nobody(reply: string | undefined): void
}

/** Stores what is emitted to durable handlers. */
export interface EmittedEvents {
  /** Stores an event if a durable handler has its pattern. @returns whether one has */
  store(route: string, packet: string, headers: CarriedHeaders | undefined): Promise<boolean>
  /** There may be other handlers by now. */
  forget(): void
}

/** For one connection. */
export class Routing {
  stored: EmittedEvents | undefined
  readonly #sending: Sending
  readonly #link: Link
  readonly #directory = new Directory()
  readonly #answers: NestAnswers
  readonly #nestUntil = new Map<string, number>()
  /** Resolves when all events so far have been sent; `undefined` if none is being prepared. */
  #eventsSent: Promise<unknown> | undefined
  #refreshing: Promise<void> | undefined
  #refreshAgain: Promise<void> | undefined
  #isFollowing = false

  constructor(sending: Sending, link: Link) {
    this.#sending = sending
    this.#link = link
    this.#answers = new NestAnswers(link)
  }

  // ── requests ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends a request to one of our processes, to the next one if that has gone, and to Nest's services if there is none.
   * @param isFresh the processes have been looked up for it
   */
  ask(request: Request, isFresh = false): void {
    const { route, words, reply, headers } = request
    const sending = this.#sending
    // Events are looked up before they are sent, and a later request must not overtake them.
    if (this.#eventsSent !== undefined && !isFresh) {
      const asked = this.#eventsSent.then(() => this.ask(request))
      return sending.defer(route, asked)
    }
    const place = this.#directory.next(route)
    if (place !== undefined) {
      void sending.send(place.channel, frameOf(route, words, reply, headers), (receivers) => {
        if (receivers > 0) return
        this.#directory.remove(place)
        // If the server was lost, the call has failed already.
        if (sending.isConnected) this.ask(request)
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
        // The server does not tell who listens.
        (error: Error) => sending.unsent(request.isForOurs ? TOGETHER + route : route, error)
      )
    )
  }

  async #askNest(request: Request): Promise<void> {
    const { route, words, reply, headers } = request
    if (reply !== undefined) await this.#answers.hear(answersOf(route), reply)
    // It would run there, and be said to be for nobody.
    if (await this.#link.mayMiss(route)) return this.#sending.nobody(reply)
    // Ours hear what Nest's clients send, and do not take what our clients send to Nest's services.
    const ours = this.#directory.hearing(route).size
    const packet = reply === undefined ? words : nestRequest(words, reply, headers)
    const receivers = await this.#sending.send(route, packet)
    if (receivers === 0) return this.#sending.nobody(reply)
    if (ours < receivers && performance.now() < (this.#nestUntil.get(route) ?? 0)) return
    // Ours may have come meanwhile: then perhaps nobody has taken it.
    await this.#refresh()
    if (this.#directory.hearing(route).size >= receivers)
      return this.#directory.next(route) === undefined ? this.#sending.nobody(reply) : this.ask(request)
    if (this.#nestUntil.size >= MAX_REMEMBERED) this.#nestUntil.clear()
    this.#nestUntil.set(route, performance.now() + NEST_FOR)
  }

  /** A call is over; missing while none waits for a service of Nest's. */
  get over(): ((head: string) => void) | undefined {
    return this.#answers.isNeeded ? this.#over : undefined
  }

  readonly #over = (head: string) => this.#answers.over(head)

  /** Whether services of Nest's answer on a channel. */
  isAnswers(channel: string): boolean {
    return this.#answers.has(channel)
  }

  /** Our inbox that an answer of Nest's is for; `undefined`: it is for another client. */
  inboxOf(answer: string): { readonly channel: string; readonly address: string } | undefined {
    const id = idOfAnswer(answer)
    return id !== undefined && isInbox(id) ? { channel: channelOfInbox(id), address: id } : undefined
  }

  // ── events ───────────────────────────────────────────────────────────────────────────────────────────

  /** An event is stored if durable handlers have its pattern, and goes to all other listeners. */
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
   * Sends an event to one process of each queue, and then to every other listener, as with Nest's services.
   * @param isStored durable handlers get it otherwise
   * @returns when it is sent: whether anybody gets it
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
   * The receivers of stored events beside the store, as far as `follow` has found them.
   * @returns names for Nest's channel, and a function that sends one to all others, which may be missing
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
    // All of them have gone, and others may have come in their place.
    const name = memberName(members[0] as Place)
    await this.#refresh()
    for (const [first] of this.#directory.queuesOf(route))
      if (first !== undefined && memberName(first) === name) return this.#sending.send(first.channel, frame)
    return 0
  }

  // ── who is there ─────────────────────────────────────────────────────────────────────────────────────

  /** Keeps the list of processes up to date from now on. */
  async follow(): Promise<void> {
    if (!this.#isFollowing) await this.#refresh()
  }

  /** Looks up all processes, not before now. */
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
    // Looking after subscribing to changes misses none.
    if (!this.#isFollowing) await this.#link.subscribe(CHANGES)
    this.#isFollowing = true
    const channels = await this.#link.commands.pubsub('CHANNELS', ALL_SERVICES)
    this.#directory.update(channels.map(String))
  }

  /** A process has come, or goes, and says with which channels. */
  changed(words: string): void {
    if (!this.#isFollowing || !this.#sending.isConnected) return
    const change = readChange(words)
    // The answer to an earlier look-up may be older than this change, and come later.
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

/** Lists of processes of which one gets an event. */
type Queues = readonly (readonly Place[])[]

/** Of each queue that gets an event, and of the store. */
function namesOf(queues: Queues, isStored: boolean): string[] {
  const names = queues.map(([first]) => memberName(first as Place))
  return isStored ? [...names, STORED] : names
}

/** The queue of a place, or its process if it has none. */
function memberName({ queue, id }: Place): string {
  return queue === '' ? id : queue
}
