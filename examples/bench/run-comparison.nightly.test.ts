import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isMeasured } from './report/comparison.ts'
import type { Comparison, Measurement } from './report/schema.ts'
import { readStored } from './report/stored.ts'
import { childOf, isRunning, run, start, underLoad, until } from './test-support/command.ts'

const SHORT = ['--duration=0.5', '--warmup=0.1', '--concurrency=4']

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'comparison-'))
})
after(() => rm(folder, { recursive: true }))

describe('a comparison', () => {
  it('reports what a peer cannot do, and goes on', async () => {
    const flags = ['--runs=1', '--duration=1', '--warmup=0', '--concurrency=1', '--clients=nest']
    const out = join(folder, 'obstacle.json')
    const { code, stdout } = await run('run-comparison.ts', ...flags, '--targets=nest,grpc', `--out=${out}`)
    assert.equal(code, 0)
    assert.match(stdout, /^grpc was not measured: the nest client does not speak its protocol$/m)
  })

  it('that is interrupted leaves no measurement and no server behind', async () => {
    const comparison = start('run-comparison.ts', '--duration=3600', `--out=${join(folder, 'never.json')}`)
    const bench = await until(() => childOf(comparison.pid, 'run-bench'))
    const server = await until(() => childOf(bench, 'peers/'))
    process.kill(comparison.pid, 'SIGTERM')
    const { code, stdout, stderr } = await comparison.finished
    assert.deepEqual([code, stdout], [143, ''])
    assert.match(stderr, /^run 1 of 12: [^\n]*\n$/)
    assert.deepEqual([isRunning(bench), isRunning(server)], [false, false])
  })

  it('keeps all other results when a server is killed', async () => {
    const out = join(folder, 'killed.json')
    // Long enough to be killed during a measurement on any machine.
    const flags = ['--runs=1', '--duration=4', '--warmup=0', '--concurrency=10', '--shapes=shared']
    const comparison = start('run-comparison.ts', ...flags, '--targets=nest,elysia', `--out=${out}`)
    const bench = await until(() => childOf(comparison.pid, 'run-bench'))
    const server = await until(() => childOf(bench, 'peers/nest/server'))
    await underLoad(server)
    process.kill(server, 'SIGKILL')
    const { code } = await comparison.finished
    assert.equal(code, 1)
    const [nest, elysia] = readStored(out, await readFile(out, 'utf8')).comparison.contests[0]!.results
    assert.ok(nest!.errors > 0)
    assert.deepEqual([elysia!.errors, elysia!.figures.rps === null], [0, false])
  })

  it('can have other clients, and one layout for one request at a time', async () => {
    const out = join(folder, 'clients.json')
    const flags = ['--runs=1', '--duration=1', '--warmup=0', '--concurrency=1', '--clients=nest,raw']
    const { code, stderr } = await run('run-comparison.ts', ...flags, `--out=${out}`)
    assert.equal(code, 0, stderr)
    const { contests } = JSON.parse(await readFile(out, 'utf8')) as Comparison
    assert.deepEqual(
      contests.map(({ client, connections, rounds }) => [
        client,
        connections,
        (rounds[0]![0] as Measurement).client
      ]),
      [
        ['nest', 1, 'nest'],
        ['raw', 1, 'raw']
      ]
    )
  })

  it('measures any targets by the given clients, and reports what could not be measured', async () => {
    const out = join(folder, 'targets.json')
    const { code, stdout, stderr } = await run(
      'run-comparison.ts',
      '--runs=1',
      '--duration=1',
      '--warmup=0',
      '--concurrency=1',
      '--payload=0',
      '--targets=elysia,raw',
      '--method=send',
      '--runtime=node',
      `--out=${out}`
    )
    // A plain socket cannot echo an empty payload.
    assert.equal(code, 1)
    assert.match(stdout, /^raw was not measured: The socket client cannot connect .* without a protocol/m)
    assert.match(stderr, /The socket client cannot connect/)
    const { base, options, contests, environment } = JSON.parse(await readFile(out, 'utf8')) as Comparison
    assert.deepEqual([base, options.targets, options.method], ['elysia', ['elysia', 'raw'], 'send'])
    assert.notEqual(environment?.node, null)
    const [elysia, raw] = contests[0]!.results
    assert.deepEqual([elysia?.errors, elysia?.notMeasured, elysia?.missing], [0, 0, 0])
    assert.deepEqual([raw?.notMeasured, raw?.missing], [1, 1])
    assert.equal((contests[0]!.rounds[0]![0] as Measurement).method, 'send')
  })

  it('at a fixed rate is decided by p99, and can have several load processes', async () => {
    const out = join(folder, 'rate.json')
    const flags = ['--runs=2', ...SHORT, '--shapes=shared', '--rate=200', '--processes=2']
    const { code, stdout, stderr } = await run('run-comparison.ts', ...flags, `--out=${out}`)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^shared connection · 200 requests per second over 2 connections · /m)
    const { contests, options } = readStored(out, await readFile(out, 'utf8')).comparison
    assert.equal(options.processes, 2)
    assert.equal(contests[0]!.verdicts[0]?.figure, 'p99')
    assert.ok(contests[0]!.rounds.flat().every((outcome) => isMeasured(outcome) && outcome.rate === 200))
  })
})
