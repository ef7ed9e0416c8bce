/** One measurement of every target, on both runtimes. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { natsServerCommand } from './peers/nats/nats-server.ts'
import { isOurs, ownTargets } from './peers/targets.ts'
import { prepareOthers } from './process/others.ts'
import type { Measurement } from './report/schema.ts'
import { isRunning } from './test-support/command.ts'
import { distinctTargets } from './test-support/distinct-targets.ts'
import {
  type Case,
  dies,
  diesWhileListening,
  hasFigures,
  measured,
  measures,
  outlives,
  startServer
} from './test-support/measured.ts'

const LIGHT = ['--warmup=0.1', '--concurrency=8']

/** Downloads programs once, before measurements that run at the same time need them. */
const prepare = () => {
  natsServerCommand()
  prepareOthers(['bun', 'node'])
}
before(prepare)

describe('a measurement', () => {
  const onBothRuntimes = (target: string, ...flags: string[]): Case[] => [
    [target, ...flags],
    [target, '--runtime=node', ...flags]
  ]
  const cases: Case[] = [
    ...ownTargets.map((target): Case => [target]),
    ...ownTargets.map((target): Case => [target, '--runtime=node', '--connections=1', '--shape=object']),
    ['elysia', '--method=send'],
    ['nest', '--method=send'],
    ['elysia', '--protocol=nest'],
    ['elysia', '--client=nest'],
    ['nest', '--client=elysia'],
    ...onBothRuntimes('elysia', '--client=raw'),
    ['nest', '--client=raw', '--shape=list'],
    ['elysia', '--client=raw', '--connections=8'],
    ['elysia', '--payload=70000'],
    ['elysia', '--shape=binary', '--codec=bytes'],
    ...ownTargets.filter((target) => !isOurs(target)).map((target): Case => [target, '--shape=binary']),
    ['grpc', '--shape=list'],
    ['grpc', '--shape=record'],
    ['connect', '--shape=record'],
    ...distinctTargets.map((target): Case => [target, '--shape=large']),
    ...onBothRuntimes('elysia', '--rate=300'),
    ['nest', '--rate=300', '--connections=1'],
    ...onBothRuntimes('elysia', '--processes=2'),
    ['nest', '--processes=3', '--rate=300']
  ]
  measures(cases, prepare)
  hasFigures([['stream', '--streams=4', '--values=10'], ['emit', '--batch=10'], ['start']])
})

describe('a server that dies while it is measured', () => {
  dies([
    ['elysia'],
    ['nest'],
    ['nest', '--client=raw'],
    ['elysia', '--connections=1'],
    ['elysia', '--client=nest', '--connections=1'],
    ['raw'],
    ['moleculer', '--connections=10'],
    ['grpc'],
    ['rsocket-js'],
    ['elysia', '--processes=2'],
    ['elysia', '--rate=20000'],
    ['raw', '--find-capacity', '--rate=50000']
  ])
})

describe('the server of a measurement', () => {
  outlives([
    ['bun', 'SIGINT', 130],
    ['bun', 'SIGKILL', 137],
    ['node', 'SIGTERM', 143],
    ['node', 'SIGINT', 130],
    ['node', 'SIGKILL', 137]
  ])
})

describe('a server that is listening already', () => {
  it('is used, whether or not one may be started, and left running', async () => {
    const server = await startServer('peers/nest/server')
    try {
      for (const flags of [[], ['--no-spawn'], ['--spawn']]) {
        const asked = ['--target=nest', ...LIGHT, `--port=${server.port}`]
        const { code, stdout } = await measured(...asked, ...flags)
        const result = JSON.parse(stdout) as Measurement
        assert.equal(code, 0)
        assert.ok(result.completed > 0)
        assert.deepEqual(
          [result.port, result.runtime, result.serverCpuUsPerRequest, result.serverRssMb, result.serverPid],
          [server.port, null, null, null, null]
        )
        assert.deepEqual([result.rssIdle, result.rssPeak, result.rssAfter], [null, null, null])
      }
      assert.ok(isRunning(server.pid))
    } finally {
      await server.stop()
    }
  })

  it("is measured as a service of the user's own, by its pattern and data", async () => {
    const server = await startServer('peers/nest/server')
    try {
      const custom = [`--port=${server.port}`, '--pattern=echo', '--data=[1,2,3]', '--protocol=nest']
      const { code, stdout } = await measured('--target=custom', ...LIGHT, ...custom)
      const { pattern, completed, errors } = JSON.parse(stdout) as Measurement
      assert.deepEqual([code, pattern, errors, completed > 0], [0, 'echo', 0, true])
    } finally {
      await server.stop()
    }
  })

  diesWhileListening(['elysia', 'nest', 'raw'])
})
