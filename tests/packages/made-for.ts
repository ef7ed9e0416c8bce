/** The runtimes and transports that projects are made for, and how they are used here. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { RabbitmqServerProcess, rabbitmqMissing } from '../support/rabbitmq-server.ts'
import { RedisServerProcess, redisMissing } from '../support/redis-server.ts'
import { bun, rootFolder } from '../workspace.ts'

/** The lock file of each runtime. */
export const LOCKS = { bun: 'bun.lock', node: 'package-lock.json', deno: 'deno.lock' }
/** The runtime that a project is made for. */
export type Runtime = keyof typeof LOCKS
/** Deno itself: a task of its own would take a link to it for a program of npm. */
const denoFolder = join(rootFolder, 'node_modules/deno')
const deno = join(denoFolder, 'deno')
/** The commands of a made project's Dockerfile and scripts, with the runtimes of this workspace. */
export const PATH = `${denoFolder}:${join(bun, '..')}:${process.env['PATH']}`

/** How a project is used on each runtime, and what its tests say when all have passed. */
export const COMMANDS = {
  bun: {
    run: [bun, 'run'],
    check: 'typecheck',
    test: [bun, 'test'],
    passed: /^ 9 pass$/m,
    program: (name: string) => [bun, `src/${name}.ts`]
  },
  node: {
    run: ['npm', 'run'],
    check: 'build',
    test: ['npm', 'test'],
    passed: /^(#|ℹ) pass 9$/m,
    program: (name: string) => ['node', `dist/${name}.js`]
  },
  deno: {
    run: [deno, 'task'],
    check: 'typecheck',
    test: [deno, 'task', 'test'],
    passed: /2 passed \(9 steps\)/,
    program: (name: string) => [deno, 'run', '-A', '--unstable-net', `src/${name}.ts`]
  }
} as const

/** The engine between a service and its callers: the variable that names it in a project, and its start. */
export const ENGINES = {
  nats: {
    title: 'NATS',
    variable: 'NATS_URL',
    missing: natsMissing(),
    start: () => NatsServerProcess.start()
  },
  redis: {
    title: 'Redis',
    variable: 'REDIS_URL',
    missing: redisMissing(),
    start: () => RedisServerProcess.start()
  },
  rabbitmq: {
    title: 'RabbitMQ',
    variable: 'RABBITMQ_URL',
    missing: rabbitmqMissing(),
    start: () => RabbitmqServerProcess.start()
  },
  mqtt: {
    title: 'MQTT',
    variable: 'MQTT_URL',
    missing: mosquittoMissing(),
    start: () => MosquittoProcess.start()
  },
  kafka: {
    title: 'Kafka',
    variable: 'KAFKA_BROKERS',
    missing: kafkaMissing(),
    start: async () => {
      const server = await KafkaServerProcess.start()
      return { url: server.broker, stop: () => server.stop() }
    }
  }
} as const
/** The transport of a project. */
export type Transport = 'tcp' | keyof typeof ENGINES
export const TRANSPORTS: readonly Transport[] = ['tcp', 'nats', 'redis', 'rabbitmq', 'mqtt', 'kafka']

/** The parts of a `package.json` that these tests read. */
export interface Manifest {
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** Runs a command. @throws {AssertionError} with what it said, if it fails */
export async function succeeds(
  cwd: string,
  [command, ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {}
) {
  // Node runs no tests inside of tests.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  return promisify(execFile)(command as string, args, { cwd, env: { ...inherited, PATH, ...env } }).catch(
    ({ message, stdout, stderr }: { message: string; stdout: string; stderr: string }) =>
      assert.fail(`${message}\n${stdout}\n${stderr}`)
  )
}
