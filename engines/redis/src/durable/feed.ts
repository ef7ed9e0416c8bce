/**
 * One stream, as one process of a group reads it: receives events, extends their leases, acknowledges them and gives
 * them back.
 */
import type { RedisConnection } from '../connection/redis-connection.ts'
import type { GivenBack, Reader, Standing, Take } from '../driver.ts'
import { before, comparePositions, wakeOf } from '../words/keys.ts'
import { isGone } from './errors.ts'
import { RedisEvent, type Source } from './event.ts'
import type { FeedOptions } from './feed-owner.ts'
import { Acknowledgements, HeldEvents } from './held.ts'
import { Rest } from './rest.ts'
import type { Watched } from './rounds.ts'

/** Events in one request. */
const MOST = 1_024
/** The smallest share of the room that is requested while events are being handled. */
const LEAST_SHARE = 1 / 8
/** Milliseconds until a request is repeated that the server has refused. */
const AGAIN_AFTER = 1_000
/** Milliseconds for which only new events are requested, while there are many. */
const FLOWS_FOR = 100
/** After this share of `ackWait` without a further sign, another process may have got the event. */
const LEASE = 0.8
/** Positions that one script checks. */
const MOST_KEPT = 500

/** Receives the events of one stream. */
export class Feed implements Watched {
  readonly source: Source
  /** Identifies the stream: a stream that was created again under the same key has another name. */
  name = ''
  /** All events up to this position are done. */
  floor = '0-0'
  readonly held = new HeldEvents()
  readonly #options: FeedOptions
  readonly #reader: Reader
  readonly #acknowledgements: Acknowledgements
  #connection: RedisConnection | undefined
  #taking: Promise<void> | undefined
  /** Resolves when the server has all events that were given back. */
  #givenBack: Promise<unknown> = Promise.resolve()
  #asked = 0
  readonly #rest = new Rest(() => this.wake())
  /** Until this time only new events are requested, because no event of another process has to be taken over. */
  #flowsUntil = 0
  #wantsAll = true
  #undelivered: number | undefined
  #undone = 0
  #highest = '0-0'
  #isPaused = false
  #isStopped = false
  readonly #woken = () => this.wake()

  constructor(options: FeedOptions) {
    const { source, group, process, ackWait, turn } = options
    this.#options = options
    this.source = source
    this.#reader = { stream: source.stream, group, process, ackWait, isAgain: source.isAgain, turn }
    this.#acknowledgements = new Acknowledgements(this.#reader, source.isAgain)
  }

  /** Events of the group that are stored and not done; `undefined`: not known yet. */
  get lag(): number | undefined {
    return this.#undelivered === undefined ? undefined : this.#undelivered + this.#undone
  }

  get group(): string {
    return this.#options.group
  }

  get stream(): string {
    return this.source.stream
  }

  /**
   * Whether no event of the group is stored that is not done, as far as the server has told, and a message will tell of
   * the next one: the server is not asked again until then.
   */
  get isQuiet(): boolean {
    return this.#rest.isResting && !this.#isPaused && this.#undone === 0 && this.held.all.size === 0
  }

  /** Events that were requested and have not arrived. */
  get asked(): number {
    return this.#asked
  }

  get #isOrdered(): boolean {
    return this.#options.turn !== undefined
  }

  /** Begins to receive events over a connection, or goes on over a new one. */
  async start(connection: RedisConnection): Promise<void> {
    this.#connection = connection
    this.#isStopped = false
    this.#options.rounds.add(this)
    await connection.hear(wakeOf(this.source.stream), this.#woken)
    this.wake(true)
  }

  /** The stream was created again. Its events may have positions of the old one, if the server's clock is behind. */
  beginAgain(): void {
    this.floor = '0-0'
    this.held.beginAgain()
  }

  /**
   * Requests events again, because there may be more. @param wantsAll whether to look also for events that other
   * processes have left
   */
  wake(wantsAll = false): void {
    this.#rest.wake()
    this.#flowsUntil = 0
    this.#wantsAll ||= wantsAll
    this.fill()
  }

  /** Only for ordered handlers: the server is to list all events that are not done. */
  needsAll(): void {
    this.#wantsAll = true
    this.#rest.interrupt()
  }

  /** Requests events if there is room. */
  fill(): void {
    const { owner } = this.#options
    if (this.#isStopped || this.#taking !== undefined || this.#rest.isResting || owner.isIdle) return
    if (this.#connection?.isConnected !== true) return
    const room = Math.min(owner.room, MOST)
    const isWorth = room > 0 && room >= LEAST_SHARE * (room + this.held.all.size)
    if (!isWorth && !(this.#isOrdered && this.#wantsAll)) return
    this.#asked = Math.max(room, 0)
    const taking = performance.now() < this.#flowsUntil ? this.#takeNew(room) : this.#take(this.#asked)
    this.#taking = taking.finally(() => {
      this.#taking = undefined
      this.#asked = 0
      owner.fill()
    })
  }

  async #take(room: number): Promise<void> {
    const { ackWait, owner } = this.#options
    this.#rest.requested()
    const isAll = this.#wantsAll
    this.#wantsAll = false
    const leasedUntil = performance.now() + ackWait * LEASE
    let answer: Take
    try {
      answer = await (this.#connection as RedisConnection).store.take(this.#reader, room, isAll)
    } catch (error) {
      this.#wantsAll ||= isAll
      return this.#failed(error as Error)
    }
    this.#isPaused = answer.state === 'paused'
    owner.paused(this.#isPaused)
    if (answer.state !== 'ok') this.#wantsAll ||= isAll
    // A message tells that the group goes on.
    if (answer.state === 'paused') return this.#rest.begin(-1)
    const { undone, more } = answer.standing
    this.#raiseFloor(answer.standing)
    this.#undone = undone
    if (answer.state === 'other') {
      owner.uncertain()
      return this.#rest.begin(more < 0 ? AGAIN_AFTER : more)
    }
    const events = answer.entries.map(
      ([place, fields, attempt]) => new RedisEvent(this.source, place, fields, Number(attempt), leasedUntil)
    )
    if (answer.refusal !== '') this.#refused(answer.refusal)
    if (events.length < room) this.#undelivered = 0
    if (events.length < room) this.#rest.begin(more)
    else if ((more < 0 || more > FLOWS_FOR) && !this.#isOrdered && !this.source.isAgain)
      this.#flowsUntil = performance.now() + FLOWS_FOR
    this.#receive(events, this.#isOrdered && (isAll || answer.isNew))
  }

  /** An event counts as done only after the server has been told so. */
  #raiseFloor({ done, first }: Standing): void {
    if (done !== '') this.floor = done
    else if (first !== '') this.floor = before(first)
  }

  /** Requests new events only, which costs the server half as much. */
  async #takeNew(room: number): Promise<void> {
    const leasedUntil = performance.now() + this.#options.ackWait * LEASE
    try {
      const { entries, isPaused } = await (this.#connection as RedisConnection).store.takeNew(
        this.#reader,
        room
      )
      const events = entries.map(
        ([place, fields]) => new RedisEvent(this.source, place, fields, 1, leasedUntil)
      )
      this.#undone += events.length
      if (events.length < room || isPaused) this.#flowsUntil = 0
      if (isPaused) this.giveBack(events, 0)
      else this.#receive(events, false)
    } catch (error) {
      this.#failed(error as Error)
    }
  }

  #receive(events: readonly RedisEvent[], isAll: boolean): void {
    const fresh: RedisEvent[] = []
    const done: RedisEvent[] = []
    for (const event of events) {
      const known = this.held.known(event)
      if (comparePositions(event.place, this.#highest) > 0) this.#highest = event.place
      if (known !== undefined) {
        known.leasedUntil = event.leasedUntil
        known.isOnlyHere = false
        if (isAll) fresh.push(known)
      } else if (this.held.isDone(event)) done.push(event)
      else {
        this.#acknowledgements.takeBack(event.place)
        fresh.push(event)
      }
    }
    for (const { place } of done) this.#confirm(place)
    if (this.#isStopped) return this.giveBack(fresh, 0)
    if (isAll) fresh.sort((one, other) => comparePositions(one.place, other.place))
    this.#options.owner.receive(fresh, isAll)
  }

  #failed(error: Error): void {
    this.#rest.requested()
    if (!this.#isStopped) this.#rest.begin(AGAIN_AFTER)
    // When the server is lost, the request is repeated after reconnecting.
    if (error.name !== 'ReplyError') return
    if (isGone(error)) return this.#options.owner.gone(this, error.message.replace(/ script: .*$/s, ''))
    this.#refused(error.message)
  }

  #refused(why: string): void {
    const { stream } = this.source
    this.#options.logger.warn(`Redis refuses a command about the events in '${stream}': ${why}; trying again`)
  }

  // ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────

  /** Acknowledges an event that is done. */
  acknowledge(event: RedisEvent): void {
    this.held.done(event)
    if (!event.isOnlyHere) this.#confirm(event.place)
  }

  #confirm(place: string): void {
    if (this.#acknowledgements.add(place)) setImmediate(() => void this.#sendAcknowledgements())
  }

  async #sendAcknowledgements(): Promise<void> {
    try {
      const confirmed = await this.#acknowledgements.send(this.#connection)
      this.#undone = Math.max(0, this.#undone - confirmed)
    } catch (error) {
      this.#failed(error as Error)
    }
  }

  /** Makes an event a dead letter. @param letter its fields */
  async bury({ place, isOnlyHere }: RedisEvent, letter: readonly string[]): Promise<void> {
    await (this.#connection as RedisConnection).store.bury(this.#reader, place, isOnlyHere, letter)
  }

  /**
   * Gives events back.
   * @param delay milliseconds until they may be taken again
   */
  giveBack(events: readonly RedisEvent[], delay: number): void {
    const ours: GivenBack[] = []
    for (const event of events) {
      this.held.drop(event)
      if (event.isOnlyHere) continue
      ours.push({ place: event.place, delay: Math.ceil(delay), attempt: event.begun + 1 })
    }
    if (ours.length === 0 || this.#connection?.isConnected !== true) return
    // If giving back fails, the events are delivered again when their leases end.
    const given = this.#connection.store
      .giveBack(this.#reader, ours)
      .catch((error: Error) => this.#failed(error))
    this.#givenBack = Promise.all([this.#givenBack, given])
  }

  /**
   * Tells the server that the received events are still being handled. @param isRunning whether the handler of an
   * event runs
   */
  async keep(isRunning: (event: RedisEvent) => boolean): Promise<void> {
    if (this.#connection?.isConnected !== true) return
    void this.#sendAcknowledgements()
    const { ackWait, turn, owner } = this.#options
    const now = performance.now()
    // An event that has not begun and whose lease is over is left out: another process may have it by now, and this
    // process must not claim it.
    const kept = [...this.held.all.values()].filter(
      (event) => !event.isOnlyHere && (now < event.leasedUntil || isRunning(event))
    )
    // While nothing is to be done, any process may have the turn.
    if (kept.length === 0 && (turn === undefined || this.isQuiet)) return
    for (let start = 0; start === 0 || start < kept.length; start += MOST_KEPT) {
      const part = kept.slice(start, start + MOST_KEPT)
      const places = part.map(({ place }) => place)
      let lost: readonly string[]
      try {
        lost = await this.#connection.store.keep(this.#reader, places)
      } catch (error) {
        return this.#failed(error as Error)
      }
      const gone = new Set(lost)
      for (const event of part) event.leasedUntil = gone.has(event.place) ? 0 : now + ackWait * LEASE
      if (
        gone.size > 0 &&
        this.#isOrdered &&
        part.some(({ place }) => this.held.all.has(place) && gone.has(place))
      ) {
        owner.uncertain()
        this.fill()
      }
    }
  }

  /**
   * Reads the state of the stream: how many events wait, and whether the group still exists. @throws the server's
   * error
   */
  async look(): Promise<void> {
    if (this.#connection?.isConnected !== true || this.#isStopped || this.#options.owner.isIdle) return
    const { store } = this.#connection
    const { group, logger, owner } = this.#options
    const { stream } = this.source
    // Events that arrive while the answer is on its way may be newer than the answer.
    const highest = this.#highest
    try {
      const [groups, last] = await Promise.all([store.groups(stream), store.last(stream)])
      const mine = groups.find(({ name }) => name === group)
      // Storing an event deletes old ones too, but perhaps no event is stored any more.
      if (!this.source.isAgain) void store.trim(stream, this.#options.maxAge).catch(() => {})
      if (mine === undefined) return owner.gone(this, `the stream has no group '${group}' any more`)
      if (mine.lag !== undefined) this.#undelivered = mine.lag
      if (comparePositions(last, highest) >= 0) return
      logger.error(
        `The stream '${stream}' now ends at position ${last}: Redis has lost the events up to ${highest}, for example in a failover to a replica that lagged`
      )
      for (const event of this.held.all.values())
        if (comparePositions(event.place, last) > 0 && comparePositions(event.place, highest) <= 0)
          event.isOnlyHere = true
      this.#acknowledgements.takeBackBehind(last)
      if (this.#highest === highest) this.#highest = last
      this.floor = last
    } catch (error) {
      this.#failed(error as Error)
    }
  }

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────

  /** Stops requesting events. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#options.rounds.remove(this)
    this.#rest.stop()
    this.#connection?.unhear(wakeOf(this.source.stream), this.#woken)
    await this.#taking
  }

  /** Removes this process from the group. */
  async leave(): Promise<void> {
    // The server keeps a process that has events. A script that the server does not know yet is sent twice, so commands
    // that are sent one after another may arrive in another order.
    await Promise.all([this.#sendAcknowledgements(), this.#givenBack])
    if (this.#connection?.isConnected !== true) return
    await this.#connection.store.leave(this.#reader).catch(() => {})
  }
}
