/**
 * An open file, which all services and clients of this process share: what they want to write in one turn of the event
 * loop is written together, and events go to the members of their groups.
 */
import {
  type Clock,
  type DurableSettings,
  LOOK_AT_CLOCK,
  NotStoredError,
  quietLog,
  shown,
  systemClock
} from '@elysia-microservices/transport/kit'
import type { Database, Row, Value } from '../driver.ts'
import { Backlog } from '../log/backlog.ts'
import type { Appended, NewEvent, TakenEvent } from '../log/event.ts'
import { EventLog, type Keeping } from '../log/event-log.ts'
import { type Group, Groups, type Settled } from '../log/groups.ts'
import { Letters } from '../log/letters.ts'
import { type InTransaction, runWith } from './in-transaction.ts'
import { deliver, type Member, roomOf, type Working } from './members.ts'

/** Most events, and most bytes of events, that are stored in one turn. */
const MOST_STORED = 512
const MOST_STORED_BYTES = 1024 * 1024
/** Most events of which a turn writes that they are done, or that they are taken. */
const MOST_SETTLED = 512
const MOST_TAKEN = 512
/** Milliseconds between two looks for what is too old. */
const PRUNED_EVERY = 1_000
/** Milliseconds until the file is written again after it could not be written. */
const AGAIN_AFTER = 1_000

/** An event that is to be stored, for a publisher. */
export interface Outgoing {
  readonly event: NewEvent
  /** Whether anybody still waits; an event for which nobody waits any more is not stored. */
  isOpen(): boolean
  /** The event is on the disk, or cannot be stored for a reason. */
  done(result: Appended | NotStoredError): void
}

interface ToSettle {
  readonly group: Group
  readonly settled: Settled
  readonly done: (() => void) | undefined
}

export interface EventFileInit {
  readonly database: Database
  readonly name: string
  readonly keeping: Keeping
  readonly clock: Clock
}

/** One open file. */
export class EventFile {
  readonly name: string
  readonly log: EventLog
  readonly groups: Groups
  readonly letters: Letters
  readonly backlog: Backlog
  readonly clock: Clock
  readonly #database: Database
  #outgoing: Outgoing[] = []
  #toSettle: ToSettle[] = []
  readonly #working = new Map<number, Working>()
  #isDue = false
  #isClosed = false
  #mustReload = false
  #prunedAt = Number.NEGATIVE_INFINITY
  /** The time of the last turn. */
  #now = Number.NEGATIVE_INFINITY
  #wakeAt = Number.POSITIVE_INFINITY
  #endWait: (() => void) | undefined

  constructor({ database, name, keeping, clock }: EventFileInit) {
    this.name = name
    this.clock = clock
    this.#database = database
    this.log = new EventLog(database, keeping)
    this.groups = new Groups(database, this.log)
    this.letters = new Letters(database)
    this.backlog = new Backlog(database, this.log)
  }

  /** Stores an event, with all others of this turn. */
  append(outgoing: Outgoing): void {
    this.#outgoing.push(outgoing)
    this.#soon()
  }

  /**
   * The group of a handler.
   * @throws {OptionError} it exists with other settings
   */
  group(name: string, pattern: string, settings: DurableSettings): Group {
    return this.groups.join(name, pattern, settings)
  }

  /** Lets a member get events of a group. */
  join(group: Group, member: Member): void {
    const working = this.#working.get(group.id) ?? { group, members: [], turn: 0 }
    working.members.push(member)
    this.#working.set(group.id, working)
    this.#soon()
  }

  leave(group: Group, member: Member): void {
    const working = this.#working.get(group.id)
    const index = working?.members.indexOf(member) ?? -1
    if (working === undefined || index === -1) return
    working.members.splice(index, 1)
    if (working.members.length === 0) this.#working.delete(group.id)
    this.#soon()
  }

  /** A member has room. */
  wake(group: Group): void {
    if (this.groups.hasMore(group, this.clock.now())) this.#soon()
  }

  /** Writes, with the others of this turn, what has become of an event. @param done is called when it is written */
  settle(group: Group, settled: Settled, done?: () => void): void {
    this.#toSettle.push({ group, settled, done })
    this.#soon()
  }

  /** Writes that a handler begins, before it does: what it does may end this process. */
  begin(group: Group, event: TakenEvent): void {
    this.log.transactions.run('process', () => this.groups.begin(group, event))
  }

  /**
   * Runs a function in the transaction that acknowledges an event.
   * @throws {OptionError} the function is not synchronous, or ends the transaction
   */
  acknowledgeIn<Result>(group: Group, event: TakenEvent, run: InTransaction<Result>): Result {
    try {
      return this.log.transactions.run('process', () => {
        this.groups.settle(group, { kind: 'done', event }, this.clock.now())
        return runWith(this.#database, run)
      })
    } catch (error) {
      this.groups.reload(group)
      throw error
    }
  }

  /** Runs a statement on tables of the user, in a transaction of its own. */
  query(sql: string, ...values: readonly Value[]): readonly Row[] {
    return this.log.transactions.run('disk', () => runWith(this.#database, (query) => query(sql, ...values)))
  }

  /** Pauses or resumes the groups of a name. @returns whether there is one */
  pause(name: string, isPaused: boolean): boolean {
    const changed = this.log.transactions.run('disk', () => this.groups.pause(name, isPaused))
    this.#soon()
    return changed.length > 0
  }

  redrive(name: string, place: number): boolean {
    const group = this.log.transactions.run('disk', () => this.groups.redrive(name, place))
    this.#soon()
    return group !== undefined
  }

  /** Publishes an event of the future now. @returns whether it waited */
  fire(pattern: string, id: string): boolean {
    const wasWaiting = this.log.fireNow(pattern, id, this.clock.now())
    this.#soon()
    return wasWaiting
  }

  now(): number {
    return this.clock.now()
  }

  cancel(pattern: string, id: string): boolean {
    return this.log.cancel(pattern, id)
  }

  /** Events of the future, the soonest first. @param behind the last one of the page before */
  waiting(pattern: string | undefined, behind: Row | undefined, most: number): readonly Row[] {
    return this.log.later.page(pattern, behind, most)
  }

  discard(name: string, place: number): boolean {
    return this.log.transactions.run('disk', () => this.groups.discard(name, place))
  }

  /** Writes what is left, and closes the file: another process may have it then. */
  close(): void {
    while (!this.#isClosed && this.#outgoing.length + this.#toSettle.length > 0 && this.#write()) {}
    this.#isClosed = true
    this.#endWait?.()
    this.#database.close()
  }

  // ── turns ────────────────────────────────────────────────────────────────────────────────────────────

  #soon(): void {
    if (this.#isDue || this.#isClosed) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      if (!this.#isClosed) this.#turn()
    })
  }

  #turn(): void {
    if (!this.#write()) return this.#wakeBy(this.clock.now() + AGAIN_AFTER)
    const isMore = this.#isMore()
    if (isMore) this.#soon()
    else this.#sleep()
  }

  /** @returns whether the file could be written */
  #write(): boolean {
    this.#store()
    try {
      this.#reload()
      const now = this.clock.now()
      this.#lookBack(now)
      this.log.fire(now)
      this.#prune(now)
      this.#settleAndTake(now)
      return true
    } catch (error) {
      this.#mustReload = true
      this.#reloadIfPossible()
      this.#tellUnwritten(error)
      return false
    }
  }

  /** Pauses are written as times, so they would last as long as the clock is set back. */
  #lookBack(now: number): void {
    const by = this.#now - now
    if (by > 0) this.log.transactions.run('process', () => this.groups.setBack(by))
    this.#now = now
  }

  /** Reads the groups as the file has them, if a write has failed since. */
  #reload(): void {
    if (!this.#mustReload) return
    for (const { group } of [...this.#working.values(), ...this.#toSettle]) this.groups.reload(group)
    this.#mustReload = false
  }

  #reloadIfPossible(): void {
    try {
      this.#reload()
    } catch {
      // A file that cannot be read either is read before it is written again.
    }
  }

  #store(): void {
    let size = 0
    let count = 0
    for (const { event } of this.#outgoing) {
      size += event.size
      if (count === MOST_STORED || (count > 0 && size > MOST_STORED_BYTES)) break
      count++
    }
    if (count === 0) return
    const batch = this.#outgoing.splice(0, count).filter((one) => one.isOpen())
    const refused = new Map<string, NotStoredError>()
    for (const [at, result] of this.#stored(batch).entries()) {
      const { event, done } = batch[at] as Outgoing
      if (result instanceof NotStoredError) refused.set(event.pattern, result)
      done(result)
    }
    // The publisher tries refused events again later. Those behind them must not be stored before.
    const behind = this.#outgoing.filter(({ event }) => refused.has(event.pattern))
    if (behind.length === 0) return
    this.#outgoing = this.#outgoing.filter(({ event }) => !refused.has(event.pattern))
    for (const { event, done } of behind) done(refused.get(event.pattern) as NotStoredError)
  }

  #stored(batch: readonly Outgoing[]): readonly (Appended | NotStoredError)[] {
    try {
      const events = batch.map(({ event }) => event)
      return this.log.append(events, this.clock.now())
    } catch (error) {
      const message = `The file '${this.name}' cannot be written: ${(error as Error).message}`
      return batch.map(() => new NotStoredError(message, true, error))
    }
  }

  #prune(now: number): void {
    if (now - this.#prunedAt < PRUNED_EVERY && now >= this.#prunedAt) return
    if (!this.log.prune(now)) this.#prunedAt = now
  }

  #settleAndTake(now: number): void {
    const settling = this.#toSettle.slice(0, MOST_SETTLED)
    const wanting = [...this.#working.values()].filter(
      ({ group, members }) => this.groups.hasMore(group, now) && members.some(({ room }) => room > 0)
    )
    const behind = [...this.#working.values()].filter(({ group }) => group.cursor < this.log.deleted)
    if (settling.length + wanting.length + behind.length === 0) return
    const taken = new Map<Working, TakenEvent[]>()
    this.log.transactions.run('process', () => {
      for (const { group, settled } of settling) this.groups.settle(group, settled, now)
      for (const { group } of behind) group.vanished += this.groups.skipDeleted(group)
      let left = MOST_TAKEN
      for (const working of wanting) {
        const events = this.groups.take(
          working.group,
          Math.min(left, roomOf(working)),
          now,
          !working.group.ordered
        )
        taken.set(working, events)
        left -= events.length
        if (left === 0) break
      }
    })
    this.#toSettle.splice(0, settling.length)
    for (const { done } of settling) done?.()
    for (const working of this.#working.values())
      if (working.group.vanished > 0) this.#tellOfVanished(working)
    for (const [working, events] of taken) deliver(working, events)
  }

  /** Publishers are told themselves. */
  #tellUnwritten(error: unknown): void {
    const text = `The file '${shown(this.name)}' cannot be written; trying again in ${AGAIN_AFTER} ms`
    for (const logger of new Set(
      [...this.#working.values()].flatMap(({ members }) => members.map((one) => one.logger))
    ))
      quietLog(logger).error('unwritten', text, error)
  }

  #tellOfVanished({ group, members }: Working): void {
    members[0]?.logger.error(
      `${group.vanished} events '${shown(group.pattern)}' that the group '${group.name}' had not handled were deleted, because they were older than maxAge; the group goes on at the first event that is left`
    )
    group.vanished = 0
  }

  #isMore(): boolean {
    const now = this.clock.now()
    if (this.#outgoing.length + this.#toSettle.length > 0) return true
    for (const working of this.#working.values())
      if (this.groups.hasMore(working.group, now) && roomOf(working) > 0) return true
    return false
  }

  /** Until the next event is due. */
  #sleep(): void {
    let next = this.log.later.next ?? Number.POSITIVE_INFINITY
    for (const { group } of this.#working.values())
      if (!group.isPaused && group.due !== undefined && group.due > this.clock.now())
        next = Math.min(next, group.due)
    this.#wakeBy(next)
  }

  #wakeBy(time: number): void {
    if (time === this.#wakeAt) return
    this.#endWait?.()
    this.#endWait = undefined
    this.#wakeAt = time
    if (time === Number.POSITIVE_INFINITY) return
    const pause = Math.min(LOOK_AT_CLOCK, Math.max(0, time - this.clock.now()))
    this.#endWait = after(this.clock, pause, this.#working.size > 0, () => {
      this.#wakeAt = Number.POSITIVE_INFINITY
      this.#soon()
    })
  }
}

/** @param keepsAlive the process lives until then: a handler is to run */
function after(clock: Clock, pause: number, keepsAlive: boolean, wake: () => void): () => void {
  if (clock !== systemClock || keepsAlive) return clock.after(pause, wake)
  const timer = setTimeout(wake, pause)
  timer.unref()
  return () => clearTimeout(timer)
}
