/** The result of one measurement: the JSON object that `run-bench.ts` prints. The bench README explains each figure. */

import type { Counts } from '../load/meter.ts'
import type { Told } from '../load/phases.ts'
import type { BenchOptions } from '../options/bench-options.ts'
import { nameOfPattern } from '../options/custom-options.ts'
import { type Choice, clients } from '../peers/clients.ts'
import type { Environment, Measurement } from './schema.ts'

/** The system's figures for the measured time. */
export interface Usage {
  readonly serverCpuUs: number | null
  readonly clientCpuUs: number | null
  readonly serverRssMb: number | null
  readonly rssIdle: number | null
  readonly rssPeak: number | null
  readonly rssAfter: number | null
  /** The peak memory of the measuring process, if there is only one. */
  readonly clientRssPeak?: number | null
  /** The processor time of processes that the server's process has started, such as the server of an engine. */
  readonly engineCpuUs?: number
  /** Milliseconds until the server listened. */
  readonly listenMs?: number | null
  /** Milliseconds from the start of the process to its first answer. */
  readonly firstAnswerMs?: number
  /**
   * The events that were sent according to the client, and those that the server has handled, including the warm-up.
   */
  readonly events?: { readonly sent: number; readonly arrived: number }
}

export interface MeasuredServer {
  readonly port: number
  /** The id of the server's process; `null`: it was running already. */
  readonly pid: number | null
}

/** The setting of a measurement, as its result names it. */
export type Described = Pick<
  Measurement,
  | 'target'
  | 'client'
  | 'task'
  | 'method'
  | 'protocol'
  | 'codec'
  | 'runtime'
  | 'host'
  | 'concurrency'
  | 'connections'
  | 'processes'
  | 'rate'
  | 'duration'
  | 'warmup'
  | 'pattern'
  | 'shape'
  | 'payload'
>

export function asDescribed(options: BenchOptions): Described {
  const { target, client, runtime, host, concurrency, connections, processes, duration, warmup } = options
  const { rate, shape, payload, custom, task } = options
  const { choices } = clients[client]
  const chosen = <C extends Exclude<Choice, 'take'>>(choice: C) =>
    choices.includes(choice) ? options[choice] : null
  return {
    ...{ target, client, task, runtime, host, concurrency, connections, processes, rate, duration, warmup },
    ...{ method: chosen('method'), protocol: chosen('protocol'), codec: chosen('codec') },
    pattern: custom === null ? null : nameOfPattern(custom.pattern),
    ...{ shape, payload }
  }
}

export function describeMeasurement(
  described: Described,
  server: MeasuredServer,
  counts: Counts & { readonly told?: Told },
  usage: Usage,
  startedAt: Date,
  environment: Environment
): Measurement {
  const { rate, processes } = described
  const { completed, errors, seconds } = counts
  const perRequest = (microseconds: number | null) =>
    microseconds === null || completed === 0 ? null : round(microseconds / completed, 3)
  const megabytes = (value: number | null) => (value === null ? null : round(value, 1))
  const { clientRssPeak = null, engineCpuUs, listenMs, firstAnswerMs, events } = usage
  return {
    ...described,
    runtime: server.pid === null ? null : described.runtime,
    port: server.port,
    capacity: null,
    measuredSeconds: round(seconds, 3),
    rps: round(seconds === 0 ? 0 : completed / seconds, 1),
    ...counts.latencies,
    latencyHistogram: counts.histogram,
    ...counts.told,
    completed,
    errors,
    firstError: counts.firstError,
    serverCpuUsPerRequest: perRequest(usage.serverCpuUs),
    // The open loop reads the clock all the time, so its processor time says nothing about the client.
    clientCpuUsPerRequest: rate === null ? perRequest(usage.clientCpuUs) : null,
    serverRssMb: megabytes(usage.serverRssMb),
    rssIdle: megabytes(usage.rssIdle),
    rssPeak: megabytes(usage.rssPeak),
    rssAfter: megabytes(usage.rssAfter),
    clientRssPeak: megabytes(processes === 1 ? clientRssPeak : null),
    ...(engineCpuUs !== undefined && { engineCpuUsPerRequest: perRequest(engineCpuUs) }),
    ...(listenMs !== undefined && { listenMs }),
    ...(firstAnswerMs !== undefined && { firstAnswerMs: round(firstAnswerMs, 1) }),
    ...(events !== undefined && { ...events, lost: Math.max(0, events.sent - events.arrived) }),
    serverPid: server.pid,
    startedAt: startedAt.toISOString(),
    environment
  }
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
