/** The suites as a user runs them: every framework answers correctly, and problems are reported in words. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { prepareOthers } from './process/others.ts'
import { startPostgres } from './process/postgres.ts'
import { isMeasured } from './report/comparison.ts'
import type { Comparison, Measurement } from './report/schema.ts'
import { readStored } from './report/stored.ts'
import { openAskers } from './suites/db/askers.ts'
import { addUsers } from './suites/db/database.ts'
import { readSuiteOptions } from './suites/options.ts'
import { startServer } from './suites/server.ts'
import { childOf, isRunning, run, start, underLoad, until } from './test-support/command.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'suites-'))
})
after(() => rm(folder, { recursive: true }))

/** Long enough for the slowest framework to answer on a busy machine. */
const SHORT = ['--runs=1', '--duration=0.5', '--warmup=0']

async function compared(name: string, ...flags: string[]) {
  const out = join(folder, `${name}.json`)
  const finished = await run('run-comparison.ts', ...flags, ...SHORT, `--out=${out}`)
  return { ...finished, comparison: readStored(out, await readFile(out, 'utf8')).comparison }
}

const namesIn = ({ contests }: Comparison): string[] =>
  contests.flatMap(({ rounds }) => rounds.flat().filter(isMeasured)).map(({ target }) => target)

before(() => prepareOthers(['bun', 'node']))

describe('the suite of HTTP', () => {
  // Before the load, each of the 500 answers is compared; under load, each status.
  const frameworks = [
    ...['bun', 'elysia', 'elysia-service', 'wynkjs', 'hono', 'fastify', 'express', 'nest-express'],
    ...['nest-fastify', 'elysia-gateway', 'nest-gateway']
  ]

  it('measures every framework on Bun at 500 routes, and reports what cannot be measured', async () => {
    const { code, stdout, stderr, comparison } = await compared(
      'router',
      '--suite=http',
      '--workloads=router',
      '--runtimes=bun',
      `--targets=${[...frameworks, 'node', 'elit'].join(',')}`
    )
    assert.equal(code, 0, `${stdout}${stderr}`)
    assert.deepEqual(namesIn(comparison), frameworks)
    assert.match(stdout, /^elysia-service ÷ elysia +\d+\.\d\dx/m)
    assert.match(stdout, /^elysia-gateway ÷ nest-gateway +\d+\.\d\dx/m)
    assert.match(stdout, /^elit was not measured: the npm registry has no package elit/m)
    assert.match(stdout, /load by (wrk|autocannon), a connection for each request at a time/)
    const [contest] = comparison.contests
    for (const measured of contest!.rounds.flat().filter(isMeasured)) {
      const { target, successRate, rps, firstAnswerMs, average, p95 } = measured
      assert.ok(rps > 0 && firstAnswerMs! > 0 && average! > 0 && p95! > 0, target)
      assert.equal(successRate, 100, target)
    }
    for (const file of ['router.md', 'router.html']) {
      assert.match(await readFile(join(folder, file), 'utf8'), /no package elit/)
    }
  })

  it('measures frameworks on Node too if they support it, and compares compressed answers', async () => {
    const targets = ['node', 'hono', 'elysia-gateway']
    const { code, stdout, comparison } = await compared(
      'compressed',
      ...['--suite=http', '--workloads=compressed', '--runtimes=node', `--targets=${targets.join(',')}`],
      '--tool=autocannon'
    )
    assert.equal(code, 0, stdout)
    assert.deepEqual(namesIn(comparison), ['node', 'hono @ node', 'elysia-gateway @ node'])
    assert.match(stdout, /load by autocannon/)
  })

  it('reports at once as an error that a target has ended during its measurement', async () => {
    const measuring = start('run-bench.ts', '--suite=http', '--target=bun', '--duration=60', '--warmup=0')
    const server = await until(() => childOf(measuring.pid, 'suites/servers'))
    await underLoad(server)
    process.kill(server, 'SIGKILL')
    const { code, stdout, stderr } = await measuring.finished
    assert.equal(code, 1)
    const { errors, firstError } = JSON.parse(stdout) as Measurement
    assert.ok(errors > 0)
    assert.equal(firstError, 'the server ended in the middle of the measurement')
    assert.match(stderr, /requests failed; the first: the server ended/)
  })

  it('reports that a port is taken, and prints no incomplete result', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    const { code, stdout, stderr } = await run(
      'run-bench.ts',
      '--suite=http',
      '--target=elysia',
      `--port=${port}`
    )
    taken.close()
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /EADDRINUSE|in use/)
    assert.match(stderr, new RegExp(`The server suites/servers/elysia \\(bun\\) did not start on .*:${port}`))
  })

  it('writes no report for an unknown workload', async () => {
    const out = join(folder, 'none.json')
    const { code, stdout, stderr } = await run(
      'run-comparison.ts',
      '--suite=http',
      '--workloads=x',
      `--out=${out}`
    )
    assert.deepEqual([code, stdout, existsSync(out)], [2, '', false])
    assert.match(stderr, /^--workloads: got 'x', expected one or more of hello, /)
  })
})

describe('the suite of the database', () => {
  it('shows that a service with a limit answers what it accepts, and what other services do', async () => {
    const { code, stdout, comparison } = await compared(
      'db',
      ...['--suite=db', '--workloads=slow', '--concurrency=200'],
      '--targets=service,service-leases,nest-service,bun'
    )
    assert.equal(code, 0, stdout)
    const [contest] = comparison.contests
    const [service, leases] = contest!.rounds.flat().filter(isMeasured)
    assert.equal(service!.errors, 0)
    assert.ok(service!.completed > 0 && service!.refused! > 0)
    assert.match(service!.told!, /^REJECTED: The server is busy/)
    assert.deepEqual([leases!.refused, leases!.errors], [0, 0])
    assert.match(stdout, /^service tells those that it refuses: REJECTED: /m)
  })

  it('tells every caller within the deadline that PostgreSQL was killed, and works when it is back', async () => {
    const postgres = await startPostgres()
    const address = await postgres.database()
    await addUsers(address)
    const options = readSuiteOptions(['--suite=db', '--target=service', '--workload=slow'])
    assert.ok(options !== 'help')
    const server = await startServer(options, null, address)
    const [asked] = options.asked
    const askers = openAskers(options.target, server.port, 40, asked!)
    const all = () => Promise.all(Array.from({ length: 40 }, (_, caller) => askers.ask(caller)))
    try {
      assert.deepEqual([...new Set((await all()).map(({ kind }) => kind))], ['answered'])
      const under = all()
      await postgres.kill()
      // Some callers may have their answer already; nobody waits for an answer that cannot arrive.
      for (const { kind, told } of [...(await under), ...(await all())]) {
        if (kind !== 'answered') assert.match(told, /^INTERNAL: /)
      }
      assert.deepEqual([...new Set((await all()).map(({ kind }) => kind))], ['failed'])
      await postgres.start()
      assert.deepEqual([...new Set((await all()).map(({ kind }) => kind))], ['answered'])
    } finally {
      await askers.close()
      await server.stop()
      await postgres.stop()
    }
  })

  it('names the database if it is missing', async () => {
    const address = '--database=postgres://postgres:password@127.0.0.1:1/postgres'
    const { code, stdout, stderr } = await run('run-bench.ts', '--suite=db', '--target=bun', address)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^PostgreSQL does not answer at 127\.0\.0\.1:1, or has no users: .*/)
  })

  it('leaves no PostgreSQL behind, however it ends', async () => {
    const measuring = start('run-bench.ts', '--suite=db', '--target=bun', '--duration=60', '--warmup=0')
    const helper = await until(() => childOf(measuring.pid, 'suites/db/postgres'))
    const server = await until(() => childOf(measuring.pid, 'suites/servers'))
    await underLoad(server)
    const postgres = await until(() => childOf(helper, 'postgres'))
    const data = /-D\0([^\0]+)/.exec(await readFile(`/proc/${postgres}/cmdline`, 'utf8'))![1]!
    process.kill(measuring.pid, 'SIGKILL')
    await until(() => [helper, server, postgres].every((pid) => !isRunning(pid)))
    await measuring.finished
    assert.equal(existsSync(data), false)
  })
})

describe('the suite of several processes', () => {
  it('measures one worker and as many as there are processors, and reports the limits of this machine', async () => {
    const { code, stdout, comparison } = await compared('scale', '--suite=scale', '--concurrency=20')
    assert.equal(code, 0, stdout)
    for (const contest of comparison.contests) {
      const measured = contest.rounds.flat().filter(isMeasured)
      assert.ok(measured.length >= 1)
      for (const { perWorker, workers, rps } of measured)
        assert.ok(Math.abs(perWorker! * workers! - rps) < workers!)
    }
    assert.match(stdout, /where they leave none, all share/)
  })
})
