/** The clients that can ask: one row each. */
import { prepareOthers } from '../process/others.ts'
import { currentRuntime } from '../process/runtime.ts'
import type { OpenEchoClient } from './echo-client.ts'
import type { OverEngine } from './targets.ts'

/** The choices that a client may have. */
export type Choice = 'method' | 'protocol' | 'codec' | 'take'

export interface Client {
  /** Names of the targets that understand it. Plain strings: as `TargetName`, the two tables would need each other's types. */
  readonly asks: readonly string[]
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

/**
 * Ours, Nest and the driver alone over an engine.
 * @param isShared ours and Nest's services have the same address, so each is understood by both clients
 * @param choices of the driver. Default: none
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
  }
} satisfies Readonly<Record<string, Client>>

/** `raw` speaks Nest's wire, encoded beforehand; `socket` sends bare bytes. */
export type ClientName = keyof typeof CLIENTS
export const clients: Readonly<Record<ClientName, Client>> = CLIENTS
export const clientNames = Object.keys(CLIENTS) as readonly ClientName[]
