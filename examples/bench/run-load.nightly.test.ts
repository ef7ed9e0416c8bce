/** Load processes, and the search for the highest rate, from the command line. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Measurement } from './report/schema.ts'
import { childOf, childrenOf, isRunning, run, start, underLoad, until } from './test-support/command.ts'

describe('a load process that dies', () => {
  it('ends the measurement, with the reason and code 1, and leaves nothing behind', async () => {
    const result = start(
      'run-bench.ts',
      '--target=elysia',
      '--processes=2',
      '--port=0',
      '--duration=3600',
      '--warmup=0'
    )
    const server = await until(() => childOf(result.pid))
    await underLoad(server)
    const [worker, other] = childrenOf(result.pid, 'run-worker')
    process.kill(worker!, 'SIGKILL')
    const { code, stdout, stderr } = await result.finished
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^A load process ended before its work was done\.$/m)
    await until(() => !isRunning(server) && !isRunning(other!))
  })
})

describe('a load process that does not answer any more', () => {
  it('is ended, with the others and the server, and is named as the reason', async () => {
    const flags = ['--target=elysia', '--processes=2', '--port=0', '--duration=2', '--warmup=0']
    const result = start('run-bench.ts', ...flags)
    const server = await until(() => childOf(result.pid))
    await underLoad(server)
    const workers = childrenOf(result.pid, 'run-worker')
    process.kill(workers[0]!, 'SIGSTOP')
    const { code, stdout, stderr } = await result.finished
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^A load process did not answer any more and was ended\.$/m)
    assert.deepEqual([server, ...workers].map(isRunning), [false, false, false])
  })
})

describe('the highest rate', () => {
  const find = (...flags: string[]) =>
    run(
      'run-bench.ts',
      '--target=raw',
      '--find-capacity',
      '--port=0',
      '--connections=1',
      '--warmup=0',
      '--duration=0.1',
      ...flags
    )

  it('is measured at the end, and all trials are reported', async () => {
    const { code, stdout, stderr } = await find('--rate=5000000', '--slo=600000', '--payload=1')
    assert.equal(code, 0, stderr)
    const { capacity, rate, errors, completed } = JSON.parse(stdout) as Measurement
    assert.equal(errors, 0)
    assert.ok(completed > 0)
    assert.equal(capacity?.sloMs, 600_000)
    assert.equal(capacity?.trials.filter(({ kept }) => kept).at(-1)?.rate, rate)
  })

  it('that does not exist is reported', async () => {
    const { code, stdout, stderr } = await find('--rate=2', '--slo=0.001')
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^At no rate is p99 under 0\.001 ms/)
  })
})
