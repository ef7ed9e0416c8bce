/** The targets that can be measured, one row each. A new peer needs a row here, and one in `clients.ts`. */
import { type Handler, handlers, type Source, type Step, sources } from '../task/task.ts'
import type { ClientName } from './clients.ts'

export interface Target {
  /** The default port of its server. */
  readonly port: number
  /**
   * The program of the target's server, which the bench or a user starts: a path without extension, below the bench's folder.
   * `null`: the target has no server.
   */
  readonly server: string | null
  /** The client that users of this server have. */
  readonly client: ClientName
  /** The package that is measured; `undefined`: there is none. */
  readonly package?: string
  /** How the handlers of the target can answer, what they can stream, and whether they handle events. */
  readonly does: Does
  /** Whether the target is the upper limit for all peers, and no peer: such a target is measured, but not ranked. */
  readonly isLimit?: boolean
}

export interface Does {
  readonly handlers: readonly Handler[]
  readonly streams: readonly Source[]
  readonly events: boolean
  /** The steps of durable events that it supports; such a target supports nothing else. */
  readonly durable?: readonly Step[]
}

const EVERYTHING: Does = { handlers, streams: sources, events: true }
/** For targets that only answer requests, in any way. */
const REQUESTS: Does = { handlers, streams: [], events: false }
const STORED: Does = { handlers: [], streams: [], events: false, durable: ['publish', 'consume'] }
const TRANSACTED: Does = { ...STORED, durable: ['publish', 'transact', 'consume'] }
const SYNC: Does = { handlers: ['sync'], streams: [], events: false }

/** The names of three targets over an engine: this project, NestJS, and the driver alone. */
export type OverEngine<Engine extends string> = NoInfer<`elysia-${Engine}` | `nest-${Engine}` | Engine>

/** The three targets over an engine, each with its own server. @param port the port of the first; the others follow */
function overEngine<Engine extends string>(
  engine: Engine,
  port: number,
  driver: string
): Readonly<Record<OverEngine<Engine>, Target>> {
  const row = (place: number, role: string, client: string, does: Does, name: string): Target => ({
    port: port + place,
    server: `peers/${engine}/server-${role}`,
    client: client as ClientName,
    does,
    package: name
  })
  return {
    [`elysia-${engine}`]: row(0, 'elysia', `elysia-${engine}`, EVERYTHING, `@elysia-microservices/${engine}`),
    [`nest-${engine}`]: row(1, 'nest', `nest-${engine}`, EVERYTHING, '@nestjs/microservices'),
    [engine]: row(2, 'bare', engine, SYNC, driver)
  } as Record<OverEngine<Engine>, Target>
}

const TARGETS = {
  elysia: {
    port: 7001,
    server: 'peers/elysia/server',
    client: 'elysia',
    does: EVERYTHING,
    package: 'elysia-microservices'
  },
  nest: {
    port: 7002,
    server: 'peers/nest/server',
    client: 'nest',
    does: EVERYTHING,
    package: '@nestjs/microservices'
  },
  raw: {
    port: 7003,
    server: 'peers/raw/server',
    client: 'socket',
    does: SYNC,
    isLimit: true
  },
  moleculer: {
    port: 7004,
    server: 'others/moleculer/server',
    client: 'moleculer',
    does: REQUESTS,
    package: 'moleculer'
  },
  // The handlers of gRPC write values to a stream of Node, as fast as the stream accepts them.
  grpc: {
    port: 7005,
    server: 'others/grpc/server',
    client: 'grpc',
    does: { ...REQUESTS, streams: ['sync'] },
    package: '@grpc/grpc-js'
  },
  'elysia-grpc': {
    port: 7020,
    server: 'peers/grpc/server-elysia',
    client: 'elysia-grpc',
    does: { ...REQUESTS, streams: sources },
    package: '@elysia-microservices/grpc'
  },
  'nest-grpc': {
    port: 7021,
    server: 'others/nest-grpc/server',
    client: 'nest-grpc',
    does: { ...REQUESTS, streams: sources },
    package: '@nestjs/microservices'
  },
  'rsocket-js': {
    port: 7006,
    server: 'others/rsocket-js/server',
    client: 'rsocket-js',
    // The handlers of rsocket-js return values synchronously when the client requests them; a promise is not possible.
    does: { ...EVERYTHING, streams: ['sync'] },
    package: 'rsocket-core'
  },
  // These targets show the cost of hooks, and of many patterns, in comparison with the plain service.
  'elysia-hooks': { port: 7007, server: 'peers/elysia/server-hooks', client: 'elysia', does: REQUESTS },
  'elysia-10000': { port: 7008, server: 'peers/elysia/server-10000', client: 'elysia', does: REQUESTS },
  // These targets show the cost of telemetry: counting; tracing one of a hundred messages; tracing each message.
  'elysia-metrics': { port: 7017, server: 'peers/elysia/server-metrics', client: 'elysia', does: SYNC },
  'elysia-sampled': { port: 7018, server: 'peers/elysia/server-sampled', client: 'elysia', does: SYNC },
  'elysia-traced': { port: 7019, server: 'peers/elysia/server-traced', client: 'elysia', does: SYNC },
  // Elysia without and with a service in it, which shows the cost of the plugin for an HTTP app.
  http: { port: 7009, server: 'peers/http/server', client: 'http', does: REQUESTS, package: 'elysia' },
  'http-hybrid': { port: 7010, server: 'peers/http/server-hybrid', client: 'http', does: REQUESTS },
  // NestJS with this project's transport.
  'nest-strategy': {
    port: 7011,
    server: 'peers/nest-strategy/server',
    client: 'nest-strategy',
    does: EVERYTHING,
    package: '@elysia-microservices/nestjs'
  },
  connect: {
    port: 7012,
    server: 'others/connect/server',
    client: 'connect',
    does: { ...REQUESTS, streams: ['async'] },
    package: '@connectrpc/connect-node'
  },
  trpc: {
    port: 7013,
    server: 'others/trpc/server',
    client: 'trpc',
    does: { ...REQUESTS, streams: ['async'] },
    package: '@trpc/server'
  },
  ...overEngine('nats', 7014, '@nats-io/transport-node'),
  ...overEngine('redis', 7051, 'ioredis'),
  ...overEngine('rabbitmq', 7061, 'amqplib'),
  ...overEngine('mqtt', 7071, 'mqtt'),
  ...overEngine('kafka', 7081, '@platformatic/kafka'),
  // Durable events, each with its own server: by the driver alone, by this project, and from PostgreSQL into NATS by
  // this project's relay.
  jetstream: {
    port: 7040,
    server: 'peers/durable/server',
    client: 'jetstream',
    does: STORED,
    package: '@nats-io/jetstream'
  },
  'elysia-durable': {
    port: 7041,
    server: 'peers/durable/server',
    client: 'elysia-durable',
    does: STORED,
    package: '@elysia-microservices/nats'
  },
  outbox: {
    port: 7042,
    server: 'peers/durable/server-outbox',
    client: 'outbox',
    does: { ...STORED, durable: ['transact', 'relay'] },
    package: '@elysia-microservices/outbox'
  },
  'redis-streams': {
    port: 7054,
    server: 'peers/redis/server-store',
    client: 'redis-streams',
    does: STORED,
    package: 'ioredis'
  },
  'elysia-redis-durable': {
    port: 7055,
    server: 'peers/redis/server-store',
    client: 'elysia-redis-durable',
    does: STORED,
    package: '@elysia-microservices/redis'
  },
  'rabbitmq-quorum': {
    port: 7064,
    server: 'peers/rabbitmq/server-store',
    client: 'rabbitmq-quorum',
    does: STORED,
    package: 'amqplib'
  },
  'elysia-rabbitmq-durable': {
    port: 7065,
    server: 'peers/rabbitmq/server-store',
    client: 'elysia-rabbitmq-durable',
    does: STORED,
    package: '@elysia-microservices/rabbitmq'
  },
  // Durable events in a database that the user has, by this project and by queues of jobs; BullMQ's are in Redis.
  'elysia-postgres': {
    port: 7091,
    server: 'peers/postgres/server-store',
    client: 'elysia-postgres',
    does: TRANSACTED,
    package: '@elysia-microservices/postgres'
  },
  'pg-boss': {
    port: 7092,
    server: 'peers/postgres/server-store',
    client: 'pg-boss',
    does: TRANSACTED,
    package: 'pg-boss'
  },
  'graphile-worker': {
    port: 7093,
    server: 'peers/postgres/server-store',
    client: 'graphile-worker',
    does: TRANSACTED,
    package: 'graphile-worker'
  },
  bullmq: {
    port: 7094,
    server: 'peers/redis/server-store',
    client: 'bullmq',
    does: STORED,
    package: 'bullmq'
  },
  'elysia-sqlite': {
    port: 7095,
    server: 'peers/sqlite/server-store',
    client: 'elysia-sqlite',
    does: STORED,
    package: '@elysia-microservices/sqlite'
  },
  // A running service of the user, whose handlers the bench does not know.
  custom: {
    port: 0,
    server: null,
    client: 'elysia',
    does: SYNC
  }
} satisfies Readonly<Record<string, Target>>

export type TargetName = keyof typeof TARGETS
export const targets: Readonly<Record<TargetName, Target>> = TARGETS
export const targetNames = Object.keys(TARGETS) as readonly TargetName[]

/** Separates the name of a target from its label, when stored reports are combined. */
export const LABEL = ' @ '

/** The target with this name, which may include a label. */
export function targetCalled(name: string): Target | undefined {
  const [plain] = name.split(LABEL)
  return Object.hasOwn(targets, plain!) ? targets[plain as TargetName] : undefined
}

/** The targets with durable events, which support nothing else. */
export const storingTargets = targetNames.filter((name) => targets[name].does.durable !== undefined)

/** Whether a target is the upper limit for all, and not a peer. */
export const isLimit = (name: string): boolean => targetCalled(name)?.isLimit === true

/** The targets whose servers belong to the bench, and that answer requests. */
export const ownTargets = targetNames.filter(
  (name) => targets[name].server !== null && targets[name].does.handlers.length > 0
)

/** Whether the users of a target have our client, over any transport. The name may include a label. */
export function isOurs(name: string): boolean {
  return targetCalled(name)?.client === 'elysia'
}
