/** What JetStream says of a message that it delivers, in the subject that its acknowledgement goes to. */
import type { Headers } from '@elysia-microservices/transport/kit'
import type { MsgHdrs } from '@nats-io/transport-node'
import { readHeaders } from '../headers.ts'
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
  const tokens = reply.split('.')
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || tokens.length < 9) return undefined
  const start = tokens.length === 9 ? 2 : 4
  const [stream = '', , deliveries, sequence, delivery, nanoseconds = '', pending] = tokens.slice(start)
  const place = {
    stream,
    deliveries: Number(deliveries),
    sequence: Number(sequence),
    delivery: Number(delivery),
    storedAt: Number(nanoseconds.slice(0, -6)),
    pending: Number(pending)
  }
  return Object.values(place).includes(Number.NaN) ? undefined : place
}

const OWN: ReadonlySet<string> = new Set(Object.values(HEADER).map((name) => name.toLowerCase()))

/** The headers that the publisher gave; `undefined` if none. */
export function ownHeaders(given: MsgHdrs | undefined): Headers | undefined {
  const all = readHeaders(given)
  if (all === undefined) return undefined
  const own = Object.entries(all).filter(
    ([name]) => !OWN.has(name.toLowerCase()) && !name.startsWith('Nats-')
  )
  return own.length === 0 ? undefined : Object.fromEntries(own)
}
