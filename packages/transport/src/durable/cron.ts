/** The times of cron expressions, by the package `croner`, which the user installs. */

import { reasonOf } from '../codec/uncarriable.ts'
import { OptionError } from '../errors/index.ts'
import { describe } from '../errors/microservice-error.ts'
import type { Recurrence } from './options.ts'

/**
 * Returns the first time of a rule after another time; `undefined`: there is none. `croner` is loaded with the first one.
 * @throws {OptionError} it is not installed, or the rule cannot be read
 */
export async function nextTime({ cron, timeZone }: Recurrence, after: Date): Promise<Date | undefined> {
  const { Cron } = await import('croner').catch((cause: unknown) => {
    throw new OptionError(
      'options.durable.every',
      'A recurring event needs the package croner, which is not installed: npm install croner',
      cause
    )
  })
  try {
    const rule = new Cron(cron, { paused: true, ...(timeZone !== undefined && { timezone: timeZone }) })
    return rule.nextRun(after) ?? undefined
  } catch (cause) {
    const shown = timeZone === undefined ? cron : `${cron}, ${timeZone}`
    throw new OptionError(
      'options.durable.every',
      `The rule of a recurring event must be a cron expression, and a time zone that this runtime knows, but is ${describe(shown)}: ${reasonOf(cause)}`,
      cause
    )
  }
}
