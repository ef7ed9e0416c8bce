/**
 * The events that no process of a group has received, read from the streams. The server tells how many of those that
 * were delivered are not acknowledged, and not which.
 */
import { merged, patternOf, readableContentOf, unknownGroup } from '@elysia-microservices/engine'
import type { BacklogEvent, ListBacklogOptions } from '@elysia-microservices/transport/kit'
import type { ConsumerInfo, StoredMsg } from '@nats-io/jetstream'
import type { JetStream } from '../driver.ts'
import { NatsEvent } from './event.ts'
import { consumersOf } from './groups.ts'
import { isMissing, readableError } from './jetstream-errors.ts'

/** Lists the events of a group, the oldest first. @throws {OptionError} there is no such group */
export async function* backlogOf(
  jetStream: JetStream,
  group: string,
  { limit = Number.POSITIVE_INFINITY }: ListBacklogOptions
): AsyncGenerator<BacklogEvent> {
  const consumers = await consumersOf(jetStream, group)
  if (consumers.length === 0) throw unknownGroup(group, 'on this NATS server')
  const lists = consumers.map((consumer) => behind(jetStream, consumer))
  let left = limit
  for await (const { stream, stored } of merged(lists, byTime)) {
    if (left-- <= 0) return
    yield shown(stream, stored)
  }
}

interface Behind {
  readonly stream: string
  readonly stored: StoredMsg
}

function byTime({ stored: one }: Behind, { stored: other }: Behind): number {
  return one.time.getTime() - other.time.getTime()
}

/** The messages that a consumer has not delivered yet. */
async function* behind(jetStream: JetStream, consumer: ConsumerInfo): AsyncGenerator<Behind> {
  const { stream_name: stream, config, delivered, num_pending: pending } = consumer
  let sequence = delivered.stream_seq + 1
  for (let count = 0; count < pending; count++) {
    const query = { seq: sequence, next_by_subj: config.filter_subject ?? '>' }
    const stored = await jetStream.message(stream, query).catch((error: unknown) => {
      if (isMissing(error)) return null
      throw readableError(error, `The stream '${stream}'`)
    })
    if (stored === null) return
    yield { stream, stored }
    sequence = stored.seq + 1
  }
}

function shown(stream: string, { subject, header, data, seq, time }: StoredMsg): BacklogEvent {
  const place = {
    ...{ stream, deliveries: 0, delivery: 0, pending: 0 },
    ...{ sequence: seq, storedAt: time.getTime() }
  }
  const event = new NatsEvent({ subject, data, headers: header }, data, place, 0, 0, undefined)
  const content = readableContentOf(data)
  const { position, id, key, headers = {} } = event
  return {
    position,
    pattern: patternOf(content.pattern, event.subject),
    ...{ id, key, headers },
    data: content.data,
    publishedAt: new Date(event.publishedAt),
    state: 'waiting',
    attempts: 0,
    dueAt: undefined
  }
}
