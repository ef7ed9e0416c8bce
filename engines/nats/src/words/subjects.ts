/**
 * Patterns as NATS subjects. A pattern is used as its subject unchanged, and wildcards mean the same for both.
 * Patterns that cannot be a subject are refused here, because a server would close the connection or never deliver
 * the message.
 */

/** A longer subject and a reply subject do not fit together into a control line of the server (4 KiB). */
const MAX_LENGTH = 2_048

/** Why NATS cannot have a pattern as its subject; `undefined`: NATS can. */
export function whyNot(route: string): string | undefined {
  if (/\s/.test(route)) return "it has a blank; write '-' or '_' in its place"
  if (route.split('.').includes('')) return 'a segment of it is empty; give each segment between dots a text'
  if (route.length > MAX_LENGTH) return `it has ${route.length} characters; use ${MAX_LENGTH} at most`
  return undefined
}

/**
 * Whether a subject belongs to NATS itself: inboxes, JetStream, discovery. A handler of `>` receives these too, and
 * has not asked for them.
 */
export function isOfSystem(subject: string): boolean {
  const first = subject.charCodeAt(0)
  return first === DOLLAR || first === UNDERSCORE
}

const DOLLAR = 36
const UNDERSCORE = 95

/** The queue group of a service. NATS allows no blanks; services with different names have different queue groups. */
export function queueOf(service: string): string {
  return service.replace(/[\s%]/g, encodeURIComponent)
}

/** The queue group for requests that a client has sent together. No service has it. */
export function queueTogether(queue: string): string {
  return `${queue}%together`
}
