/** The jobs of each gate: `check`, `test` and `nightly`. */
import { dirname, relative, resolve } from 'node:path'
import { DENO, newestNode, oldestNode } from '@elysia-microservices/test-support'
import { spawnSync } from 'bun'
import { postgresJobs, SERVERS } from './postgres-jobs.ts'
import type { Job } from './run-jobs.ts'
import { compiled, dependsOnRuntime, type Gate, runsOnNode, type Suite, suitesOf } from './test-files.ts'

/**
 * The time limit of one test under Bun in milliseconds, by gate. Under Node all tests together have one: see
 * `node-tests.mjs`.
 */
const LONGEST_TEST = { check: 60_000, test: 600_000, nightly: 600_000 } as const
/** Suites that run under Bun only, each with the reason. */
const BUN_ONLY = new Map([
  ['unit/scripts', 'they are scripts for Bun'],
  ['unit/sqlite', 'the oldest supported Node has no SQLite; the newest LTS runs it at night'],
  ['examples/bench', 'the harness runs under Bun; it starts its peers under Node itself'],
  ['examples/small', 'programs of their own, of one runtime'],
  ['system/architecture', 'it reads sources as text'],
  ['system/lives', 'a life is the same on every runtime; at night its own test says so'],
  ['system/oracles', 'composition is the same on every runtime'],
  ['system/packages', 'what users start is a process of its own, of each runtime'],
  ['system/site', 'it reads HTML'],
  ['system/types', 'it asks the compiler']
])
/**
 * The suites that take longest, the longest first. If one of them started last, the other processors would have
 * nothing to do at the end. The first of them spend most of their time waiting, so they run beside suites that compute.
 */
const LONGEST = [
  'system/engines',
  'system/websocket',
  'unit/engine',
  'unit/outbox',
  'unit/postgres',
  'unit/kafka',
  'unit/sqlite',
  'system/redis',
  'system/packages',
  'examples/bench',
  'system/hostile-code',
  'system/workers',
  'system/conformance',
  'system/types',
  'system/apps',
  'system/docs',
  'system/lives',
  'unit/nats',
  'system/dev',
  'unit/websocket',
  'unit/elysia-microservices',
  'unit/engine-tests',
  'system/durable',
  'system/calls',
  'system/nats',
  'unit/tcp',
  'unit/rsocket',
  'unit/transport',
  'system/observability',
  'system/faults',
  'examples/shop'
]
/** Settings with which randomised tests try more cases or repeat more often at night. */
const AT_NIGHT = {
  FUZZ_INPUTS: '200000',
  /** Milliseconds for all tests of a job under Node: see `node-tests.mjs`. */
  LONGEST_RUN: '3500000',
  OUTBOX_EVENTS: '10000',
  OUTBOX_SCHEDULES: '200',
  OUTBOX_TORTURE: 'long'
}
/**
 * Suites that run on only one runtime on a push. Units of engines have servers inside their process (Redis also a real
 * one); `system/engines` tests the drivers of NATS, Redis and MQTT on Node. Units test the sockets of TCP and WebSocket
 * on both runtimes, and with them all of RSocket, which has none. Of the two suites for NestJS each runtime has one.
 * The command line and `create-elysia-microservices` are programs of Node, and the console's page runs in a browser.
 * What remains here starts processes, or pages in Chromium.
 */
const ON_ONE_RUNTIME = new Map<string, 'bun' | 'node'>([
  ['examples/shop', 'node'],
  ['system/durable', 'node'],
  ['system/faults', 'bun'],
  ['system/mqtt', 'bun'],
  ['system/nats', 'bun'],
  ['system/nestjs', 'bun'],
  ['system/redis', 'bun'],
  ['system/torture', 'bun'],
  ['system/websocket', 'bun'],
  ['unit/cli', 'node'],
  ['unit/console', 'bun'],
  ['unit/create-elysia-microservices', 'node'],
  ['unit/engine', 'bun'],
  ['unit/engine-tests', 'bun'],
  ['unit/grpc', 'bun'],
  ['unit/kafka', 'bun'],
  ['unit/mqtt', 'bun'],
  ['unit/nats', 'bun'],
  ['unit/nestjs', 'node'],
  ['unit/rabbitmq', 'bun'],
  ['unit/redis', 'bun'],
  ['unit/rsocket', 'bun']
])
const MINUTES_OF_MUTANTS = 20
const NODE = oldestNode()
const IS_ON_PATH = NODE === 'node'
/** The Node that tests start by its name is the oldest one, too. */
const OLDEST_NODE_FIRST = IS_ON_PATH ? {} : { PATH: `${dirname(NODE)}:${process.env['PATH']}` }
/** Jobs of a push that start Deno or the newest Node LTS. */
const ON_OTHER_RUNTIMES = /\/(node-lts|deno)\/|^system\/\w+\/(apps|dev|websocket)$/
/**
 * A process of a few seconds gains nothing from the last of Bun's compilers, or from garbage that is collected by a timer
 * and not only by need: both together take a tenth to a fifth of its CPU time. At night Bun runs as users run it.
 */
const SHORT_LIVED = { BUN_JSC_useFTLJIT: '0', BUN_GC_TIMER_DISABLE: '1' }
const NEEDS_SITE = /^system\/bun\/(site|types)$/
const FEWER_TRIES = ['--preload', resolve('tools/scripts/fewer-tries.ts')]
const RUNNER = resolve('tools/scripts/node-tests.mjs')

/** Everything that has types: all packages, those that run in browsers once more without Node's types, and scripts. */
const TYPED = [
  '.',
  ...['engines/engine', 'packages/rsocket', 'packages/transport'].map(
    (one) => `${one}/tsconfig.platform.json`
  ),
  'tools/scripts'
]

/**
 * Several projects are built at a time. Several checkers of one project would each find out again what the types of
 * Elysia are: with one, a build of everything takes 24 s of CPU in place of 35.
 */
const TSC = ['tsc', '-b', '--checkers', '1', '--pretty', ...TYPED]

/**
 * Tests under Node, and programs that tests start, need the build. The build also checks all types. Behind the compiler
 * only packages have something left to do: examples and tests have no bundles.
 */
const BUILD: Job = {
  name: 'build',
  command: [
    'sh',
    '-c',
    `${TSC.join(' ')} && turbo run build --filter='./{packages,engines,tools}/*' --output-logs=errors-only`
  ],
  env: { TURBO_TELEMETRY_DISABLED: '1' }
}

/** Installs the runtimes that tests start beside Bun and the Node of this machine. */
const RUNTIMES: Job = { name: 'runtimes', command: ['bun', 'tools/scripts/install.ts', 'tools/runtimes'] }

/** Installs what makes the site, which brings the compiler that reads the public API, too; checks the site's types. */
const SITE: Job = {
  name: 'site',
  command: ['sh', '-c', 'bun tools/scripts/install.ts tools/site && tsc -p tools/site/tsconfig.json'],
  after: [BUILD.name]
}

/** Puts the build and installations first, if a job comes after them. @param last jobs that run later */
export function withNeeded(jobs: readonly Job[], last: readonly Job[]): readonly Job[] {
  const needed = [BUILD, RUNTIMES, SITE, SERVERS].filter(({ name }) =>
    [...jobs, ...last].some((job) => job.name === name || job.after?.includes(name))
  )
  return [...needed, ...jobs.filter(({ name }) => name !== BUILD.name)]
}

/** In `check` tests read the sources of all packages, so that only types are checked, of what has changed. */
const TYPES: Job = { name: 'types', command: TSC }

/** In `check` only files that differ from `main` are linted: the others were linted when they got there. */
function lintOf(gate: Gate): Job {
  const changed = gate === 'check' ? filesNotOnMain() : undefined
  const command = ['biome', 'check', '--error-on-warnings', '--no-errors-on-unmatched']
  // Without a file, Biome would check all files.
  return { name: 'lint', command: changed?.length === 0 ? ['true'] : [...command, ...(changed ?? ['.'])] }
}

/** `undefined`: git cannot say it, or the rules of all files have changed. */
function filesNotOnMain(): string[] | undefined {
  const git = (...words: string[]) => {
    const { exitCode, stdout } = spawnSync(['git', ...words])
    return exitCode === 0 ? stdout.toString().split('\n').filter(Boolean) : undefined
  }
  const [base] = git('merge-base', 'HEAD', 'main') ?? []
  const changed = base === undefined ? undefined : git('diff', '--name-only', '--diff-filter=d', base)
  const added = git('ls-files', '--others', '--exclude-standard')
  if (changed === undefined || added === undefined || changed.includes('biome.json')) return undefined
  return [...changed, ...added]
}

/** Jobs that run next, several at a time, the longest first. */
export function jobsOf(gate: Gate): Job[] {
  const suites = suitesOf(gate)
  const onNode = suites
    .filter(({ kind, name }) => !BUN_ONLY.has(`${kind}/${name}`))
    .map((suite) => onlyFiles(suite, (file) => runsOnNode(gate, file)))
    .filter(({ files }) => files.length > 0)
  const isOn = (runtime: 'bun' | 'node', { kind, name }: Suite) =>
    gate !== 'test' || (ON_ONE_RUNTIME.get(`${kind}/${name}`) ?? runtime) === runtime
  const jobs = suites
    .filter((suite) => isOn('bun', suite))
    .map((suite) => ({ suite, job: underBun(gate, suite) }))
  if (gate !== 'check')
    jobs.push(
      ...onNode.filter((suite) => isOn('node', suite)).map((suite) => ({ suite, job: underNode(suite) })),
      ...otherRuntimes(gate, onNode)
    )
  // Tests ask for the gate: see `tools/test-support/src/gate.ts`.
  const env = {
    GATE: gate,
    ...(gate === 'nightly' && AT_NIGHT),
    ...(gate !== 'nightly' && SHORT_LIVED),
    ...(gate !== 'check' && OLDEST_NODE_FIRST)
  }
  const tests = jobs
    .toSorted((one, other) => placeOf(one.suite) - placeOf(other.suite))
    // At night a suite includes its long tests.
    .map(({ job, suite }) => ({
      ...job,
      env,
      after: neededBy(gate, job, suite),
      ...(gate === 'nightly' && { limit: 3_600 })
    }))
  const overServers = gate === 'nightly' ? postgresJobs(LONGEST_TEST.nightly) : []
  return [lintOf(gate), gate === 'check' ? TYPES : BUILD, ...tests, ...overServers]
}

/** The jobs that come before a job. */
function neededBy(gate: Gate, { name }: Job, { files }: Suite): readonly string[] {
  if (gate === 'check') return []
  // These run in `check`, too, and so without a build.
  const isOfSources = name.startsWith('unit/bun/') && !files.some((file) => /\.(slow|nightly)\./.test(file))
  const build = isOfSources ? [] : [BUILD.name]
  if (NEEDS_SITE.test(name)) return [...build, SITE.name]
  const startsRuntimes = gate === 'nightly' || !IS_ON_PATH || ON_OTHER_RUNTIMES.test(name)
  return startsRuntimes ? [...build, RUNTIMES.name] : build
}

/** The position of a suite in the order of jobs: suites in `LONGEST` first, then suites with many files. */
function placeOf({ kind, name, files }: Suite): number {
  const place = LONGEST.indexOf(`${kind}/${name}`)
  return place === -1 ? LONGEST.length + 1 / files.length : place
}

function onlyFiles(suite: Suite, isWanted: (file: string) => boolean): Suite {
  return { ...suite, files: suite.files.filter(isWanted) }
}

function underBun(gate: Gate, { kind, name, folder, files }: Suite): Job {
  const inside = files.map((file) => `./${relative(folder, file)}`)
  return {
    name: `${kind}/bun/${name}`,
    command: [
      'bun',
      'test',
      `--timeout=${LONGEST_TEST[gate]}`,
      ...(gate === 'check' ? FEWER_TRIES : []),
      ...inside
    ],
    folder,
    hasTests: true
  }
}

function underNode({ kind, name, folder, files }: Suite, runtime = 'node', node = NODE): Job {
  const inside = files.map((file) => relative(folder, compiled(file)))
  return {
    name: `${kind}/${runtime}/${name}`,
    command: [node, '--enable-source-maps', '--test-reporter=spec', RUNNER, ...inside],
    folder,
    hasTests: true
  }
}

function underDeno({ kind, name, folder, files }: Suite): Job {
  const inside = files.map((file) => relative(folder, compiled(file)))
  // Elysia's adapter uses SO_REUSEPORT, which Deno only has with a flag.
  return {
    name: `${kind}/deno/${name}`,
    command: [DENO, 'test', '-A', '--no-check', '--unstable-net', ...inside],
    folder,
    hasTests: true
  }
}

/**
 * The suites that also run on the newest Node LTS and on Deno: on a push conformance, as far as it depends on the
 * runtime, at night all of conformance and all units.
 */
function otherRuntimes(gate: Gate, suites: readonly Suite[]): { readonly suite: Suite; readonly job: Job }[] {
  const atNight = gate === 'nightly'
  return suites
    .filter(({ kind, name }) => name === 'conformance' || (kind === 'unit' && atNight))
    .map((suite) => onlyFiles(suite, (file) => atNight || dependsOnRuntime(file)))
    .filter(({ files }) => files.length > 0)
    .flatMap((suite) => [
      { suite, job: underNode(suite, 'node-lts', newestNode()) },
      { suite, job: underDeno(suite) }
    ])
}

/** Jobs that run last and alone, because they need the whole machine or change sources. */
export function lastJobsOf(gate: Gate): Job[] {
  if (gate !== 'nightly') return []
  const after = [BUILD.name]
  const mutants: Job = {
    name: 'mutants',
    after,
    command: ['bun', 'tools/scripts/mutants.ts', `--minutes=${MINUTES_OF_MUTANTS}`],
    isReport: true,
    // The job finishes the tests of its last change after the time is over, which may take minutes.
    limit: (MINUTES_OF_MUTANTS + 20) * 60
  }
  const base = yesterday()
  const speed: Job = {
    name: 'gate',
    after,
    command:
      base === undefined
        ? ['echo', 'There is no commit of yesterday to compare with']
        : ['bun', 'examples/bench/run-gate.ts', `--base=${base}`],
    isReport: true,
    limit: 3_600
  }
  const rehearsal: Job = {
    name: 'release',
    after,
    command: ['bun', 'tools/scripts/rehearsal/run.ts'],
    limit: 3_600
  }
  return [rehearsal, speed, mutants]
}

/** The last commit that is older than a day, if there is one. */
function yesterday(): string | undefined {
  const { stdout } = spawnSync(['git', 'rev-list', '-1', '--before=24 hours ago', 'HEAD'])
  return stdout.toString().trim() || undefined
}
