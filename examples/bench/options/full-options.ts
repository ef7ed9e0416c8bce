/** The options of the published report: its times, and its runtimes. */
import { UsageError } from '../errors.ts'
import type { Runtime } from '../process/runtime.ts'

/** Parts of the plan that can be measured separately, with their titles. */
export const FULL_PARTS = {
  nest: 'Inside Nest',
  nats: 'Over NATS',
  redis: 'Over Redis',
  rabbitmq: 'Over RabbitMQ',
  mqtt: 'Over MQTT',
  grpc: 'Over gRPC',
  payloads: 'Other payloads, other codecs',
  clients: 'The same client asks both servers'
} as const
export const fullPartNames = Object.keys(FULL_PARTS) as (keyof typeof FULL_PARTS)[]

/** The options for the plan of the published report. */
export interface FullOptions {
  /** Times that replace those of the plan for every contest. */
  readonly times: { readonly runs?: number; readonly duration?: number; readonly warmup?: number }
  readonly runtimes: readonly Runtime[] | undefined
  /** The titles of the parts to measure; `undefined`: all. */
  readonly parts?: readonly string[] | undefined
  readonly patience: number | undefined
  readonly within: number | undefined
}

const FOR_FULL: readonly string[] = [
  'full',
  'runs',
  'duration',
  'warmup',
  'runtimes',
  'parts',
  'patience',
  'within',
  'out'
]

type GivenTimes = {
  readonly [Name in 'runs' | 'duration' | 'warmup' | 'patience' | 'within']: number | undefined
}

/** @throws UsageError if a flag is given that the plan sets itself */
export function readFull(
  given: GivenTimes & {
    readonly runtimes: readonly Runtime[] | undefined
    readonly parts: readonly (keyof typeof FULL_PARTS)[] | undefined
  }
): FullOptions {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || FOR_FULL.includes(name)) continue
    throw new UsageError(`--${name}: given with --full, which has its own plan`)
  }
  const { runs, duration, warmup, runtimes, parts, patience, within } = given
  return {
    times: {
      ...(runs !== undefined && { runs }),
      ...(duration !== undefined && { duration }),
      ...(warmup !== undefined && { warmup })
    },
    runtimes,
    ...(parts !== undefined && { parts: parts.map((name) => FULL_PARTS[name]) }),
    patience,
    within: within === undefined ? undefined : within * 60
  }
}
