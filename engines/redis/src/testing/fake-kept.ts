/** The streams and records that a Redis server inside the process keeps. */
import type { EntryContent } from '../driver.ts'
import { headersToJson } from '../words/frames.ts'

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

/** All that a server keeps. */
export interface Kept {
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
    streams: new Map(),
    names: new Map(),
    handlers: new Map(),
    paused: new Set(),
    turns: new Map(),
    ids: new Map(),
    waiting: new Set()
  }
}

export function fieldsOf({ packet, id, key, headers }: EntryContent): string[] {
  const fields = ['packet', packet, 'id', id]
  if (key !== undefined && key !== '') fields.push('key', key)
  if (headers !== undefined) fields.push('headers', headersToJson(headers))
  return fields
}

/** The events of a group that are delivered again, beginning with the one that is due first. */
export function laterIn({ later }: Group) {
  return [...later]
    .map(([place, { due, attempt }]) => ({ place, due, attempt }))
    .sort((one, other) => one.due - other.due)
}
