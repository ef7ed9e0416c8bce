/** The runtimes and transports for which projects are created, and how the tests use them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { newestNode, RedisServerProcess, redisMissing } from '@elysia-microservices/test-support'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { RabbitmqServerProcess, rabbitmqMissing } from '../support/rabbitmq-server.ts'
import { bun, rootFolder } from '../workspace.ts'

/** The lock file of each runtime. */
export const LOCKS = { bun: 'bun.lock', node: 'package-lock.json', deno: 'deno.lock' }
/** The runtime of a created project. */
export type Runtime = keyof typeof LOCKS
/** The folder with Deno's program: Deno tasks would take a link to it for an npm program. */
const denoFolder = join(rootFolder, 'tools/runtimes/node_modules/deno')
const deno = join(denoFolder, 'deno')
/** The newest LTS of Node, as in the images: the oldest supported one has no SQLite. */
const nodeFolder = dirname(newestNode())
/** The PATH for the commands of a project's Dockerfile and scripts, with the runtimes of this workspace. */
export const PATH = `${nodeFolder}:${denoFolder}:${join(bun, '..')}:${process.env['PATH']}`

/** The commands of a project on each runtime, and what its tests print if all pass. */
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

/**
 * The engines between a service and its callers: the variable with the address in a project, and how to start the
 * engine.
 */
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
export type Transport = 'tcp' | 'grpc' | keyof typeof ENGINES
export const TRANSPORTS: readonly Transport[] = ['tcp', 'grpc', 'nats', 'redis', 'rabbitmq', 'mqtt', 'kafka']

/** The engine of a transport; `undefined`: it has none. */
export function engineOf(transport: Transport): (typeof ENGINES)[keyof typeof ENGINES] | undefined {
  return transport === 'tcp' || transport === 'grpc' ? undefined : ENGINES[transport]
}

/** The parts of a `package.json` that these tests read. */
export interface Manifest {
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/** Runs a command. @throws {AssertionError} the command fails; the message has its output */
export async function succeeds(
  cwd: string,
  [command, ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {}
) {
  // With this variable set, Node runs no tests, because it assumes that they run inside a test.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  return promisify(execFile)(command as string, args, { cwd, env: { ...inherited, PATH, ...env } }).catch(
    ({ message, stdout, stderr }: { message: string; stdout: string; stderr: string }) =>
      assert.fail(`${message}\n${stdout}\n${stderr}`)
  )
}
