/**
 * The positions of groups, noted where they do not expire: Kafka forgets the positions of a group that has had no
 * members for `offsets.retention.minutes` (7 days by default), and such a group would look like a new one. The notes
 * are records of the topic of groups, one for each group and pattern.
 */
import type { Cluster } from '../connection/cluster.ts'
import type { Fetched } from '../words/record.ts'
import { put } from './copies.ts'
import { GROUPS_TOPIC } from './groups-topic.ts'

/** Begins the keys of notes. The other records of the topic have a group as their key, which has no slash. */
const PREFIX = 'positions/'

/** The note about a group and a pattern. */
export interface Note {
  /** When it was noted. */
  readonly at: Date
  /** The positions, by topic id and partition. */
  readonly positions: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** The notes about all groups of a cluster, as one process knows them. */
export class NotedPositions {
  readonly #notes = new Map<string, { readonly at: Date; readonly text: string }>()

  /** Takes a record of the topic of groups. @returns false: the record is not a note */
  take(record: Fetched): boolean {
    const { keyText: key = '' } = record
    if (!key.startsWith(PREFIX)) return false
    const { text } = record
    const name = key.slice(PREFIX.length)
    if (text === undefined) this.#notes.delete(name)
    else this.#notes.set(name, { at: new Date(record.timestamp), text })
    return true
  }

  /** @param name the name of the group in Kafka */
  of(name: string): Note | undefined {
    const note = this.#notes.get(name)
    return note && { at: note.at, positions: readNote(note.text) }
  }

  /** The names of all groups in Kafka that were ever noted. */
  get names(): readonly string[] {
    return [...this.#notes.keys()]
  }

  /** Notes the positions of a group, unless they are noted already. @throws {NotStoredError} they are not stored */
  async note(cluster: Cluster, name: string, positions: Note['positions']): Promise<void> {
    const text = JSON.stringify(positions)
    if (this.#notes.get(name)?.text === text) return
    const copy = { partition: 0, key: Buffer.from(PREFIX + name), value: Buffer.from(text) }
    await put(cluster, GROUPS_TOPIC, copy)
    this.#notes.set(name, { at: new Date(), text })
  }
}

/** Reads a note. What others may have written in its place counts as no position. */
export function readNote(text: string): Note['positions'] {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return {}
  }
  const positions: Record<string, Record<string, number>> = Object.create(null)
  for (const [topicId, of] of Object.entries(Object(read)))
    positions[topicId] = Object.fromEntries(Object.entries(Object(of)).filter(isPosition))
  return positions
}

function isPosition(entry: [string, unknown]): entry is [string, number] {
  return Number.isSafeInteger(entry[1]) && (entry[1] as number) >= 0
}
