import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isMeasured } from './report/comparison.ts'
import { readStored } from './report/stored.ts'
import { writeJson } from './report/write.ts'
import { run } from './test-support/command.ts'
import { comparison } from './test-support/comparison.ts'
import { measurement } from './test-support/measurement.ts'

/** Compares for half a second each; for five seconds if a busy machine has left one target without time. */
async function compared(out: string, ...flags: string[]) {
  for (const seconds of [0.5, 5]) {
    const lengths = [`--duration=${seconds}`, '--warmup=0.1', '--concurrency=4']
    const finished = await run('run-comparison.ts', ...flags, ...lengths, `--out=${out}`)
    const { comparison } = readStored(out, await readFile(out, 'utf8'))
    const runs = comparison.contests.flatMap(({ rounds }) => rounds.flat().filter((one) => isMeasured(one)))
    if (seconds === 5 || runs.every(({ completed }) => completed > 0))
      return { ...finished, comparison, runs, seconds }
  }
  return assert.fail()
}

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'comparison-'))
})
after(() => rm(folder, { recursive: true }))

describe('a comparison', () => {
  it('measures both layouts in turn, prints a table and writes everything as JSON', async () => {
    const out = join(folder, 'new', 'report.json')
    const { code, stdout, stderr, comparison, runs, seconds } = await compared(out, '--runs=1')
    assert.equal(code, 0, stderr)
    const { contests, options, environment, command } = comparison
    assert.equal(options.runs, 1)
    assert.ok(command.startsWith(`bun run compare --runs=1 --duration=${seconds} `))
    assert.equal(environment?.bun, Bun.version)
    assert.deepEqual(
      contests.map(({ client, connections, rounds }) => [client, connections, rounds.length]),
      [
        ['own', 4, 1],
        ['own', 1, 1]
      ]
    )
    assert.deepEqual(
      runs.map(({ target, client }) => [target, client]),
      [1, 2].flatMap(() => [
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
    assert.match(stderr, /^run 1 of 4: elysia, connection per client \(.* left\)$/m)
    assert.match(stderr, /^ {2}elysia {2}[\d,]+ req\/s {2}p99 [\d.]+ ms$/m)
    assert.match(stderr, /^run 4 of 4: nest, shared connection \(.* left\)$/m)
  })

  it('of stored reports measures nothing and shows all of them', async () => {
    const out = join(folder, 'stored.json')
    await writeJson(comparison([[{}, [[measurement({}), measurement({ target: 'nest' })]]]]), out)
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

  it('with wrong flags is refused, with code 2', async () => {
    const { code, stdout, stderr } = await run('run-comparison.ts', '--runs=many')
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^--runs: got 'many', expected a whole number from 1 to 1000/)
  })
})
