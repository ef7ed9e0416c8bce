/**
 * The turns of a process: one statement after the other writes what has become of events, and takes events for all
 * handlers that have room. A process without work sends one statement in a while, however many handlers it has.
 */
import { newSecret } from '@elysia-microservices/engine'
import {
  type Clock,
  type Logger,
  monotonicClock,
  nextTurn,
  quietLog,
  shown
} from '@elysia-microservices/transport/kit'
import { answeredState } from '../connection/lost.ts'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import { isFull, type Turn, type Wanted } from '../connection/turn.ts'
import type { CheckedOptions } from '../options/options.ts'
import { DueLooks } from './due-looks.ts'
import { type Batch, TakenEvent } from './event.ts'
import { type Fate, lineOf, settlings } from './fates.ts'
import { Pruning } from './pruning.ts'
import type { Taker } from './taker.ts'

/** Milliseconds for which figures are read after they were asked for last, and between two readings. */
const FIGURES_FOR = 120_000
const FIGURES_EVERY = 500
const FIGURES_EVERY_AT_REST = 2_000
/** Milliseconds between turns while a process falls asleep, and the number of these turns. */
const LINGER = 20
const LINGERS = 5
/** Milliseconds until listening is tried again. */
const LISTEN_AGAIN = 1_000
/** Milliseconds that a process takes for its last words. */
const FAREWELL = 1_000
/** Events stay with a process for as many `ackWait` more at most while its turns take long. */
const MOST_GRACE = 9

/** An event of a turn, and the handler that gets it. */
type Fresh = readonly [Taker, TakenEvent]

/** The turns of one service. */
export class Turns {
  readonly #options: CheckedOptions
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #process = newSecret()
  readonly #takers = new Map<number, Taker>()
  readonly #batches = new Map<string, Batch>()
  readonly #fates = new Map<TakenEvent, Fate>()
  /** The lines of events that were given back, of which the database does not know yet. */
  readonly #givenBack = new Set<string | undefined>()
  readonly #written: (() => void)[] = []
  /** Events that a turn has brought, and no handler has yet: also those whose turn took longer than their lease. */
  #fresh: Fresh[] = []
  #connection: PostgresConnection | undefined
  #isRunning = false
  /** Ends with the last turn that has begun. */
  #last: Promise<void> = Promise.resolve()
  #isWoken = false
  #isWanted = false
  /** The last group that the turn before has asked, because its answer had no room for more. */
  #until: number | null = null
  /** Number of turns in a row that have brought nothing. */
  #empty = 0
  /** Milliseconds for which signs of life hold longer, because turns take long. */
  #grace = 0
  #stopResting = () => {}
  #stopListening = () => {}
  #endListening: Promise<(() => Promise<void>) | undefined> | undefined
  #figuresUntil = 0
  #figuresAt = 0
  readonly #due = new DueLooks()
  readonly #pruning: Pruning
  #isEnded = false

  constructor(options: CheckedOptions, logger: Logger, clock: Clock = monotonicClock) {
    this.#options = options
    this.#logger = logger
    this.#clock = clock
    this.#pruning = new Pruning(options, clock, logger)
  }

  /** Milliseconds from the begin of a turn: its sign of life may be left out if there was one shortly before. */
  get #lease(): number {
    return this.#options.ackWait * 0.75 + this.#grace
  }

  attach(connection: PostgresConnection): void {
    if (this.#connection === connection) return
    this.#connection = connection
    this.#listen(connection)
  }

  add(taker: Taker): void {
    this.#takers.set(taker.groupId, taker)
    this.#figuresUntil = this.#clock.now() + FIGURES_FOR
    this.wake()
  }

  remove(taker: Taker): void {
    if (this.#takers.get(taker.groupId) === taker) this.#takers.delete(taker.groupId)
  }

  /** Whether no other process has the event yet. */
  owns({ batch }: TakenEvent): boolean {
    return this.#clock.now() < batch.leasedUntil
  }

  /** Figures are being read. */
  wantFigures(): void {
    this.#figuresUntil = this.#clock.now() + FIGURES_FOR
  }

  /** Writes the fate of an event with the next turn. */
  settle(event: TakenEvent, fate: Fate): void {
    if (!event.batch.left.delete(event)) return
    this.#remember(event, fate)
    this.wake()
  }

  #remember(event: TakenEvent, fate: Fate): void {
    this.#fates.set(event, fate)
    if (typeof fate === 'object' && 'delay' in fate && event.lock !== null) this.#givenBack.add(lineOf(event))
  }

  /** Resolves when everything that was settled before is written. */
  written(): Promise<void> {
    return new Promise((resolve) => {
      this.#written.push(resolve)
      this.wake()
    })
  }

  /** There is something to write, or room for events. */
  wake(): void {
    this.#isWoken = true
    this.#soon()
  }

  restored(): void {
    this.wake()
  }

  #soon(): void {
    if (this.#isRunning || this.#isWanted || this.#isEnded) return
    this.#isWanted = true
    nextTurn(() => {
      this.#isWanted = false
      void this.#turn()
    })
  }

  async #turn(): Promise<void> {
    const connection = this.#connection
    if (this.#isRunning || this.#isEnded || connection?.isConnected !== true) return
    this.#isRunning = true
    let end = () => {}
    this.#last = new Promise((resolve) => {
      end = resolve
    })
    this.#stopResting()
    // Before this turn writes what was given back, and forgets it.
    this.#fresh = this.#fresh.filter((one) => !this.#isGone(one))
    const mayRest = this.#empty > 0 && !this.#isWoken && this.#fresh.length === 0
    this.#isWoken = false
    const fates = [...this.#fates]
    const written = this.#written.splice(0)
    this.#fates.clear()
    this.#givenBack.clear()
    const begun = this.#clock.now()
    try {
      const wanted = this.#wanted(mayRest)
      const turn = await this.#ask(connection, fates, wanted, mayRest)
      // Only a failure of this statement makes the next one write them again.
      fates.length = 0
      const leasedUntil = begun + this.#lease
      const took = this.#clock.now() - begun
      this.#learn(took)
      this.#due.told(turn, begun, took)
      for (const batch of this.#batches.values()) batch.leasedUntil = leasedUntil
      for (const resolve of written.splice(0)) resolve()
      this.#heard(turn, leasedUntil)
      this.#empty = turn.taken.length === 0 ? this.#empty + 1 : 0
      this.#until = turn.until ?? null
      const isMore = this.#until !== null || isFull(turn, wanted)
      if (!isMore) this.#deliver()
      await this.#lookAfter(connection)
      this.#isRunning = false
      if (isMore) this.#goOn()
      else if (this.#isWoken || !mayRest) this.#soon()
      else this.#rest(turn.next)
    } catch (error) {
      this.#deliver()
      for (const [event, fate] of fates) this.#remember(event, fate)
      this.#written.unshift(...written)
      this.#due.forget()
      this.#pruning.forget()
      this.#isRunning = false
      // Others were quicker: a database whose transactions are serializable by default refuses one of two that meet.
      if (answeredState(error)?.startsWith('40')) return this.#rest(LINGER)
      quietLog(this.#logger).warn(
        'postgres turn',
        'Events cannot be read from PostgreSQL; trying again',
        error
      )
      connection.reach.failed(error)
    } finally {
      end()
    }
  }

  /** Asks for the next events, and lets the handlers run while the database looks for them. */
  #goOn(): void {
    void this.#turn()
    nextTurn(() => this.#deliver())
  }

  #wanted(mayRest: boolean): Wanted[] {
    const coming = new Map<Taker, number>()
    for (const [taker] of this.#fresh) coming.set(taker, (coming.get(taker) ?? 0) + 1)
    const all = [...this.#takers.values()]
      .map((taker) => {
        const { groupId, room, mostBack, isTransactional } = taker
        return {
          id: groupId,
          most: Math.max(0, room - (coming.get(taker) ?? 0)),
          back: mostBack,
          ...(isTransactional && { claims: true as const })
        }
      })
      .filter(({ most }) => most > 0 || mayRest)
      // In one order in all processes, or two of them could wait for each other.
      .sort((one, other) => one.id - other.id)
    const until = this.#until
    // Those behind it come first, and nobody else: to go on with the first ones would be another order.
    const behind = until === null ? all : all.filter(({ id }) => id > until)
    return behind.length > 0 ? behind : all
  }

  #ask(
    connection: PostgresConnection,
    fates: readonly (readonly [TakenEvent, Fate])[],
    wanted: readonly Wanted[],
    mayRest: boolean
  ): Promise<Turn> {
    return connection.tables.turn(
      this.#process,
      this.#options.ackWait,
      settlings(fates),
      [...this.#batches.keys()],
      wanted,
      mayRest,
      this.#grace,
      this.#due.next(this.#takers.keys(), this.#clock.now())
    )
  }

  /**
   * The lease of a turn that takes long would be over when its answer comes, again and again. So the next ones ask for a
   * longer one, by one `ackWait` and then by twice as much, until it lasts for two turns.
   */
  #learn(took: number): void {
    const { ackWait } = this.#options
    if (took < ackWait / 4) this.#grace = 0
    else if (took * 2 > this.#grace)
      this.#grace = Math.min(Math.max(ackWait, this.#grace * 2), ackWait * MOST_GRACE)
    if (took < ackWait * 0.75) return
    quietLog(this.#logger).warn(
      'postgres slow turn',
      `PostgreSQL took ${Math.round(took)} ms for one statement of durable events, and ackWait is ${ackWait} ms: this process keeps its events for up to ${this.#grace} ms longer; raise ackWait, or find out why PostgreSQL is slow`
    )
  }

  #heard({ lost, taken }: Turn, leasedUntil: number): void {
    for (const id of lost) this.#lose(id)
    const fresh: Fresh[] = []
    for (const row of taken) {
      const taker = this.#takers.get(row.group)
      const batch = this.#batches.get(row.batch) ?? this.#newBatch(row.batch, leasedUntil)
      const event = new TakenEvent(row, batch, taker?.isOrdered === true)
      batch.left.add(event)
      if (taker === undefined) this.settle(event, { delay: 0 })
      else if (row.vanished === true) this.#vanished(event, taker)
      else fresh.push([taker, event])
    }
    for (const [id, batch] of this.#batches) if (batch.left.size === 0) this.#batches.delete(id)
    // Events of the turn before come first.
    this.#deliver()
    this.#fresh.push(...fresh)
  }

  /** Gives the events of the last turn to their handlers. Those whose lease is over wait until a turn has renewed it. */
  #deliver(): void {
    for (const one of this.#fresh.splice(0)) {
      const [taker, event] = one
      if (this.#isGone(one)) continue
      if (this.owns(event)) taker.deliver(event)
      else this.#fresh.push(one)
    }
  }

  /** Others have it; or its handler has left, or earlier ones of its line were given back meanwhile: so is this one. */
  #isGone([taker, event]: Fresh): boolean {
    if (event.batch.isLost) return true
    if (this.#takers.get(taker.groupId) === taker && !this.#givenBack.has(lineOf(event))) return false
    this.settle(event, { delay: 0 })
    return true
  }

  #newBatch(id: string, leasedUntil: number): Batch {
    const batch: Batch = { id, left: new Set(), leasedUntil, isLost: false }
    this.#batches.set(id, batch)
    return batch
  }

  #vanished(event: TakenEvent, { pattern }: Taker): void {
    this.settle(event, 'discarded')
    quietLog(this.#logger).error(
      'vanished',
      `An event '${shown(pattern)}' that was not handled was deleted, because it was older than maxAge`
    )
  }

  #lose(id: string): void {
    const batch = this.#batches.get(id)
    if (batch === undefined) return
    this.#batches.delete(id)
    batch.isLost = true
    const events = [...batch.left]
    for (const taker of this.#takers.values())
      taker.lost(events.filter(({ row }) => row.group === taker.groupId))
  }

  async #lookAfter({ tables }: PostgresConnection): Promise<void> {
    const now = this.#clock.now()
    const every = this.#empty > LINGERS ? FIGURES_EVERY_AT_REST : FIGURES_EVERY
    if (now < this.#figuresUntil && now - this.#figuresAt > every) {
      this.#figuresAt = now
      for (const { id, lag, paused } of await tables.figures([...this.#takers.keys()]))
        this.#takers.get(id)?.setFigures(lag, paused)
    }
    await this.#pruning.step(tables)
  }

  #rest(next: number | null): void {
    if (this.#isEnded) return
    const { pollInterval, ackWait } = this.#options
    // A publisher that has looked before this process had said that it sleeps wakes nobody.
    const isShort = this.#empty <= LINGERS || this.#pruning.isBehind
    const most = isShort ? LINGER : Math.min(pollInterval, ackWait / 4)
    const pause = Math.min(most, Math.max(0, next ?? Number.POSITIVE_INFINITY))
    this.#stopResting = this.#clock.after(pause, () => void this.#turn())
  }

  #listen(connection: PostgresConnection): void {
    const { tables } = connection
    const again = () => {
      if (this.#connection !== connection || this.#isEnded) return
      this.#stopListening = this.#clock.after(LISTEN_AGAIN, () => this.#listen(connection))
    }
    this.#endListening = tables.database
      .listen(`${tables.schema}_events`, () => this.wake(), again)
      .catch((error) => {
        quietLog(this.#logger).warn(
          'postgres listen',
          'PostgreSQL cannot tell of new events (LISTEN); they are looked for at intervals',
          error
        )
        again()
        return undefined
      })
  }

  /** Ends the turns, and gives back what this process has. */
  async end(): Promise<void> {
    if (this.#isEnded) return
    const last = async () => {
      await this.written()
      this.#isEnded = true
      // The turn that has written it may still look after figures and old events.
      await this.#last
    }
    if (this.#connection?.isConnected === true) await this.#within(last())
    this.#isEnded = true
    this.#stopResting()
    this.#stopListening()
    const connection = this.#connection
    const left = connection?.isConnected === true ? connection.tables.leave(this.#process) : undefined
    const unlistened = this.#endListening?.then((end) => end?.())
    await this.#within(Promise.allSettled([left, unlistened]))
  }

  /** Waits for the end of something, but not for long. */
  async #within(ended: Promise<unknown>): Promise<void> {
    let stop = () => {}
    const late = new Promise<void>((resolve) => {
      stop = this.#clock.after(FAREWELL, resolve)
    })
    await Promise.race([ended, late])
    stop()
  }
}
