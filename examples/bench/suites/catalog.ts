/** The suites: their workloads and their targets. A new target needs a row here, and a server in `servers/`. */
import type { Runtime } from '../process/runtime.ts'
import type { SuiteName } from '../task/task.ts'
import { dbWorkloads, httpWorkloads, scaleWorkloads, type Workload, webWorkloads } from './workloads.ts'

/** How requests to a target are made. */
export type Ask = 'http' | 'message' | 'nest-message'

export interface SuiteTarget {
  /**
   * The program of its server: a path without extension, below the bench's folder. `null`: there is none, for the
   * reason in `absent`.
   */
  readonly server: string | null
  readonly absent?: string
  /** Its runtimes, the usual one first; `go` means that it is a compiled program. */
  readonly runtimes: readonly (Runtime | 'go')[]
  readonly ask?: Ask
  /** The package that is measured, and all that its users install. */
  readonly packages: readonly string[]
  /** Whether it belongs to this project. */
  readonly isOurs?: boolean
  /** Whether it is the upper limit for all, and not a peer: it is measured, but not ranked. */
  readonly isLimit?: boolean
  /** Whether it does another task than the others: it is shown, but not ranked. */
  readonly isElse?: boolean
  /** The target by whose figures its own are divided. */
  readonly against?: string
  /** The workloads that it does not support, each with the reason. */
  readonly lacks?: Readonly<Record<string, string>>
  /** The most messages in flight of its service; `undefined`: no limit. */
  readonly inFlight?: number
  /** The program of its client in a page: a path without extension, below the bench's folder. */
  readonly page?: string
  /** How our client reacts to refusals; `undefined`: it returns them. */
  readonly refused?: 'lease' | 'retry'
}

export interface Suite {
  readonly title: string
  readonly workloads: Readonly<Record<string, Workload>>
  readonly targets: Readonly<Record<string, SuiteTarget>>
  /** The numbers of requests at a time. */
  readonly callers: readonly number[]
  readonly runs: number
  readonly duration: number
  readonly warmup: number
}

const BUN: readonly Runtime[] = ['bun']
const NODE: readonly Runtime[] = ['node']
const BOTH: readonly Runtime[] = ['bun', 'node']

const OURS = ['elysia-microservices', 'elysia']
const NEST = ['@nestjs/core', '@nestjs/common', 'reflect-metadata', 'rxjs']

const server = (name: string) => `suites/servers/${name}`
const other = (name: string) => `others/http/${name}`

/** Frameworks that serve HTTP themselves. */
const frameworks = {
  bun: { server: server('bun'), runtimes: BUN, packages: [], isLimit: true },
  node: {
    server: server('node'),
    runtimes: NODE,
    packages: [],
    isLimit: true,
    lacks: { router: 'node:http has no router' }
  },
  elysia: { server: server('elysia'), runtimes: BOTH, packages: ['elysia'] },
  'elysia-service': {
    server: server('elysia-service'),
    runtimes: BOTH,
    packages: OURS,
    isOurs: true,
    against: 'elysia'
  },
  wynkjs: { server: other('wynkjs'), runtimes: BUN, packages: ['wynkjs'] },
  hono: { server: other('hono'), runtimes: BOTH, packages: ['hono'] },
  fastify: { server: other('fastify'), runtimes: BOTH, packages: ['fastify'] },
  express: { server: other('express'), runtimes: BOTH, packages: ['express'] },
  'nest-express': {
    server: other('nest-express'),
    runtimes: BOTH,
    packages: ['@nestjs/platform-express', ...NEST]
  },
  'nest-fastify': {
    server: other('nest-fastify'),
    runtimes: BOTH,
    packages: ['@nestjs/platform-fastify', ...NEST]
  },
  fiber: { server: server('fiber'), runtimes: ['go'], packages: [] }
} as const satisfies Readonly<Record<string, SuiteTarget>>

/** HTTP in front of a service over TCP in another process. */
const gateways = {
  'elysia-gateway': {
    server: server('elysia-gateway'),
    runtimes: BOTH,
    packages: OURS,
    isOurs: true,
    isElse: true,
    against: 'nest-gateway'
  },
  'nest-gateway': {
    server: other('nest-gateway'),
    runtimes: BOTH,
    packages: ['@nestjs/platform-express', '@nestjs/microservices', ...NEST],
    isElse: true
  }
} as const satisfies Readonly<Record<string, SuiteTarget>>

/** Targets of earlier reports that cannot be installed any more. */
const absent = {
  elit: {
    server: null,
    absent: 'the npm registry has no package elit (`npm install elit`: 404), and no other source is known',
    runtimes: BUN,
    packages: []
  },
  velocity: {
    server: null,
    absent:
      'the package velocity of the npm registry is a template engine, as is velocityjs; velocity-framework and @velocity/core are not there',
    runtimes: BUN,
    packages: []
  }
} as const satisfies Readonly<Record<string, SuiteTarget>>

/**
 * Twice the size of the pool: as many requests wait for a connection as there are connections, so that none is idle.
 */
export const IN_FLIGHT = 40

const messages = {
  service: {
    server: server('service'),
    runtimes: BUN,
    ask: 'message',
    packages: OURS,
    isOurs: true,
    against: 'nest-service',
    inFlight: IN_FLIGHT
  },
  'service-leases': {
    server: server('service'),
    runtimes: BUN,
    ask: 'message',
    packages: OURS,
    isOurs: true,
    against: 'nest-service',
    inFlight: IN_FLIGHT,
    refused: 'lease'
  },
  'service-retries': {
    server: server('service'),
    runtimes: BUN,
    ask: 'message',
    packages: OURS,
    isOurs: true,
    against: 'nest-service',
    inFlight: IN_FLIGHT,
    refused: 'retry'
  },
  'service-no-limit': {
    server: server('service'),
    runtimes: BUN,
    ask: 'message',
    packages: OURS,
    isOurs: true,
    against: 'nest-service'
  },
  'nest-service': {
    server: server('nest-service'),
    runtimes: BUN,
    ask: 'nest-message',
    packages: ['@nestjs/microservices', ...NEST]
  }
} as const satisfies Readonly<Record<string, SuiteTarget>>

const NO_HTTP = { http2: 'it has one connection as it is' }

/** Clients in pages. */
const pages = {
  websocket: {
    server: server('web'),
    page: 'suites/web/pages/websocket',
    runtimes: BOTH,
    packages: ['@elysia-microservices/websocket', ...OURS],
    isOurs: true,
    lacks: NO_HTTP,
    against: 'trpc-ws'
  },
  'trpc-ws': {
    server: 'others/web/trpc-server',
    page: 'others/web/trpc-ws',
    runtimes: BOTH,
    packages: ['@trpc/server', '@trpc/client', 'ws'],
    lacks: NO_HTTP
  },
  'trpc-batch': {
    server: 'others/web/trpc-server',
    page: 'others/web/trpc-batch',
    runtimes: BUN,
    packages: ['@trpc/server', '@trpc/client']
  },
  eden: {
    server: 'others/web/eden-server',
    page: 'others/web/eden',
    runtimes: BUN,
    packages: ['@elysiajs/eden', 'elysia']
  },
  gateway: {
    server: server('web'),
    page: 'suites/web/pages/gateway',
    runtimes: BUN,
    packages: OURS,
    isOurs: true
  }
} as const satisfies Readonly<Record<string, SuiteTarget>>

/**
 * Only the usual runtime of each target. With a database that is enough, because the database determines the speed;
 * pairs get more runs instead.
 */
const usual = (targets: Readonly<Record<string, SuiteTarget>>): Record<string, SuiteTarget> =>
  Object.fromEntries(
    Object.entries(targets).map(([name, target]) => [
      name,
      { ...target, runtimes: target.runtimes.slice(0, 1) }
    ])
  )

export const suites: Readonly<Record<SuiteName, Suite>> = {
  http: {
    title: 'HTTP',
    workloads: httpWorkloads,
    targets: { ...frameworks, ...gateways, ...absent },
    callers: [100],
    runs: 2,
    duration: 1.2,
    warmup: 0.7
  },
  pairs: {
    title: 'HTTP, pairs',
    workloads: httpWorkloads,
    targets: usual({
      elysia: frameworks.elysia,
      'elysia-service': frameworks['elysia-service'],
      ...gateways
    }),
    callers: [100],
    runs: 5,
    duration: 1.5,
    warmup: 2
  },
  db: {
    title: 'PostgreSQL',
    workloads: dbWorkloads,
    targets: {
      ...messages,
      'elysia-gateway': { ...gateways['elysia-gateway'], runtimes: BUN, inFlight: IN_FLIGHT },
      'nest-gateway': { ...gateways['nest-gateway'], runtimes: BUN },
      ...usual(frameworks)
    },
    callers: [20, 100, 500, 2_000],
    runs: 1,
    duration: 2,
    warmup: 0.5
  },
  scale: {
    title: 'Several processes',
    workloads: scaleWorkloads,
    targets: {
      service: { server: server('service'), runtimes: BUN, ask: 'message', packages: OURS, isOurs: true },
      http: { server: server('scale-http'), runtimes: BUN, packages: OURS, isOurs: true }
    },
    callers: [200],
    runs: 2,
    duration: 3,
    warmup: 1
  },
  web: {
    title: 'Pages',
    workloads: webWorkloads,
    targets: pages,
    callers: [1, 32],
    runs: 2,
    duration: 1.5,
    warmup: 1
  }
}

/** The target of a suite with this name, without its label. */
export const suiteTarget = (suite: SuiteName, name: string): SuiteTarget | undefined => {
  const { targets } = suites[suite]
  return Object.hasOwn(targets, name) ? targets[name] : undefined
}
