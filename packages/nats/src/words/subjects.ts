/**
 * Patterns as NATS subjects. A route is its own subject; wildcards mean the same on both sides. What NATS has no
 * subject for is refused here, because a server would drop the connection, or never deliver.
 */
import { hasWildcards, OptionError } from '@elysia-microservices/transport/kit'

/** Longer subjects do not fit into a control line of the server (4 KiB) beside a reply subject. */
const MAX_LENGTH = 2_048

/**
 * The subject a call is published to.
 * @throws {OptionError} NATS has no such subject
 */
export function subjectOfCall(route: string): string {
  check(route)
  if (hasWildcards(route))
    throw refused(
      route,
      "'*' and '>' stand for any segment, and a call goes to one subject",
      'write the segments out'
    )
  return route
}

/**
 * The subject a handler subscribes to.
 * @throws {OptionError} NATS has no such subject
 */
export function subjectOfHandler(route: string | undefined): string {
  if (route === undefined)
    throw new OptionError(
      'pattern',
      "NATS cannot carry a RegExp as a pattern; use '*' for one segment and '>' for the rest"
    )
  check(route)
  return route
}

function check(route: string): void {
  if (/\s/.test(route)) throw refused(route, 'it has a blank', "write '-' or '_' in its place")
  if (route.split('.').includes(''))
    throw refused(route, 'a segment of it is empty', 'give each segment between dots a text')
  if (route.length > MAX_LENGTH)
    throw refused(route.slice(0, 40), `it has ${route.length} characters`, `use ${MAX_LENGTH} at most`)
}

function refused(route: string, why: string, what: string): OptionError {
  return new OptionError('pattern', `NATS cannot carry the pattern '${route}': ${why}; ${what}`)
}

/** Subjects of NATS itself, which a handler of everything gets and has not asked for: inboxes, JetStream, discovery. */
export function isOfSystem(subject: string): boolean {
  const first = subject.charCodeAt(0)
  return first === DOLLAR || first === UNDERSCORE
}

const DOLLAR = 36
const UNDERSCORE = 95
