/** Sends some or all dead letters of a group again, or deletes them. */
import type { DeadLetters } from './published.ts'

/** Change of a dead letter: redrive or delete. */
export type DeadLetterChange = 'redrive' | 'delete'

/** One dead letter that something was to be done with. */
export interface ChangedDeadLetter {
  readonly position: string
  /** Whether it was there. */
  readonly isDone: boolean
}

/**
 * Does it with each, one after the other, as they are taken.
 * @param positions which ones; `'all'`: those that are there now, `limit` at most. Those that come meanwhile are left:
 * they may be the same ones, failed once more.
 * @throws the error of the first that fails; the ones done by then stay done
 */
export async function* changeDeadLetters(
  letters: DeadLetters,
  change: DeadLetterChange,
  positions: readonly string[] | 'all',
  limit = Number.POSITIVE_INFINITY
): AsyncGenerator<ChangedDeadLetter> {
  for (const position of positions === 'all' ? await positionsOf(letters, limit) : positions)
    yield { position, isDone: await letters[change](position) }
}

async function positionsOf(letters: DeadLetters, limit: number): Promise<string[]> {
  const positions: string[] = []
  for await (const { position } of letters.list({ limit })) positions.push(position)
  return positions
}
