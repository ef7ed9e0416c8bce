/** One measurement as a user runs it. `run-bench.nightly.test.ts` has all others. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bench, measures, outlives, SHORT } from './test-support/measured.ts'

describe('a measurement', () => {
  measures([['elysia']])
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

  for (const flags of [['--target=x'], ['--target=nest', '--fast']]) {
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
