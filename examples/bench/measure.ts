/** Runs one measurement: finds or starts the server, puts load on it, reads the clocks, and cleans up. */
import { connect } from 'node:net'
import { BenchError } from './errors.ts'
import { CapacitySearch } from './load/capacity-search.ts'
import { EventTally } from './load/event-tally.ts'
import { LocalRun } from './load/load-run.ts'
import { Meter } from './load/meter.ts'
import { openLoad } from './load/open-load.ts'
import { type Phases, phasesOf } from './load/phases.ts'
import { RemoteRun } from './load/remote-run.ts'
import { measureStarts } from './measure-starts.ts'
import { observe } from './observe.ts'
import type { BenchOptions } from './options/bench-options.ts'
import { targets } from './peers/targets.ts'
import { deferred } from './process/deferred.ts'
import { type Pinning, pinSelf, planPinning } from './process/pinning.ts'
import { ServerProcess } from './process/server-process.ts'
import { describeEnvironment } from './report/environment.ts'
import { asDescribed, describeMeasurement } from './report/measurement.ts'
import type { Measurement, Trial } from './report/schema.ts'

/**
 * Measures once. If the server ends in between, the result has errors.
 *
 * @throws BenchError if there is no server to measure
 */
export async function measure(options: BenchOptions): Promise<Measurement> {
  const plan = planPinning()
  if (options.task.mode === 'start') {
    if (plan.client !== null) pinSelf(plan.client)
    return measureStarts(options, plan)
  }
  const started = await findServer(options, plan)
  try {
    const pinning = started === undefined ? withoutServer(plan) : plan
    if (pinning.client !== null) pinSelf(pinning.client)
    return options.sloMs === null
      ? await measureServer(options, started, pinning)
      : await findCapacity({ ...options, rate: options.rate ?? 1, sloMs: options.sloMs }, started, pinning)
  } finally {
    await started?.stop()
  }
}

/**
 * Measures at the highest rate that the server keeps.
 *
 * @throws BenchError the server keeps no rate
 */
async function findCapacity(
  options: BenchOptions & { readonly rate: number; readonly sloMs: number },
  started: ServerProcess | undefined,
  pinning: Pinning
): Promise<Measurement> {
  const { sloMs } = options
  const search = new CapacitySearch(options.rate)
  const trials: Trial[] = []
  let best: Measurement | undefined
  for (let { next: rate } = search; rate !== undefined; rate = search.next) {
    const trial = await measureServer(
      { ...options, rate, label: `${options.label} at ${rate.toLocaleString('en')}/s` },
      started,
      pinning
    )
    const { rps, p99, errors, completed } = trial
    const kept = errors === 0 && completed > 0 && p99 !== null && p99 <= sloMs
    trials.push({ rate, rps, p99, errors, kept })
    if (kept) best = trial
    // A server that has ended cannot be tried with other rates.
    if (started?.hasExited === true) return { ...trial, capacity: { sloMs, trials } }
    search.tell(kept)
  }
  if (best === undefined)
    throw new BenchError(`At no rate is p99 under ${sloMs} ms, not even one request per second.`)
  return { ...best, capacity: { sloMs, trials } }
}

async function measureServer(
  options: BenchOptions,
  started: ServerProcess | undefined,
  pinning: Pinning
): Promise<Measurement> {
  const tally = tallyOf(options, started)
  const port = started?.port ?? options.port
  const environment = describeEnvironment(pinning)
  const { totals, usage, startedAt } = await observe(started, { ...options, tally }, () =>
    openRun({ ...options, progress: options.progress ?? process.stderr.isTTY }, port, pinning)
  )
  const server = { port, pid: started?.pid ?? null }
  return describeMeasurement(asDescribed(options), server, totals, usage, startedAt, environment)
}

/** @throws BenchError if no server can report what became of the events */
function tallyOf({ task, host, port }: BenchOptions, started: ServerProcess | undefined) {
  if (task.mode !== 'emit') return undefined
  if (started !== undefined) return new EventTally(started)
  throw new BenchError(
    `The server that is listening on ${host}:${port} does not report how many events it has received. With --port=0, the bench starts a server that does.`
  )
}

async function openRun(options: BenchOptions, port: number, { loads }: Pinning): Promise<Phases> {
  if (options.processes > 1) return phasesOf(await RemoteRun.open(options, port, loads))
  const meter = new Meter()
  return phasesOf(new LocalRun(await openLoad(options, port, meter), meter))
}

/** Starts the server, unless one is listening already. `undefined`: one is. */
async function findServer(options: BenchOptions, pinning: Pinning): Promise<ServerProcess | undefined> {
  const { host, port, spawn, target, runtime, shape, task } = options
  const { server: program } = targets[target]
  if (port !== 0 && (await isListening(host, port))) return undefined
  if (!spawn || program === null) {
    const hint = program === null ? '' : ` Start it (\`bun run ${target}\`), or leave --no-spawn out.`
    throw new BenchError(`No server is listening on ${host}:${port}.${hint}`)
  }
  return ServerProcess.start({ program, runtime, host, port, shape, cpu: pinning.server, task })
}

function isListening(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = deferred<boolean>()
  const socket = connect({ host, port })
  socket.once('connect', () => {
    socket.end()
    resolve(true)
  })
  socket.once('error', () => resolve(false))
  return promise
}

const withoutServer = ({ client, loads, note }: Pinning): Pinning => ({
  server: null,
  client,
  loads,
  note: note ?? 'server not pinned: it was listening already'
})
