/** The result of one measurement of a suite, as reports store it. */
import type { Histogram } from 'hdr-histogram-js'
import { encodeHistogram, latenciesOf } from '../load/histogram.ts'
import type { Pinning } from '../process/pinning.ts'
import type { ServerProcess } from '../process/server-process.ts'
import { describeEnvironment } from '../report/environment.ts'
import type { Measurement } from '../report/schema.ts'
import type { SuiteOptions } from './options.ts'
import { HOST } from './server.ts'
import { payloadOfWorkload, subjectOf } from './workloads.ts'

/** What was read from the system. */
export interface Observed {
  readonly firstAnswerMs: number | null
  readonly rssIdle: number | null
  readonly serverCpuUs: number | null
  readonly serverRssMb: number | null
  readonly rssPeak: number | null
  readonly rssAfter: number | null
}

/** What the load says. */
export interface Loaded {
  readonly completed: number
  readonly seconds: number
  readonly average: number | null
  /** In microseconds; absent: nothing was answered. */
  readonly latencies: Histogram | undefined
  readonly errors: number
  readonly firstError: string | null
  readonly tool: string
  /** Of callers that were told to come again, in microseconds. */
  readonly refusals?: Histogram
  readonly failures?: Histogram
  /** What they were told. */
  readonly told?: string | null
}

export function describeSuiteMeasurement(
  options: SuiteOptions,
  pinning: Pinning,
  server: ServerProcess,
  startedAt: Date,
  observed: Observed,
  loaded: Loaded
): Measurement {
  const { suite, workload, name, runtime, concurrency, duration, warmup, asked, workers } = options
  const { completed, seconds, errors, latencies, refusals, failures } = loaded
  const refused = refusals?.totalCount ?? 0
  const all = completed + refused + errors
  const rps = seconds === 0 ? 0 : completed / seconds
  const { p50, p90, p99, max } = latencies === undefined ? NONE : latenciesOf(latencies)
  const at = (of: Histogram | undefined, percentile: number) =>
    of === undefined || of.totalCount === 0 ? null : of.getValueAtPercentile(percentile) / 1000
  return {
    target: name,
    client: loaded.tool,
    task: { mode: 'suite', suite, workload },
    method: null,
    protocol: null,
    codec: null,
    runtime: runtime === 'go' ? null : runtime,
    host: HOST,
    port: server.port,
    concurrency,
    connections: concurrency,
    processes: 1,
    rate: null,
    capacity: null,
    duration,
    warmup,
    measuredSeconds: rounded(seconds)!,
    pattern: subjectOf(asked, workload),
    shape: 'custom',
    payload: payloadOfWorkload(asked),
    rps: Number(rps.toFixed(1)),
    average: rounded(loaded.average),
    min: latencies === undefined || latencies.totalCount === 0 ? null : latencies.minNonZeroValue / 1000,
    p50,
    p90,
    p95: at(latencies, 95),
    p99,
    max,
    latencyHistogram: latencies === undefined ? null : encodeHistogram(latencies),
    completed,
    errors,
    firstError: loaded.firstError,
    successRate: all === 0 ? 0 : rounded((100 * completed) / all),
    ...(refusals !== undefined && {
      refused,
      refusedP50: at(refusals, 50),
      refusedP99: at(refusals, 99),
      told: loaded.told ?? null
    }),
    ...(failures !== undefined && { failedP50: at(failures, 50) }),
    ...(suite === 'scale' && { workers, perWorker: rounded(rps / workers) }),
    firstAnswerMs: rounded(observed.firstAnswerMs),
    serverCpuUsPerRequest:
      observed.serverCpuUs === null || completed === 0 ? null : rounded(observed.serverCpuUs / completed),
    clientCpuUsPerRequest: null,
    serverRssMb: rounded(observed.serverRssMb),
    rssIdle: rounded(observed.rssIdle),
    rssPeak: rounded(observed.rssPeak),
    rssAfter: rounded(observed.rssAfter),
    serverPid: server.pid,
    startedAt: startedAt.toISOString(),
    environment: describeEnvironment(pinning)
  }
}

const NONE = { p50: null, p90: null, p99: null, max: null }

const rounded = (value: number | null): number | null => (value === null ? null : Number(value.toFixed(3)))
