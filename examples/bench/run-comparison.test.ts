import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isMeasured } from './report/comparison.ts'
import type { Comparison, Measurement } from './report/schema.ts'
import { readStored } from './report/stored.ts'
import { childOf, isRunning, run, start, underLoad, until } from './test-support/command.ts'

const SHORT = ['--duration=1', '--warmup=0.1', '--concurrency=4']

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'comparison-'))
})
after(() => rm(folder, { recursive: true }))

describe('a comparison', () => {
  it('measures both shapes in turns, prints a table and writes everything as JSON', async () => {
    const out = join(folder, 'new', 'report.json')
    const { code, stdout, stderr } = await run('run-comparison.ts', '--runs=2', ...SHORT, `--out=${out}`)
    assert.equal(code, 0, stderr)
    const { contests, options, environment, command } = readStored(
      out,
      await readFile(out, 'utf8')
    ).comparison
    assert.equal(options.runs, 2)
    assert.ok(command.startsWith('bun run compare --runs=2 --duration=1 '))
    assert.equal(environment?.bun, Bun.version)
    assert.deepEqual(
      contests.map(({ client, connections, rounds }) => [client, connections, rounds.length]),
      [
        ['own', 4, 2],
        ['own', 1, 2]
      ]
    )
    const runs = [0, 1].flatMap((run) =>
      contests.flatMap(({ rounds }) => rounds[run]!.filter((outcome) => isMeasured(outcome)))
    )
    assert.deepEqual(
      runs.map(({ target, client }) => [target, client]),
      [1, 2, 3, 4].flatMap(() => [
        ['elysia', 'elysia'],
        ['nest', 'nest']
      ])
    )
    assert.deepEqual(
      runs.map(({ startedAt }) => startedAt),
      runs.map(({ startedAt }) => startedAt).sort()
    )
    assert.match(stdout, /connection per client · 4 requests at a time/)
    assert.match(stdout, /shared connection · 4 requests at a time/)
    assert.match(stdout, /^elysia ÷ nest +\d+\.\d\dx/m)
    assert.match(stdout, /report\.json, .*report\.md, .*report\.html\n$/)
    assert.match(stderr, /^run 1 of 8: elysia, connection per client \(.* left\)$/m)
    assert.match(stderr, /^ {2}elysia {2}[\d,]+ req\/s {2}p99 [\d.]+ ms$/m)
    assert.match(stderr, /^run 8 of 8: nest, shared connection \(.* left\)$/m)
  })

  it('of stored reports measures nothing and shows all of them', async () => {
    const out = join(folder, 'stored.json')
    const measured = await run('run-comparison.ts', '--runs=2', ...SHORT, '--shapes=shared', `--out=${out}`)
    assert.equal(measured.code, 0, measured.stderr)
    const [again, both] = [join(folder, 'again.json'), join(folder, 'both.json')]
    await copyFile(out, again)
    const { code, stdout, stderr } = await run('run-comparison.ts', '--from', out, again, `--out=${both}`)
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^elysia @ again ÷ elysia @ stored +1\.00x/m)
    const { sources } = readStored(both, await readFile(both, 'utf8')).comparison
    assert.equal(sources.length, 2)
    for (const [extension, sign] of [
      ['md', '# Benchmark'],
      ['html', '<!doctype html>']
    ] as const) {
      const text = await readFile(join(folder, `both.${extension}`), 'utf8')
      assert.ok(text.startsWith(sign) && text.includes('elysia @ again'), extension)
    }
  })

  it('keeps all other results when a server is killed', async () => {
    const out = join(folder, 'killed.json')
    // Long enough to be killed in the middle of, wherever this runs.
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

  it('can have other clients, and one request at a time has one shape', async () => {
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

  it('takes any targets, asks them as told, and says what could not be measured', async () => {
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
    // Without a payload there is nothing that a bare socket could echo.
    assert.equal(code, 1)
    assert.match(stdout, /^raw was not measured: The socket client cannot connect .* without a protocol/m)
    assert.match(stderr, /The socket client cannot connect/)
    const { base, options, contests, environment } = JSON.parse(await readFile(out, 'utf8')) as Comparison
    assert.deepEqual([base, options.targets, options.method], ['elysia', ['elysia', 'raw'], 'send'])
    assert.notEqual(environment?.node, null)
    const [elysia, raw] = contests[0]!.results
    assert.deepEqual([elysia?.errors, elysia?.notMeasured, elysia?.failed], [0, 0, false])
    assert.deepEqual([raw?.notMeasured, raw?.failed], [1, true])
    assert.equal((contests[0]!.rounds[0]![0] as Measurement).method, 'send')
  })

  it('at a rate is decided by p99, and can have several load processes', async () => {
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

  it('says what a peer cannot do and goes on', async () => {
    const flags = ['--runs=1', '--duration=1', '--warmup=0', '--concurrency=1', '--clients=nest']
    const out = join(folder, 'obstacle.json')
    const { code, stdout } = await run('run-comparison.ts', ...flags, '--targets=nest,grpc', `--out=${out}`)
    assert.equal(code, 0)
    assert.match(stdout, /^grpc was not measured: the nest client does not speak its protocol$/m)
  })

  it('that is interrupted leaves neither a measurement nor a server behind', async () => {
    const comparison = start('run-comparison.ts', '--duration=3600', `--out=${join(folder, 'never.json')}`)
    const bench = await until(() => childOf(comparison.pid, 'run-bench'))
    const server = await until(() => childOf(bench, 'peers/'))
    process.kill(comparison.pid, 'SIGTERM')
    const { code, stdout, stderr } = await comparison.finished
    assert.deepEqual([code, stdout], [143, ''])
    assert.match(stderr, /^run 1 of 12: [^\n]*\n$/)
    assert.deepEqual([isRunning(bench), isRunning(server)], [false, false])
  })

  it('with wrong flags says so, with code 2', async () => {
    const { code, stdout, stderr } = await run('run-comparison.ts', '--runs=many')
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^--runs: got 'many', expected a whole number from 1 to 1000/)
  })
})
