/** Redrives or discards some or all dead letters of a group. Redriving gives a dead letter back to its group. */
import type { DeadLetters } from './published.ts'

/** Change of a dead letter: redrive or discard. */
export type DeadLetterChange = 'redrive' | 'discard'

/** The result of a change of one dead letter. */
export interface ChangedDeadLetter {
  readonly position: string
  /** Whether the dead letter was there. */
  readonly isDone: boolean
}

/**
 * Changes the dead letters one after the other, as the caller takes the results.
 * @param positions positions of the dead letters; `'all'`: all that exist now, at most `limit`. Dead letters that are
 * added meanwhile are not changed: they may be the same events, failed once more.
 * @throws the error of the first change that fails; earlier changes are not undone
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
