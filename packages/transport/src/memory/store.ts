/** The store of one `memory()`: events, groups and dead letters. */
import type { Clock } from '../durable/clock.ts'
import type { HeldEvent } from '../durable/durable-engine.ts'
import type { DurableSettings, DurableStart } from '../durable/options.ts'
import type { Published } from '../durable/published.ts'
import { NotStoredError, OptionError } from '../errors/index.ts'
import { routeMatches } from '../wildcards.ts'
import { Later, type Waiting } from './later.ts'
import type { MemoryMessage } from './memory-message.ts'

/** Milliseconds within which an id is stored only once. */
const WINDOW = 120_000
/** Most events that are stored for groups that begin later, and most that may wait in one group. */
const MOST_KEPT = 10_000
const MOST_WAITING = 100_000

/** A stored event. */
export interface StoredEvent {
  readonly position: number
  readonly id: string
  readonly key: string | undefined
  readonly message: MemoryMessage
  readonly publishedAt: number
}

/** An event that waits for its time. */
export interface WaitingInMemory extends Waiting {
  readonly id: string
  readonly key: string | undefined
  readonly message: MemoryMessage
}

/** A stored event that is delivered to a group. */
export interface GroupEvent extends HeldEvent {
  readonly stored: StoredEvent
  readonly group: MemoryGroup
}

/** A member of a group that receives its events: a server. */
export interface GroupMember {
  readonly room: number
  deliver(event: GroupEvent): void
}

export interface MemoryDeadLetter extends StoredEvent {
  readonly reason: string
  readonly attempts: number
  readonly diedAt: number
  readonly from: MemoryGroup
  /** Position of the dead letter among the dead letters of its group. */
  readonly place: number
}

/** Stores all events, groups and dead letters. */
export class MemoryStore {
  readonly clock: Clock
  readonly groups = new Map<string, MemoryGroup>()
  readonly deadLetters = new Map<number, MemoryDeadLetter>()
  readonly later: Later<WaitingInMemory>
  readonly #kept: StoredEvent[] = []
  readonly #ids = new Map<string, StoredEvent>()
  #position = 0
  #places = 0
  /** Number of events that were to wait and had no id. */
  #unnamed = 0

  constructor(clock: Clock) {
    this.clock = clock
    this.later = new Later(clock)
  }

  /** Whether a group receives events of a route. */
  takes(route: string): boolean {
    for (const group of this.groups.values()) if (routeMatches(group.route, route)) return true
    return false
  }

  /**
   * Stores an event and passes it to its groups.
   * @param hasWaited the event has waited for its time: so it was accepted, and is not refused any more
   * @throws {NotStoredError} too many events wait in a group
   */
  store(
    message: MemoryMessage,
    key: string | undefined,
    id = `memory-${this.#position + 1}`,
    hasWaited = false
  ): Published {
    const now = this.clock.now()
    this.#forgetIds(now)
    // An id may belong to one event of each pattern, as in an outbox.
    const name = nameOf(message.route, id)
    const known = this.#ids.get(name)
    if (known !== undefined) return { id, position: String(known.position), duplicate: true }
    if (this.later.has(name)) return { id, position: undefined, duplicate: true }
    const groups = [...this.groups.values()].filter(({ route }) => routeMatches(route, message.route))
    const full = groups.find(({ waiting }) => waiting >= MOST_WAITING)
    if (full !== undefined && !hasWaited)
      throw new NotStoredError(`${MOST_WAITING} events already wait in the group '${full.name}'`, true)
    const stored = { position: ++this.#position, id, key, message, publishedAt: now }
    this.#ids.set(name, stored)
    this.#kept.push(stored)
    if (this.#kept.length > MOST_KEPT) this.#kept.shift()
    for (const group of groups) group.add(stored)
    return { id, position: String(stored.position), duplicate: false }
  }

  /** Keeps an event until it is due, unless its id is known. */
  storeLater(
    message: MemoryMessage,
    key: string | undefined,
    given: string | undefined,
    due: number
  ): Published {
    const id = given ?? `memory-later-${++this.#unnamed}`
    this.#forgetIds(this.clock.now())
    const name = nameOf(message.route, id)
    if (this.#ids.has(name) || this.later.has(name)) return { id, position: undefined, duplicate: true }
    if (this.later.size >= MOST_WAITING)
      throw new NotStoredError(`${MOST_WAITING} events already wait for their time`, true)
    this.later.add({ name, due, fire: () => void this.store(message, key, id, true), id, key, message })
    return { id, position: undefined, duplicate: false }
  }

  /**
   * Returns the group of a name for a route. Makes the group if it does not exist.
   * @param skipped is called with the number of stored events that the new group does not get, if it begins with new ones
   * @throws {OptionError} the group exists with other settings
   */
  group(
    name: string,
    route: string,
    settings: DurableSettings,
    skipped: (count: number) => void
  ): MemoryGroup {
    const key = `${name} ${route}`
    const known = this.groups.get(key)
    if (known !== undefined) {
      if (known.ordered !== settings.ordered)
        throw new OptionError(
          'options.durable.ordered',
          `The group '${name}' already handles '${route}' with ordered: ${known.ordered}, but this service has ordered: ${settings.ordered}; use the same value, or another group`
        )
      return known
    }
    const group = new MemoryGroup(name, route, settings.ordered, this.clock, () => this.#attend())
    this.groups.set(key, group)
    const isWanted = startsWith(settings.start)
    const stored = this.#kept.filter(({ message }) => routeMatches(route, message.route))
    for (const event of stored) if (isWanted(event)) group.add(event)
    if (settings.start === 'new' && stored.length > 0) skipped(stored.length)
    return group
  }

  bury({ stored, group, attempt }: GroupEvent, reason: string): void {
    const place = ++this.#places
    const diedAt = this.clock.now()
    this.deadLetters.set(place, { ...stored, reason, attempts: attempt, diedAt, from: group, place })
  }

  /** Whether events become due depends on whether somebody is there to handle them. */
  #attend(): void {
    const isAttended = [...this.groups.values()].some(({ hasMembers }) => hasMembers)
    if (isAttended) this.later.wake()
    else this.later.sleep()
  }

  #forgetIds(now: number): void {
    for (const [id, { publishedAt }] of this.#ids) {
      if (publishedAt + WINDOW > now) return
      this.#ids.delete(id)
    }
  }
}

/** Identifies an event by its pattern and its id. */
export function nameOf(route: string, id: string): string {
  return `${route}\n${id}`
}

function startsWith(start: DurableStart): (stored: StoredEvent) => boolean {
  if (start === 'new') return () => false
  if (start === 'all') return () => true
  if ('since' in start) return ({ publishedAt }) => publishedAt >= start.since.getTime()
  return ({ position }) => position > Number(start.after)
}

/** An event that is not handled. */
export interface MemoryBacklogEvent {
  readonly event: GroupEvent
  readonly state: 'waiting' | 'running' | 'pausing'
  /** When its pause ends, in milliseconds since 1970. */
  readonly due?: number
}

/** A pause before the next delivery. */
interface Pause {
  /** Its length in milliseconds. */
  readonly delay: number
  /** When it ends, in milliseconds since 1970. */
  readonly due: number
  /** Cancels its timer. */
  readonly end: () => void
}

/** Events that wait for the handlers of one group and route. */
export class MemoryGroup {
  readonly name: string
  readonly route: string
  readonly ordered: boolean
  readonly #clock: Clock
  /** Events that wait for delivery, in the order of publishing. */
  #waiting: GroupEvent[] = []
  /** Events that were delivered, or that pause before the next delivery. */
  readonly #away = new Set<GroupEvent>()
  /** Events that pause before the next delivery. */
  readonly #pausing = new Map<GroupEvent, Pause>()
  readonly #members: GroupMember[] = []
  readonly #changed: () => void
  #isPaused = false
  #turn = 0

  /** @param changed is called when a member has joined or left */
  constructor(name: string, route: string, ordered: boolean, clock: Clock, changed: () => void) {
    this.#changed = changed
    this.name = name
    this.route = route
    this.ordered = ordered
    this.#clock = clock
  }

  /** Number of events that are not handled yet. */
  get waiting(): number {
    return this.#waiting.length + this.#away.size
  }

  get hasMembers(): boolean {
    return this.#members.length > 0
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused
    this.pump()
  }

  add(stored: StoredEvent): void {
    const { id, key, message } = stored
    this.#waiting.push({ stored, group: this, pattern: message.pattern, id, key, attempt: 0 })
    this.pump()
  }

  join(member: GroupMember): void {
    this.#members.push(member)
    if (this.#members.length === 1) for (const [event, pause] of this.#pausing) this.#pause(event, pause)
    this.#changed()
    this.pump()
  }

  leave(member: GroupMember): void {
    const index = this.#members.indexOf(member)
    if (index !== -1) this.#members.splice(index, 1)
    // Timers would keep a process running in which nobody is left to handle the events.
    if (this.#members.length === 0) for (const { end } of this.#pausing.values()) end()
    this.#changed()
    this.pump()
  }

  /** Whether a member still has the event. */
  isAway(event: GroupEvent): boolean {
    return this.#away.has(event)
  }

  /** All events that are not handled, in the order of publishing. */
  get backlog(): readonly MemoryBacklogEvent[] {
    const waiting = this.#waiting.map((event): MemoryBacklogEvent => ({ event, state: 'waiting' }))
    const away = [...this.#away].map((event): MemoryBacklogEvent => {
      const pause = this.#pausing.get(event)
      return pause === undefined ? { event, state: 'running' } : { event, state: 'pausing', due: pause.due }
    })
    return [...waiting, ...away].sort((one, other) => one.event.stored.position - other.event.stored.position)
  }

  /** The event was handled. */
  done(event: GroupEvent): void {
    this.#away.delete(event)
  }

  /** A member gives an event back, perhaps with a pause before the next delivery. */
  back(event: GroupEvent, delay = 0): void {
    if (!this.#away.has(event)) return
    // The event is copied, so that the member which had the event does not own the new object.
    const again = { ...event }
    this.#away.delete(event)
    if (delay === 0) return this.#return(again)
    this.#away.add(again)
    this.#pause(again, { delay, due: this.#clock.now() + delay })
  }

  #pause(event: GroupEvent, { delay, due }: Pick<Pause, 'delay' | 'due'>): void {
    // Without a member no timer runs, which would keep the process running; `join` starts it.
    if (!this.hasMembers) return void this.#pausing.set(event, { delay, due, end() {} })
    // If the clock was set back while nobody was there, the pause begins again.
    const left = Math.min(delay, Math.max(0, due - this.#clock.now()))
    const end = this.#clock.after(left, () => {
      this.#pausing.delete(event)
      this.#away.delete(event)
      this.#return(event)
    })
    this.#pausing.set(event, { delay, due, end })
  }

  #return(event: GroupEvent): void {
    const { position } = event.stored
    const index = this.#waiting.findIndex(({ stored }) => stored.position > position)
    if (index === -1) this.#waiting.push(event)
    else this.#waiting.splice(index, 0, event)
    this.pump()
  }

  /** Delivers waiting events as long as members have room. */
  pump(): void {
    while (!this.#isPaused && this.#waiting.length > 0) {
      // One member gets all events of an ordered group, because events of another member could overtake.
      const candidates = this.ordered ? this.#members.slice(0, 1) : this.#members
      const count = candidates.length
      const member = candidates
        .map((_, index) => candidates[(this.#turn + index) % count] as GroupMember)
        .find(({ room }) => room > 0)
      if (member === undefined) return
      this.#turn++
      const event = this.#waiting.shift() as GroupEvent
      event.attempt++
      this.#away.add(event)
      member.deliver(event)
    }
  }
}
