/** The targets and the clients that can ask them: one row per target, one per client. A new peer is a row in each. */
import { prepareOthers } from '../process/others.ts'
import { currentRuntime } from '../process/runtime.ts'
import { type Handler, handlers, type Source, type Step, sources } from '../task/task.ts'
import type { OpenEchoClient } from './echo-client.ts'

export const targetNames = [
  'elysia',
  'elysia-hooks',
  'elysia-10000',
  'elysia-metrics',
  'elysia-sampled',
  'elysia-traced',
  'nest',
  'nest-strategy',
  'raw',
  'moleculer',
  'grpc',
  'connect',
  'trpc',
  'rsocket-js',
  'elysia-nats',
  'nest-nats',
  'nats',
  'elysia-redis',
  'nest-redis',
  'redis',
  'elysia-rabbitmq',
  'nest-rabbitmq',
  'rabbitmq',
  'elysia-mqtt',
  'nest-mqtt',
  'mqtt',
  'elysia-kafka',
  'nest-kafka',
  'kafka',
  'http',
  'http-hybrid',
  'jetstream',
  'elysia-durable',
  'redis-streams',
  'elysia-redis-durable',
  'rabbitmq-quorum',
  'elysia-rabbitmq-durable',
  'outbox',
  'custom'
] as const
export type TargetName = (typeof targetNames)[number]

/** `raw` speaks Nest's wire, encoded beforehand; `socket` sends bare bytes. */
export const clientNames = [
  'elysia',
  'nest',
  'nest-strategy',
  'raw',
  'socket',
  'moleculer',
  'grpc',
  'connect',
  'trpc',
  'rsocket-js',
  'elysia-nats',
  'nest-nats',
  'nats',
  'elysia-redis',
  'nest-redis',
  'redis',
  'elysia-rabbitmq',
  'nest-rabbitmq',
  'rabbitmq',
  'elysia-mqtt',
  'nest-mqtt',
  'mqtt',
  'elysia-kafka',
  'nest-kafka',
  'kafka',
  'http',
  'jetstream',
  'elysia-durable',
  'redis-streams',
  'elysia-redis-durable',
  'rabbitmq-quorum',
  'elysia-rabbitmq-durable',
  'outbox'
] as const
export type ClientName = (typeof clientNames)[number]

export interface Target {
  /** Where its server listens unless told otherwise. */
  readonly port: number
  /** Its server, started by the bench or by hand; path without extension, below the bench's folder. `null`: it has none. */
  readonly server: string | null
  /** The client its users have. */
  readonly client: ClientName
  /** The package that is measured; absent where there is none. */
  readonly package?: string
  /** How its handlers can answer, what they can stream, and whether they take events. */
  readonly does: Does
  /** No peer, but what none can surpass: measured and not ranked. */
  readonly isLimit?: boolean
}

export interface Does {
  readonly handlers: readonly Handler[]
  readonly streams: readonly Source[]
  readonly events: boolean
  /** The steps that it has with stored events; it then does nothing else. */
  readonly durable?: readonly Step[]
}

const EVERYTHING: Does = { handlers, streams: sources, events: true }
/** Answers requests, in any way. */
const REQUESTS: Does = { handlers, streams: [], events: false }
const STORED: Does = { handlers: [], streams: [], events: false, durable: ['publish', 'consume'] }
const SYNC: Does = { handlers: ['sync'], streams: [], events: false }

export const targets: Readonly<Record<TargetName, Target>> = {
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
  // It writes values to a stream of Node, as many as that takes.
  grpc: {
    port: 7005,
    server: 'others/grpc/server',
    client: 'grpc',
    does: { ...REQUESTS, streams: ['sync'] },
    package: '@grpc/grpc-js'
  },
  'rsocket-js': {
    port: 7006,
    server: 'others/rsocket-js/server',
    client: 'rsocket-js',
    // It gives values as they are asked for; a promise has no place there.
    does: { ...EVERYTHING, streams: ['sync'] },
    package: 'rsocket-core'
  },
  // The cost of what applications add, and of many patterns, beside the plain service.
  'elysia-hooks': { port: 7007, server: 'peers/elysia/server-hooks', client: 'elysia', does: REQUESTS },
  'elysia-10000': { port: 7008, server: 'peers/elysia/server-10000', client: 'elysia', does: REQUESTS },
  // The cost of being watched: counted; one of a hundred messages traced; each traced.
  'elysia-metrics': { port: 7017, server: 'peers/elysia/server-metrics', client: 'elysia', does: SYNC },
  'elysia-sampled': { port: 7018, server: 'peers/elysia/server-sampled', client: 'elysia', does: SYNC },
  'elysia-traced': { port: 7019, server: 'peers/elysia/server-traced', client: 'elysia', does: SYNC },
  // Elysia without and with a service in it: what the plugin costs an HTTP app.
  http: { port: 7009, server: 'peers/http/server', client: 'http', does: REQUESTS, package: 'elysia' },
  'http-hybrid': { port: 7010, server: 'peers/http/server-hybrid', client: 'http', does: REQUESTS },
  // Nest on this project's transport.
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
  // Over NATS, each with a server of its own.
  'elysia-nats': {
    port: 7014,
    server: 'peers/nats/server-elysia',
    client: 'elysia-nats',
    does: EVERYTHING,
    package: '@elysia-microservices/nats'
  },
  'nest-nats': {
    port: 7015,
    server: 'peers/nats/server-nest',
    client: 'nest-nats',
    does: EVERYTHING,
    package: '@nestjs/microservices'
  },
  nats: {
    port: 7016,
    server: 'peers/nats/server-bare',
    client: 'nats',
    does: SYNC,
    package: '@nats-io/transport-node'
  },
  // Over Redis, each with a server of its own.
  'elysia-redis': {
    port: 7051,
    server: 'peers/redis/server-elysia',
    client: 'elysia-redis',
    does: EVERYTHING,
    package: '@elysia-microservices/redis'
  },
  'nest-redis': {
    port: 7052,
    server: 'peers/redis/server-nest',
    client: 'nest-redis',
    does: EVERYTHING,
    package: '@nestjs/microservices'
  },
  redis: {
    port: 7053,
    server: 'peers/redis/server-bare',
    client: 'redis',
    does: SYNC,
    package: 'ioredis'
  },
  // Over RabbitMQ, each with a server of its own.
  'elysia-rabbitmq': {
    port: 7061,
    server: 'peers/rabbitmq/server-elysia',
    client: 'elysia-rabbitmq',
    does: EVERYTHING,
    package: '@elysia-microservices/rabbitmq'
  },
  'nest-rabbitmq': {
    port: 7062,
    server: 'peers/rabbitmq/server-nest',
    client: 'nest-rabbitmq',
    does: EVERYTHING,
    package: '@nestjs/microservices'
  },
  rabbitmq: {
    port: 7063,
    server: 'peers/rabbitmq/server-bare',
    client: 'rabbitmq',
    does: SYNC,
    package: 'amqplib'
  },
  // Over MQTT, each with a server of its own.
  'elysia-mqtt': {
    port: 7071,
    server: 'peers/mqtt/server-elysia',
    client: 'elysia-mqtt',
    does: EVERYTHING,
    package: '@elysia-microservices/mqtt'
  },
  'nest-mqtt': {
    port: 7072,
    server: 'peers/mqtt/server-nest',
    client: 'nest-mqtt',
    does: EVERYTHING,
    package: '@nestjs/microservices'
  },
  mqtt: {
    port: 7073,
    server: 'peers/mqtt/server-bare',
    client: 'mqtt',
    does: SYNC,
    package: 'mqtt'
  },
  // Over Kafka, each with a server of its own.
  'elysia-kafka': {
    port: 7081,
    server: 'peers/kafka/server-elysia',
    client: 'elysia-kafka',
    does: EVERYTHING,
    package: '@elysia-microservices/kafka'
  },
  'nest-kafka': {
    port: 7082,
    server: 'peers/kafka/server-nest',
    client: 'nest-kafka',
    does: EVERYTHING,
    package: '@nestjs/microservices'
  },
  kafka: {
    port: 7083,
    server: 'peers/kafka/server-bare',
    client: 'kafka',
    does: SYNC,
    package: '@platformatic/kafka'
  },
  // Events that a server of their own stores: by its driver alone, and by ours; and out of PostgreSQL into NATS by our relay.
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
    does: { ...STORED, durable: ['relay'] },
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
  // A service of the user's own, which is running already: what its handlers do is not the bench's to say.
  custom: {
    port: 0,
    server: null,
    client: 'elysia',
    does: SYNC
  }
}

/** Between the name of a target and its label, where stored reports are put together. */
export const LABEL = ' @ '

/** The target with this name, which may have a label. */
export function targetCalled(name: string): Target | undefined {
  const [plain] = name.split(LABEL)
  return Object.hasOwn(targets, plain!) ? targets[plain as TargetName] : undefined
}

/** The targets that store events, and do nothing else. */
export const storingTargets = targetNames.filter((name) => targets[name].does.durable !== undefined)

/** Whether it is no peer but the limit of all. */
export const isLimit = (name: string): boolean => targetCalled(name)?.isLimit === true

/** The targets whose servers the bench has, and that answer. */
export const ownTargets = targetNames.filter(
  (name) => targets[name].server !== null && targets[name].does.handlers.length > 0
)

/** Whether its users have our client, and it speaks whatever that does. Its name may have a label. */
export function isOurs(name: string): boolean {
  return targetCalled(name)?.client === 'elysia'
}

/** The choices that a client may have. */
export type Choice = 'method' | 'protocol' | 'codec' | 'take'

export interface Client {
  /** The targets that understand it. */
  readonly asks: readonly TargetName[]
  readonly choices: readonly Choice[]
  /** How many of it one process can have. */
  readonly limit?: { readonly connections: number; readonly why: string }
  /** Loaded on use, so that nothing of one peer runs in the process that measures another. `null`: no client at all. */
  readonly load: (() => Promise<OpenEchoClient>) | null
}

/** Not known to the compiler here: their packages may not be installed. */
const other = (name: string) => async (): Promise<OpenEchoClient> => {
  prepareOthers([currentRuntime])
  const { openEchoClient } = (await import(`../others/${name}/client.ts`)) as {
    openEchoClient: OpenEchoClient
  }
  return openEchoClient
}

export const clients: Readonly<Record<ClientName, Client>> = {
  elysia: {
    asks: [
      'elysia',
      'elysia-hooks',
      'elysia-10000',
      'elysia-metrics',
      'elysia-sampled',
      'elysia-traced',
      'nest',
      'nest-strategy',
      'custom'
    ],
    choices: ['method', 'protocol', 'codec', 'take'],
    load: async () => (await import('./elysia/client.ts')).openEchoClient
  },
  nest: {
    asks: ['elysia', 'nest', 'nest-strategy', 'custom'],
    choices: ['method'],
    load: async () => (await import('./nest/client.ts')).openEchoClient
  },
  'nest-strategy': {
    asks: ['nest-strategy'],
    choices: ['method'],
    load: async () => (await import('./nest-strategy/client.ts')).openEchoClient
  },
  raw: { asks: ['elysia', 'nest', 'nest-strategy'], choices: [], load: null },
  socket: {
    asks: ['raw'],
    choices: [],
    load: async () => (await import('./raw/client.ts')).openEchoClient
  },
  moleculer: {
    asks: ['moleculer'],
    choices: [],
    limit: { connections: 500, why: 'each is a whole node, with a listener and two sockets' },
    load: other('moleculer')
  },
  grpc: {
    asks: ['grpc'],
    choices: [],
    load: other('grpc')
  },
  connect: {
    asks: ['connect'],
    choices: [],
    load: other('connect')
  },
  trpc: {
    asks: ['trpc'],
    choices: [],
    load: other('trpc')
  },
  'rsocket-js': {
    asks: ['rsocket-js'],
    choices: [],
    load: other('rsocket-js')
  },
  'elysia-nats': {
    asks: ['elysia-nats', 'nest-nats'],
    choices: ['method', 'take'],
    load: async () => (await import('./nats/client-elysia.ts')).openEchoClient
  },
  'nest-nats': {
    asks: ['nest-nats', 'elysia-nats'],
    choices: ['method'],
    load: async () => (await import('./nats/client-nest.ts')).openEchoClient
  },
  nats: {
    asks: ['nats'],
    choices: ['method'],
    load: async () => (await import('./nats/client-bare.ts')).openEchoClient
  },
  'elysia-redis': {
    asks: ['elysia-redis', 'nest-redis'],
    choices: ['method', 'take'],
    load: async () => (await import('./redis/client-elysia.ts')).openEchoClient
  },
  'nest-redis': {
    asks: ['nest-redis', 'elysia-redis'],
    choices: ['method'],
    load: async () => (await import('./redis/client-nest.ts')).openEchoClient
  },
  redis: {
    asks: ['redis'],
    choices: [],
    load: async () => (await import('./redis/client-bare.ts')).openEchoClient
  },
  'elysia-rabbitmq': {
    asks: ['elysia-rabbitmq'],
    choices: ['method', 'take'],
    load: async () => (await import('./rabbitmq/client-elysia.ts')).openEchoClient
  },
  'nest-rabbitmq': {
    asks: ['nest-rabbitmq'],
    choices: ['method'],
    load: async () => (await import('./rabbitmq/client-nest.ts')).openEchoClient
  },
  rabbitmq: {
    asks: ['rabbitmq'],
    choices: [],
    load: async () => (await import('./rabbitmq/client-bare.ts')).openEchoClient
  },
  'elysia-mqtt': {
    asks: ['elysia-mqtt', 'nest-mqtt'],
    choices: ['method', 'take'],
    load: async () => (await import('./mqtt/client-elysia.ts')).openEchoClient
  },
  'nest-mqtt': {
    asks: ['nest-mqtt', 'elysia-mqtt'],
    choices: ['method'],
    load: async () => (await import('./mqtt/client-nest.ts')).openEchoClient
  },
  mqtt: {
    asks: ['mqtt'],
    choices: [],
    load: async () => (await import('./mqtt/client-bare.ts')).openEchoClient
  },
  'elysia-kafka': {
    asks: ['elysia-kafka'],
    choices: ['method', 'take'],
    load: async () => (await import('./kafka/client-elysia.ts')).openEchoClient
  },
  'nest-kafka': {
    asks: ['nest-kafka'],
    choices: ['method'],
    load: async () => (await import('./kafka/client-nest.ts')).openEchoClient
  },
  kafka: {
    asks: ['kafka'],
    choices: [],
    load: async () => (await import('./kafka/client-bare.ts')).openEchoClient
  },
  http: {
    asks: ['http', 'http-hybrid'],
    choices: [],
    load: async () => (await import('./http/client.ts')).openEchoClient
  },
  jetstream: {
    asks: ['jetstream'],
    choices: [],
    load: async () => (await import('./durable/client-bare.ts')).openEchoClient
  },
  'elysia-durable': {
    asks: ['elysia-durable'],
    choices: [],
    load: async () => (await import('./durable/client-elysia.ts')).openEchoClient
  },
  outbox: {
    asks: ['outbox'],
    choices: [],
    load: async () => (await import('./durable/client-outbox.ts')).openEchoClient
  },
  'redis-streams': {
    asks: ['redis-streams'],
    choices: [],
    load: async () => (await import('./redis/client-streams.ts')).openEchoClient
  },
  'elysia-redis-durable': {
    asks: ['elysia-redis-durable'],
    choices: [],
    load: async () => (await import('./redis/client-durable.ts')).openEchoClient
  },
  'rabbitmq-quorum': {
    asks: ['rabbitmq-quorum'],
    choices: [],
    load: async () => (await import('./rabbitmq/client-quorum.ts')).openEchoClient
  },
  'elysia-rabbitmq-durable': {
    asks: ['elysia-rabbitmq-durable'],
    choices: [],
    load: async () => (await import('./rabbitmq/client-durable.ts')).openEchoClient
  }
}
