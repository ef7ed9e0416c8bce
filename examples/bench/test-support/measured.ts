/** Checks the measurements of every target, in all ways in which they can end; each case is a test. */
import assert from 'node:assert/strict'
import { before, it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { makePayload, type ShapeName } from '../payload/payload.ts'
import { type TargetName, targets } from '../peers/targets.ts'
import { ServerProcess } from '../process/server-process.ts'
import type { Measurement } from '../report/schema.ts'
import { childOf, type Finished, isRunning, run, start, underLoad, until } from './command.ts'
import { inParallel } from './in-parallel.ts'

export type Case = [target: string, ...flags: string[]]

/**
 * KafkaJS uses negative timeouts, of which runtimes warn, and logs each retry until its new topics have leaders. Nest's
 * server logs an error of KafkaJS, in several lines, for each value that it cannot send because it is stopping.
 */
const OF_KAFKAJS =
  /^(?:\(node:\d+\) TimeoutNegativeWarning: .*\nTimeout duration was set to 1\.\n\(Use .*\n|\[Nest\] .*kafkajs.*\n(?:(?: {2}|\}).*\n)*)/gim

export async function bench(...flags: string[]): Promise<Finished> {
  const finished = await run('run-bench.ts', ...flags)
  return { ...finished, stderr: stripVTControlCharacters(finished.stderr).replace(OF_KAFKAJS, '') }
}

const FLAGS = ['--port=0', '--warmup=0.1', '--concurrency=8']
export const SHORT = [...FLAGS, '--duration=0.5']
export const LONG = ['--port=0', '--duration=3600', '--warmup=0']

/** A few measurements at a time: most of the time of a short measurement is waiting. */
const WIDTH = 4

/** Measures for half a second unless told otherwise, or for ten if a busy machine has completed nothing by then. */
export async function measured(...flags: string[]): Promise<Finished & { readonly seconds: number }> {
  const isDuration = (flag: string) => flag.startsWith('--duration=')
  const others = flags.filter((flag) => !isDuration(flag))
  const seconds = Number(flags.find(isDuration)?.split('=')[1] ?? 0.5)
  const finished = await bench(...others, `--duration=${seconds}`)
  if (!finished.stderr.includes('Nothing was completed')) return { ...finished, seconds }
  return { ...(await bench(...others, '--duration=10')), seconds: 10 }
}

/** Runs all measurements, a few at a time, and checks each in a test. */
export function measures(cases: readonly Case[], prepare: () => void = () => {}): void {
  let runs: ReturnType<typeof measured>[] = []
  before(() => {
    prepare()
    const jobs = cases.map(
      ([target, ...flags]) =>
        () =>
          measured(`--target=${target}`, ...FLAGS, ...flags)
    )
    runs = inParallel(jobs, WIDTH)
  })

  for (const [index, [target, ...flags]] of cases.entries()) {
    it(`of ${[target, ...flags].join(' ')} prints one JSON object, and its server has ended afterwards`, async () => {
      const { code, stdout, stderr, seconds } = await runs[index]!
      assert.equal(stderr, '')
      assert.equal(code, 0)
      const given = (name: string) => flags.find((flag) => flag.startsWith(`--${name}=`))?.split('=')[1]
      const result = JSON.parse(stdout) as Measurement
      assert.equal(result.target, target)
      assert.equal(Object.hasOwn(result, 'latencyHistogram'), false)
      const own = targets[target as TargetName].client
      assert.equal(result.client, given('client') ?? own)
      const runtime = given('runtime') ?? 'bun'
      assert.equal(result.runtime, runtime)
      assert.equal(result.environment.bun !== null, runtime === 'bun')
      assert.equal(result.environment.node !== null, runtime === 'node')
      const shape = (given('shape') ?? 'flat') as ShapeName
      const { concurrency, duration, warmup, errors, firstError } = result
      assert.deepEqual(
        { concurrency, duration, warmup, errors, firstError },
        {
          concurrency: 8,
          duration: seconds,
          warmup: 0.1,
          errors: 0,
          firstError: null
        }
      )
      assert.equal(result.shape, shape)
      assert.equal(result.payload, Number(given('payload') ?? makePayload(shape).bytes))
      const connections = given('connections') ?? (given('client') === 'raw' ? 1 : 8)
      assert.equal(result.connections, Number(connections))
      assert.ok(result.completed > 0)
      const { rps, completed, measuredSeconds } = result
      assert.ok(Math.abs(rps - completed / measuredSeconds) <= 0.1 + rps / 100)
      const { p50, p90, p99, max } = result
      assert.ok(0 < p50! && p50! <= p90! && p90! <= p99! && p99! <= max!, `${p50} ${p90} ${p99} ${max}`)
      assert.ok(result.serverCpuUsPerRequest! >= 0)
      assert.ok(result.serverRssMb! > 1)
      assert.ok(result.rssIdle! > 1 && result.rssAfter! > 1)
      assert.ok(result.rssPeak! > 1)
      assert.equal(isRunning(result.serverPid!), false)
    })
  }
}

/** @param modes the modes, each with its flags */
export function hasFigures(modes: readonly Case[]): void {
  for (const [mode, ...flags] of modes) {
    it(`of the mode ${mode} has figures`, async () => {
      const asked = ['--target=elysia', `--mode=${mode}`, ...flags, '--port=0', '--warmup=0']
      const { code, stdout, stderr } = await measured(...asked)
      const { task, errors, completed, lost = 0 } = JSON.parse(stdout) as Measurement
      assert.deepEqual([code, stderr, task?.mode, errors, lost], [0, '', mode, 0, 0])
      assert.ok(completed > 0)
    })
  }
}

export function dies(cases: readonly Case[]): void {
  for (const [target, ...flags] of cases) {
    it(`ends the measurement of ${[target, ...flags].join(' ')} early, with errors, JSON and code 1`, async () => {
      const result = start('run-bench.ts', `--target=${target}`, ...LONG, ...flags)
      const server = await until(() => childOf(result.pid))
      await underLoad(server)
      process.kill(server, 'SIGKILL')
      const { code, stdout, stderr } = await result.finished
      const { errors, completed, measuredSeconds, serverCpuUsPerRequest } = JSON.parse(stdout) as Measurement
      assert.equal(code, 1)
      assert.ok(completed > 0)
      // At least the unanswered requests: answers that were sent before the server died still arrive.
      assert.ok(errors > 0)
      assert.ok(measuredSeconds < 3600)
      assert.equal(serverCpuUsPerRequest, null)
      assert.match(stderr, /^\d+ requests failed; the first: ./)
    })
  }
}

export function outlives(
  cases: readonly (readonly [runtime: 'bun' | 'node', signal: NodeJS.Signals, code: number])[]
): void {
  for (const [runtime, signal, expected] of cases) {
    it(`does not outlive it under ${runtime} when it gets ${signal}`, async () => {
      const result = start('run-bench.ts', '--target=nest', `--runtime=${runtime}`, ...LONG)
      // This process is Bun, so a measurement under Node is a process of its own.
      const measuring = runtime === 'bun' ? result.pid : await until(() => childOf(result.pid, 'run-bench'))
      const server = await until(() => childOf(measuring))
      await underLoad(server)
      process.kill(result.pid, signal)
      const { code, stdout } = await result.finished
      assert.equal(code, expected)
      assert.equal(stdout, '')
      await until(() => !isRunning(server) && !isRunning(measuring))
    })
  }
}

export function diesWhileListening(asking: readonly string[]): void {
  for (const client of asking) {
    it(`and dies under the ${client} client gives errors until the end, without a flood of them`, async () => {
      const server = await startServer('peers/elysia/server')
      const { port } = server
      const result = start(
        'run-bench.ts',
        '--target=elysia',
        `--client=${client}`,
        `--port=${port}`,
        // Long enough that time is left for errors, however late a busy machine begins the load.
        '--duration=6',
        '--warmup=0'
      )
      await underLoad(server.pid)
      server.kill()
      const { code, stdout } = await result.finished
      const { errors, completed, firstError, measuredSeconds } = JSON.parse(stdout) as Measurement
      assert.equal(code, 1)
      assert.ok(completed > 0)
      assert.notEqual(firstError, null)
      // The outstanding requests, and then at most one per caller every 100 ms.
      assert.ok(errors >= 100 && errors <= 100 * (measuredSeconds * 10 + 2), `${errors} errors`)
    })
  }
}

export function startServer(program: string): Promise<ServerProcess> {
  return ServerProcess.start({
    program,
    runtime: 'bun',
    host: '127.0.0.1',
    port: 0,
    shape: 'flat',
    cpu: null
  })
}
