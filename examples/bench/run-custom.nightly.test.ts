/** A service of the user, measured and compared from the command line. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { microservice, RpcError } from 'elysia-microservices'
import { BENCH_FOLDER } from './process/folder.ts'
import type { Measurement } from './report/schema.ts'
import { run } from './test-support/command.ts'

const SHORT = ['--duration=1', '--warmup=0', '--concurrency=8']

// A logger without output, because these tests cause failures.
const silent = { error: () => {}, warn: () => {} }

describe('a service of the user', () => {
  const orders = microservice({ transport: 'tcp', port: 0, logger: silent })
    .message('orders.get', ({ data, headers }) => {
      if (headers['tenant'] !== 'a') throw new RpcError('which tenant?')
      return { found: data }
    })
    .message({ cmd: 'sum' }, ({ data }) => (data as number[]).reduce((sum, one) => sum + one, 0))
  before(() => orders.listen())
  after(() => orders.stop())

  const ask = (...flags: string[]) =>
    run('run-bench.ts', '--target=custom', `--port=${orders.address!.port}`, ...SHORT, ...flags)

  for (const flags of [
    ['--pattern=orders.get', '--data={"id":7}', '--headers={"tenant":"a"}'],
    ['--pattern={"cmd":"sum"}', '--data=[1,2,3]', '--protocol=nest'],
    ['--pattern={"cmd":"sum"}', '--data=[1,2,3]', '--client=nest', '--rate=100'],
    ['--pattern=orders.get', '--headers={"tenant":"a"}', '--processes=2', '--codec=msgpack']
  ]) {
    it(`is measured by ${flags.join(' ')}`, async () => {
      const { code, stdout, stderr } = await ask(...flags)
      assert.deepEqual([code, stderr], [0, ''])
      const { completed, shape, pattern, runtime } = JSON.parse(stdout) as Measurement
      assert.ok(completed > 0)
      assert.deepEqual([shape, runtime], ['custom', null])
      assert.equal(`--pattern=${pattern}`, flags[0])
    })
  }

  it('is compared with itself, its data read from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'custom-'))
    await writeFile(join(folder, 'order.json'), '{"id":7}')
    const { code, stdout, stderr } = await run(
      'run-comparison.ts',
      '--targets=custom',
      '--pattern=orders.get',
      `--data=@${join(folder, 'order.json')}`,
      '--headers={"tenant":"a"}',
      `--port=${orders.address!.port}`,
      ...['--runs=1', '--duration=1', '--warmup=0', '--concurrency=4', '--shapes=shared'],
      `--out=${join(folder, 'report.json')}`
    )
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^shared connection · 4 requests at a time · .* · orders\.get, 8 B as JSON · bun$/m)
    await rm(folder, { recursive: true })
  })

  it('is measured over TLS, and not if its certificate is not trusted', async () => {
    const pem = (name: string) => join(BENCH_FOLDER, '../../tests/fixtures/tls', name)
    const [cert, key] = await Promise.all([readFile(pem('service.pem')), readFile(pem('service.key'))])
    const guarded = microservice({ transport: 'tcp', port: 0, tls: { cert, key }, logger: silent }).message(
      'orders.get',
      ({ data }) => data
    )
    await guarded.listen()
    const flags = [
      '--target=custom',
      `--port=${guarded.address!.port}`,
      '--pattern=orders.get',
      '--servername=service.test',
      ...SHORT
    ]
    try {
      const trusted = await run('run-bench.ts', ...flags, `--ca=${pem('authority.pem')}`)
      assert.deepEqual([trusted.code, trusted.stderr], [0, ''])
      assert.ok((JSON.parse(trusted.stdout) as Measurement).completed > 0)
      const { code, stdout, stderr } = await run(
        'run-bench.ts',
        ...flags,
        `--ca=${pem('other-authority.pem')}`
      )
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^The elysia client cannot connect to 127\.0\.0\.1:\d+: .*certificate/)
    } finally {
      await guarded.stop()
    }
  })

  it('that answers with errors makes the measurement fail with this error', async () => {
    const { code, stderr } = await ask('--pattern=orders.get')
    assert.equal(code, 1)
    assert.match(stderr, /requests failed; the first: which tenant\?/)
  })
})
