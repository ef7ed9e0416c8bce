/** One measurement as a user makes it: of ours, Nest and the limit. `run-bench.nightly.test.ts` has all others. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Measurement } from './report/schema.ts'
import { isRunning } from './test-support/command.ts'
import {
  bench,
  dies,
  diesWhileListening,
  measured,
  measures,
  outlives,
  SHORT,
  startServer
} from './test-support/measured.ts'

const LIGHT = ['--warmup=0.1', '--concurrency=8']

describe('a measurement', () => {
  measures([
    ['elysia'],
    ['nest'],
    ['elysia', '--runtime=node', '--connections=1', '--shape=object'],
    ['elysia', '--client=nest'],
    ['elysia', '--client=raw'],
    ['raw'],
    ['elysia', '--processes=2']
  ])

  for (const [mode, ...flags] of [
    ['stream', '--streams=4', '--values=10'],
    ['emit', '--batch=10'],
    ['start']
  ] as const) {
    it(`of the mode ${mode} has figures`, async () => {
      const asked = ['--target=elysia', `--mode=${mode}`, ...flags, '--port=0', '--warmup=0']
      const { code, stdout, stderr } = await measured(...asked)
      const { task, errors, completed, lost = 0 } = JSON.parse(stdout) as Measurement
      assert.deepEqual([code, stderr, task?.mode, errors, lost], [0, '', mode, 0, 0])
      assert.ok(completed > 0)
    })
  }

  it('of a suite, too', async () => {
    const asked = ['--suite=db', '--target=service', '--concurrency=8', '--warmup=0']
    const { code, stdout, stderr } = await measured(...asked)
    const { task, completed, successRate, serverPid } = JSON.parse(stdout) as Measurement
    assert.deepEqual([code, stderr, task], [0, '', { mode: 'suite', suite: 'db', workload: 'list' }])
    assert.ok(completed > 0 && successRate === 100)
    assert.equal(isRunning(serverPid!), false)
  })
})

describe('a server that is listening already', () => {
  it('is used, whether or not one may be started, and left running', async () => {
    const server = await startServer('peers/nest/server')
    try {
      for (const flags of [[], ['--no-spawn'], ['--spawn']]) {
        const asked = ['--target=nest', ...LIGHT, `--port=${server.port}`]
        const { code, stdout } = await measured(...asked, ...flags)
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

  it("is measured as a service of the user's own, by its pattern and data", async () => {
    const server = await startServer('peers/nest/server')
    try {
      const custom = [`--port=${server.port}`, '--pattern=echo', '--data=[1,2,3]', '--protocol=nest']
      const { code, stdout } = await measured('--target=custom', ...LIGHT, ...custom)
      const { pattern, completed, errors } = JSON.parse(stdout) as Measurement
      assert.deepEqual([code, pattern, errors, completed > 0], [0, 'echo', 0, true])
    } finally {
      await server.stop()
    }
  })

  diesWhileListening(['raw'])
})

describe('a server that dies while it is measured', () => {
  dies([['elysia'], ['nest', '--client=raw']])
})

describe('the server of a measurement', () => {
  outlives([
    ['bun', 'SIGTERM', 143],
    ['node', 'SIGKILL', 137]
  ])
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
