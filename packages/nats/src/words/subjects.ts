/**
 * Patterns as NATS subjects. A route is its own subject; wildcards mean the same on both sides. What NATS has no
 * subject for is refused here, because a server would drop the connection, or never deliver.
 */

/** Longer subjects do not fit into a control line of the server (4 KiB) beside a reply subject. */
const MAX_LENGTH = 2_048

/** Why NATS has no subject for a route; `undefined`: it has one. */
export function whyNot(route: string): string | undefined {
  if (/\s/.test(route)) return "it has a blank; write '-' or '_' in its place"
  if (route.split('.').includes('')) return 'a segment of it is empty; give each segment between dots a text'
  if (route.length > MAX_LENGTH) return `it has ${route.length} characters; use ${MAX_LENGTH} at most`
  return undefined
}

/** Subjects of NATS itself, which a handler of everything gets and has not asked for: inboxes, JetStream, discovery. */
export function isOfSystem(subject: string): boolean {
  const first = subject.charCodeAt(0)
  return first === DOLLAR || first === UNDERSCORE
}

const DOLLAR = 36
const UNDERSCORE = 95
