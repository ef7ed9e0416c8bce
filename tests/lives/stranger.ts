/** Bytes of strangers. */
import { event, frame, requestN, setup, stream } from '@elysia-microservices/rsocket/testing'
import type { Random } from './random.ts'

/** Words of another protocol or, mostly, frames of RSocket, whole or with some bytes changed, and bytes behind them that are no frame. */
export function bytesOf(random: Random): readonly number[] {
  if (random.chance(0.2)) return random.of(BROKEN)
  const bytes = random.chance(0.8) ? [...SETUP] : []
  for (let n = random.between(0, 3); n > 0; n--) bytes.push(...random.of(REQUESTS))
  if (random.chance(0.5))
    for (let n = random.between(1, 3); n > 0; n--)
      bytes[random.between(0, bytes.length)] = random.between(0, 255)
  for (let n = random.between(0, 6); n > 0; n--) bytes.push(random.between(0, 255))
  return bytes
}

const MOST = 2 ** 31 - 1
const SETUP = setup({ keepalive: 20_000, lifetime: 90_000 })
const REQUESTS = [
  stream(1, 'count', MOST, '{"values":1000000000}'),
  stream(1, 'count', MOST, '{"values":1000000000}'),
  event(1, 'noted', '{}'),
  requestN(1, MOST)
]

/** After these words a service ends a connection. */
const BROKEN: readonly (readonly number[])[] = [
  // A frame of this length has no room for its type.
  [...SETUP, 0, 0, 2, 0, 0],
  [...Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  // Nest's wire, with a packet that is no JSON, and a length that is none.
  [...Buffer.from('2#{]')],
  [...Buffer.from('-#{}')]
]

/** Bytes of incomplete messages that a service keeps for one connection. */
export const MESSAGE_SIZE = 2 * 1024 * 1024
const FRAGMENT = 'x'.repeat(60_000)

/** Fragments of one message, which never ends. */
function floodOf(fragments: number): Uint8Array {
  const more = Array.from({ length: fragments }, () => frame(1, 'PAYLOAD', 'FN', FRAGMENT))
  return Buffer.concat([SETUP, frame(1, 'REQUEST_RESPONSE', 'F', FRAGMENT), ...more])
}

/** Whether bytes begin with a whole frame that no connection begins with. */
function isUninvited(bytes: readonly number[]): boolean {
  return REQUESTS.some((request) => request.every((byte, at) => bytes[at] === byte))
}

interface Said {
  readonly bytes: readonly number[]
  readonly fragments?: number
}

export function saidBy({ bytes, fragments }: Said): Uint8Array {
  return fragments === undefined ? Uint8Array.from(bytes) : floodOf(fragments)
}

/** Whether a service ends the connection of who says this. */
export function isWrong({ bytes, fragments = 0 }: Said): boolean {
  return (
    BROKEN.some((broken) => String(broken) === String(bytes)) ||
    isUninvited(bytes) ||
    fragments * FRAGMENT.length > MESSAGE_SIZE
  )
}
