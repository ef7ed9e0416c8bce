/** The streams and records that a Redis server inside the process keeps. */
import type { Entry, Standing } from '../driver.ts'
import { comparePositions } from '../words/keys.ts'

interface Pending {
  process: string
  /** When the process has taken it, or has said that it still has it. */
  at: number
  attempt: number
}

export interface Group {
  delivered: string
  readonly pending: Map<string, Pending>
  /** When each process has asked for events. */
  readonly asked: Map<string, number>
  /** The events that are due again, by position. */
  readonly later: Map<string, { readonly due: number; readonly attempt: number }>
}

export interface Stream {
  last: string
  /** The positions of deleted events. */
  readonly deleted: string[]
  readonly entries: Map<string, readonly string[]>
  readonly groups: Map<string, Group>
}

/** An event that waits for its time. */
export interface Awaiting {
  due: number
  readonly fields: readonly string[]
  /** Milliseconds for which its id is remembered once it is stored. */
  readonly window: number
}

/** All that a server keeps. */
export interface Kept {
  /** The events that wait for their time, by pattern and by id. */
  readonly future: Map<string, Map<string, Awaiting>>
  readonly streams: Map<string, Stream>
  readonly names: Map<string, string>
  readonly handlers: Map<string, string>
  readonly paused: Set<string>
  readonly turns: Map<string, { readonly process: string; until: number }>
  readonly ids: Map<string, { readonly position: string; readonly until: number }>
  /** The streams of which somebody waits for events. */
  readonly waiting: Set<string>
}

/** The error of a server that refuses a command. */
export function refusal(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' })
}

export function nothing(): Kept {
  return {
    future: new Map(),
    streams: new Map(),
    names: new Map(),
    handlers: new Map(),
    paused: new Set(),
    turns: new Map(),
    ids: new Map(),
    waiting: new Set()
  }
}

/** The events of a group that are delivered again, beginning with the one that is due first. */
export function laterIn({ later }: Group) {
  return [...later]
    .map(([place, { due, attempt }]) => ({ place, due, attempt }))
    .sort((one, other) => one.due - other.due)
}

/**
 * How far a group is.
 * @param soonest when the first event is due that waits for its time; `undefined`: none waits
 */
export function standingOf(group: Group, soonest: number | undefined, now: number): Standing {
  const later = laterIn(group)
  const places = [...group.pending.keys(), ...group.later.keys()].sort(comparePositions)
  const due = Math.min(later[0]?.due ?? Number.POSITIVE_INFINITY, soonest ?? Number.POSITIVE_INFINITY)
  return {
    done: places.length === 0 ? group.delivered : '',
    first: places[0] ?? '',
    undone: places.length,
    more: due === Number.POSITIVE_INFINITY ? -1 : Math.max(due - now, 0)
  }
}

/** An entry of a stream, with its fields as an object. */
export function shownEntry([position, fields]: Entry): Readonly<Record<string, string>> {
  const pairs = fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1]]] : []))
  return { position, ...Object.fromEntries(pairs) }
}
