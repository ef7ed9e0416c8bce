/** Services with workers: programs whose processes are killed, stopped and replaced. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, it } from 'node:test'
import { freePort, until, within } from '@elysia-microservices/test-support'
import { ConnectionError } from 'elysia-microservices'
import type { UntypedClient } from 'elysia-microservices/client'
import { load } from '../support/load.ts'
import { testsFolder } from '../workspace.ts'
import type { ProgramOptions } from './program.ts'
import { programs, type RunningProgram } from './running-program.ts'

const certificates = `${testsFolder}/fixtures/tls`
const { run, endAll } = programs()

/** Listens on a port, as another program would. */
async function listening(): Promise<{ readonly port: number; close(): void }> {
  const server = net.createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as net.AddressInfo).port, close: () => server.close() }
}

describe('a service with workers', () => {
  afterEach(endAll)

  it('answers by all workers, as many as processors by auto, on one port, and never by the supervisor', async () => {
    const program = run({ service: { workers: 'auto' } })
    const workers = await program.port().then(() => program.workers())
    assert.equal(workers.length, availableParallelism())
    const answering = new Set<number>()
    for (let n = 0; n < 64; n++) answering.add(await (await program.client()).request<number>('pid'))
    assert.deepEqual([...answering].sort(), [...workers].sort())
    assert.ok(!answering.has(program.pid))
    // Workers have the arguments of the program, and no additional variable in their environment.
    const client = await program.client()
    const [options, second] = await client.request<string[]>('arguments')
    assert.equal((JSON.parse(options as string) as ProgramOptions).service?.workers, 'auto')
    assert.equal(second, 'second')
    const names = await client.request<string[]>('environment')
    assert.deepEqual(
      names.filter((name) => name.includes('WORKER')),
      []
    )
  })

  it('loses no idempotent request when a worker is killed, and starts another', async () => {
    const program = run()
    await program.port()
    const clients = await program.clientOfEachWorker()
    const [victim, survivor] = [...clients.keys()] as [number, number]
    const stop = load(clients.values(), { idempotent: true })
    process.kill(victim, 'SIGKILL')
    const replacement = await program.fact('started', 2)
    await program.until(() => program.log.includes('has ended (SIGKILL)'))
    await until('the new worker answers', async () => (await program.workers()).includes(replacement))
    assert.deepEqual([...(await program.workers())].sort(), [survivor, replacement].sort())
    const { failures } = await stop()
    assert.deepEqual(failures, [])
  })

  it('gives a restarted worker its share of connections, if connections have a maximum age', async () => {
    const program = run({ tcp: { limits: { age: 200 } } })
    await program.port()
    const clients = await program.clientOfEachWorker()
    const [victim] = clients.keys()
    process.kill(victim as number, 'SIGKILL')
    const replacement = await program.fact('started', 2)
    // At first, both clients are connected to the worker that was not killed.
    await until('the new worker has a connection', async () => {
      const answered = await Promise.all([...clients.values()].map((client) => client.request('pid')))
      return answered.includes(replacement)
    })
  })

  it('sends an error to each caller whose request was lost with a killed worker', async () => {
    const program = run({ service: { workers: 1 } })
    const client = await program.client({ retry: false })
    const [victim] = (await program.workers()) as [number]
    const lost = Array.from({ length: 10 }, () => client.request('slow', 60_000))
    await program.fact('done', 9)
    process.kill(victim, 'SIGKILL')
    for (const call of lost)
      await assert.rejects(call, (error: ConnectionError) => {
        assert.ok(error instanceof ConnectionError)
        return error.mayHaveRun
      })
    const next = await client.request('pid', undefined, { idempotent: true })
    assert.notEqual(next, victim)
  })

  it('restarts its workers once more if it is told to while it restarts them', async () => {
    const program = run()
    await program.port()
    program.kill('SIGHUP')
    // The first new process has read the program by now: a change of the program after that must be read by a later
    // process.
    await program.fact('started', 2)
    program.kill('SIGHUP')
    await program.until(() => program.facts.filter(({ done }) => done === 'SIGHUP').length === 2)
    assert.equal(program.facts.filter(({ started }) => started !== undefined).length, 2 + 2 + 2)
    assert.equal((await program.workers()).length, 2)
  })

  it('that is killed leaves no worker that hangs before it listens', async () => {
    const program = run({ failing: 'hanging' })
    await program.fact('started', 1)
    program.kill('SIGKILL')
    assert.equal(await within(program.ended, 'The end of all'), 'SIGKILL')
  })

  it('ends at a signal while a worker hangs before it listens, and leaves no process', async () => {
    const program = run({ failing: 'hanging' })
    await program.fact('started', 1)
    program.kill('SIGTERM')
    assert.equal(await within(program.ended, 'The end of all'), 0)
  })

  for (const [reason, replace] of [
    ['it restarts its workers', (program: RunningProgram) => program.kill('SIGHUP')],
    [
      'a worker was killed',
      async (program: RunningProgram) => process.kill((await program.workers())[0] as number, 'SIGKILL')
    ]
  ] as const)
    it(`kills at its stop a replacement that hangs before it listens, started because ${reason}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'elysia-microservices-workers-'))
      try {
        const hangingWith = join(folder, 'hang')
        const program = run({ hangingWith })
        await program.port()
        writeFileSync(hangingWith, '')
        await replace(program)
        await program.fact('started', 2)
        program.kill('SIGTERM')
        assert.equal(await program.ended, 0)
        assert.match(program.log, /^A service has stopped after \d+ ms$/m)
        assert.doesNotMatch(program.log, /did not end in time/)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })

  it('ends in the same way if it is used in an app', async () => {
    const program = run({ failing: 'hanging', http: await freePort() })
    await program.fact('started', 1)
    program.kill('SIGTERM')
    assert.equal(await within(program.ended, 'The end of all'), 0)
    assert.doesNotMatch(program.log, /cannot listen/)
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`finishes the calls in flight at ${signal}, and leaves no process`, async () => {
      const program = run()
      await program.port()
      const clients = await program.clientOfEachWorker({ retry: false })
      const calls = [...clients].map(async ([pid, client]) => [await client.request('until told'), pid])
      await program.fact('done', 1)
      program.kill(signal)
      for (const [answered, asked] of await Promise.all(calls)) assert.equal(answered, asked)
      assert.equal(await program.ended, 0)
      for (const line of [
        new RegExp(`^${signal}: A service stops; workers: 2$`, 'm'),
        /^A service in worker 1 stops; messages in flight: 1$/m,
        /^A service in worker 2 has stopped after \d+ ms$/m,
        /^A service has stopped after \d+ ms$/m
      ])
        assert.match(program.log, line)
    })

  it('replaces a worker that receives a signal, which first finishes the calls in flight', async () => {
    const program = run()
    await program.port()
    const clients = await program.clientOfEachWorker({ retry: false })
    const [[pid, client]] = [...clients] as [[number, UntypedClient]]
    const call = client.request('slow', 500)
    await program.fact('done')
    process.kill(pid, 'SIGTERM')
    assert.equal(await call, pid)
    assert.notEqual(await program.fact('started', 2), pid)
  })

  it('leaves no process when its supervisor is killed, and finishes the calls in flight', async () => {
    const program = run()
    await program.port()
    const clients = await program.clientOfEachWorker({ retry: false })
    const calls = [...clients].map(async ([pid, client]) => [await client.request('slow', 500), pid])
    await program.fact('done', 1)
    program.kill('SIGKILL')
    for (const [answered, asked] of await Promise.all(calls)) assert.equal(answered, asked)
    assert.equal(await program.ended, 'SIGKILL')
  })

  it('leaves no process when its supervisor is killed while workers start', async () => {
    const program = run()
    const victims = await program.port().then(() => program.workers())
    for (const victim of victims) process.kill(victim, 'SIGKILL')
    await program.fact('started', 3)
    program.kill('SIGKILL')
    assert.equal(await program.ended, 'SIGKILL')
  })

  it('cuts off and ends workers that do not end in time', async () => {
    const program = run({ service: { drain: 100 } })
    const client = await program.client({ retry: false })
    const call = client.request('slow', 60_000)
    await program.fact('done')
    program.kill('SIGTERM')
    await assert.rejects(call, ConnectionError)
    assert.equal(await program.ended, 0)
  })

  it('starts no process if its port is taken', async () => {
    const other = await listening()
    const program = run({ tcp: { port: other.port } })
    const { name, code } = await program.fact('error')
    assert.deepEqual([name, code], ['ListenError', 'EADDRINUSE'])
    assert.equal(await program.ended, 1)
    assert.deepEqual(
      program.facts.filter(({ started }) => started !== undefined),
      []
    )
    other.close()
  })

  it("starts no process on the port of another program's workers", async () => {
    const port = await run().port()
    const { name, code } = await run({ tcp: { port } }).fact('error')
    assert.deepEqual([name, code], ['ListenError', 'EADDRINUSE'])
  })

  it('does not start, and leaves no process, if workers fail', async () => {
    const program = run({ failing: 'before' })
    const { name, code, message } = await program.fact('error')
    assert.deepEqual([name, code], ['WorkerError', 'WORKER'])
    assert.match(message, /Worker \d \(process \d+\): it ended \(code 1\) before it listened/)
    assert.equal(await program.ended, 1)
  })

  it('gives up when all workers end soon after their start, again and again', async () => {
    const program = run({ failing: 'after' })
    assert.equal(await program.ended, 1)
    assert.match(program.log, /as the previous processes did, and no other worker is left: giving up/)
    // Five of one worker, and one of the other at least. As long as one of them listens, both are started again: on a
    // busy machine that may take long.
    const starts = program.facts.filter(({ started }) => started !== undefined).length
    assert.ok(starts >= 6, `${starts} processes started`)
  })

  it('replaces its workers one after the other, and answers old and new connections meanwhile', async () => {
    const program = run()
    await program.port()
    const before = await program.workers()
    const stop = load((await program.clientOfEachWorker()).values())
    let isOver = false
    let entered = 0
    const callers = Array.from({ length: 4 }, async () => {
      for (; !isOver; entered++) {
        const client = await program.client()
        await client.request('pid', undefined, { idempotent: true, timeout: 20_000 })
        await client.close()
      }
    })
    program.kill('SIGHUP')
    await program.until(() => program.facts.some(({ done }) => done === 'SIGHUP'))
    isOver = true
    await Promise.all(callers)
    const { answered, failures } = await stop()
    assert.deepEqual(failures, [])
    assert.ok(answered > 0 && entered > 0)
    const after = await program.workers()
    assert.equal(after.length, 2)
    assert.deepEqual(
      after.filter((pid) => before.includes(pid)),
      []
    )
  })

  it('speaks TLS, and reloads the certificate of all workers, later ones too', async () => {
    const program = run({ tls: certificates })
    await program.port()
    const tls = { ca: readFileSync(`${certificates}/authority.pem`), servername: 'localhost' }
    const serials = async () => {
      const seen = new Set<string>()
      const spy = (_: string, { serialNumber }: { serialNumber: string }) => void seen.add(serialNumber)
      await program.clientOfEachWorker({ tls: { ...tls, checkServerIdentity: spy } })
      return seen
    }
    const first = await serials()
    assert.equal(first.size, 1)
    program.kill('SIGWINCH')
    await program.until(() => program.facts.some(({ done }) => done === 'SIGWINCH'))
    const reloaded = await serials()
    assert.equal(reloaded.size, 1)
    assert.notDeepEqual(reloaded, first)
    program.kill('SIGHUP')
    await program.until(() => program.facts.some(({ done }) => done === 'SIGHUP'))
    assert.deepEqual(await serials(), reloaded)
  })

  it('finishes the calls in flight when a terminal interrupts all of its processes at once', async () => {
    const program = run({}, true)
    await program.port()
    const clients = await program.clientOfEachWorker({ retry: false })
    const calls = [...clients].map(async ([pid, client]) => [await client.request('slow', 500), pid])
    await program.fact('done', 1)
    process.kill(-program.pid, 'SIGINT')
    for (const [answered, asked] of await Promise.all(calls)) assert.equal(answered, asked)
    assert.equal(await program.ended, 0)
  })

  it('is the only service of its process', async () => {
    const program = run({ second: true })
    const { code, message } = await program.fact('error')
    assert.equal(code, 'OPTION')
    assert.match(message, /A service of this process has workers already/)
  })
})
