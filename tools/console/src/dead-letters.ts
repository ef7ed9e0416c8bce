/** Lists, resends and deletes dead letters for the page. Lists are of limited size, and changes are logged. */
import {
  changeDeadLetters,
  type DeadLetter,
  type DeadLetterChange,
  type DeadLetters,
  type Logger
} from '@elysia-microservices/transport/kit'
import { fieldsOf, shortText } from './bounds.ts'
import { type CheckedClient, stores } from './clients.ts'
import type { DeadLettersView, DeadLetterView } from './protocol.ts'
import { jsonText } from './trial.ts'

/** Largest number of dead letters of a group that are shown at the same time. */
export const MAX_LETTERS = 100
/** Largest number of characters of data that are shown. */
const MAX_DATA = 4_000
/** Largest number of dead letters that one click changes; for more there is the command line. */
const MAX_CHANGED = 10_000
/** Largest number of positions that a log line names. */
const MAX_NAMED = 20

/** Returns the oldest dead letters of a group. @throws {OptionError} the group's engine cannot list dead letters */
export async function listDeadLetters(client: CheckedClient, group: string): Promise<DeadLettersView> {
  const letters: DeadLetterView[] = []
  for await (const letter of lettersOf(client, group).list({ limit: MAX_LETTERS + 1 }))
    letters.push(shown(letter))
  return { letters: letters.slice(0, MAX_LETTERS), hasMore: letters.length > MAX_LETTERS }
}

function lettersOf(client: CheckedClient, group: string): DeadLetters {
  if (!stores(client)) throw new TypeError('The transport of this client stores no events')
  return client.group(group).deadLetters
}

function shown(letter: DeadLetter): DeadLetterView {
  const { position, pattern, id, key, reason, attempts, headers, data, publishedAt, diedAt, leftOut } = letter
  const traceId = traceIdOf(fieldsOf(headers)['traceparent'])
  return {
    position: shortText(position),
    pattern: shortText(pattern),
    id: shortText(id),
    ...(key !== undefined && { key: shortText(key) }),
    reason: shortText(reason),
    attempts,
    ...dataShown(data),
    ...(traceId !== undefined && { traceId }),
    publishedAt: publishedAt.getTime(),
    diedAt: diedAt.getTime(),
    leftOut: (leftOut ?? []).slice(0, 20).map((each) => shortText(each, 100))
  }
}

/** Data as JSON text, and the number of characters that were left out. */
export function dataShown(data: unknown): { readonly data: string; readonly cut: number } {
  const text = jsonText(data)
  return { data: text.slice(0, MAX_DATA), cut: Math.max(0, text.length - MAX_DATA) }
}

/** The trace to which an event belongs, if its headers name a trace. */
export function traceIdOf(traceparent: unknown): string | undefined {
  return /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-/.exec(shortText(traceparent, 100))?.[1]
}

/** The requested change, and the dead letters to change. */
export interface Change {
  readonly change: DeadLetterChange
  readonly group: string
  readonly positions: readonly string[] | 'all'
}

/**
 * Redrives or discards dead letters.
 * @returns how many of them existed
 * @throws the engine's error for the first dead letter that fails; earlier ones stay changed, and the log says
 * so
 */
export async function changeLetters(
  client: CheckedClient,
  { change, group, positions }: Change,
  logger: Logger
): Promise<number> {
  const done: string[] = []
  try {
    const changes = changeDeadLetters(lettersOf(client, group), change, positions, MAX_CHANGED)
    for await (const { position, isDone } of changes) if (isDone) done.push(position)
  } finally {
    const named = done.slice(0, MAX_NAMED).join(', ') + (done.length > MAX_NAMED ? ', …' : '')
    const what = change === 'redrive' ? 'redriven' : 'discarded'
    const where = done.length === 0 ? '' : ` (positions ${named})`
    logger.warn(
      `The console was asked to have dead letters of the group ${JSON.stringify(group)} ${what}: ${done.length} were${where}`
    )
  }
  return done.length
}
