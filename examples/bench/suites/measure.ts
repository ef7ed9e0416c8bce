/** One measurement of a suite: the server of the target is started, loaded, observed and stopped. */
import { BenchError } from '../errors.ts'
import { pinSelf, planPinning } from '../process/pinning.ts'
import type { ServerProcess } from '../process/server-process.ts'
import type { Measurement } from '../report/schema.ts'
import { loadWith } from './load/tool.ts'
import { describeSuiteMeasurement, type Observed } from './measurement.ts'
import type { SuiteOptions } from './options.ts'
import { build, cpuOf, difference, HOST, peakOf, residentOf, startServer } from './server.ts'
import { type Asked, wrongIn } from './workloads.ts'

const DIED = 'the server ended in the middle of the measurement'

/** @throws BenchError if there is no server to measure, or it answers wrongly before anybody loads it */
export async function measureSuite(options: SuiteOptions): Promise<Measurement> {
  if (options.suite === 'db') return (await import('./db/measure.ts')).measureDatabase(options)
  if (options.suite === 'scale') return (await import('./scale/measure.ts')).measureScale(options)
  return measureHttp(options)
}

async function measureHttp(options: SuiteOptions): Promise<Measurement> {
  const { asked, concurrency, tool, duration, warmup } = options
  const pinning = planPinning()
  build(options)
  const begun = performance.now()
  const server = await startServer(options, pinning.server, undefined)
  try {
    if (pinning.client !== null) pinSelf(pinning.client)
    await check(asked.slice(0, 1), server)
    const firstAnswerMs = performance.now() - begun
    await check(asked, server)
    const rssIdle = (await server.collectGarbage()) ? residentOf(server) : null
    const load = { host: HOST, port: server.port, connections: concurrency, asked, cpus: pinning.loads }
    const over = new AbortController()
    void server.exited.then(() => over.abort())
    const startedAt = new Date()
    const warm = warmup === 0 ? undefined : await loadWith(tool, load, warmup, over.signal)
    const before = cpuOf(server)
    const totals = over.signal.aborted ? undefined : await loadWith(tool, load, duration, over.signal)
    const observed: Observed = {
      firstAnswerMs,
      rssIdle,
      serverCpuUs: difference(cpuOf(server), before),
      serverRssMb: residentOf(server),
      rssPeak: peakOf(server),
      rssAfter: (await server.collectGarbage()) ? residentOf(server) : null
    }
    const died = over.signal.aborted
    return describeSuiteMeasurement(options, pinning, server, startedAt, observed, {
      completed: totals?.completed ?? 0,
      seconds: totals?.seconds ?? 0,
      average: totals?.average ?? null,
      latencies: totals?.latencies,
      errors: (warm?.errors ?? 0) + (totals?.errors ?? 0) + (died ? 1 : 0),
      firstError: died ? DIED : (warm?.firstError ?? totals?.firstError ?? null),
      tool
    })
  } finally {
    await server.stop()
  }
}

/** Whether it answers rightly to everything: what loads it looks at the status alone. */
async function check(asked: readonly Asked[], { port }: ServerProcess): Promise<void> {
  for (const one of asked) {
    const { method, path, headers, body = null } = one
    const response = await fetch(`http://${HOST}:${port}${path}`, { method, body, headers: { ...headers } })
    const wrong = wrongIn(one, response.status, await response.text(), response.headers)
    if (wrong !== undefined) throw new BenchError(`${method} ${path} was answered wrongly: ${wrong}`)
  }
}
