/**
 * Measures how long a server takes to start: from the start of its process until it listens, and until its first
 * answer.
 */
import { BenchError } from './errors.ts'
import { makeHistogram, medianOf } from './load/histogram.ts'
import { Meter } from './load/meter.ts'
import { openClients } from './load/open-load.ts'
import type { BenchOptions } from './options/bench-options.ts'
import { customShape, makePayload, type Payload } from './payload/payload.ts'
import { clients } from './peers/clients.ts'
import { targets } from './peers/targets.ts'
import type { Pinning } from './process/pinning.ts'
import { residentMegabytes } from './process/proc-stat.ts'
import { ServerProcess } from './process/server-process.ts'
import { describeEnvironment } from './report/environment.ts'
import { asDescribed, describeMeasurement } from './report/measurement.ts'
import type { Measurement } from './report/schema.ts'

/**
 * Starts the server, sends one request and stops the server, repeatedly until the time is over, and at least once.
 * These are cold starts, except that the system has the files in its cache: the first start, which fills the cache,
 * does not count.
 *
 * @throws BenchError the server does not start or does not answer
 */
export async function measureStarts(options: BenchOptions, pinning: Pinning): Promise<Measurement> {
  const { client, target, shape, runtime, host, port, task } = options
  const load = clients[client].load
  const program = targets[target].server
  if (load === null || program === null || shape === customShape) {
    throw new BenchError(`${target} cannot be started by the bench, or the ${client} client cannot call it.`)
  }
  const payload = makePayload(shape, options.payload)
  const startOnce = async (): Promise<Start> => {
    const begun = performance.now()
    const server = await ServerProcess.start({
      program,
      runtime,
      host,
      port,
      shape,
      cpu: pinning.server,
      task
    })
    try {
      const listening = performance.now() - begun
      const [asking] = await openClients(load, options, server.port, 1, payload)
      await ask(asking!, payload)
      const answered = performance.now() - begun
      await asking!.close()
      const rss = (await server.collectGarbage()) ? residentMegabytes(server.pid) : null
      return { listening, answered, rss, pid: server.pid, port: server.port }
    } finally {
      await server.stop()
    }
  }

  await startOnce()
  const startedAt = new Date()
  const meter = new Meter()
  const untilListening = makeHistogram()
  let last: Start
  meter.start()
  const until = performance.now() + options.duration * 1000
  do {
    last = await startOnce()
    untilListening.recordValue(Math.round(last.listening * 1000))
    meter.answers(last.answered, 1)
  } while (performance.now() < until)
  meter.stop()
  const usage = {
    serverCpuUs: null,
    clientCpuUs: null,
    serverRssMb: null,
    rssIdle: last.rss,
    rssPeak: null,
    rssAfter: null,
    listenMs: medianOf(untilListening)
  }
  const server = { port: last.port, pid: last.pid }
  return describeMeasurement(
    asDescribed(options),
    server,
    meter.counts(),
    usage,
    startedAt,
    describeEnvironment(pinning)
  )
}

interface Start {
  /** Milliseconds from the start of the process until it listens. */
  readonly listening: number
  readonly answered: number
  /** The memory after the first answer, in MiB. */
  readonly rss: number | null
  readonly pid: number
  readonly port: number
}

type Asking = Awaited<ReturnType<typeof openClients>>[number]

function ask(client: Asking, payload: Payload): Promise<void> {
  return new Promise((resolve, reject) => {
    const answered = (answer: unknown) =>
      payload.isEcho(answer)
        ? resolve()
        : reject(new BenchError(`Wrong answer: expected ${payload.expected}.`))
    client.echo(payload.value, answered, (reason) =>
      reject(new BenchError(`The first request failed: ${String(reason)}`))
    )
  })
}
