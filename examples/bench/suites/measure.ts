/**
 * One measurement of a suite: the server of the target is started, called once, put under load, observed and stopped.
 */
import { BenchError } from '../errors.ts'
import { encodeHistogram, latenciesOf, mergeHistograms } from '../load/histogram.ts'
import { type Phases, type PhaseTotals, pass, phasesOf } from '../load/phases.ts'
import { RemoteRun } from '../load/remote-run.ts'
import { observe } from '../observe.ts'
import { readBenchOptions } from '../options/bench-options.ts'
import { freePort } from '../process/free-port.ts'
import { type Pinning, pinSelf, planPinning } from '../process/pinning.ts'
import { ServerProcess } from '../process/server-process.ts'
import { describeEnvironment } from '../report/environment.ts'
import { type Described, describeMeasurement } from '../report/measurement.ts'
import type { Measurement } from '../report/schema.ts'
import { openAskers } from './db/askers.ts'
import { Callers } from './db/callers.ts'
import { checkDatabase, type Database, startDatabase } from './db/database.ts'
import { type HttpTotals, loadWith } from './load/tool.ts'
import type { SuiteOptions } from './options.ts'
import { build, HOST, startServer } from './server.ts'
import { openPage } from './web/load.ts'
import { type Asked, payloadOfWorkload, subjectOf, wrongIn } from './workloads.ts'

const DIED = 'the server ended in the middle of the measurement'

/** How requests to the targets of a suite are made. */
interface Load {
  /** The name of the client in the report. */
  readonly client: string
  /** Makes the first request, after which the server counts as started. Rejects with the error in the answer. */
  first(): Promise<void>
  open(): Promise<Phases>
}

/** @throws BenchError if there is no server to measure, or its answers before the load are wrong */
export async function measureSuite(options: SuiteOptions): Promise<Measurement> {
  build(options)
  const isScale = options.suite === 'scale'
  const plan = planPinning()
  const { pinning, serverOn } = isScale
    ? placesFor(options.workers, plan)
    : { pinning: plan, serverOn: plan.server }
  const database = options.suite === 'db' ? await findDatabase(options, pinning) : undefined
  try {
    // Workers share a port, so it must be known before the first one starts.
    const port = isScale && options.port === 0 ? await freePort(HOST) : options.port
    const begun = performance.now()
    const server = await startServer({ ...options, port }, serverOn, database?.address)
    try {
      if (!isScale && pinning.client !== null) pinSelf(pinning.client)
      const load = loadOf(options, server, pinning)
      await load.first()
      const firstAnswerMs = performance.now() - begun
      const { totals, usage, startedAt, isAlive } = await observe(
        server,
        { ...options, ofFamily: true },
        () => load.open()
      )
      const counts = isAlive ? totals : { ...totals, errors: totals.errors + 1, firstError: DIED }
      return describeMeasurement(
        asDescribed(options, load.client),
        server,
        { ...counts, told: toldOf(options, counts) },
        { ...usage, firstAnswerMs },
        startedAt,
        describeEnvironment(pinning)
      )
    } finally {
      await server.stop()
    }
  } finally {
    await database?.server?.stop()
  }
}

function asDescribed(options: SuiteOptions, client: string): Described {
  const { suite, workload, name, runtime, concurrency, duration, warmup, asked } = options
  return {
    target: name,
    client,
    task: { mode: 'suite', suite, workload },
    ...{ method: null, protocol: null, codec: null, rate: null },
    runtime: runtime === 'go' ? null : runtime,
    host: HOST,
    ...{ concurrency, connections: concurrency, processes: 1, duration, warmup },
    pattern: subjectOf(asked, workload),
    shape: 'custom',
    payload: payloadOfWorkload(asked)
  }
}

function toldOf({ suite, workers }: SuiteOptions, totals: PhaseTotals): NonNullable<PhaseTotals['told']> {
  const { completed, errors, seconds, told } = totals
  const all = completed + errors + (told?.refused ?? 0)
  const rps = seconds === 0 ? 0 : completed / seconds
  return {
    successRate: all === 0 ? 0 : rounded((100 * completed) / all),
    ...(suite === 'scale' && { workers, perWorker: rounded(rps / workers) }),
    ...told
  }
}

/** Starts a database on the cores of the load, so that the server has its core for itself. */
async function findDatabase(
  { database }: SuiteOptions,
  { client }: Pinning
): Promise<Partial<Database> & Pick<Database, 'address'>> {
  if (database === undefined) return startDatabase(client)
  await checkDatabase(database)
  return { address: database }
}

/** The first cores are for the workers, the others for the load; if none is left, they share. */
function placesFor(workers: number, plan: Pinning) {
  if (plan.server === null) return { pinning: plan, serverOn: null }
  const all = [plan.server, ...plan.loads]
  const left = all.slice(workers)
  const note = left.length === 0 ? `${workers} workers leave no processor to the load: they share` : plan.note
  return {
    pinning: { ...plan, loads: left.length === 0 ? all : left, note },
    serverOn: all.slice(0, workers).join(',')
  }
}

function loadOf(options: SuiteOptions, server: ServerProcess, pinning: Pinning): Load {
  const { loads } = pinning
  const { suite, target, tool } = options
  if (target.page !== undefined) {
    return { client: 'own', first: async () => {}, open: () => openInPage(options, server, pinning.server) }
  }
  if (suite === 'db') {
    return {
      client: target.ask ?? 'http',
      first: () => askOnce(options, server),
      open: () => openCallers(options, server)
    }
  }
  if (target.ask === 'message') {
    return { client: 'elysia', first: async () => {}, open: () => openMessages(options, server, loads) }
  }
  return {
    client: tool,
    first: () => check(options.asked.slice(0, 1), server),
    open: () => openHttp(options, server, loads)
  }
}

async function askOnce({ target, asked }: SuiteOptions, { port }: ServerProcess): Promise<void> {
  const askers = openAskers(target, port, 1, asked[0]!)
  const { kind, told } = await askers.ask(0)
  await askers.close()
  if (kind === 'answered') return
  throw new BenchError(`The first request ${kind === 'refused' ? 'was refused' : 'failed'}: ${told}`)
}

async function openCallers(options: SuiteOptions, server: ServerProcess): Promise<Phases> {
  const { target, concurrency, asked } = options
  const askers = openAskers(target, server.port, concurrency, asked[0]!)
  const callers = new Callers(askers, concurrency)
  let from = 0
  let tally = callers.take()
  let seconds = 0
  callers.start()
  return {
    warm: pass,
    async measure(duration, over) {
      callers.take()
      from = performance.now()
      const isAlive = await pass(duration, over)
      tally = callers.take()
      seconds = (performance.now() - from) / 1000
      return isAlive
    },
    async finish(patience) {
      await callers.stop(patience)
      const { answered, refused, failed, told } = tally
      return {
        ...totalsOf(
          {
            completed: answered.totalCount,
            seconds,
            average: answered.totalCount === 0 ? null : answered.mean / 1000,
            latencies: answered,
            errors: failed.totalCount,
            firstError: told.failed ?? null
          },
          {
            refused: refused.totalCount,
            refusedP50: at(refused, 50),
            refusedP99: at(refused, 99),
            told: told.refused ?? null,
            failedP50: at(failed, 50)
          }
        )
      }
    },
    close: () => askers.close()
  }
}

/** Checks all answers of the server: the load only checks their status. */
async function check(asked: readonly Asked[], { port }: ServerProcess): Promise<void> {
  for (const one of asked) {
    const { method, path, headers, body = null } = one
    const response = await fetch(`http://${HOST}:${port}${path}`, { method, body, headers: { ...headers } })
    const wrong = wrongIn(one, response.status, await response.text(), response.headers)
    if (wrong !== undefined) throw new BenchError(`${method} ${path} had a wrong answer: ${wrong}`)
  }
}

async function openHttp(
  { asked, concurrency, tool }: SuiteOptions,
  server: ServerProcess,
  cpus: readonly number[]
): Promise<Phases> {
  await check(asked, server)
  const load = { host: HOST, port: server.port, connections: concurrency, asked, cpus }
  let warm: HttpTotals | undefined
  let totals: HttpTotals | undefined
  const until = async (seconds: number, over: Promise<unknown>) => {
    const ended = new AbortController()
    void over.then(() => ended.abort())
    const found = server.hasExited ? undefined : await loadWith(tool, load, seconds, ended.signal)
    return { found, isAlive: !ended.signal.aborted }
  }
  return {
    async warm(seconds, over) {
      warm = (await until(seconds, over)).found
    },
    async measure(seconds, over) {
      const { found, isAlive } = await until(seconds, over)
      totals = found
      return isAlive && !server.hasExited
    },
    finish: async () => {
      const counted = totalsOf(
        totals ?? { completed: 0, seconds: 0, errors: 0, firstError: null, average: null }
      )
      return {
        ...counted,
        errors: (warm?.errors ?? 0) + counted.errors,
        firstError: warm?.firstError ?? counted.firstError
      }
    },
    close: async () => {}
  }
}

/** Opens the target's own client in a page. */
async function openInPage(
  { target, workload, concurrency }: SuiteOptions,
  server: ServerProcess,
  cpu: number | null
): Promise<Phases> {
  const proxy = workload === 'http2' ? await startProxy(server, cpu) : undefined
  const origin = proxy === undefined ? `http://${HOST}:${server.port}` : `https://${HOST}:${proxy.port}`
  const page = await openPage(`${origin}/`, target.page!).catch(async (error: unknown) => {
    await proxy?.stop()
    throw error
  })
  return {
    async warm(seconds, over) {
      await Promise.race([page.start(workload, concurrency), over])
      await pass(seconds, over)
    },
    async measure(seconds, over) {
      await page.measure()
      return workload === 'still' ? page.standStill(seconds, over) : pass(seconds, over)
    },
    finish: async () => totalsOf(await page.stop()),
    async close() {
      await page.close()
      await proxy?.stop()
    }
  }
}

/** Starts a proxy on the core of the server. */
function startProxy({ port }: ServerProcess, cpu: number | null): Promise<ServerProcess> {
  return ServerProcess.start({
    program: 'suites/web/http2-proxy',
    runtime: 'node',
    host: HOST,
    port: 0,
    cpu,
    flags: [`--to=${port}`]
  })
}

/** Our own client, with a connection for each caller, so that all workers get connections. */
async function openMessages(
  { concurrency, label, progress }: SuiteOptions,
  server: ServerProcess,
  cpus: readonly number[]
): Promise<Phases> {
  const processes = Math.max(1, Math.min(cpus.length, concurrency))
  const options = readBenchOptions([
    ...['--target=custom', `--port=${server.port}`, '--pattern=users.get', '--data={"id":"42"}'],
    ...[`--concurrency=${concurrency}`, `--connections=${concurrency}`, `--processes=${processes}`]
  ])
  // None of these flags asks for help, so this never happens.
  if (options === 'help') throw new BenchError('run-bench printed its help instead of reading options.')
  const phases = phasesOf(await RemoteRun.open({ ...options, label, progress }, server.port, cpus))
  const finish = async (patience: number) => {
    const totals = await phases.finish(patience)
    const { completed, histogram } = totals
    return { ...totals, told: { average: completed === 0 ? null : mergeHistograms([histogram]).mean / 1000 } }
  }
  return { ...phases, finish }
}

type Timed = Omit<HttpTotals, 'latencies'> & { readonly latencies?: HttpTotals['latencies'] }

/** The counts of a load, in the form of every measurement. */
function totalsOf(
  { completed, seconds, errors, firstError, average, latencies }: Timed,
  told: PhaseTotals['told'] = {}
): PhaseTotals {
  const none = { p50: null, p90: null, p99: null, max: null }
  return {
    ...{ completed, seconds, errors, firstError, cpuUs: null },
    latencies: latencies === undefined ? none : latenciesOf(latencies),
    histogram: latencies === undefined ? null : encodeHistogram(latencies),
    told: {
      average: average === null ? null : rounded(average),
      min: latencies === undefined || latencies.totalCount === 0 ? null : latencies.minNonZeroValue / 1000,
      p95: at(latencies, 95),
      ...told
    }
  }
}

const at = (of: HttpTotals['latencies'] | undefined, percentile: number): number | null =>
  of === undefined || of.totalCount === 0 ? null : of.getValueAtPercentile(percentile) / 1000

const rounded = (value: number): number => Number(value.toFixed(3))
