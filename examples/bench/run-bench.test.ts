import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { makePayload, type ShapeName } from './payload/payload.ts'
import { natsServerCommand } from './peers/nats/nats-server.ts'
import { isOurs, ownTargets, type TargetName, targets } from './peers/targets.ts'
import { ServerProcess } from './process/server-process.ts'
import type { Measurement } from './report/schema.ts'
import { childOf, type Finished, isRunning, run, start, underLoad, until } from './test-support/command.ts'
import { distinctTargets } from './test-support/distinct-targets.ts'
import { inParallel } from './test-support/in-parallel.ts'

const bench = (...flags: string[]) => run('run-bench.ts', ...flags)
const FLAGS = ['--port=0', '--warmup=0.1', '--concurrency=8']
const SHORT = [...FLAGS, '--duration=0.5']
const LONG = ['--port=0', '--duration=3600', '--warmup=0']

/** A few at a time: most of what a short measurement takes is waiting. */
const WIDTH = 4

/** Measures for half a second; for ten if nothing is completed by then, because the machine has much else to do. */
async function measured(...flags: string[]): Promise<Finished & { readonly seconds: number }> {
  const finished = await bench(...SHORT, ...flags)
  if (!finished.stderr.includes('Nothing was completed')) return { ...finished, seconds: 0.5 }
  return { ...(await bench(...FLAGS, '--duration=10', ...flags)), seconds: 10 }
}

describe('a measurement', () => {
  const onBothRuntimes = (target: string, ...flags: string[]): [string, ...string[]][] => [
    [target, ...flags],
    [target, '--runtime=node', ...flags]
  ]
  const cases: [target: string, ...flags: string[]][] = [
    ...ownTargets.map((target): [string, ...string[]] => [target]),
    ...ownTargets.map((target): [string, ...string[]] => [
      target,
      '--runtime=node',
      '--connections=1',
      '--shape=object'
    ]),
    ['elysia', '--method=send'],
    ['nest', '--method=send'],
    ['elysia', '--protocol=nest'],
    ['elysia', '--client=nest'],
    ['nest', '--client=elysia'],
    ...onBothRuntimes('elysia', '--client=raw'),
    ['nest', '--client=raw', '--shape=list'],
    ['elysia', '--client=raw', '--connections=8'],
    ['elysia', '--payload=70000'],
    ['elysia', '--shape=binary', '--codec=bytes'],
    ...ownTargets
      .filter((target) => !isOurs(target))
      .map((target): [string, ...string[]] => [target, '--shape=binary']),
    ['grpc', '--shape=list'],
    ['grpc', '--shape=record'],
    ['connect', '--shape=record'],
    ...distinctTargets.map((target): [string, ...string[]] => [target, '--shape=large']),
    ...onBothRuntimes('elysia', '--rate=300'),
    ['nest', '--rate=300', '--connections=1'],
    ...onBothRuntimes('elysia', '--processes=2'),
    ['nest', '--processes=3', '--rate=300']
  ]
  let runs: ReturnType<typeof measured>[] = []
  before(() => {
    // Fetched once, and not by several measurements at a time.
    natsServerCommand()
    const jobs = cases.map(
      ([target, ...flags]) =>
        () =>
          measured(`--target=${target}`, ...flags)
    )
    runs = inParallel(jobs, WIDTH)
  })

  for (const [index, [target, ...flags]] of cases.entries()) {
    it(`of ${[target, ...flags].join(' ')} is one JSON object, and the server is gone after it`, async () => {
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
})

describe('a server that is listening already', () => {
  it('is used, whether or not one may be started, and left running', async () => {
    const server = await startServer('peers/nest/server')
    try {
      for (const flags of [[], ['--no-spawn'], ['--spawn']]) {
        const { code, stdout } = await bench(
          '--target=nest',
          ...SHORT.slice(1),
          `--port=${server.port}`,
          ...flags
        )
        const result = JSON.parse(stdout) as Measurement
        assert.equal(code, 0)
        assert.ok(result.completed > 0)
        assert.deepEqual(
          [result.port, result.runtime, result.serverCpuUsPerRequest, result.serverRssMb, result.serverPid],
          [server.port, null, null, null, null]
        )
        assert.deepEqual([result.rssIdle, result.rssPeak, result.rssAfter], [null, null, null])
      }
      assert.ok(isRunning(server.pid))
    } finally {
      await server.stop()
    }
  })

  for (const client of ['elysia', 'nest', 'raw']) {
    it(`and dies under the ${client} client gives errors until the end, without a flood of them`, async () => {
      const server = await startServer('peers/elysia/server')
      const { port } = server
      const result = start(
        'run-bench.ts',
        '--target=elysia',
        `--client=${client}`,
        `--port=${port}`,
        '--duration=2',
        '--warmup=0'
      )
      await underLoad(server.pid)
      server.kill()
      const { code, stdout } = await result.finished
      const { errors, completed, firstError, measuredSeconds } = JSON.parse(stdout) as Measurement
      assert.equal(code, 1)
      assert.ok(completed > 0)
      assert.notEqual(firstError, null)
      // What was outstanding, then at most one every 100 ms and caller.
      assert.ok(errors >= 100 && errors <= 100 * (measuredSeconds * 10 + 2), `${errors} errors`)
    })
  }
})

describe('a server that dies while it is measured', () => {
  for (const [target, ...flags] of [
    ['elysia'],
    ['nest'],
    ['elysia', '--connections=1'],
    ['elysia', '--client=nest', '--connections=1'],
    ['nest', '--client=raw'],
    ['raw'],
    ['moleculer', '--connections=10'],
    ['grpc'],
    ['rsocket-js'],
    ['elysia', '--processes=2'],
    ['elysia', '--rate=20000'],
    ['raw', '--find-capacity', '--rate=50000']
  ] as [string, ...string[]][]) {
    it(`ends the measurement of ${[target, ...flags].join(' ')} early, with errors, JSON and code 1`, async () => {
      const result = start('run-bench.ts', `--target=${target}`, ...LONG, ...flags)
      const server = await until(() => childOf(result.pid))
      await underLoad(server)
      process.kill(server, 'SIGKILL')
      const { code, stdout, stderr } = await result.finished
      const { errors, completed, measuredSeconds, serverCpuUsPerRequest } = JSON.parse(stdout) as Measurement
      assert.equal(code, 1)
      assert.ok(completed > 0)
      // At a rate, no more are outstanding than have not been answered yet.
      assert.ok(errors >= (flags.some((flag) => flag.startsWith('--rate')) ? 1 : 100), `${errors} errors`)
      assert.ok(measuredSeconds < 3600)
      assert.equal(serverCpuUsPerRequest, null)
      assert.match(stderr, /^\d+ requests failed; the first: ./)
    })
  }
})

describe('the server of a measurement', () => {
  for (const runtime of ['bun', 'node']) {
    for (const [signal, expected] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
      ['SIGKILL', 137]
    ] as const) {
      it(`does not outlive it under ${runtime} when it gets ${signal}`, async () => {
        const result = start('run-bench.ts', '--target=nest', `--runtime=${runtime}`, ...LONG)
        // This is Bun: a measurement under Node is a process of its own.
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
})

describe('a measurement that cannot be', () => {
  it('says that no server is listening, with code 1', async () => {
    using free = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
    const { port } = free
    free.stop()
    const { code, stdout, stderr } = await bench('--target=nest', '--no-spawn', `--port=${port}`)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, new RegExp(`^No server is listening on 127\\.0\\.0\\.1:${port}\\.`))
  })

  it('says that the server did not start, with code 1', async () => {
    // An address of the range for documentation: no machine has it, and nobody answers there.
    const { code, stdout, stderr } = await bench('--target=elysia', '--host=192.0.2.1', '--port=0')
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /The server peers\/elysia\/server \(bun\) did not start on 192\.0\.2\.1:0/)
  })

  for (const flags of [[], ['--target=x'], ['--target=nest', '--port=x'], ['--target=nest', '--fast']]) {
    it(`because of wrong flags ('${flags.join(' ')}') says so, with code 2`, async () => {
      const { code, stdout, stderr } = await bench(...flags)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^(--(target|port): |Unknown option '--fast')/)
      assert.doesNotMatch(stderr, / at .*\.ts/)
    })
  }

  it('because its client cannot do it says so, with code 1', async () => {
    const { code, stdout, stderr } = await bench('--target=raw', '--payload=0', ...SHORT)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^The socket client cannot connect to 127\.0\.0\.1:\d+: without a protocol/)
  })
})

function startServer(program: string): Promise<ServerProcess> {
  return ServerProcess.start({
    program,
    runtime: 'bun',
    host: '127.0.0.1',
    port: 0,
    shape: 'flat',
    cpu: null
  })
}
