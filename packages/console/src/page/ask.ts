/** Questions that a screen asks its data source on the server, beside what every page is told. */
import type { Topics } from '../protocol.ts'

/**
 * Asks the source of a topic.
 * @param base where the server is
 * @throws {Error} the server refuses, with its reason, or cannot be reached
 */
export async function ask<Answer>(
  base: string,
  topic: keyof Topics,
  question: unknown,
  signal?: AbortSignal
): Promise<Answer> {
  const response = await fetch(`${base}/ask/${topic}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
    ...(signal !== undefined && { signal })
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as Answer
}
