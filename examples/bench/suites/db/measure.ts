/** One measurement of the suite of the database. */
import { BenchError } from '../../errors.ts'
import { type Pinning, pinSelf, planPinning } from '../../process/pinning.ts'
import type { Measurement } from '../../report/schema.ts'
import { describeSuiteMeasurement } from '../measurement.ts'
import type { SuiteOptions } from '../options.ts'
import { build, cpuOf, difference, peakOf, residentOf, startServer } from '../server.ts'
import { openAskers } from './askers.ts'
import { Callers } from './callers.ts'
import { checkDatabase, startDatabase } from './database.ts'

/** Milliseconds that callers get to hear what has become of their last requests. */
const PATIENCE = 3_000

/** @throws BenchError if there is no database or no server, or nobody is answered before the load */
export async function measureDatabase(options: SuiteOptions): Promise<Measurement> {
  const pinning = planPinning()
  build(options)
  if (options.database !== undefined) return measureWith(options, pinning, options.database)
  // Where the load is: the server has its CPU for itself.
  const { address, server } = await startDatabase(pinning.client)
  try {
    return await measureWith(options, pinning, address)
  } finally {
    await server.stop()
  }
}

async function measureWith(options: SuiteOptions, pinning: Pinning, database: string): Promise<Measurement> {
  const { target, concurrency, asked, warmup, duration } = options
  await checkDatabase(database)
  const begun = performance.now()
  const server = await startServer(options, pinning.server, database)
  try {
    if (pinning.client !== null) pinSelf(pinning.client)
    const askers = openAskers(target, server.port, concurrency, asked[0]!)
    const { kind, told } = await askers.ask(0)
    if (kind !== 'answered')
      throw new BenchError(`The first request ${kind === 'refused' ? 'was refused' : 'failed'}: ${told}`)
    const firstAnswerMs = performance.now() - begun
    const rssIdle = (await server.collectGarbage()) ? residentOf(server) : null
    const callers = new Callers(askers, concurrency)
    const startedAt = new Date()
    callers.start()
    await pass(warmup, server.exited)
    const cpu = cpuOf(server)
    callers.take()
    const from = performance.now()
    const alive = await pass(duration, server.exited)
    const tally = callers.take()
    const seconds = (performance.now() - from) / 1000
    const observed = {
      firstAnswerMs,
      rssIdle,
      serverCpuUs: difference(cpuOf(server), cpu),
      serverRssMb: residentOf(server),
      rssPeak: peakOf(server),
      rssAfter: null
    }
    await callers.stop(alive ? PATIENCE : 0)
    await askers.close()
    const died = alive ? 0 : 1
    return describeSuiteMeasurement(options, pinning, server, startedAt, observed, {
      completed: tally.answered.totalCount,
      seconds,
      average: tally.answered.totalCount === 0 ? null : tally.answered.mean / 1000,
      latencies: tally.answered,
      errors: tally.failed.totalCount + died,
      firstError: alive ? (tally.told.failed ?? null) : 'the server ended in the middle of the measurement',
      tool: target.ask ?? 'http',
      refusals: tally.refused,
      failures: tally.failed,
      told: tally.told.refused ?? null
    })
  } finally {
    await server.stop()
  }
}

/** Waits; resolves to `false` at once if the server ends first. */
async function pass(seconds: number, exited: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const time = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, seconds * 1000, true)
  })
  const alive = await Promise.race([time, exited.then(() => false)])
  clearTimeout(timer)
  return alive
}
