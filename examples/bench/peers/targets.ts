/** The targets that can be measured: one row each. A new peer is a row here, and one in `clients.ts`. */
import { type Handler, handlers, type Source, type Step, sources } from '../task/task.ts'
import type { ClientName } from './clients.ts'

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

/** Ours, Nest and the driver alone over an engine. */
export type OverEngine<Engine extends string> = NoInfer<`elysia-${Engine}` | `nest-${Engine}` | Engine>

/** Ours, Nest and the driver alone over an engine, each beside a server of its own. @param port of the first; others follow */
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
  ...overEngine('nats', 7014, '@nats-io/transport-node'),
  ...overEngine('redis', 7051, 'ioredis'),
  ...overEngine('rabbitmq', 7061, 'amqplib'),
  ...overEngine('mqtt', 7071, 'mqtt'),
  ...overEngine('kafka', 7081, '@platformatic/kafka'),
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
} satisfies Readonly<Record<string, Target>>

export type TargetName = keyof typeof TARGETS
export const targets: Readonly<Record<TargetName, Target>> = TARGETS
export const targetNames = Object.keys(TARGETS) as readonly TargetName[]

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
