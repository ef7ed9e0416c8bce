/** A failure during a comparison affects only one measurement, and nothing is left behind. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { NOT_SOURCE } from './gate/base.ts'
import { BENCH_FOLDER } from './process/folder.ts'
import type { TargetResult } from './report/schema.ts'
import { readStored } from './report/stored.ts'
import { childOf, isRunning, run, start, underLoad, until } from './test-support/command.ts'

/** Long enough to fail during a measurement on any machine. */
const FLAGS = ['--runs=1', '--duration=2', '--warmup=0', '--concurrency=10', '--shapes=shared']

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'faults-'))
})
after(() => rm(folder, { recursive: true }))

async function resultsIn(out: string): Promise<readonly TargetResult[]> {
  return readStored(out, await readFile(out, 'utf8')).comparison.contests[0]!.results
}

/** Starts a comparison of nest and elysia. Resolves when nest is under load. */
async function comparing(out: string, ...flags: string[]) {
  const comparison = start('run-comparison.ts', ...FLAGS, '--targets=nest,elysia', ...flags, `--out=${out}`)
  const bench = await until(() => childOf(comparison.pid, 'run-bench'))
  const server = await until(() => childOf(bench, 'peers/nest'))
  await underLoad(server)
  return { comparison, bench, server }
}

describe('during a comparison', () => {
  it('a load process that is killed is named, its server ends, and all others are measured', async () => {
    const out = join(folder, 'killed.json')
    const { comparison, bench, server } = await comparing(out)
    process.kill(bench, 'SIGKILL')
    const { code, stdout } = await comparison.finished
    assert.equal(code, 1)
    const [nest, elysia] = await resultsIn(out)
    assert.deepEqual([nest!.reason, nest!.missing], ['the measuring process was ended by SIGKILL', 1])
    assert.deepEqual([elysia!.errors, elysia!.figures.rps === null], [0, false])
    assert.match(stdout, /^INCOMPLETE: 1 measurement of 2 missing$/m)
    assert.match(stdout, /^nest was not measured: the measuring process was ended by SIGKILL$/m)
    assert.equal(isRunning(server), false)
    for (const file of ['killed.md', 'killed.html']) {
      assert.match(
        await readFile(join(folder, file), 'utf8'),
        /nest: the measuring process was ended by SIGKILL/
      )
    }
  })

  it('a load process that does not answer any more is given up, with its server, and all others are measured', async () => {
    const out = join(folder, 'stopped.json')
    const { comparison, bench, server } = await comparing(out, '--patience=20')
    process.kill(bench, 'SIGSTOP')
    const { code, stdout } = await comparison.finished
    assert.equal(code, 1)
    assert.match(
      stdout,
      /^nest was not measured: the measurement had not ended after \d+ s and was given up$/m
    )
    const [, elysia] = await resultsIn(out)
    assert.deepEqual([elysia!.errors, elysia!.figures.rps === null], [0, false])
    assert.deepEqual([isRunning(bench), isRunning(server)], [false, false])
  })

  it('a server that does not answer any more causes errors, is ended, and all others are measured', async () => {
    const out = join(folder, 'deaf.json')
    const { comparison, server } = await comparing(out)
    process.kill(server, 'SIGSTOP')
    const { code } = await comparison.finished
    assert.equal(code, 1)
    const [nest, elysia] = await resultsIn(out)
    assert.ok(nest!.errors > 0)
    assert.deepEqual([elysia!.errors, elysia!.figures.rps === null], [0, false])
    assert.equal(isRunning(server), false)
  })

  it('a signal ends it, and the results so far are written, with what is missing', async () => {
    const out = join(folder, 'ended.json')
    const flags = ['--runs=500', '--duration=0.3', '--warmup=0', '--concurrency=10', '--shapes=shared']
    const comparison = start('run-comparison.ts', ...flags, '--targets=nest,elysia', `--out=${out}`)
    await until(() => existsSync(out))
    process.kill(comparison.pid, 'SIGTERM')
    const { code, stdout, stderr } = await comparison.finished
    assert.deepEqual([code, stdout], [143, ''])
    assert.match(stderr, /^Results so far: .*ended\.json, .*ended\.md, .*ended\.html$/m)
    const [nest] = await resultsIn(out)
    assert.notEqual(nest!.figures.rps, null)
    assert.equal(nest!.reason, 'the run ended before its turn')
    for (const file of ['ended.md', 'ended.html']) {
      assert.match(
        await readFile(join(folder, file), 'utf8'),
        /INCOMPLETE: \d+ measurements of 1,?000 missing/
      )
    }
  })
})

describe('a peer that cannot start', () => {
  let copy = ''
  before(async () => {
    // A folder from which the same packages are found, and where no sources are expected.
    copy = await mkdtemp(join(BENCH_FOLDER, 'dist', 'broken-'))
    for (const entry of await readdir(BENCH_FOLDER)) {
      if (NOT_SOURCE.has(entry)) continue
      await cp(join(BENCH_FOLDER, entry), join(copy, entry), {
        recursive: true,
        filter: (from) => basename(from) !== 'node_modules'
      })
    }
    await writeFile(join(copy, 'peers/nest/server.ts'), "throw new Error('no license on Sundays')\n")
  })
  after(() => rm(copy, { recursive: true }))

  it('is in the table with the reason, and all others are measured', async () => {
    const out = join(folder, 'broken.json')
    const { code, stdout } = await run(
      join(copy, 'run-comparison.ts'),
      ...['--runs=1', '--duration=1', '--warmup=0', '--concurrency=4', '--shapes=shared'],
      '--targets=nest,elysia',
      `--out=${out}`
    )
    assert.equal(code, 1)
    assert.match(stdout, /^nest +– +–/m)
    assert.match(
      stdout,
      /^nest was not measured: The server peers\/nest\/server \(bun\) did not start on .*no license on Sundays/m
    )
    const [, elysia] = await resultsIn(out)
    assert.deepEqual([elysia!.errors, elysia!.figures.rps === null], [0, false])
  })
})
