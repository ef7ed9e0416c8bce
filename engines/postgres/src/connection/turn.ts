/** The words of a turn: a process tells the database what has become of events, and gets others. */

/** An event as a turn returns it. */
export interface TakenRow {
  readonly group: number
  readonly batch: string
  readonly position: string
  readonly letter: string
  readonly attempt: number
  /** Milliseconds since 1970. */
  readonly published: number
  readonly pattern: string
  readonly id: string
  readonly key: string | null
  readonly headers: string | null
  readonly body: string
  /** The log has deleted it, because of its age. */
  readonly vanished?: true
}

/** The fates of the events of one batch. */
export interface Settling {
  readonly batch: string
  readonly left: readonly { position: string; letter: string; attempt: number; lock: string | null }[]
  readonly back: readonly {
    position: string
    letter: string
    attempt: number
    lock: string | null
    delay: number
  }[]
  readonly dead: readonly object[]
  /** Events of a claimed batch that are done without an acknowledgement in a transaction. */
  readonly discarded: readonly { position: string; letter: string }[]
  /** Dead letters that were given back, and are done. */
  readonly over: readonly string[]
}

/** Events of one group as a turn returns them: each field of `TakenRow` that they differ in is a list. */
export type TakenBatch = Pick<TakenRow, 'group' | 'batch'> & {
  readonly [Field in Exclude<keyof TakenRow, 'group' | 'batch' | 'vanished'>]: readonly TakenRow[Field][]
}

/** A group that has room in this process. */
export interface Wanted {
  readonly id: number
  readonly most: number
  /** Most events that come back. */
  readonly back: number
  /** Its events are acknowledged in transactions. */
  readonly claims?: true
}

/** Times below which nothing is due, as the database has given them. */
export type Bounds = Readonly<Record<string, number>>

/** Where a turn looks for what is due: behind bounds; or everywhere, to give the bounds of these groups. */
export type Looks = Bounds | readonly number[]

export interface Turn {
  /** Batches that other processes have by now. */
  readonly lost: readonly string[]
  readonly taken: readonly TakenRow[]
  /** The last group that was asked: the answer has no room for more. `null`: all were asked. */
  readonly until?: number | null
  /** Milliseconds until the next event is due; `null`: unknown, or none. */
  readonly next: number | null
  /** `null`: the turn had bounds. */
  readonly bounds: Bounds | null
}

/** The events of a group, one by one. */
export function rowsOf(taken: TakenBatch): TakenRow[] {
  const { group, batch, position, letter, attempt, published, pattern, id, key, headers, body } = taken
  return position.map((place, at) => ({
    group,
    batch,
    position: place,
    letter: letter[at] as string,
    attempt: attempt[at] as number,
    published: published[at] as number,
    pattern: pattern[at] as string,
    id: id[at] as string,
    key: key[at] as string | null,
    headers: headers[at] as string | null,
    body: body[at] as string,
    ...(body[at] === null && { vanished: true as const })
  }))
}

/** Whether a group has as many events as were wanted of it, so that there are more. */
export function isFull({ taken }: Turn, wanted: readonly Wanted[]): boolean {
  const counts = new Map<number, number>()
  for (const { group } of taken) counts.set(group, (counts.get(group) ?? 0) + 1)
  return wanted.some(({ id, most }) => most > 1 && counts.get(id) === most)
}
