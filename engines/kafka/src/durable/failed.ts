/** Moves failed events: to a topic from which they are retried, or to the dead letters. */
import type { Cluster } from '../connection/cluster.ts'
import { Code, codesIn } from '../connection/errors.ts'
import { HEADER } from '../words/headers.ts'
import { retryOf } from '../words/names.ts'
import { type Copy, put } from './copies.ts'
import { keyOfDead, topicForDead } from './dead-letters.ts'
import { headersOfCopy, type KafkaEvent } from './stored.ts'

/**
 * Stores a copy of an event in a topic of retries, for one group alone.
 * @param now milliseconds since 1970 @param pause milliseconds until the next attempt
 * @param isWanted whether the copy is still to be stored
 * @throws {NotStoredError} the copy is not stored
 */
export function putAside(
  cluster: Cluster,
  group: string,
  event: KafkaEvent,
  now: number,
  pause: number,
  isWanted: () => boolean
): Promise<void> {
  const said = {
    [HEADER.group]: group,
    [HEADER.attempts]: String(event.attempt),
    [HEADER.due]: String(Math.ceil(now + pause)),
    [HEADER.pause]: String(Math.ceil(pause))
  }
  return put(cluster, { name: retryOf(event.pattern, event.attempt) }, copyOf(event, said), isWanted)
}

/**
 * Stores an event as a dead letter.
 * @param isWanted whether the dead letter is still to be stored
 * @throws {NotStoredError} the dead letter is not stored
 */
export async function bury(
  cluster: Cluster,
  group: string,
  event: KafkaEvent,
  reason: string,
  isWanted: () => boolean
): Promise<void> {
  const said = {
    [HEADER.group]: group,
    [HEADER.attempts]: String(event.attempt),
    [HEADER.reason]: reason.slice(0, 2_000)
  }
  const topic = topicForDead(event.pattern)
  try {
    await put(cluster, topic, copyOf(event, said, keyOfDead()), isWanted)
  } catch (error) {
    // The headers of a dead letter make the event larger than the brokers accept.
    if (!codesIn(error).includes(Code.messageTooLarge)) throw error
    const small = copyOf(event, { ...said, [HEADER.leftOut]: 'data' }, keyOfDead(), Buffer.alloc(0))
    await put(cluster, topic, small, isWanted)
  }
}

function copyOf(
  event: KafkaEvent,
  said: Readonly<Record<string, string>>,
  key = event.fetched.key,
  value = event.fetched.value
): Copy {
  const keyed = event.key === undefined ? {} : { [HEADER.key]: event.key }
  const headers = headersOfCopy(event, { ...keyed, ...said })
  return { partition: event.source.partition, key, value, headers }
}
