/** Reads JetStream's description of a message that it delivers, from the subject that the acknowledgement goes to. */
import type { Headers } from '@elysia-microservices/transport/kit'
import type { MsgHdrs } from '@nats-io/transport-node'
import { readHeaders } from '../words/headers.ts'
import { HEADER } from './names.ts'

/** Where a message stands. */
export interface Place {
  readonly stream: string
  /** Deliveries, from 1. */
  readonly deliveries: number
  /** Its number in the stream. */
  readonly sequence: number
  /** The number of this delivery among all of the consumer. */
  readonly delivery: number
  /** When it was stored, in milliseconds since 1970. */
  readonly storedAt: number
  /** Messages that have not been delivered yet. */
  readonly pending: number
}

/**
 * Reads `$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<delivery>.<nanoseconds>.<pending>`, which may have domain and
 * account before the stream. `undefined`: it is none.
 */
export function readPlace(reply: string): Place | undefined {
  if (!reply.startsWith(HEAD)) return undefined
  let count = 0
  for (let at = HEAD.length; at !== 0 && count < STARTS.length; at = reply.indexOf('.', at) + 1)
    STARTS[count++] = at
  // It ends where a further part would begin.
  if (count < STARTS.length) STARTS[count] = reply.length + 1
  const first = count === 7 ? 0 : 2
  if (count < 7 || count === 8) return undefined
  // Milliseconds are what stands before the last six digits.
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
/** Where the parts behind the head begin: scratch of one call. */
const STARTS: number[] = new Array(10).fill(0)

const startAt = (part: number): number => STARTS[part] as number

const numberIn = (reply: string, part: number): number => digits(reply, startAt(part), startAt(part + 1) - 1)

/** The number that stands there; `NaN` if something else does. */
function digits(text: string, start: number, end: number): number {
  let number = end > start ? 0 : Number.NaN
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return Number.NaN
    number = number * 10 + digit
  }
  return number
}

/** Milliseconds of a time in nanoseconds. The time is negative if the server's clock stands before 1970. */
function millisecondsAt(text: string, start: number, end: number): number {
  const milliseconds = digits(text, start, end - 6)
  return Number.isNaN(milliseconds) ? Math.trunc(Number(text.slice(start, end)) / 1e6) : milliseconds
}

const OWN: ReadonlySet<string> = new Set(Object.values(HEADER).map((name) => name.toLowerCase()))

/** Whether a header is none of the publisher's, but ours or the engine's. */
export function isOwnHeader(name: string): boolean {
  return OWN.has(name.toLowerCase()) || name.startsWith('Nats-')
}

/** The headers that the publisher gave; `undefined` if none. */
export function ownHeaders(given: MsgHdrs | undefined): Headers | undefined {
  const all = readHeaders(given)
  if (all === undefined) return undefined
  const own = Object.entries(all).filter(([name]) => !isOwnHeader(name))
  return own.length === 0 ? undefined : Object.fromEntries(own)
}
