/**
 * Which test files there are, where they run and when. The name of a file says what is special about it:
 *
 *   a.test.ts          in every gate
 *   a.slow.test.ts     not in `npm run check`: it waits for seconds, or starts a server
 *   a.nightly.test.ts  only in `npm run test:nightly`
 */
import { readFileSync } from 'node:fs'
import { Glob } from 'bun'

/** The gates: before a commit, on each push, every night. Each gate includes the tests of the previous one. */
export type Gate = 'check' | 'test' | 'nightly'

/** The test files of a package, an example or a topic of `tests/`. */
export interface Suite {
  /** The folder in which the suite runs, as a path from the root of the repository. */
  readonly folder: string
  /** The last part of the folder. */
  readonly name: string
  readonly kind: 'unit' | 'system' | 'examples'
  /** The sources of the tests, as paths from the root of the repository. */
  readonly files: readonly string[]
}

const KINDS = {
  packages: 'unit',
  engines: 'unit',
  tools: 'unit',
  tests: 'system',
  examples: 'examples'
} as const
/** Topics of `tests/` that need nothing but a build and end within seconds. */
const CHECKED_TOPICS = ['architecture', 'conformance']

/** All suites that have tests for a gate. */
export function suitesOf(gate: Gate, all: readonly string[] = testFiles()): Suite[] {
  const suites = new Map<string, Suite & { readonly files: string[] }>()
  for (const file of all) {
    if (!isIn(gate, file)) continue
    const [top = '', name = ''] = file.split('/')
    const folder = top === 'tests' ? top : `${top}/${name}`
    const suite = suites.get(`${top}/${name}`) ?? {
      folder,
      name,
      kind: KINDS[top as keyof typeof KINDS],
      files: []
    }
    suite.files.push(file)
    suites.set(`${top}/${name}`, suite)
  }
  return [...suites.values()]
}

function testFiles(): string[] {
  const found = new Glob('{packages,engines,tools,examples,tests}/**/*.test.ts').scanSync('.')
  return [...found].filter((file) => !/(^|\/)(node_modules|dist|lib|template)\//.test(file)).sort()
}

function isIn(gate: Gate, file: string): boolean {
  if (gate === 'nightly') return true
  if (file.endsWith('.nightly.test.ts')) return false
  if (gate === 'test') return true
  const [top, topic = ''] = file.split('/')
  const isQuick = !file.endsWith('.slow.test.ts')
  return isQuick && top !== 'examples' && (top !== 'tests' || CHECKED_TOPICS.includes(topic))
}

/** The compiled form of a test file, which runs under Node and Deno. */
export function compiled(file: string): string {
  const [, before, rest] =
    /^((?:packages|engines|tools|examples)\/(?!scripts\/)[^/]+\/|tests\/)(?:src\/)?(.*)\.ts$/.exec(file) ?? []
  if (before === undefined) throw new Error(`${file} is not part of any compiled project`)
  return `${before}dist/${rest}.js`
}

/**
 * Tests that run on Node only at night, each with the reason. All others run on Node on each push too, because
 * sockets, timers, processes and database drivers are different in each runtime.
 */
const NODE_AT_NIGHT: readonly (readonly [RegExp, string])[] = [
  [/^packages\/outbox\/src\/(torture|relay\/schedules)\./, 'what they vary is what PostgreSQL does'],
  [
    /^engines\/postgres\/src\/(?!drivers|transactions)/,
    'the same statements for the same server, or no server: the drivers of each runtime are tried there'
  ],
  [/^packages\/protobuf\//, 'bytes and values without a socket; packages/connect carries them on Node'],
  [
    /^packages\/transport\//,
    'it knows no runtime and has no socket; the same calls go through those of Node in conformance and tests/engines'
  ],
  [
    /^packages\/elysia-microservices\/src\/(chaos|controller|description|hooks|router|schema|types)\//,
    'words, schemas, hooks and decorators without a socket'
  ],
  [
    /^packages\/elysia-microservices\/src\/service\/(standing-checks|own-names)\./,
    'services without a socket, composed at random'
  ],
  [
    /^packages\/elysia-microservices\/src\/gateway\/(modes|documentation|event-stream|route-key)\./,
    'requests are handed to the app without a socket'
  ],
  [/^tests\/\w+\/cli(-\w+)?\./, 'the command line is a process of Node, whatever runs its tests'],
  [
    /^packages\/(rsocket\/src\/(balance|limits|protocol)|tcp\/src\/(nest|options))\//,
    'bytes and sums without a socket; the same frames go over those of Node in packages/tcp and conformance'
  ],
  [
    /^tests\/dev\/(dev|engines|page|runtimes|traces)\./,
    'engines, the page and services are processes of their own; tests/dev/terminal and shop run dev on Node'
  ],
  [/^packages\/elysia-microservices\/src\/client\/memory\./, '`memory()` has no socket'],
  [/^packages\/websocket\/src\/server\/exposed\./, 'it decides by names; upgrades and calls run on Node'],
  [/^tools\/console\/src\/page\//, 'it runs in a browser'],
  [
    /^tests\/conformance\/(pipeline|cross-runtime)\./,
    'guards and pipes have no socket, and Bun tests both runtimes'
  ],
  [
    /^tests\/workers\/workers\./,
    'each of its cases starts processes, which take twice as long on Node; tests/workers/http runs there'
  ],
  [/^tests\/websocket\/(edges|page)\./, 'the page and programs are processes of their own'],
  [/^tests\/docs\//, 'its programs run under Bun in any case, and its bytes are those of conformance']
]

/** Whether a test that runs on Bun also runs on Node 20. */
export function runsOnNode(gate: Gate, file: string): boolean {
  return gate === 'nightly' || NODE_AT_NIGHT.every(([files]) => !files.test(file))
}

/** Modules whose implementations differ between runtimes. */
const DIFFERS = /from 'node:(net|tls|http|https|dns|async_hooks)'/

/** Whether a test uses a module that differs between the releases of Node and Deno. */
export function dependsOnRuntime(file: string): boolean {
  return DIFFERS.test(readFileSync(file, 'utf8'))
}
