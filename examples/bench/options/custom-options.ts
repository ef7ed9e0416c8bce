/** What is asked of a service of the user's own: flags that both commands share. */
import { readFileSync } from 'node:fs'
import { UsageError } from '../errors.ts'
import type { Pattern } from '../peers/echo-client.ts'
import { text } from './flags.ts'

export const customFlags = {
  pattern: text('a pattern, objects as JSON', 'with the target custom: what is asked, such as orders.get'),
  data: text(
    'JSON, or @ and the path of a file with JSON',
    'with the target custom: what is sent; default nothing'
  ),
  headers: text('a JSON object of strings', 'with the target custom: headers of every request')
}

export interface Custom {
  readonly pattern: Pattern
  readonly data: unknown
  readonly headers: Readonly<Record<string, string>> | undefined
}

type Given = Readonly<Record<keyof typeof customFlags, string | undefined>>

/**
 * @returns `null` for a target of the bench's own
 * @throws UsageError
 */
export function readCustom(isCustom: boolean, given: Given): Custom | null {
  if (!isCustom) {
    for (const name of Object.keys(customFlags) as (keyof Given)[]) {
      if (given[name] === undefined) continue
      throw new UsageError(`--${name}: got '${given[name]}', expected only with the target custom`)
    }
    return null
  }
  if (given.pattern === undefined) throw new UsageError('--pattern: missing, the target custom needs one')
  return {
    pattern: given.pattern.startsWith('{') ? (parse('pattern', given.pattern) as Pattern) : given.pattern,
    data: given.data === undefined ? undefined : parse('data', contentOf(given.data)),
    headers: given.headers === undefined ? undefined : readHeaders(given.headers)
  }
}

/** A pattern as it is shown. */
export const nameOfPattern = (pattern: Pattern): string =>
  typeof pattern === 'string' ? pattern : JSON.stringify(pattern)

function readHeaders(given: string): Record<string, string> {
  const value = parse('headers', given)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject || Object.values(value).some((header) => typeof header !== 'string')) {
    throw new UsageError(`--headers: got '${given}', expected ${customFlags.headers.allowed}`)
  }
  return value as Record<string, string>
}

function contentOf(given: string): string {
  if (!given.startsWith('@')) return given
  try {
    return readFileSync(given.slice(1), 'utf8')
  } catch (error) {
    throw new UsageError(
      `--data: cannot read ${given.slice(1)}: ${error instanceof Error ? error.message : error}`
    )
  }
}

function parse(name: keyof Given, given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    throw new UsageError(`--${name}: got '${given}', expected ${customFlags[name].allowed}`)
  }
}
