/** The figures of outboxes whose relays run in this process. They are in a database, so they are read before they are told. */
import { type FigureSource, figureSources } from '@elysia-microservices/transport/kit'
import { SYSTEM } from '../traces/attributes.ts'
import type { NumberMetric } from './metric.ts'

/** Milliseconds that a reading may take: who collects does not wait long. */
const PATIENCE = 1_000

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
    key: 'lag',
    kind: 'gauge',
    unit: 's',
    scale: 1_000,
    name: `${SYSTEM}.outbox.lag`,
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

interface Reading {
  readonly attributes: FigureSource['attributes']
  readonly figures: Readonly<Record<string, number>>
}

let readings: readonly Reading[] = []
let reading: Promise<void> | undefined

/** Whether there is anything to read. */
export function hasOutboxes(): boolean {
  return readings.length > 0 || figureSources().some(isOutbox)
}

/** Reads the figures of all outboxes; those who ask meanwhile wait for the same reading. Never rejects. */
export function readOutboxes(): Promise<void> {
  reading ??= Promise.all(figureSources().filter(isOutbox).map(read))
    .then((all) => {
      readings = all.filter((each) => each !== undefined)
    })
    .finally(() => {
      reading = undefined
    })
  return reading
}

/** What was read last. An outbox that could not be read is not among it. */
export function outboxMetrics(): NumberMetric[] {
  return DESCRIBED.map(({ key, scale = 1, ...metric }) => ({
    ...metric,
    points: readings.flatMap(({ attributes, figures }) => {
      const value = figures[key]
      return value === undefined ? [] : [{ attributes, value: value / scale }]
    })
  }))
}

function isOutbox({ name }: FigureSource): boolean {
  return name === 'outbox'
}

async function read(source: FigureSource): Promise<Reading | undefined> {
  let late: ReturnType<typeof setTimeout> | undefined
  const tooLate = new Promise<undefined>((resolve) => {
    late = setTimeout(resolve, PATIENCE, undefined)
  })
  try {
    const figures = await Promise.race([source.read(), tooLate])
    return figures && { attributes: source.attributes, figures }
  } catch {
    return undefined
  } finally {
    clearTimeout(late)
  }
}
