/**
 * One measurement as a user runs it: of this project, NestJS and the limit. `run-bench.nightly.test.ts` has all
 * others.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Measurement } from './report/schema.ts'
import { isRunning } from './test-support/command.ts'
import {
  bench,
  dies,
  hasFigures,
  measured,
  measures,
  outlives,
  SHORT,
  startServer
} from './test-support/measured.ts'

const LIGHT = ['--warmup=0.1', '--concurrency=8']

describe('a measurement', () => {
  measures([['elysia'], ['nest'], ['elysia', '--runtime=node', '--connections=1', '--shape=object']])
  hasFigures([['stream', '--streams=4', '--values=10']])
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
})

describe('a server that dies while it is measured', () => {
  dies([['elysia']])
})

describe('the server of a measurement', () => {
  outlives([['bun', 'SIGTERM', 143]])
})

describe('a measurement that is impossible', () => {
  it('reports that no server is listening, with code 1', async () => {
    using free = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
    const { port } = free
    free.stop()
    const { code, stdout, stderr } = await bench('--target=nest', '--no-spawn', `--port=${port}`)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, new RegExp(`^No server is listening on 127\\.0\\.0\\.1:${port}\\.`))
  })

  it('reports that the server did not start, with code 1', async () => {
    // An address that is reserved for documentation: no machine has it.
    const { code, stdout, stderr } = await bench('--target=elysia', '--host=192.0.2.1', '--port=0')
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /The server peers\/elysia\/server \(bun\) did not start on 192\.0\.2\.1:0/)
  })

  for (const flags of [[], ['--target=x'], ['--target=nest', '--port=x'], ['--target=nest', '--fast']]) {
    it(`because of wrong flags ('${flags.join(' ')}') is reported, with code 2`, async () => {
      const { code, stdout, stderr } = await bench(...flags)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^(--(target|port): |Unknown option '--fast')/)
      assert.doesNotMatch(stderr, / at .*\.ts/)
    })
  }

  it('because its client does not support it is reported, with code 1', async () => {
    const { code, stdout, stderr } = await bench('--target=raw', '--payload=0', ...SHORT)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(
      stderr,
      /^The socket client cannot connect to 127\.0\.0\.1:\d+: an empty payload cannot be echoed without a protocol/
    )
  })
})
