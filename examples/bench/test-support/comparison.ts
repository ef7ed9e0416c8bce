import { type Round, summarize } from '../report/comparison.ts'
import { type Comparison, type Contest, SCHEMA, VERSION } from '../report/schema.ts'
import { measurement } from './measurement.ts'

export const CONTEST: Contest = {
  client: 'own',
  layout: 'per-client',
  connections: 10,
  concurrency: 10,
  pattern: null,
  shape: 'flat',
  payload: 200,
  runtime: 'bun',
  rate: null,
  sloMs: null
}

/** A comparison for tests, with default values. */
export const comparison = (
  contests: readonly [contest: Partial<Contest>, rounds: readonly Round[]][],
  options: Partial<Comparison['options']> = {}
): Comparison => ({
  schema: SCHEMA,
  version: VERSION,
  startedAt: '2026-01-01T00:00:00.000Z',
  command: 'bun run compare',
  commit: null,
  options: {
    targets: ['elysia', 'nest'],
    runs: 1,
    duration: 1,
    warmup: 0,
    processes: 1,
    method: 'request',
    protocol: 'rsocket',
    codec: 'json',
    ...options
  },
  base: 'nest',
  environment: measurement({}).environment,
  contests: contests.map(([contest, rounds]) => summarize({ ...CONTEST, ...contest }, rounds)),
  sources: []
})
