/** One measurement of the suite of several processes: so many workers, and the load on the processors they leave. */

import { BenchError } from '../../errors.ts'
import { mergeHistograms } from '../../load/histogram.ts'
import { RemoteRun } from '../../load/remote-run.ts'
import { readBenchOptions } from '../../options/bench-options.ts'
import { freePort } from '../../process/free-port.ts'
import { type Pinning, planPinning } from '../../process/pinning.ts'
import type { ServerProcess } from '../../process/server-process.ts'
import type { Measurement } from '../../report/schema.ts'
import { loadWith } from '../load/tool.ts'
import { describeSuiteMeasurement, type Loaded } from '../measurement.ts'
import type { SuiteOptions } from '../options.ts'
import { cpuOf, difference, HOST, peakOf, residentOf, startServer } from '../server.ts'

/** Milliseconds until answers that are due at the end are given up. */
const PATIENCE = 3_000

/** @throws BenchError if the server does not start, or cannot be asked */
export async function measureScale(options: SuiteOptions): Promise<Measurement> {
  const { pinning, workersOn } = placesFor(options.workers)
  // Workers share a port, so it must be known before there is any.
  const port = options.port === 0 ? await freePort(HOST) : options.port
  const begun = performance.now()
  const server = await startServer({ ...options, port }, workersOn, undefined)
  try {
    const firstAnswerMs = performance.now() - begun
    const startedAt = new Date()
    const load = options.target.ask === 'message' ? loadMessages : loadHttp
    const { serverCpuUs, ...loaded } = await load(options, server, pinning)
    const observed = {
      firstAnswerMs,
      rssIdle: null,
      serverCpuUs,
      serverRssMb: residentOf(server),
      rssPeak: peakOf(server),
      rssAfter: null
    }
    return describeSuiteMeasurement(options, pinning, server, startedAt, observed, loaded)
  } finally {
    await server.stop()
  }
}

interface Places {
  readonly pinning: Pinning
  readonly workersOn: string | null
}

/** The first processors are the workers', the others the load's; where none is left, they share. */
function placesFor(workers: number): Places {
  const plan = planPinning()
  if (plan.server === null) return { pinning: plan, workersOn: null }
  const all = [plan.server, ...plan.loads]
  const left = all.slice(workers)
  const note = left.length === 0 ? `${workers} workers leave no processor to the load: they share` : plan.note
  return {
    pinning: { ...plan, loads: left.length === 0 ? all : left, note },
    workersOn: all.slice(0, workers).join(',')
  }
}

type Load = (
  options: SuiteOptions,
  server: ServerProcess,
  pinning: Pinning
) => Promise<Loaded & { readonly serverCpuUs: number | null }>

const loadHttp: Load = async ({ asked, concurrency, tool, warmup, duration }, server, { loads }) => {
  const load = { host: HOST, port: server.port, connections: concurrency, asked, cpus: loads }
  const over = new AbortController()
  void server.exited.then(() => over.abort())
  if (warmup > 0) await loadWith(tool, load, warmup, over.signal)
  const before = cpuOf(server)
  const totals = await loadWith(tool, load, duration, over.signal)
  return { ...totals, tool, serverCpuUs: difference(cpuOf(server), before) }
}

/** Our own client, on a connection for each caller, so that all workers get some. */
const loadMessages: Load = async ({ concurrency, warmup, duration }, server, { loads }) => {
  const processes = Math.max(1, Math.min(loads.length, concurrency))
  const options = readBenchOptions([
    ...['--target=custom', `--port=${server.port}`, '--pattern=users.get', '--data={"id":"42"}'],
    ...[`--concurrency=${concurrency}`, `--connections=${concurrency}`, `--processes=${processes}`]
  ])
  // No flag of these asks for it.
  if (options === 'help') throw new BenchError('run-bench gave its help in place of options.')
  const run = await RemoteRun.open(options, server.port, loads)
  try {
    run.start()
    await pass(warmup, run.broken)
    const before = cpuOf(server)
    run.measure()
    await pass(duration, run.broken)
    run.stop()
    const serverCpuUs = difference(cpuOf(server), before)
    const { completed, seconds, errors, firstError, histogram } = await run.finish(PATIENCE)
    const latencies = mergeHistograms([histogram])
    const average = completed === 0 ? null : latencies.mean / 1000
    return { completed, seconds, errors, firstError, average, latencies, tool: 'elysia', serverCpuUs }
  } finally {
    await run.close()
  }
}

async function pass(seconds: number, over: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const time = new Promise((resolve) => {
    timer = setTimeout(resolve, seconds * 1000)
  })
  await Promise.race([time, over])
  clearTimeout(timer)
}
