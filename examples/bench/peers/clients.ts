/** The clients that can make requests, one row each. */
import { prepareOthers } from '../process/others.ts'
import { currentRuntime } from '../process/runtime.ts'
import type { OpenEchoClient } from './echo-client.ts'
import type { OverEngine } from './targets.ts'

/** The choices that a client may have. */
export type Choice = 'method' | 'protocol' | 'codec' | 'take'

export interface Client {
  /**
   * The names of the targets that understand the client. Plain strings: with `TargetName`, each of the two tables
   * would need the type of the other.
   */
  readonly asks: readonly string[]
  readonly choices: readonly Choice[]
  /** The most connections of this client that one process can have. */
  readonly limit?: { readonly connections: number; readonly why: string }
  /**
   * Imported only when used, so that no code of one peer runs in the process that measures another. `null`: there is
   * no client.
   */
  readonly load: (() => Promise<OpenEchoClient>) | null
}

/** Loads a client whose package may not be installed, so the compiler does not know it. */
const other = (name: string) => async (): Promise<OpenEchoClient> => {
  prepareOthers([currentRuntime])
  const { openEchoClient } = (await import(`../others/${name}/client.ts`)) as {
    openEchoClient: OpenEchoClient
  }
  return openEchoClient
}

/**
 * The clients of this project, of NestJS, and of the driver alone, over an engine.
 * @param isShared whether services of this project and of NestJS have the same address, so that both clients can call
 * each
 * @param choices the choices of the driver's client. Default: none
 */
function overEngine<Engine extends string>(
  engine: Engine,
  isShared: boolean,
  choices: readonly Choice[] = []
): Readonly<Record<OverEngine<Engine>, Client>> {
  const load = (role: string) => async () => {
    const loaded = (await import(`./${engine}/client-${role}.ts`)) as { openEchoClient: OpenEchoClient }
    return loaded.openEchoClient
  }
  const [ours, nests] = [`elysia-${engine}`, `nest-${engine}`]
  const both = (own: string, other: string) => (isShared ? [own, other] : [own])
  const rows: Readonly<Record<string, Client>> = {
    [ours]: { asks: both(ours, nests), choices: ['method', 'take'], load: load('elysia') },
    [nests]: { asks: both(nests, ours), choices: ['method'], load: load('nest') },
    [engine]: { asks: [engine], choices, load: load('bare') }
  }
  return rows as Readonly<Record<OverEngine<Engine>, Client>>
}

const CLIENTS = {
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
    asks: ['grpc', 'elysia-grpc', 'nest-grpc'],
    choices: [],
    load: other('grpc')
  },
  'elysia-grpc': {
    asks: ['elysia-grpc', 'nest-grpc', 'grpc'],
    choices: ['take'],
    load: async () => (await import('./grpc/client-elysia.ts')).openEchoClient
  },
  'nest-grpc': {
    asks: ['nest-grpc', 'elysia-grpc', 'grpc'],
    choices: [],
    load: other('nest-grpc')
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
  ...overEngine('nats', true, ['method']),
  ...overEngine('redis', true),
  ...overEngine('rabbitmq', false),
  ...overEngine('mqtt', true),
  ...overEngine('kafka', false),
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
  },
  'elysia-postgres': {
    asks: ['elysia-postgres'],
    choices: [],
    load: async () => (await import('./postgres/client-durable.ts')).openEchoClient
  },
  'pg-boss': {
    asks: ['pg-boss'],
    choices: [],
    load: other('pg-boss')
  },
  'graphile-worker': {
    asks: ['graphile-worker'],
    choices: [],
    load: other('graphile-worker')
  },
  bullmq: {
    asks: ['bullmq'],
    choices: [],
    load: other('bullmq')
  },
  'elysia-sqlite': {
    asks: ['elysia-sqlite'],
    choices: [],
    load: async () => (await import('./sqlite/client-durable.ts')).openEchoClient
  }
} satisfies Readonly<Record<string, Client>>

/** The names of all clients. `raw` sends NestJS's frames, encoded in advance; `socket` sends plain bytes. */
export type ClientName = keyof typeof CLIENTS
export const clients: Readonly<Record<ClientName, Client>> = CLIENTS
export const clientNames = Object.keys(CLIENTS) as readonly ClientName[]
