/** Where a group begins, and what its pattern is in PostgreSQL. */
import { type DurableSettings, OptionError } from '@elysia-microservices/transport/kit'

/** A pattern with wildcards as a regular expression of PostgreSQL, which matches what `routeMatches` does. */
export function matcherOf(pattern: string): string {
  const segments = pattern.split('.')
  const rest = segments.indexOf('>')
  const parts = segments.slice(0, rest === -1 ? undefined : rest + 1).map((segment) => {
    if (segment === '>') return '.*'
    return segment === '*' ? '[^.]*' : segment.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  })
  return `^${parts.join('\\.')}$`
}

/** The start of a group, for `join_group`. @throws {OptionError} the start is no position */
export function startOf(start: DurableSettings['start']): {
  readonly kind: string
  readonly since?: Date
  readonly after?: string
} {
  if (typeof start === 'string') return { kind: start }
  if ('since' in start) return { kind: 'since', since: start.since }
  if (!/^\d{1,18}$/.test(start.after ?? ''))
    throw OptionError.expected(
      'options.durable.start.after',
      "a position that publish() gave, such as '17'",
      start.after
    )
  return { kind: 'after', after: start.after as string }
}
