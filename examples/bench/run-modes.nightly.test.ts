/**
 * Handlers, streams, events and starts, measured from the command line: every peer that supports them, on both
 * runtimes.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type ClientName, clients } from './peers/clients.ts'
import { ownTargets, storingTargets, targets } from './peers/targets.ts'
import { prepareOthers } from './process/others.ts'
import { ServerProcess } from './process/server-process.ts'
import type { Measurement } from './report/schema.ts'
import { readStored } from './report/stored.ts'
import { isOfBacklog } from './task/task.ts'
import { type Finished, isRunning, run } from './test-support/command.ts'
import { distinctTargets } from './test-support/distinct-targets.ts'
import { inParallel } from './test-support/in-parallel.ts'
import { measured } from './test-support/measured.ts'

const SHORT = ['--port=0', '--duration=1', '--warmup=0.1']
/** A few measurements at a time: most of their time is waiting. */
const WIDTH = 4

/** The targets that are measured in more ways than others. */
const MAIN = ['elysia', 'nest'] as const

/** A longer measurement: on a busy machine, a server may handle nothing for a while. */
const LONGER = '--duration=2'

const isDuration = (flag: string) => flag.startsWith('--duration=')

type Case = [target: string, ...flags: string[]]

const onBothRuntimes = (...[target, ...flags]: Case): Case[] => [
  [target, ...flags],
  [target, '--runtime=node', ...flags]
]

/** Runs all measurements, a few at a time, and checks each in a test. */
function measures(
  cases: readonly Case[],
  check: (result: Measurement, flags: readonly string[]) => void
): void {
  let runs: Promise<Finished>[] = []
  before(() => {
    const jobs = cases.map(
      ([target, ...flags]) =>
        () =>
          measured(`--target=${target}`, ...(flags.some(isDuration) ? ['--port=0'] : SHORT), ...flags)
    )
    runs = inParallel(jobs, WIDTH)
  })
  for (const [index, [target, ...flags]] of cases.entries()) {
    it(`of ${[target, ...flags].join(' ')}`, async () => {
      const { code, stdout, stderr } = await runs[index]!
      assert.deepEqual([code, stderr], [0, ''])
      const result = JSON.parse(stdout) as Measurement
      assert.deepEqual([result.target, result.errors, result.firstError], [target, 0, null])
      check(result, flags)
      assert.equal(isRunning(result.serverPid!), false)
    })
  }
}

before(() => prepareOthers(['bun', 'node']))

describe('a measurement of handlers', () => {
  const cases = distinctTargets
    .filter((target) => targets[target].does.handlers.length > 1)
    .flatMap((target) => onBothRuntimes(target, '--handler=waits', '--concurrency=8'))
  const asyncs = MAIN.map((target): Case => [target, '--handler=async', '--concurrency=8', '--connections=1'])
  measures([...cases, ...asyncs], ({ task, completed }, flags) => {
    assert.deepEqual(task, {
      mode: 'request',
      handler: flags.includes('--handler=waits') ? 'waits' : 'async'
    })
    assert.ok(completed > 0)
  })
})

describe('a measurement of streams', () => {
  // Short streams, so that some begin and end within the measured time on any machine.
  const many = ['--streams=8', '--values=10', LONGER]
  const cases = distinctTargets.flatMap((target) =>
    targets[target].does.streams.flatMap((generator, index) => {
      const flags = ['--mode=stream', `--generator=${generator}`, ...many]
      // All generators are the same for a runtime, so only the first one is measured on both.
      return index === 0 ? onBothRuntimes(target, ...flags) : [[target, ...flags] as Case]
    })
  )
  const long = MAIN.map((target): Case => [target, '--mode=stream', '--values=1000', LONGER])
  measures(
    [
      ...cases,
      ...long,
      ['elysia', '--mode=stream', '--take=send', ...many, '--connections=1'],
      ['elysia', '--mode=stream', '--protocol=nest', ...many],
      ['elysia', '--mode=stream', '--client=nest', ...many],
      ['nest', '--mode=stream', '--client=elysia', ...many]
    ],
    ({ task, client, completed, rps, measuredSeconds, clientRssPeak, rssPeak, shape }, flags) => {
      assert.ok(task?.mode === 'stream')
      assert.equal(task.values, flags.includes('--values=1000') ? 1000 : 10)
      const take = flags.includes('--take=send') ? 'send' : 'iterate'
      assert.equal(task.take, clients[client as ClientName].choices.includes('take') ? take : null)
      assert.equal(shape, 'record')
      assert.ok(completed > 0)
      assert.ok(Math.abs(rps - completed / measuredSeconds) <= 0.1 + rps / 100)
      assert.ok(clientRssPeak! > 1 && rssPeak! > 1)
    }
  )
})

describe('a measurement of a slow reader', () => {
  const slow = ['--mode=stream', '--pause=20', '--values=1000000', '--duration=2']
  const cases = distinctTargets.flatMap((target): Case[] => {
    const [generator] = targets[target].does.streams
    // NestJS sends all values, and its client keeps them in memory, which takes long.
    return generator === undefined || target.startsWith('nest')
      ? []
      : [[target, `--generator=${generator}`, ...slow]]
  })
  let runs: Promise<Finished>[] = []
  before(() => {
    const jobs = cases.map(
      ([target, ...flags]) =>
        () =>
          run('run-bench.ts', `--target=${target}`, '--port=0', '--warmup=0', ...flags)
    )
    runs = inParallel(jobs, WIDTH)
  })
  for (const [index, flags] of cases.entries()) {
    it(`of ${flags.join(' ')} takes a value when it wants one, and leaves`, async () => {
      const { code, stdout } = await runs[index]!
      assert.equal(code, 0)
      const { completed, errors } = JSON.parse(stdout) as Measurement
      assert.equal(errors, 0)
      assert.ok(completed >= 1 && completed <= 101, `${completed} values`)
    })
  }
})

describe('a measurement of events', () => {
  const cases = distinctTargets
    .filter((target) => targets[target].does.events)
    .flatMap((target) => [
      ...onBothRuntimes(target, '--mode=emit', LONGER),
      [target, '--mode=emit', '--batch=100', '--concurrency=2', LONGER] as Case
    ])
  measures(
    [
      ...cases,
      ['elysia', '--mode=emit', '--protocol=nest', '--busy=0.02', '--payload=2000', LONGER],
      ['elysia', '--mode=emit', '--busy=0.02', '--batch=100', '--shape=object', LONGER]
    ],
    ({ task, sent, arrived, lost, completed, rps }) => {
      assert.equal(task?.mode, 'emit')
      assert.ok(completed > 0 && rps > 0)
      assert.ok(sent! >= completed)
      assert.deepEqual([arrived, lost], [sent, 0])
    }
  )

  it('reports events that the client has sent and the server never got, with code 1', async () => {
    const slow = ['--mode=emit', '--busy=1', '--payload=20000', '--duration=2', '--warmup=0', '--port=0']
    const { code, stdout, stderr } = await run('run-bench.ts', '--target=rsocket-js', ...slow)
    const { sent, arrived, lost, errors } = JSON.parse(stdout) as Measurement
    assert.equal(lost, sent! - arrived!)
    assert.equal(code, lost! + errors > 0 ? 1 : 0)
    if (lost! > 0)
      assert.ok(stderr.includes(`${lost} events were sent according to the client, and did not arrive`))
  })

  it('needs a server that reports its events, and fails otherwise with code 1', async () => {
    const server = await ServerProcess.start({
      program: 'peers/elysia/server',
      runtime: 'bun',
      host: '127.0.0.1',
      port: 0,
      shape: 'flat',
      cpu: null
    })
    try {
      const { code, stdout, stderr } = await run(
        'run-bench.ts',
        '--target=elysia',
        '--mode=emit',
        `--port=${server.port}`
      )
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(
        stderr,
        /^The server that is listening on 127\.0\.0\.1:\d+ does not report how many events it has received/
      )
    } finally {
      await server.stop()
    }
  })
})

describe('a measurement of starts', () => {
  const start = ['--mode=start', '--shape=object']
  const onNode = [...MAIN, 'http-hybrid'].map((target): Case => [target, '--runtime=node', ...start])
  const cases = [...ownTargets.map((target): Case => [target, ...start]), ...onNode]
  measures(cases, ({ completed, p50, listenMs, rssIdle, serverCpuUsPerRequest }) => {
    assert.ok(completed >= 1)
    assert.ok(0 < listenMs! && listenMs! <= p50!, `${listenMs} ${p50}`)
    assert.ok(rssIdle! > 1)
    assert.equal(serverCpuUsPerRequest, null)
  })
})

describe('a measurement of stored events', () => {
  const cases = storingTargets.flatMap((target) =>
    (targets[target].does.durable ?? []).flatMap((step) => {
      const all = onBothRuntimes(target, '--mode=durable', `--step=${step}`)
      // Node 20 has no SQLite.
      return target === 'elysia-sqlite' ? all.slice(0, 1) : all
    })
  )
  measures(cases, ({ completed, rps, connections, p50, task }) => {
    assert.ok(completed > 0 && rps > 0)
    assert.equal(connections, 1)
    assert.equal(p50 === null, isOfBacklog(task))
  })
})

describe('the distribution of latencies', () => {
  it('is printed with its flag', async () => {
    const { stdout } = await run('run-bench.ts', '--target=raw', ...SHORT, '--histogram')
    const { latencyHistogram } = JSON.parse(stdout) as Measurement
    assert.match(latencyHistogram!, /^[\w+/]{100,}=*$/)
  })
})

describe('a comparison of each mode', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'modes-'))
  })
  after(() => rm(folder, { recursive: true }))

  for (const [name, flags, title] of [
    [
      'waits',
      ['--handler=waits', '--concurrency=4', '--shapes=shared'],
      /a handler that waits for a later turn/
    ],
    ['stream', ['--mode=stream', '--streams=4', '--values=10', '--shapes=shared'], /4 streams at a time/],
    ['emit', ['--mode=emit'], /events, each awaited/],
    ['start', ['--mode=start'], /^start · /m],
    [
      'durable',
      ['--mode=durable', '--targets=jetstream,elysia-durable'],
      /256 events in flight · .* · events stored, each acknowledged/
    ]
  ] as const) {
    it(`has one contest with figures for ${flags.join(' ')}`, async () => {
      const out = join(folder, `${name}.json`)
      const { code, stdout, stderr } = await run(
        'run-comparison.ts',
        '--runs=1',
        '--duration=1',
        '--warmup=0.1',
        ...flags,
        `--out=${out}`
      )
      assert.equal(code, 0, stderr)
      assert.match(stdout, title)
      const { contests } = readStored(out, await readFile(out, 'utf8')).comparison
      assert.equal(contests.length, 1)
      for (const { figures, errors } of contests[0]!.results) {
        assert.ok(figures.rps!.median > 0)
        assert.equal(errors, 0)
      }
    })
  }
})
