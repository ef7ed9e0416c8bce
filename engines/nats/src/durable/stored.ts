/** Reads JetStream's description of a delivered message, which is the subject for its acknowledgement. */
import type { MessageHeaders } from '@elysia-microservices/transport/kit'
import type { MsgHdrs } from '@nats-io/transport-node'
import { readHeaders } from '../words/headers.ts'
import { HEADER } from './names.ts'

/** The position of a delivered message. */
export interface Place {
  readonly stream: string
  /** How often the message was delivered, from 1. */
  readonly deliveries: number
  /** The number of the message in the stream. */
  readonly sequence: number
  /** The number of this delivery among all deliveries of the consumer. */
  readonly delivery: number
  /** When the message was stored, in milliseconds since 1970. */
  readonly storedAt: number
  /** Messages of the consumer that have not been delivered yet. */
  readonly pending: number
}

/**
 * Reads `$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<delivery>.<nanoseconds>.<pending>`, which may have
 * domain and account before the stream. Returns `undefined` if the text is not such a subject.
 */
export function readPlace(reply: string): Place | undefined {
  if (!reply.startsWith(HEAD)) return undefined
  let count = 0
  for (let at = HEAD.length; at !== 0 && count < STARTS.length; at = reply.indexOf('.', at) + 1)
    STARTS[count++] = at
  // The last part ends at the end of the text, where a further part would begin.
  if (count < STARTS.length) STARTS[count] = reply.length + 1
  const first = count === 7 ? 0 : 2
  if (count < 7 || count === 8) return undefined
  // The last six digits of the nanoseconds are cut off, which leaves milliseconds.
  const time = startAt(first + 5)
  const [deliveries, sequence, delivery, storedAt, pending] = [
    numberIn(reply, first + 2),
    numberIn(reply, first + 3),
    numberIn(reply, first + 4),
    millisecondsAt(reply, time, startAt(first + 6) - 1),
    numberIn(reply, first + 6)
  ]
  const stream = reply.slice(startAt(first), startAt(first + 1) - 1)
  const place = { stream, deliveries, sequence, delivery, storedAt, pending }
  return Number.isNaN(deliveries + sequence + delivery + storedAt + pending) ? undefined : place
}

const HEAD = '$JS.ACK.'
/** Where the parts behind the prefix begin. One array for all calls, which saves an allocation for each message. */
const STARTS: number[] = new Array(10).fill(0)

const startAt = (part: number): number => STARTS[part] as number

const numberIn = (reply: string, part: number): number => digits(reply, startAt(part), startAt(part + 1) - 1)

/** The number in a part of the text; `NaN` if the part has other characters than digits. */
function digits(text: string, start: number, end: number): number {
  let number = end > start ? 0 : Number.NaN
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return Number.NaN
    number = number * 10 + digit
  }
  return number
}

/**
 * Reads a time in nanoseconds, as milliseconds. The time is negative if the server's clock is set to a time before
 * 1970.
 */
function millisecondsAt(text: string, start: number, end: number): number {
  const milliseconds = digits(text, start, end - 6)
  return Number.isNaN(milliseconds) ? Math.trunc(Number(text.slice(start, end)) / 1e6) : milliseconds
}

const OWN: ReadonlySet<string> = new Set(Object.values(HEADER).map((name) => name.toLowerCase()))

/** Whether a header belongs to this library or to NATS, not to the publisher. */
export function isOwnHeader(name: string): boolean {
  return OWN.has(name.toLowerCase()) || name.startsWith('Nats-')
}

/** The headers of the publisher; `undefined`: there are none. */
export function ownHeaders(given: MsgHdrs | undefined): MessageHeaders | undefined {
  const all = readHeaders(given)
  if (all === undefined) return undefined
  const own = Object.entries(all).filter(([name]) => !isOwnHeader(name))
  return own.length === 0 ? undefined : Object.fromEntries(own)
}
