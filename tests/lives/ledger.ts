/** All that happened in a life, and the promises that it is held to. */
import { type Delivery, MicroserviceError } from '@elysia-microservices/transport'
import type { Published } from 'elysia-microservices/client'
import { Ages } from './ages.ts'
import type { Allowed, Call, Kept } from './entries.ts'
import { FreshGroups } from './fresh.ts'
import { errorIn } from './log.ts'
import { PausedGroup } from './paused-group.ts'
import { Runs } from './running.ts'

/** Milliseconds for which a call may be on its way. */
const LATE = 300
/** Most milliseconds between two events that recur every ten seconds: PostgreSQL is looked at each five. */
const MOST_BETWEEN = 25_000
/** Most values that a source gives in one turn of the event loop. */
const MOST_PULLS = 50_000

const countOf = (counts: Map<string, number>, group: string) => counts.get(group) ?? 0
const countUp = (counts: Map<string, number>, group: string) => {
  const count = countOf(counts, group) + 1
  counts.set(group, count)
  return count
}

/** Whether an event that was emitted for a durable handler has begun, and is not done: it may be a dead letter. */
const isUnderWay = ({ begun, done }: Kept) => [...begun.keys()].some((group) => !done.has(group))

export class Ledger {
  /** Promises that were broken, in plain words. */
  readonly broken: string[] = []
  readonly calls = new Map<string, Call>()
  /** Calls that wait for their end. */
  waiting = 0
  readonly emitted = new Map<string, Kept>()
  readonly published = new Map<string, Kept>()
  readonly log: string[] = []
  /** How often each recurring event has come to each group, and one that has come twice. */
  readonly recurred = new Map<string, number>()
  recurredTwice: string | undefined
  /** Whether the wall clock has jumped. */
  hasHop = false
  /** Whether the store was lost, so that transactions fail. */
  hasLostStore = false
  /** Events of which their sender has heard that a service refused them. */
  refused = 0
  /** All that happened, in its order: two runs of one seed must give the same text. */
  hash = 17
  /** The group of the service, which is paused at times. */
  readonly paused: PausedGroup
  /** Time that a handler had too long, in a life without losses. */
  #late: string | undefined
  #turn = 0
  #pulls = 0
  readonly #turns: () => number
  /** The names of the services, which are those of their groups. */
  readonly groups: readonly string[]
  readonly runs = new Runs()
  readonly fresh = new FreshGroups()
  readonly ages: Ages
  /** The keys of durable events whose order of first runs is looked at: the last order that began. */
  readonly #begun = new Map<string, number>()

  constructor(turns: () => number, groups: readonly string[], isHeldBack: boolean, maxAge?: number) {
    this.paused = new PausedGroup(isHeldBack)
    this.#turns = turns
    this.groups = groups
    this.ages = new Ages(maxAge)
  }

  breaks(promise: string): void {
    if (this.broken.length < 50 && !this.broken.includes(promise)) this.broken.push(promise)
  }

  note(what: string): void {
    for (let at = 0; at < what.length; at++)
      this.hash = (Math.imul(this.hash, 31) + what.charCodeAt(at)) >>> 0
  }

  /** A source is asked for a value. @returns whether it may go on: the world must not stand still for ever */
  pulls(source: string): boolean {
    const turn = this.#turns()
    if (turn !== this.#turn) {
      this.#turn = turn
      this.#pulls = 0
    }
    if (++this.#pulls < MOST_PULLS) return true
    this.breaks(`${source} was asked for more than ${MOST_PULLS} values in one turn of the event loop`)
    return false
  }

  calling(
    id: string,
    what: string,
    init: Partial<Pick<Call, 'isIdempotent' | 'mayFailWith' | 'ends'>> = {}
  ): void {
    const { isIdempotent = false, mayFailWith, ends = Infinity } = init
    const call = { what, isIdempotent, mayFailWith, ends }
    this.waiting++
    this.calls.set(id, { ...call, runs: 0, settled: 0, outcome: '', mayHaveRun: undefined })
  }

  /** A call has arrived. @param left the milliseconds that it still has, as its handler knows them */
  arrives(id: string, left: number | undefined): void {
    const call = this.calls.get(id)
    if (call === undefined || left === undefined) return
    const late = performance.now() + left - call.ends
    if (late > LATE) this.#late ??= `${call.what} had ${Math.round(late)} ms more than its caller waits`
  }

  /** A call or event has come with its headers. */
  came(id: string, headers: { readonly [name: string]: unknown }): void {
    if (headers['own'] !== id) this.breaks(`${id} has come with the headers of ${String(headers['own'])}`)
  }

  ran(id: string): void {
    const call = this.calls.get(id)
    if (call === undefined) return
    this.note(`ran ${id}`)
    if (++call.runs > 1 && !call.isIdempotent) this.breaks(`${call.what} ran ${call.runs} times`)
  }

  settled(id: string, outcome: string, error?: unknown): void {
    const call = this.calls.get(id) as Call
    this.note(`${id} ${outcome}`)
    if (++call.settled === 1) this.waiting--
    else this.breaks(`${call.what} was settled ${call.settled} times`)
    call.outcome = outcome
    const { code } = (error ?? {}) as { readonly code?: string }
    if (error !== undefined && call.mayFailWith?.includes(code ?? '') === false)
      this.breaks(`${call.what} has failed, and nothing was lost: ${(error as Error).message}`)
    if (error !== undefined) call.mayHaveRun = this.#errorOf(call.what, error)
    else if (call.runs === 0) this.breaks(`${call.what} was answered and never ran`)
  }

  /** @returns `mayHaveRun` of an error that must be one of the library's */
  #errorOf(what: string, error: unknown): boolean {
    if (error instanceof MicroserviceError) return error.mayHaveRun
    this.breaks(`${what} failed with ${error instanceof Error ? `${error.name}: ${error.message}` : error}`)
    return true
  }

  /** The latest time at which an event comes, by the wall clock. */
  latestDue = 0

  keeps(
    list: Map<string, Kept>,
    id: string,
    what: string,
    parts: Partial<Pick<Kept, 'key' | 'order' | 'pattern' | 'due'>> = {}
  ): Kept {
    const { key = '', order = 0, pattern, due } = parts
    const kept = {
      ...{ what, key, order, pattern, due },
      since: performance.now() + (due === undefined ? 0 : due - Date.now()),
      position: undefined,
      isCancelled: false as boolean | 'perhaps',
      isPromised: false,
      isSettled: false,
      mayHaveRun: true,
      begun: new Map<string, number>(),
      done: new Map<string, number>()
    }
    list.set(id, kept)
    if (list === this.published) this.fresh.keeps(kept)
    if (due !== undefined) this.latestDue = Math.max(this.latestDue, due)
    return kept
  }

  promised(kept: Kept, published: Published | undefined): void {
    this.note(`${kept.what} promised`)
    kept.isPromised = true
    kept.isSettled = true
    if (published !== undefined) this.#isAt(kept, published.position)
  }

  /** The transaction of an event was rolled back. @param isPerhaps whether it may have been committed */
  undone(kept: Kept, isPerhaps: boolean): void {
    this.note(`${kept.what} undone: ${isPerhaps}`)
    kept.isSettled = true
    kept.mayHaveRun = isPerhaps
  }

  /** @param codes of the errors that it may have; default: any of this library */
  refusedBy(kept: Kept, error: unknown, codes?: readonly string[]): void {
    if (codes?.includes((error as { code?: string }).code ?? '') === false)
      this.breaks(`${kept.what} was refused, and nothing was lost: ${(error as Error).message}`)
    this.note(`${kept.what} ${(error as Error).name}`)
    kept.isSettled = true
    kept.mayHaveRun = this.#errorOf(kept.what, error)
  }

  #isAt(kept: Kept, position: string | undefined): void {
    if (position === undefined) return
    kept.position ??= position
    // An id is known for as long as its event is kept.
    if (kept.position !== position && performance.now() < kept.since + (this.ages.most ?? Infinity))
      this.breaks(`${kept.what} was stored twice, at ${kept.position} and at ${position}`)
  }

  /**
   * A durable event begins: its first run must keep the order of its key.
   * @returns its runs in this group, with this one
   */
  begins(group: string, id: string, delivery: Delivery | undefined, isOrdered: boolean): number {
    const published = this.published.get(id)
    const kept = published ?? this.emitted.get(id)
    if (kept === undefined) return Infinity
    this.note(`begin ${id} ${delivery?.attempt}`)
    // Of an event that was emitted each service stores a copy of its own.
    if (published !== undefined) this.#isAt(kept, delivery?.position)
    if (kept.isCancelled === true) this.breaks(`${kept.what} was cancelled, and began`)
    if (kept.due !== undefined && Date.now() < kept.due && !this.hasHop)
      this.breaks(`${kept.what} began ${kept.due - Date.now()} ms before its time`)
    const late = group === this.groups[0] ? this.paused.begins(id, kept.since, performance.now()) : 0
    if (late > 0) this.#late ??= `${kept.what} began although its group was paused ${late} ms before`
    const runs = countUp(kept.begun, group)
    const key = `${group} ${kept.key}`
    const isInLine = isOrdered && published !== undefined
    this.runs.begins(group, isInLine ? key : undefined, id, runs, delivery)
    if (!isInLine || runs > 1) return runs
    const last = this.#begun.get(key) ?? -1
    if (kept.order < last) this.breaks(`${kept.what} began after a later event of its key`)
    this.#begun.set(key, Math.max(last, kept.order))
    return runs
  }

  /** A dead letter is being given back to its group. */
  givesBack(group: string, id: string): void {
    const kept = this.published.get(id) ?? this.emitted.get(id)
    this.runs.givesBack(group, id, kept === undefined ? 0 : countOf(kept.begun, group))
  }

  /** The run of a durable event ends. @param isAgain whether it certainly runs again */
  ends(group: string, id: string, isOrdered: boolean, isAgain: boolean): void {
    if (group === this.groups[0]) this.paused.ends(id, performance.now())
    const kept = this.published.get(id)
    if (kept !== undefined) this.runs.ends(isOrdered ? `${group} ${kept.key}` : undefined, id, isAgain)
  }

  /** The answer to the cancellation of an event; `undefined`: there was none. */
  cancelled(kept: Kept, wasWaiting: boolean | undefined): void {
    this.note(`${kept.what} cancelled: ${wasWaiting}`)
    if (wasWaiting === true && kept.begun.size > 0) this.breaks(`${kept.what} was cancelled, and has run`)
    if (wasWaiting !== false) kept.isCancelled = wasWaiting ?? 'perhaps'
  }

  /** An event that recurs has come. */
  recurs(group: string, id: string): void {
    this.note(`recurs ${group} ${id}`)
    const runs = countUp(this.recurred, `${group} ${id}`)
    if (runs > 1) this.recurredTwice ??= id
  }

  /** An event that recurs every ten seconds has come all the time. @param from milliseconds since 1970, as `to` */
  auditRecurring(group: string, from: number, to: number): void {
    const times = [...this.recurred.keys()].filter((id) => id.startsWith(`${group} every ${group}: `))
    const dues = times.map((id) => Date.parse(id.slice(id.lastIndexOf('@') + 1))).sort((a, b) => a - b)
    let last = from
    for (const due of [...dues, to]) {
      if (due - last > MOST_BETWEEN)
        this.breaks(
          `the recurring event of ${group} did not come for ${due - last} ms from ${new Date(last)} on`
        )
      last = due
    }
  }

  /** Events whose handling is committed with their acknowledgement, which happens once, whatever is lost. */
  readonly #exact = new Set<string>()

  isExactly(id: string): void {
    this.#exact.add(`event ${id}`)
  }

  /** Whether it may be a dead letter because of its transaction alone. */
  mayFail({ what }: Kept): boolean {
    return this.hasLostStore && this.#exact.has(what)
  }

  /** An event was handled by a service. */
  did(list: Map<string, Kept>, group: string, id: string): void {
    this.note(`done ${group} ${id}`)
    const kept = list.get(id)
    if (kept !== undefined) countUp(kept.done, group)
  }

  /** A durable event was handled by a service. */
  handled(group: string, id: string): void {
    this.did(this.emitted.has(id) ? this.emitted : this.published, group, id)
  }

  /** One of the events that were open when this was asked last, which is in every turn. */
  #open: Kept | undefined

  /** Whether all events whose storing was promised were handled by all groups. */
  isAllHandled(): boolean {
    if (this.#open !== undefined && this.#isOpen(this.#open)) return false
    for (const kept of this.published.values())
      if (this.#isOpen(kept)) {
        this.#open = kept
        return false
      }
    return ![...this.emitted.values()].some(isUnderWay)
  }

  #isOpen(kept: Kept): boolean {
    const { isPromised, isCancelled, done } = kept
    if (!isPromised || isCancelled !== false) return false
    const isMissing = (group: string) => !done.has(group) && !this.fresh.mayMiss(group, kept)
    return this.groups.some((group) => isMissing(group) && !this.ages.isOver(group, kept))
  }

  get logger() {
    const write = this.logged.bind(this)
    return { error: write, warn: write }
  }

  /** A line of the log: errors of others must not be in it. */
  logged(line: string, error?: unknown): void {
    this.note(line)
    this.log.push(line)
    this.ages.logged(line)
    const wrong = errorIn(line, error)
    if (wrong !== undefined) this.breaks(`the log has an error of the library: ${wrong.slice(0, 300)}`)
  }

  /** Nothing waits when the world has been in peace for long. Later clients are closed, which settles what still waits. */
  auditPeace(): void {
    for (const { what, settled } of this.calls.values())
      if (settled === 0) this.breaks(`${what} still waits, long after the last fault`)
  }

  /** Each `emit` and `publish` ends, whatever becomes of the event. */
  auditEvents(): void {
    for (const { what, isSettled } of [...this.emitted.values(), ...this.published.values()])
      if (!isSettled) this.breaks(`the sender of ${what} still waits, long after the last fault`)
  }

  /** Checks the promises when a life has ended in peace. */
  audit(allowed: Allowed): void {
    const { mayLose, mayRepeat, mayDouble, mayBeLate, ages } = allowed
    if (this.#late !== undefined && !mayBeLate) this.breaks(this.#late)
    for (const call of this.calls.values()) {
      if (call.settled === 0) this.breaks(`${call.what} was never settled`)
      if (call.mayHaveRun === false && call.runs > 0)
        this.breaks(`${call.what} ran, and its error says that it has not`)
    }
    if (this.recurredTwice !== undefined && !mayRepeat)
      this.breaks(`the recurring event ${this.recurredTwice} has come twice`)
    this.#auditRuns(allowed)
    for (const group of this.groups) this.#auditGroup(group, { mayLose, mayRepeat, mayDouble, ages })
    this.ages.audit(this, ages)
  }

  #auditRuns({ mayRepeat, mayCountMore, mayCountLess, mayBeEndless }: Allowed): void {
    const { overcounted, undercounted, disordered, endless } = this.runs
    if (endless !== undefined && !mayBeEndless) this.breaks(endless)
    if (mayRepeat) return
    const wrong = [...(mayCountMore ? [] : overcounted), ...(mayCountLess ? [] : undercounted)]
    for (const one of [...wrong, ...disordered]) this.breaks(one)
  }

  #auditGroup(
    group: string,
    { mayLose, mayRepeat, mayDouble, ages }: Pick<Allowed, 'mayLose' | 'mayRepeat' | 'mayDouble' | 'ages'>
  ): void {
    for (const one of [...this.emitted.values(), ...this.published.values()]) {
      const done = countOf(one.done, group)
      const isEmitted = this.emitted.has(one.what.slice('event '.length))
      // An event that was emitted for a durable handler may come twice as what is stored, too.
      const mayEmit = mayDouble || (mayRepeat && one.begun.size > 0)
      if (done > 1 && !(isEmitted ? mayEmit : mayRepeat && !this.#exact.has(one.what)))
        this.breaks(`${one.what} was handled ${done} times`)
      if (done > 0 && !one.isPromised && !one.mayHaveRun)
        this.breaks(`${one.what} was handled, although its sender was told that it was not sent or stored`)
    }
    const isLost = (one: Kept) => one.isPromised && !one.done.has(group) && !this.ages.mayMiss(one, ages)
    const lost = [...this.emitted.values()].filter(isLost)
    if (lost.length > this.refused && !mayLose)
      this.breaks(
        `${lost.length} events were promised and never handled, and ${this.refused} were refused: ${lost[0]?.what} and others`
      )
    for (const one of this.published.values())
      if (this.fresh.isBefore(group, one)) {
        if (one.begun.has(group))
          this.breaks(`${one.what} was stored before ${group} began with what is new, and came to it`)
      } else if (one.isPromised && one.isCancelled === false && !one.done.has(group))
        if (!this.fresh.mayMiss(group, one) && !this.ages.mayMiss(one, ages))
          this.breaks(`${one.what} was stored, and never handled`)
  }
}
