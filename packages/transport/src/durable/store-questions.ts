/**
 * Questions about a store that its own process answers, for the page of the development command: what `DurableCaller`
 * has, but publishing, as values that JSON carries.
 */
import type { EventStore } from '../transport.ts'
import { contextOf, type StoringService } from './kept.ts'
import type { DurableCaller } from './published.ts'

/** The subject of a question, which decides on the fields that it has. */
interface Subject {
  readonly group?: string
  readonly pattern?: string
  /** The id of an event that waits. */
  readonly id?: string
  /** The position of a dead letter. */
  readonly position?: string
  readonly limit?: number | undefined
}

const ANSWERS = {
  letters: (store, { group = '', limit }) => all(store.deadLetters(group).list(limitedTo(limit))),
  letter: (store, { group = '', position = '' }) => store.deadLetters(group).get(position),
  redrive: (store, { group = '', position = '' }) => store.deadLetters(group).redrive(position),
  discard: (store, { group = '', position = '' }) => store.deadLetters(group).discard(position),
  has: (store, { group = '' }) => store.hasGroup(group),
  pause: (store, { group = '' }) => store.pauseGroup(group, true),
  resume: (store, { group = '' }) => store.pauseGroup(group, false),
  backlog: (store, { group = '', limit }) => all(store.backlog(group, limitedTo(limit))),
  lag: (store, { group = '' }) => store.lag?.(group),
  waiting: ({ future }, { pattern, limit }) => future && all(future.list({ pattern, limit })),
  cancel: ({ future }, { pattern = '', id = '' }) => future?.cancel(pattern, id),
  fire: ({ future }, { pattern = '', id = '' }) => future?.fire(pattern, id),
  now: ({ future }) => future?.now()
} as const satisfies Record<string, (store: DurableCaller, subject: Subject) => Promise<unknown> | undefined>

/** A question. */
export interface StoreQuestion extends Subject {
  readonly ask: keyof typeof ANSWERS
}

/** Answers a question by a connection of its own, so that nothing stays open. @throws the store's error */
export async function storeAnswer(
  store: EventStore,
  service: StoringService,
  question: StoreQuestion
): Promise<unknown> {
  const client = store.client(contextOf(service))
  try {
    return await ANSWERS[question.ask](client, question)
  } finally {
    await client.close()
  }
}

function limitedTo(limit: number | undefined): { readonly limit?: number } {
  return limit === undefined ? {} : { limit }
}

async function all(listed: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of listed) values.push(value)
  return values
}
