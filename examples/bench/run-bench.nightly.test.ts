/** One measurement of every target, on both runtimes. */
import { before, describe } from 'node:test'
import { natsServerCommand } from './peers/nats/nats-server.ts'
import { isOurs, ownTargets } from './peers/targets.ts'
import { prepareOthers } from './process/others.ts'
import { distinctTargets } from './test-support/distinct-targets.ts'
import {
  type Case,
  dies,
  diesWhileListening,
  hasFigures,
  measures,
  outlives
} from './test-support/measured.ts'

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
  hasFigures([['emit', '--batch=10'], ['start']])
})

describe('a server that dies while it is measured', () => {
  dies([
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
  diesWhileListening(['elysia', 'nest', 'raw'])
})
