/** Bytes of strangers. */
import { event, requestN, setup, stream } from '@elysia-microservices/rsocket/testing'
import type { Random } from './random.ts'

/** Frames of RSocket, whole or with some bytes changed, and bytes behind them that are no frame. */
export function bytesOf(random: Random): number[] {
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

/** Whether bytes begin with a whole frame that no connection begins with. */
export function isUninvited(bytes: readonly number[]): boolean {
  return REQUESTS.some((request) => request.every((byte, at) => bytes[at] === byte))
}
