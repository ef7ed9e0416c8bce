/** Lines of the log that no service or client may write. */
import { storeOf } from './carriers.ts'
import type { Happened } from './losses.ts'
import type { Plan } from './plan.ts'

/** Lines that tell of the loss of a server. */
const LOSS = / server \S+ is lost|cannot be read from PostgreSQL/
const SKIPPED = /is new and does not get them/

/** The lines of a log that cannot be true. */
export function liesIn(log: readonly string[], plan: Plan, { hasLoss, hasHop }: Happened): readonly string[] {
  const { isLate, startsNew, suffix } = plan.config
  const isNew = isLate === true && startsNew === true
  // All groups begin with the first event.
  const isAll = storeOf(plan.config) !== 'rabbitmq' && suffix === undefined && !isNew
  return log.filter((line) => (isAll && SKIPPED.test(line)) || (!hasLoss && !hasHop && LOSS.test(line)))
}

/** Handlers fail on purpose. */
const OF_THE_TEST = /of the test has failed/

/** An error that only a mistake of the library can be, in a line of a log or beside it; `undefined`: there is none. */
export function errorIn(line: string, error: unknown): string | undefined {
  if (OF_THE_TEST.test(line)) return undefined
  if (/TypeError|RangeError|ReferenceError|is not a function|Cannot read|of undefined/.test(line)) return line
  const isOne = error instanceof TypeError || error instanceof ReferenceError
  return isOne && !OF_THE_TEST.test(error.message) ? `${line}: ${error.message}` : undefined
}
