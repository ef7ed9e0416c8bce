/** The page's connection to its server. */
import { connect } from '@elysia-microservices/websocket/client'
import type { ConsoleService, Topics } from '../protocol.ts'

/** Where the server is, without a slash at the end. */
export const base = globalThis.document?.getElementById('page')?.dataset['base'] ?? '.'

/** Calls it. Its values are sent again after a lost connection, so that it need not be kept for a page that is gone. */
export const server = connect<ConsoleService>({
  url: `${base}/socket`,
  resume: false,
  timeout: 0,
  waitForConnection: 5_000
})

/**
 * Asks the source of a topic, beside what every page is told.
 * @throws {Error} the server refuses, with its reason, or cannot be reached
 */
export function ask<Answer>(topic: keyof Topics, question: unknown, signal?: AbortSignal): Promise<Answer> {
  return server.request(`ask.${topic}`, question, { signal }) as Promise<Answer>
}
