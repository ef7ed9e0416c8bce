/** The times of cron expressions, by the package `croner`, which the user installs. */
import { describe, type NextTime, OptionError, reasonOf } from '@elysia-microservices/transport/kit'

/**
 * Returns the next time of a rule. `croner` is loaded with the first one.
 * @throws {OptionError} it is not installed, or the rule cannot be read
 */
export const nextTime: NextTime = async ({ cron, timeZone }, after) => {
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
