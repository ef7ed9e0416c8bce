/**
 * The store of the hub, in memory: events, groups and dead letters. An event that is delivered belongs to one
 * connection, until it is settled or the connection is lost.
 */
import { routeMatches } from '@elysia-microservices/transport/kit'
import type { HubLetter, NewEvent, Wanted } from './hub-store.ts'

/** A stored event, on its way to one group. */
interface Stored extends NewEvent {
  readonly position: number
  attempt: number
  /** Redriven, so it may run out of order. */
  readonly isFree: boolean
}

/** A consumer of a connection. */
export interface Member {
  /** The most events that it may have and has not settled. */
  readonly room: number
  tell(word: 'event' | 'paused', value: unknown): void
}

interface Group extends Wanted {
  /** Events that wait for delivery, in order. */
  waiting: Stored[]
  /** Events that pause until their next attempt. */
  pausing: number
  isPaused: boolean
  /** The members, each with the events that it has; `isLeaving`: it gets no more. */
  readonly members: Map<Member, { readonly has: Map<number, Stored>; isLeaving: boolean }>
}

/** The events of one hub. */
export class HubEvents {
  readonly #log: Stored[] = []
  readonly #ids = new Map<string, number>()
  readonly #groups = new Map<string, Group>()
  readonly #letters = new Map<number, HubLetter & { readonly stored: Stored }>()
  #lastLetter = 0

  /** Whether a group gets events of an address. */
  takes(address: string): boolean {
    return [...this.#groups.values()].some(({ pattern }) => routeMatches(pattern, address))
  }

  append(event: NewEvent): readonly [position: number, isDuplicate: boolean] {
    // An id belongs to one event of each address.
    const name = `${event.address}\n${event.id}`
    const known = this.#ids.get(name)
    if (known !== undefined) return [known, true]
    const stored = { ...event, position: this.#log.length + 1, attempt: 1, isFree: false }
    this.#ids.set(name, stored.position)
    this.#log.push(stored)
    for (const group of this.#groups.values())
      if (routeMatches(group.pattern, event.address)) this.#back(group, { ...stored })
    return [stored.position, false]
  }

  /** @returns whether the group is paused, and how many stored events it does not get because it is new */
  join(member: Member, wanted: Wanted): readonly [isPaused: boolean, skipped: number] {
    const key = `${wanted.group} ${wanted.pattern}`
    let group = this.#groups.get(key)
    let skipped = 0
    if (group === undefined) {
      const stored = this.#log.filter((one) => routeMatches(wanted.pattern, one.address))
      const waiting = stored.filter((one) => isWanted(one, wanted.start)).map((one) => ({ ...one }))
      if (wanted.start === 'new') skipped = stored.length
      group = { ...wanted, waiting, pausing: 0, isPaused: this.#isPaused(wanted.group), members: new Map() }
      this.#groups.set(key, group)
    }
    if (group.ordered !== wanted.ordered)
      throw new Error(`The group '${wanted.group}' has ordered: ${group.ordered} for '${wanted.pattern}'`)
    group.members.set(member, { has: new Map(), isLeaving: false })
    // Its answer comes first.
    setImmediate(() => this.#deliver(group))
    return [group.isPaused, skipped]
  }

  /** Stored events of the member's group that are not done. */
  lag(member: Member): number {
    const group = this.#groupOf(member)
    if (group === undefined) return 0
    return [...group.members.values()].reduce(
      (sum, { has }) => sum + has.size,
      group.waiting.length + group.pausing
    )
  }

  done(member: Member, position: number): void {
    this.#settle(member, position, () => {})
  }

  /** The event is to be delivered again after a pause. */
  again(member: Member, position: number, delay: number, attempt: number): void {
    this.#settle(member, position, (group, event) => {
      event.attempt = attempt
      if (delay === 0) return this.#back(group, event)
      group.pausing++
      setTimeout(() => {
        group.pausing--
        this.#back(group, event)
      }, delay).unref()
    })
  }

  bury(member: Member, position: number, reason: string, attempts: number): void {
    this.#settle(member, position, ({ group }, stored) => {
      const letter = { ...stored, position: ++this.#lastLetter, group, reason, attempts, diedAt: Date.now() }
      this.#letters.set(letter.position, { ...letter, stored })
    })
  }

  letters(group: string): HubLetter[] {
    return [...this.#letters.values()].filter((letter) => letter.group === group)
  }

  /** @returns whether there is such a dead letter */
  forget(group: string, position: number, isRedriven: boolean): boolean {
    const letter = this.#letters.get(position)
    if (letter?.group !== group) return false
    this.#letters.delete(position)
    if (isRedriven)
      for (const one of this.#groups.values())
        if (one.group === group && routeMatches(one.pattern, letter.address))
          this.#back(one, { ...letter.stored, attempt: 1, isFree: true })
    return true
  }

  /** @returns whether there is such a group */
  has(name: string): boolean {
    return [...this.#groups.values()].some(({ group }) => group === name)
  }

  pause(name: string, isPaused: boolean): boolean {
    const groups = [...this.#groups.values()].filter(({ group }) => group === name)
    for (const group of groups) {
      group.isPaused = isPaused
      for (const member of group.members.keys()) member.tell('paused', isPaused)
      this.#deliver(group)
    }
    return groups.length > 0
  }

  /** The member gets no more events. It keeps its turn in an ordered group until it has settled those that it has. */
  leave(member: Member): void {
    const group = this.#groupOf(member)
    const its = group?.members.get(member)
    if (group === undefined || its === undefined) return
    its.isLeaving = true
    this.#deliver(group)
  }

  /** The member is gone, and others get its events. */
  lost(member: Member): void {
    const group = this.#groupOf(member)
    const its = group?.members.get(member)
    if (group === undefined || its === undefined) return
    group.members.delete(member)
    for (const event of its.has.values()) {
      // An ordered member has many events that have not begun.
      if (!group.ordered) event.attempt++
      this.#back(group, event)
    }
  }

  #isPaused(name: string): boolean {
    return [...this.#groups.values()].some(({ group, isPaused }) => group === name && isPaused)
  }

  #groupOf(member: Member): Group | undefined {
    return [...this.#groups.values()].find(({ members }) => members.has(member))
  }

  #settle(member: Member, position: number, then: (group: Group, event: Stored) => void): void {
    const group = this.#groupOf(member)
    const its = group?.members.get(member)
    const event = its?.has.get(position)
    // The event was delivered to somebody else meanwhile.
    if (group === undefined || its?.has.delete(position) !== true || event === undefined) return
    then(group, event)
    this.#deliver(group)
  }

  #back(group: Group, event: Stored): void {
    const index = group.waiting.findIndex(({ position }) => position > event.position)
    group.waiting.splice(index === -1 ? group.waiting.length : index, 0, event)
    this.#deliver(group)
  }

  #deliver(group: Group): void {
    for (const [member, { has, isLeaving }] of group.members)
      if (isLeaving && has.size === 0) group.members.delete(member)
    while (!group.isPaused) {
      // One member gets all events of an ordered group: those of another member could overtake.
      const [first] = group.members
      const members = group.ordered ? (first === undefined ? [] : [first]) : [...group.members]
      const free = members.find(([member, { has, isLeaving }]) => !isLeaving && has.size < member.room)
      const event = free && group.waiting.shift()
      if (event === undefined) return
      const [member, its] = free as (typeof members)[number]
      its.has.set(event.position, event)
      member.tell('event', event)
      if (group.ordered) continue
      // The others are next.
      group.members.delete(member)
      group.members.set(member, its)
    }
  }
}

function isWanted({ position, publishedAt }: Stored, start: Wanted['start']): boolean {
  if (start === 'new') return false
  if (start === 'all') return true
  return 'since' in start ? publishedAt >= start.since : position > start.after
}
