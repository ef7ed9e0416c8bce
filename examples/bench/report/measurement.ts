/** The result of one measurement: the JSON object that `run-bench.ts` prints. The bench README explains each figure. */
import type { Latencies, Meter } from '../load/meter.ts'
import type { BenchOptions } from '../options/bench-options.ts'
import type { ShapeName } from '../payload/payload.ts'
import type { Runtime } from '../process/runtime.ts'
import type { Codec, Method, Protocol } from '../targets/echo-client.ts'
import { type Choice, type ClientName, clients, type TargetName } from '../targets/targets.ts'
import type { Environment } from './environment.ts'

export interface Measurement extends Latencies {
  readonly target: TargetName
  readonly client: ClientName
  /** What was chosen for the client; `null` where it has no choice. */
  readonly method: Method | null
  readonly protocol: Protocol | null
  readonly codec: Codec | null
  /** What ran client and server; `null` if the server was not started by the bench. */
  readonly runtime: Runtime | null
  readonly host: string
  readonly port: number
  readonly concurrency: number
  readonly connections: number
  /** Seconds: as asked for, as asked for, and as measured. */
  readonly duration: number
  readonly warmup: number
  readonly measuredSeconds: number
  readonly shape: ShapeName
  /** Bytes. */
  readonly payload: number
  /** Right answers per measured second. */
  readonly rps: number
  readonly completed: number
  readonly errors: number
  readonly firstError: string | null
  /** Microseconds of user and system time; `null` where it cannot be known. */
  readonly serverCpuUsPerRequest: number | null
  readonly clientCpuUsPerRequest: number | null
  /** MiB at the end of the measurement; `null` where it cannot be known. */
  readonly serverRssMb: number | null
  /** MiB of the server: idle before the load, the most ever, idle after the load. Idle is after a garbage collection. */
  readonly rssIdle: number | null
  readonly rssPeak: number | null
  readonly rssAfter: number | null
  readonly serverPid: number | null
  readonly startedAt: string
  readonly environment: Environment
}

/** What was read from the system while the meter ran. */
export interface Usage {
  readonly serverCpuUs: number | null
  readonly clientCpuUs: number
  readonly serverRssMb: number | null
  readonly rssIdle: number | null
  readonly rssPeak: number | null
  readonly rssAfter: number | null
}

export interface MeasuredServer {
  readonly port: number
  /** `null`: it was listening already. */
  readonly pid: number | null
}

export function describeMeasurement(
  options: BenchOptions,
  server: MeasuredServer,
  meter: Meter,
  usage: Usage,
  startedAt: Date,
  environment: Environment
): Measurement {
  const { target, client, runtime, host, concurrency, connections, duration, warmup, shape, payload } =
    options
  const { choices } = clients[client]
  const chosen = <C extends Choice>(choice: C) => (choices.includes(choice) ? options[choice] : null)
  const { completed, errors, seconds } = meter
  const perRequest = (microseconds: number | null) =>
    microseconds === null || completed === 0 ? null : round(microseconds / completed, 3)
  const megabytes = (value: number | null) => (value === null ? null : round(value, 1))
  return {
    target,
    client,
    method: chosen('method'),
    protocol: chosen('protocol'),
    codec: chosen('codec'),
    runtime: server.pid === null ? null : runtime,
    host,
    port: server.port,
    concurrency,
    connections,
    duration,
    warmup,
    measuredSeconds: round(seconds, 3),
    shape,
    payload,
    rps: round(seconds === 0 ? 0 : completed / seconds, 1),
    ...meter.latencies(),
    completed,
    errors,
    firstError: meter.firstError ?? null,
    serverCpuUsPerRequest: perRequest(usage.serverCpuUs),
    clientCpuUsPerRequest: perRequest(usage.clientCpuUs),
    serverRssMb: megabytes(usage.serverRssMb),
    rssIdle: megabytes(usage.rssIdle),
    rssPeak: megabytes(usage.rssPeak),
    rssAfter: megabytes(usage.rssAfter),
    serverPid: server.pid,
    startedAt: startedAt.toISOString(),
    environment
  }
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
