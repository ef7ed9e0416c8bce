/** The page's connection to its server. */
import { connect } from '@elysia-microservices/websocket/client'
import type { ConsoleService, Topics } from '../protocol.ts'

/** The base address of the server, without a slash at the end. */
export const base = globalThis.document?.getElementById('page')?.dataset['base'] ?? '.'

/**
 * The client that calls the server. It does not resume lost connections: the server sends all values again, and
 * need not keep them for a page that is gone.
 */
export const server = connect<ConsoleService>({
  url: `${base}/socket`,
  resume: false,
  timeout: false,
  waitForConnection: 5_000
})

/**
 * Asks the source of a topic for data that is not sent to every page.
 * @throws {Error} the server refuses, with its reason, or cannot be reached
 */
export function ask<Answer>(topic: keyof Topics, question: unknown, signal?: AbortSignal): Promise<Answer> {
  return server.request(`ask.${topic}`, question, { signal }) as Promise<Answer>
}
