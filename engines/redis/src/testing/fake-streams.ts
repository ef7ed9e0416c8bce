/**
 * The store of a Redis server inside the process: streams, their groups, and dead letters. Each method does at once what
 * the script or command of the same purpose does; `driver-cases.ts` compares them with real servers.
 */
import type {
  Appended,
  Awaited,
  DriverStore,
  Entry,
  EntryBatch,
  EntryContent,
  GivenBack,
  GroupAbout,
  PlannedBatch,
  Reader,
  ServerAbout,
  Standing,
  Stored,
  Take,
  Taken,
  Undone
} from '../driver.ts'
import { fieldsOf, headersToJson } from '../words/frames.ts'
import { comparePositions, deadOf, patternIn, STREAMS, streamOf, timeOf, wakeOf } from '../words/keys.ts'
import { awaitedIn, cancelIn, fireIn, pageOf, planIn } from './fake-future.ts'
import { FakeKeeping } from './fake-keeping.ts'
import { type Group, laterIn, refusal, standingOf } from './fake-kept.ts'

/** The methods of a store, which answer at once. */
export type AtOnce<Store> = {
  [Name in keyof Store]: Store[Name] extends (...args: infer Args) => Promise<infer Answer>
    ? (...args: Args) => Answer
    : never
}

export class FakeStreams extends FakeKeeping implements AtOnce<DriverStore> {
  /** Facts that an operator may change. */
  facts: ServerAbout = { version: '7.4.0', maxmemoryPolicy: 'noeviction', hasAppendOnlyFile: true }
  /** The server knows the commands that store events; it has forgotten them when it starts again. */
  isPrepared = false
  /** Replicas that confirm events. */
  replicas = 0

  // ── streams and groups ───────────────────────────────────────────────────────────────────────────────

  about(): ServerAbout {
    return this.facts
  }

  time(): number {
    return this.clock.now()
  }

  ensure(pattern: string, name: string): string {
    this.isPrepared = true
    const { streams, names } = this.kept
    const isNew = !streams.has(streamOf(pattern))
    if (isNew || !names.has(pattern)) names.set(pattern, name)
    this.made(streamOf(pattern))
    if (isNew) this.publish(STREAMS, pattern)
    return names.get(pattern) as string
  }

  append({ pattern, events, known, settled, ...rest }: EntryBatch): Appended {
    if (!this.isPrepared) throw refusal('NOSCRIPT No matching script. Please use EVAL.')
    const key = streamOf(pattern)
    const stream = this.kept.streams.get(key)
    if (stream === undefined) return { stored: undefined, copies: this.replicas }
    const { ids } = this.kept
    const fresh: EntryContent[] = []
    const stored = known.map((id, n): Stored => {
      const remembered = ids.get(id)
      if (remembered !== undefined && this.clock.now() < remembered.until) return [remembered.position, 1]
      const own = known.length < events.length ? events : [events[n] as EntryContent]
      const [position = ''] = own.map((event) => this.add(stream, fieldsOf(event)))
      ids.set(id, { position, until: this.clock.now() + rest.duplicateWindow })
      fresh.push(...own)
      return [position, 0]
    })
    for (const id of settled) ids.delete(id)
    this.trim(key, rest.maxAge)
    this.wake(key)
    if (rest.ending !== '')
      for (const { packet, headers } of fresh) {
        const ends = headers === undefined ? '' : `,"metadata":${headersToJson(headers)}`
        if (this.publish(pattern, packet.slice(0, -1) + ends + rest.ending) === 0) break
      }
    return { stored, copies: this.replicas }
  }

  trim(stream: string, maxAge: number): void {
    if (maxAge !== 0) this.shorten(stream, (position) => timeOf(position) < this.clock.now() - maxAge)
  }

  patterns(): Record<string, string> {
    return Object.fromEntries(this.kept.names)
  }

  length(stream: string): number {
    return this.there(stream).entries.size
  }

  last(stream: string): string {
    return this.there(stream).last
  }

  groups(stream: string): GroupAbout[] {
    const { entries, groups } = this.there(stream)
    return [...groups].map(([name, { delivered, pending }]) => ({
      name,
      lag: [...entries.keys()].filter((position) => comparePositions(position, delivered) > 0).length,
      pending: pending.size
    }))
  }

  missed(stream: string, group: string): number {
    const { deleted, groups } = this.there(stream)
    const { delivered = '' } = groups.get(group) ?? {}
    return deleted.filter((position) => comparePositions(position, delivered) > 0).length
  }

  idle(stream: string, group: string): number[] {
    this.there(stream)
    return [...this.group(stream, group).asked.values()].map((at) => this.clock.now() - at)
  }

  join(stream: string, group: string, from: string): boolean {
    const { groups } = this.made(stream)
    if (groups.has(group)) return false
    groups.set(group, { delivered: from, pending: new Map(), asked: new Map(), later: new Map() })
    return true
  }

  handlers(): string[] {
    return [...this.kept.handlers.keys()]
  }

  handler(field: string): string | null {
    return this.kept.handlers.get(field) ?? null
  }

  keepHandler(field: string, record: string, isNew: boolean): boolean {
    const { handlers } = this.kept
    const wasThere = handlers.has(field)
    if (!isNew || !wasThere) handlers.set(field, record)
    return !wasThere
  }

  pause(group: string, isPaused: boolean): void {
    if (isPaused) this.kept.paused.add(group)
    else this.kept.paused.delete(group)
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────────────

  take(reader: Reader, room: number, isAll: boolean): Take {
    const { stream: key, group: name, process, ackWait, turn, isAgain } = reader
    if (this.kept.paused.has(name)) return { state: 'paused' }
    const group = this.group(key, name)
    const now = this.clock.now()
    if (!isAgain) this.#fire(patternIn(key))
    const holder = turn === undefined ? undefined : this.holder(turn)
    if (holder !== undefined && holder.process !== process)
      return { state: 'other', standing: { ...this.#standing(group, reader), more: holder.until - now } }
    const isNew = turn !== undefined && holder === undefined
    if (isNew) this.kept.waiting.delete(key)
    if (turn !== undefined) this.kept.turns.set(turn, { process, until: now + ackWait })
    const entries: Taken[] = []
    const { entries: all } = this.there(key)
    const claim = (place: string, attempt: number) => {
      const fields = all.get(place)
      if (fields === undefined) return void group.pending.delete(place)
      group.pending.set(place, { process, at: now, attempt })
      entries.push([place, fields, attempt])
    }
    const wantsAll = isAll || isNew
    if (wantsAll) {
      const left = [...group.pending].filter(([, { at }]) => turn !== undefined || now - at >= ackWait)
      for (const [place, one] of turn === undefined ? left.slice(0, room) : left)
        claim(place, one.attempt + (one.process === process ? 0 : 1))
    }
    const due = laterIn(group).filter(({ due }) => due <= now || (turn !== undefined && wantsAll))
    const most = turn !== undefined && wantsAll ? due.length : Math.max(room - entries.length, 0)
    for (const { place, attempt } of due.slice(0, most)) {
      claim(place, attempt)
      group.later.delete(place)
    }
    const wanted = room - entries.length
    if (wanted > 0) {
      const fresh = this.#deliver(key, group, process, wanted)
      for (const [place, fields] of fresh) entries.push([place, fields, 1])
      if (fresh.length < wanted) this.kept.waiting.add(key)
    }
    return { state: 'ok', isNew, entries, refusal: '', standing: this.#standing(group, reader) }
  }

  takeNew({ stream, group, process }: Reader, room: number) {
    const entries = this.#deliver(stream, this.group(stream, group), process, room)
    return { entries, isPaused: this.kept.paused.has(group) }
  }

  undone(key: string, name: string, begin: string, behind: string, count: number): Undone[] {
    const { entries, groups } = this.there(key)
    const {
      pending = new Map(),
      later = new Map(),
      delivered = begin
    }: Partial<Group> = groups.get(name) ?? {}
    const shown = (place: string): Undone => {
      const [taken, given] = [pending.get(place), later.get(place)]
      const attempts = taken?.attempt ?? (given?.attempt ?? 1) - 1
      return { place, fields: entries.get(place), attempts, isTaken: taken !== undefined, due: given?.due }
    }
    const fresh = [...entries.keys()].filter((place) => comparePositions(place, delivered) > 0)
    return [...pending.keys(), ...later.keys(), ...fresh]
      .filter((place) => comparePositions(place, behind) > 0)
      .sort(comparePositions)
      .slice(0, count)
      .map(shown)
  }

  keep({ stream, group, process, ackWait, turn }: Reader, places: readonly string[]): string[] {
    const { pending } = this.group(stream, group)
    const now = this.clock.now()
    const lost = places.filter((place) => pending.get(place)?.process !== process)
    for (const place of places) {
      const one = pending.get(place)
      if (one?.process === process) one.at = now
    }
    const holder = turn === undefined ? undefined : this.holder(turn)
    if (holder?.process === process) holder.until = now + ackWait
    return lost
  }

  acknowledge({ stream, group }: Reader, places: readonly string[], isRemoved: boolean): void {
    const there = this.kept.streams.get(stream)
    for (const place of places) {
      there?.groups.get(group)?.pending.delete(place)
      if (isRemoved && there?.entries.delete(place) === true) there.deleted.push(place)
    }
  }

  giveBack({ stream, group: name, process }: Reader, events: readonly GivenBack[]): void {
    this.wake(stream)
    const group = this.group(stream, name)
    for (const { place, delay, attempt } of events) {
      if (group.pending.get(place)?.process !== process) continue
      group.pending.delete(place)
      group.later.set(place, { due: this.clock.now() + delay, attempt })
    }
  }

  bury({ stream, group }: Reader, place: string, isOnlyHere: boolean, letter: readonly string[]): void {
    const isThere = isOnlyHere || this.group(stream, group).pending.has(place)
    if (!isThere) return
    this.add(this.made(deadOf(group)), letter)
    this.kept.streams.get(stream)?.groups.get(group)?.pending.delete(place)
  }

  leave({ stream, group, process, turn }: Reader): void {
    if (turn !== undefined && this.holder(turn)?.process === process) {
      this.kept.turns.delete(turn)
      this.publish(wakeOf(stream), '')
    }
    const { pending, asked } = this.group(stream, group)
    if (![...pending.values()].some((one) => one.process === process)) asked.delete(process)
  }

  present(process: string, group: string, streams: readonly string[]): void {
    for (const stream of streams) this.group(stream, group).asked.set(process, this.clock.now())
  }

  // ── events that wait ─────────────────────────────────────────────────────────────────────────────────

  plan(batch: PlannedBatch): Appended {
    const { pattern, maxAge } = batch
    const stream = streamOf(pattern)
    if (!this.kept.streams.has(stream)) return { stored: undefined, copies: this.replicas }
    const [first] = awaitedIn(this.kept, pattern)
    const stored = planIn(this.kept, batch, this.clock.now())
    const hasFired = this.#fire(pattern)
    this.trim(stream, maxAge)
    if (hasFired || awaitedIn(this.kept, pattern)[0]?.id !== first?.id) this.wake(stream)
    return { stored, copies: this.replicas }
  }

  cancel(pattern: string, id: string): boolean {
    return cancelIn(this.kept, pattern, id)
  }

  hasten(pattern: string, id: string): boolean {
    const event = this.kept.future.get(pattern)?.get(id)
    if (event === undefined) return false
    event.due = this.clock.now()
    this.wake(streamOf(pattern))
    return true
  }

  awaited(pattern: string, behind: Awaited | undefined, count: number): Awaited[] {
    return pageOf(awaitedIn(this.kept, pattern), behind, count)
  }

  // ── dead letters ─────────────────────────────────────────────────────────────────────────────────────

  letters(group: string, from: string, count: number): Entry[] {
    const all = [...(this.kept.streams.get(deadOf(group))?.entries ?? [])]
    const isWanted = ([position]: Entry) =>
      from === '-' ||
      (from.startsWith('(') ? comparePositions(position, from.slice(1)) > 0 : position === from)
    return all.filter(isWanted).slice(0, count)
  }

  redrive(group: string, position: string, stream: string): boolean {
    const dead = this.kept.streams.get(deadOf(group))
    const fields = dead?.entries.get(position)
    if (fields === undefined) return false
    this.add(this.made(stream), fields)
    dead?.entries.delete(position)
    this.wake(stream)
    return true
  }

  discard(group: string, position: string): boolean {
    return this.kept.streams.get(deadOf(group))?.entries.delete(position) === true
  }

  // ── parts ────────────────────────────────────────────────────────────────────────────────────────────

  #deliver(key: string, group: Group, process: string, room: number): Entry[] {
    const now = this.clock.now()
    group.asked.set(process, now)
    const fresh = [...this.there(key).entries]
      .filter(([position]) => comparePositions(position, group.delivered) > 0)
      .slice(0, room)
    for (const [place] of fresh) group.pending.set(place, { process, at: now, attempt: 1 })
    group.delivered = fresh.at(-1)?.[0] ?? group.delivered
    return fresh
  }

  #standing(group: Group, { stream, isAgain }: Reader): Standing {
    const soonest = isAgain ? undefined : awaitedIn(this.kept, patternIn(stream))[0]
    return standingOf(group, soonest?.due, this.clock.now())
  }

  #fire(pattern: string): boolean {
    const add = (fields: readonly string[]) => this.add(this.there(streamOf(pattern)), fields)
    return fireIn(this.kept, pattern, this.clock.now(), add)
  }
}
