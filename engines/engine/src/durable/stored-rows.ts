/** How stores in tables show their rows, and how all stores give long lists. */
import {
  type BacklogEvent,
  type DeadLetter,
  dateOf,
  type FutureEvents,
  type MessageHeaders,
  routeOf,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'
import { patternOf, readableContentOf } from '../server/incoming.ts'

/** A row by the names of its columns. An event has `pattern`, `id`, `key`, `headers` (JSON) and `body` (a packet). */
export type StoredRow = Readonly<Record<string, unknown>>

/** Rows that are read at a time. */
const PAGE = 100

/**
 * Yields what `read` gives, one page after the other, until there is no more.
 * @param limit most that is yielded
 * @param read gets the last item of the page before (`undefined`: there is none), and the size of the page
 * @param isCut whether a page has fewer items than there are, because they are large. Another short page is the last one:
 * a list that asked on would never end while what its reader gives back comes to the list again.
 */
export async function* inPages<Item>(
  limit: number | undefined,
  read: (behind: Item | undefined, most: number) => Promise<readonly Item[]>,
  isCut: (page: readonly Item[]) => boolean = () => false
): AsyncGenerator<Item> {
  let behind: Item | undefined
  for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; ) {
    const most = Math.min(PAGE, left)
    const page = await read(behind, most)
    yield* page
    if (page.length < most && !isCut(page)) return
    behind = page.at(-1)
    left -= page.length
  }
}

/** Whether a page has fewer rows than were found: those of a store that cuts pages have this number, as `found`. */
export function isCutPage(page: readonly StoredRow[]): boolean {
  return Number(page.at(-1)?.['found'] ?? 0) > page.length
}

/**
 * Yields the items of several sorted lists as one sorted list.
 * @param compare returns a number above 0 if the first item comes behind the second
 */
export async function* merged<Item>(
  lists: readonly AsyncIterable<Item>[],
  compare: (one: Item, other: Item) => number
): AsyncGenerator<Item> {
  const heads: { readonly item: Item; readonly rest: AsyncIterator<Item> }[] = []
  const insert = async (rest: AsyncIterator<Item>) => {
    const { value: item, done } = await rest.next()
    if (done === true) return
    const at = heads.findIndex((head) => compare(head.item, item) > 0)
    heads.splice(at === -1 ? heads.length : at, 0, { item, rest })
  }
  for (const list of lists) await insert(list[Symbol.asyncIterator]())
  for (let first = heads.shift(); first !== undefined; first = heads.shift()) {
    yield first.item
    await insert(first.rest)
  }
}

/** The headers of a row. @param text their JSON, `null` if there are none */
export function headersIn(text: unknown): MessageHeaders | undefined {
  return text === null ? undefined : (JSON.parse(String(text)) as MessageHeaders)
}

/** An event of the future, as users see it: `due` is its time in milliseconds since 1970. */
export function waitingEvent(row: StoredRow): WaitingEvent {
  return {
    pattern: String(row['pattern']),
    ...commonOf(row),
    at: dateOf(Math.round(Number(row['due']))),
    data: readableContentOf(String(row['body'])).data
  }
}

/** The events of the future in a table. */
export interface WaitingRows {
  /** The time by which events become due, in milliseconds since 1970. */
  now(): number | Promise<number>
  /** @returns whether the event waited */
  cancel(pattern: string, id: string): boolean | Promise<boolean>
  /** @returns whether the event waited */
  fire(pattern: string, id: string): boolean | Promise<boolean>
  /**
   * Reads a page, the soonest first. It may have fewer than were found, because they are large: then it is cut, as
   * `isCutPage` says.
   * @param pattern `undefined`: of all patterns
   * @param behind the last row of the page before
   */
  waiting(
    pattern: string | undefined,
    behind: StoredRow | undefined,
    most: number
  ): readonly StoredRow[] | Promise<readonly StoredRow[]>
}

/** Reads and changes the events of the future in a table; nothing is kept in memory. */
export function futureIn(table: () => Promise<WaitingRows>): FutureEvents {
  return {
    now: async () => (await table()).now(),
    cancel: async (pattern, id) => (await table()).cancel(routeOf(pattern), id),
    fire: async (pattern, id) => (await table()).fire(routeOf(pattern), id),
    async *list({ pattern, limit } = {}) {
      const route = pattern === undefined ? undefined : routeOf(pattern)
      const read = async (behind: StoredRow | undefined, most: number) =>
        (await table()).waiting(route, behind, most)
      for await (const row of inPages(limit, read, isCutPage)) yield waitingEvent(row)
    }
  }
}

/** A dead letter, as users see it: `place` is its position, and times are in milliseconds since 1970. */
export function deadLetterOf(group: string, row: StoredRow): DeadLetter {
  const { pattern, data } = readableContentOf(String(row['body']))
  return {
    position: String(row['place']),
    group,
    pattern: patternOf(pattern, String(row['pattern'])),
    ...commonOf(row),
    reason: String(row['reason']),
    attempts: Number(row['attempts']),
    data,
    publishedAt: dateOf(Number(row['published'])),
    diedAt: dateOf(Number(row['died']))
  }
}

/**
 * An event that a group has not handled, as users see it: `attempt` counts begun runs, `due` is the end of its pause, in
 * milliseconds since 1970 (`null`: it is not due before something else happens).
 */
export function backlogEvent(row: StoredRow, state: BacklogEvent['state']): BacklogEvent {
  const { pattern, data } = readableContentOf(String(row['body']))
  return {
    position: String(row['position']),
    pattern: patternOf(pattern, String(row['pattern'])),
    ...commonOf(row),
    data,
    publishedAt: dateOf(Number(row['published'])),
    state,
    attempts: Number(row['attempt']),
    dueAt: state === 'pausing' ? dateOf(Math.ceil(Number(row['due']))) : undefined
  }
}

function commonOf({ id, key, headers }: StoredRow): Pick<WaitingEvent, 'id' | 'key' | 'headers'> {
  return {
    id: String(id),
    key: key === null ? undefined : String(key),
    headers: headersIn(headers) ?? {}
  }
}
