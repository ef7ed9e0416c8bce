/** Events that wait for their time, as messages of the stream in which they wait. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import { DUE, HEADER, LATER, TOLD, waitingSubject } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'
import type { ServerTime } from './server-time.ts'

/** The latest time that the server can wait for: it counts nanoseconds. It takes a later one for one that has passed. */
const LATEST = Date.parse('2262-04-01')
/** A time that has passed. */
const PASSED = '@at 1970-01-01T00:00:00Z'
const AT = '@at '

/** The address of the events of a pattern that wait. They have different subjects. */
export function waitingAddress(pattern: string): string {
  return `${LATER}.${pattern}`
}

/** The pattern of such an address; `undefined`: it is another address. */
export function waitingPattern(address: string): string | undefined {
  return address.startsWith(`${LATER}.`) ? address.slice(LATER.length + 1) : undefined
}

/** The pattern in the subject of an event that waits. */
export function patternInSubject(subject: string): string {
  return subject.slice(subject.indexOf('.', LATER.length + 1) + 1)
}

/** @throws {OptionError} the server cannot wait so long */
export function checkDue(due: number): void {
  if (due > LATEST)
    throw new OptionError('options.at', 'NATS cannot keep an event for a time after March 2262 (at, delay)')
}

/**
 * The message of an event by its time: to its pattern if the time has come, and otherwise to where it waits. There, the
 * server keeps out others with its id.
 * @param time of the server
 */
export function timed(
  { waitsFor = '', due = 0, steadyDue, headers, id }: StoredMessage,
  time: ServerTime
): { readonly subject: string; readonly headers: MsgHdrs } {
  const now = performance.now()
  const hasCome = steadyDue === undefined ? due <= time.earliest : steadyDue <= now
  if (hasCome) return { subject: waitsFor, headers }
  const at = steadyDue === undefined ? due : Math.ceil(time.latest + steadyDue - now)
  const waiting = copyOf(headers)
  waiting.delete(HEADER.id)
  waiting.set(HEADER.ownId, headers.get(HEADER.id))
  waiting.set(TOLD.schedule, `${AT}${new Date(at).toISOString()}`)
  waiting.set(TOLD.target, `${DUE}.${waitsFor}`)
  waiting.set(TOLD.expected, '0')
  return { subject: waitingSubject(waitsFor, id), headers: waiting }
}

/** The time for which an event waits; `undefined`: the message is a mark of one that has come. */
export function dueIn(headers: MsgHdrs): number | undefined {
  const text = headers.get(TOLD.schedule)
  return text.startsWith(AT) ? Date.parse(text.slice(AT.length)) : undefined
}

/** Headers that make an event due that waits, in place of those that it has. @param sequence its number */
export function hastened(headers: MsgHdrs, sequence: number): MsgHdrs {
  const own = copyOf(headers)
  own.set(TOLD.schedule, PASSED)
  own.set(TOLD.expected, String(sequence))
  own.set(TOLD.rollup, 'sub')
  return own
}

/** Headers of the mark that keeps out others with the id of an event that has come. @param window in milliseconds */
export function markFor(window: number): MsgHdrs {
  const own = newHeaders()
  own.set(TOLD.ttl, `${Math.ceil(window / 1_000)}s`)
  own.set(TOLD.expected, '0')
  return own
}

/** The headers of an event that has come, as it was published. @param id as in a header */
export function comeHeaders(headers: MsgHdrs, id: string): MsgHdrs {
  const own = newHeaders()
  for (const [name, values] of headers)
    if (name !== HEADER.ownId && !name.startsWith('Nats-'))
      for (const value of values) own.append(name, value)
  own.set(HEADER.id, id)
  return own
}

function copyOf(headers: MsgHdrs): MsgHdrs {
  const copy = newHeaders()
  for (const [name, values] of headers) for (const value of values) copy.append(name, value)
  return copy
}
