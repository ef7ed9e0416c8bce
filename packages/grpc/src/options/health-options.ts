/** The option `health` of a server. */
import { checkNames, milliseconds, mustBeFunction, OptionError } from '@elysia-microservices/transport/kit'

/** The checks that a server must pass in order to count as ready, beside that it listens. */
export interface GrpcHealthOptions {
  /**
   * Checks by name, such as a query of a database. A check fails if it throws, rejects, or returns `false`. Default:
   * none.
   */
  readonly checks?: Readonly<Record<string, () => unknown>> | undefined
  /** Milliseconds that each check may take. Default: 1,000. */
  readonly checkTimeout?: number | undefined
}

/** Checked options of health. */
export interface CheckedHealth {
  readonly checks: readonly (readonly [string, () => unknown])[]
  readonly checkTimeout: number
}

const TIMEOUT = 1_000

/**
 * @returns `undefined` if health is not answered
 * @throws {OptionError} an option has a wrong value or an unknown name
 */
export function healthOptions(given: boolean | GrpcHealthOptions | undefined): CheckedHealth | undefined {
  if (given === false) return undefined
  const path = 'options.health'
  if (given !== undefined && given !== true && (typeof given !== 'object' || given === null))
    throw OptionError.expected(path, 'true, false or { checks, checkTimeout }', given)
  const options = given === undefined || given === true ? {} : given
  checkNames(path, options, ['checks', 'checkTimeout'])
  const { checks = {}, checkTimeout = TIMEOUT } = options
  if (typeof checks !== 'object' || checks === null)
    throw OptionError.expected(`${path}.checks`, 'an object of checks by their names', checks)
  for (const [name, check] of Object.entries(checks)) mustBeFunction(`${path}.checks.${name}`, check)
  milliseconds(1, `${path}.checkTimeout`, checkTimeout)
  return { checks: Object.entries(checks), checkTimeout }
}
