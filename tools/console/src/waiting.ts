/** Events that wait for their time, for the page: lists them, cancels them, delivers them at once. Changes are logged. */
import {
  type FutureEvents,
  insideOf,
  type Logger,
  ruleOf,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'
import { shortText } from './bounds.ts'
import type { CheckedClient } from './clients.ts'
import { dataShown } from './dead-letters.ts'
import type { WaitingEventsView, WaitingEventView } from './protocol.ts'

/** Largest number of events that are shown at the same time. */
const MAX_EVENTS = 100
/** Largest number of characters of an id, which must be whole to be named again. */
const MAX_ID = 2_000

/** The events that wait in the store of a client; `undefined`: it keeps none. */
export function futureOf(client: CheckedClient | undefined): FutureEvents | undefined {
  return client && insideOf(client)?.durable?.future
}

/** Returns the events that come first. */
export async function listWaiting(future: FutureEvents): Promise<WaitingEventsView> {
  const events: WaitingEventView[] = []
  for await (const event of future.list({ limit: MAX_EVENTS + 1 })) events.push(shown(event))
  return { events: events.slice(0, MAX_EVENTS), hasMore: events.length > MAX_EVENTS }
}

function shown({ pattern, id, key, at, data }: WaitingEvent): WaitingEventView {
  const rule = ruleOf(id)
  return {
    pattern: shortText(pattern, MAX_ID),
    id: shortText(id, MAX_ID),
    ...(key !== undefined && { key: shortText(key) }),
    at: at.getTime(),
    ...(rule !== undefined && { rule: shortText(rule) }),
    ...dataShown(data)
  }
}

/** Cancels an event, or delivers it at once. @returns how many were still waiting */
export async function changeWaiting(
  future: FutureEvents,
  change: 'cancel' | 'fire',
  pattern: string,
  id: string,
  logger: Logger
): Promise<number> {
  const isDone = await future[change](pattern, id)
  const what = change === 'cancel' ? 'cancelled' : 'delivered before its time'
  logger.warn(
    `The console was asked to have the event ${JSON.stringify(pattern)} with the id ${JSON.stringify(id)} ${what}: it was ${isDone ? '' : 'not '}waiting`
  )
  return isDone ? 1 : 0
}
