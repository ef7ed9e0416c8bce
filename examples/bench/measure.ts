/** One measurement from its options to its result: find or start the server, load it, read the clocks, clean up. */
import { connect } from 'node:net'
import { BenchError } from './errors.ts'
import { ClosedLoop } from './load/closed-loop.ts'
import type { Load } from './load/load.ts'
import { describe, Meter } from './load/meter.ts'
import { RawLoad } from './load/raw-load.ts'
import type { BenchOptions } from './options/bench-options.ts'
import { makePayload } from './payload/payload.ts'
import { deferred } from './process/deferred.ts'
import { type Pinning, pinSelf, planPinning } from './process/pinning.ts'
import { cpuMicroseconds, peakMegabytes, residentMegabytes } from './process/proc-stat.ts'
import { ServerProcess } from './process/server-process.ts'
import { describeEnvironment } from './report/environment.ts'
import { describeMeasurement, type Usage } from './report/measurement.ts'
import { showProgress } from './report/progress.ts'
import type { Measurement } from './report/schema.ts'
import type { ClientPlan } from './targets/echo-client.ts'
import { clients, targets } from './targets/targets.ts'

/** Milliseconds that outstanding requests get after the measurement; less where the server is known to be gone. */
const PATIENCE = { alive: 5_000, gone: 1_000 }

const NEVER = new Promise<never>(() => {})

/**
 * Measures once. A server that dies meanwhile is no exception: the result then has errors.
 *
 * @throws BenchError if there is no server to measure
 */
export async function measure(options: BenchOptions): Promise<Measurement> {
  const plan = planPinning()
  const started = await findServer(options, plan)
  try {
    const pinning = started === undefined ? withoutServer(plan) : plan
    if (pinning.client !== null) pinSelf(pinning.client)
    return await measureServer(options, started, pinning)
  } finally {
    await started?.stop()
  }
}

async function measureServer(
  options: BenchOptions,
  started: ServerProcess | undefined,
  pinning: Pinning
): Promise<Measurement> {
  const port = started?.port ?? options.port
  const pid = started?.pid ?? null
  const environment = describeEnvironment(pinning)
  const exited = started?.exited ?? NEVER
  const meter = new Meter()
  const rssIdle = await idleMegabytes(started)
  const load = await openLoad(options, port, meter)
  const startedAt = new Date()
  const hideProgress = showProgress(options.target, meter, options.warmup + options.duration, {
    isTTY: options.progress ?? process.stderr.isTTY,
    write: (text) => process.stderr.write(text)
  })

  load.start()
  await pass(options.warmup, exited)
  const cpu = { server: pid === null ? null : cpuMicroseconds(pid), client: process.cpuUsage() }
  meter.start()
  const alive = await pass(options.duration, exited)
  meter.stop()
  const clientCpu = process.cpuUsage(cpu.client)
  const used = {
    serverCpuUs: pid === null ? null : difference(cpuMicroseconds(pid), cpu.server),
    clientCpuUs: clientCpu.user + clientCpu.system,
    serverRssMb: pid === null ? null : residentMegabytes(pid)
  }
  await load.finish(alive ? PATIENCE.alive : PATIENCE.gone)
  const rssPeak = pid === null ? null : peakMegabytes(pid)
  hideProgress()
  await load.close()
  const usage: Usage = { ...used, rssIdle, rssPeak, rssAfter: await idleMegabytes(started) }
  return describeMeasurement(options, { port, pid }, meter.counts(), usage, startedAt, environment)
}

/** Starts the server, unless one is listening. `undefined`: one is. */
async function findServer(options: BenchOptions, pinning: Pinning): Promise<ServerProcess | undefined> {
  const { host, port, spawn, target, runtime, shape } = options
  if (port !== 0 && (await isListening(host, port))) return undefined
  if (!spawn) {
    throw new BenchError(
      `No server is listening on ${host}:${port}. Start it (\`bun run ${target}\`), or leave --no-spawn out.`
    )
  }
  return ServerProcess.start({
    program: targets[target].server,
    runtime,
    host,
    port,
    shape,
    cpu: pinning.server
  })
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

async function openLoad(options: BenchOptions, port: number, meter: Meter): Promise<Load> {
  const { client, host, connections, concurrency, method, protocol, codec } = options
  const payload = makePayload(options.shape, options.payload)
  const load = clients[client].load
  if (load === null) {
    const pipeline = concurrency / connections
    return RawLoad.open({ host, port, connections, pipeline, payload: payload.value, meter })
  }
  const open = await load()
  const plan: ClientPlan = { method, protocol, codec, payload }
  const opened = await Promise.all(Array.from({ length: connections }, () => open(host, port, plan))).catch(
    (error: unknown) => {
      throw new BenchError(`The ${client} client cannot connect to ${host}:${port}: ${describe(error)}`)
    }
  )
  return new ClosedLoop({ clients: opened, concurrency, payload, meter })
}

/** What the server holds in memory when it has nothing to do and no garbage; `null` where that cannot be known. */
async function idleMegabytes(server: ServerProcess | undefined): Promise<number | null> {
  return server !== undefined && (await server.collectGarbage()) ? residentMegabytes(server.pid) : null
}

/** Waits; resolves to `false` at once if the server ends first. */
async function pass(seconds: number, exited: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = deferred<boolean>()
  const timer = setTimeout(resolve, seconds * 1000, true)
  void exited.then(() => resolve(false))
  const alive = await promise
  clearTimeout(timer)
  return alive
}

const difference = (later: number | null, earlier: number | null): number | null =>
  later === null || earlier === null ? null : later - earlier

const withoutServer = ({ client, note }: Pinning): Pinning => ({
  server: null,
  client,
  note: note ?? 'server not pinned: it was listening already'
})
