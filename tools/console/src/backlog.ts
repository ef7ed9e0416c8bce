/** The events that a group has not handled, for the page. They are read only when somebody asks for them. */
import type { BacklogEvent } from '@elysia-microservices/transport/kit'
import { fieldsOf, shortText } from './bounds.ts'
import { type CheckedClient, stores } from './clients.ts'
import { dataShown, traceIdOf } from './dead-letters.ts'
import type { BacklogEventView, BacklogView, StoredCount } from './protocol.ts'

/** Largest number of events that are shown at the same time. */
const MAX_EVENTS = 100

/** Returns the events that come first. @throws {OptionError} the group's engine cannot show them */
export async function listBacklog(client: CheckedClient, group: string): Promise<BacklogView> {
  if (!stores(client)) throw new TypeError('The transport of this client stores no events')
  const events: BacklogEventView[] = []
  const asked = client.group(group)
  for await (const event of asked.backlog({ limit: MAX_EVENTS + 1 })) events.push(shown(event))
  if (events.length > MAX_EVENTS) return { events: events.slice(0, MAX_EVENTS), hasMore: true, unlisted: 0 }
  // Not each store lists the events that a process has, and not each counts what is stored.
  const listsAll = events.some(({ state }) => state !== 'waiting')
  const lag = listsAll ? 0 : await asked.lag().catch(() => 0)
  return { events, hasMore: false, unlisted: Math.max(0, lag - events.length) }
}

/** How many events a group has not handled; `undefined`: its store cannot tell a client. Never rejects. */
export async function backlogSize(client: CheckedClient, group: string): Promise<StoredCount | undefined> {
  if (!stores(client)) return undefined
  const asked = client.group(group)
  try {
    return { count: await asked.lag() }
  } catch {
    // Some stores list what they cannot count.
  }
  let count = 0
  try {
    for await (const _ of asked.backlog({ limit: MAX_EVENTS + 1 })) count++
  } catch {
    return undefined
  }
  return count > MAX_EVENTS ? { count: MAX_EVENTS, isLeast: true } : { count }
}

function shown(event: BacklogEvent): BacklogEventView {
  const { position, pattern, id, key, headers, data, publishedAt, state, attempts, dueAt } = event
  const traceId = traceIdOf(fieldsOf(headers)['traceparent'])
  return {
    position: shortText(position),
    pattern: shortText(pattern),
    id: shortText(id),
    ...(key !== undefined && { key: shortText(key) }),
    ...dataShown(data),
    ...(traceId !== undefined && { traceId }),
    publishedAt: publishedAt.getTime(),
    state,
    attempts,
    ...(dueAt !== undefined && { dueAt: dueAt.getTime() })
  }
}
