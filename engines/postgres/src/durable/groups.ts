/** Where a group begins, and what its pattern is in PostgreSQL. */
import { type DurableSettings, OptionError } from '@elysia-microservices/transport/kit'

/** A pattern with wildcards as a regular expression of PostgreSQL. */
export function matcherOf(pattern: string): string {
  const segments = pattern.split('.')
  const parts = segments.map((segment, at) => {
    if (segment === '>' && at === segments.length - 1) return '.+'
    if (segment === '*') return '[^.]*'
    return segment.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
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
