/** Bytes of strangers. */
import { event, frame, requestN, setup, stream } from '@elysia-microservices/rsocket/testing'
import type { Random } from './random.ts'

/** Frames of RSocket, whole or with some bytes changed, and bytes behind them that are no frame. */
export function bytesOf(random: Random): number[] {
  if (random.chance(0.1)) return BROKEN
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

/** A frame of this length has no room for its type. */
const BROKEN = [...SETUP, 0, 0, 2, 0, 0]

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
    (bytes.length === BROKEN.length && bytes.every((byte, at) => byte === BROKEN[at])) ||
    isUninvited(bytes) ||
    fragments * FRAGMENT.length > MESSAGE_SIZE
  )
}
