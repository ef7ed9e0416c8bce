/** The `package.json` of a project. */
import { isEngine, KEEPS_EVENTS_IN_FILE, NODE_WITH_SQLITE, type Options } from './options.ts'

/** The fields that are used of the manifest of `create-elysia-microservices`. */
export interface Manifest {
  readonly version: string
  readonly devDependencies: Readonly<Record<string, string>>
}

/** The manifest of a project. */
export interface ProjectManifest {
  readonly name: string
  readonly version: string
  readonly private: true
  readonly type: 'module'
  readonly engines: Readonly<Record<string, string>>
  readonly scripts: Readonly<Record<string, string>>
  /** Whether npm may run the install scripts of a package, by the package's name. */
  readonly allowScripts?: Readonly<Record<string, boolean>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const SCRIPTS = {
  bun: {
    dev: 'elysia-microservices dev --open',
    stock: 'bun --watch src/stock-service.ts',
    service: 'bun --watch src/service.ts',
    gateway: 'bun --watch src/gateway.ts',
    client: 'bun src/client.ts',
    test: 'bun test',
    typecheck: 'tsc'
  },
  node: {
    dev: 'elysia-microservices dev --open',
    build: 'tsc',
    stock: 'npm run build && node dist/stock-service.js',
    service: 'npm run build && node dist/service.js',
    gateway: 'npm run build && node dist/gateway.js',
    client: 'npm run build && node dist/client.js',
    test: 'npm run build && node --test dist/*.test.js'
  },
  deno: {
    dev: 'elysia-microservices dev --open',
    stock: 'deno run -A --unstable-net --watch src/stock-service.ts',
    service: 'deno run -A --unstable-net --watch src/service.ts',
    gateway: 'deno run -A --unstable-net --watch src/gateway.ts',
    client: 'deno run -A src/client.ts',
    test: 'deno test -A --no-check src',
    typecheck: 'tsc'
  }
} as const

/** The commands that run the program with the web page. */
const WEB = {
  bun: 'bun --watch src/web.ts',
  node: 'npm run build && node dist/web.js',
  deno: 'deno run -A --unstable-net --watch src/web.ts'
} as const

/** The releases that a project runs on. @param isInFile whether it needs SQLite */
const engines = (isInFile: boolean) => ({
  bun: { bun: '>=1.2.23' },
  node: { node: isInFile ? `>=${NODE_WITH_SQLITE}` : '>=20.19' },
  deno: { deno: '>=2.9' }
})

/**
 * The development dependencies of each runtime. Node's oldest supported release cannot run TypeScript, so Node
 * needs `tsx`.
 */
const TOOLS = { bun: ['@types/bun'], node: ['@types/node', 'tsx'], deno: ['@types/node'] } as const

/**
 * Decides whether install scripts of packages may run. Without a decision npm warns and pnpm fails. The only such
 * package is esbuild, which tsx depends on, and esbuild works without its install script.
 */
export function installScripts({ runtime, web }: Options): Readonly<Record<string, boolean>> | undefined {
  return runtime === 'node' || web ? { esbuild: false } : undefined
}

/**
 * Makes the manifest of a project. @param own the manifest of `create-elysia-microservices`; projects use its
 * development dependencies
 */
export function packageJson(options: Options, own: Manifest): ProjectManifest {
  const { name, runtime, transport, web } = options
  const allowScripts = installScripts(options)
  const isInFile = KEEPS_EVENTS_IN_FILE.includes(transport)
  const versions = (names: readonly string[]) =>
    Object.fromEntries(names.toSorted().map((each) => [each, own.devDependencies[each] as string]))
  return {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines: engines(isInFile)[runtime],
    scripts: {
      ...SCRIPTS[runtime],
      ...(web && { web: WEB[runtime] }),
      ...(transport === 'grpc' && { proto: 'elysia-microservices proto src/contracts.ts' })
    },
    ...(allowScripts && { allowScripts }),
    dependencies: versions([
      'elysia-microservices',
      '@elysia-microservices/telemetry',
      ...(isEngine(transport) ? [`@elysia-microservices/${transport}`] : []),
      ...(transport === 'grpc' ? ['@elysia-microservices/grpc', '@elysia-microservices/protobuf'] : []),
      ...(isInFile ? ['@elysia-microservices/sqlite'] : []),
      'elysia',
      '@elysiajs/openapi',
      ...(runtime === 'bun' ? [] : ['@elysiajs/node']),
      ...(web ? ['@elysia-microservices/websocket', 'esbuild'] : []),
      '@opentelemetry/api',
      '@sinclair/typebox'
    ]),
    devDependencies: versions(['@elysia-microservices/cli', 'typescript', ...TOOLS[runtime]])
  }
}
