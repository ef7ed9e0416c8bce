/**
 * The figures of outboxes whose relays run in this process. They are stored in a database, so they have to be read
 * before each collection.
 */
import { figureSources, type ReadFigures, readFigures } from '@elysia-microservices/transport/kit'
import { SYSTEM } from '../traces/attributes.ts'
import type { NumberMetric } from './metric.ts'

const DESCRIBED: readonly (Omit<NumberMetric, 'points'> & {
  readonly key: string
  readonly scale?: number
})[] = [
  {
    key: 'pending',
    kind: 'gauge',
    unit: '{event}',
    name: `${SYSTEM}.outbox.pending`,
    description: 'Events that wait to be published'
  },
  {
    key: 'oldest',
    kind: 'gauge',
    unit: 's',
    scale: 1_000,
    name: `${SYSTEM}.outbox.oldest`,
    description: 'Age of the oldest event that waits'
  },
  {
    key: 'failed',
    kind: 'gauge',
    unit: '{event}',
    name: `${SYSTEM}.outbox.failed`,
    description: 'Events that are put aside'
  },
  {
    key: 'published',
    kind: 'counter',
    unit: '{event}',
    name: `${SYSTEM}.outbox.published`,
    description: 'Events that relays of this process have published'
  },
  {
    key: 'retries',
    kind: 'counter',
    unit: '{attempt}',
    name: `${SYSTEM}.outbox.retries`,
    description: 'Attempts to publish that failed'
  }
]

let readings: readonly ReadFigures[] = []

/** Whether there are outboxes to read. */
export function hasOutboxes(): boolean {
  return readings.length > 0 || figureSources().some(isOutbox)
}

/** Reads the figures of all outboxes. Never rejects. */
export async function readOutboxes(): Promise<void> {
  readings = (await readFigures()).filter(isOutbox)
}

/** The metrics of the last reading. An outbox that could not be read is missing. */
export function outboxMetrics(): NumberMetric[] {
  return DESCRIBED.map(({ key, scale = 1, ...metric }) => ({
    ...metric,
    points: readings.flatMap(({ attributes, figures }) => {
      const value = figures[key]
      return value === undefined ? [] : [{ attributes, value: value / scale }]
    })
  }))
}

function isOutbox({ name }: { readonly name: string }): boolean {
  return name === 'outbox'
}
