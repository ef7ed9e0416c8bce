/** The options of suites: of one measurement (`run-bench.ts --suite=…`) and of a comparison (`run-comparison.ts --suite=…`). */
import { UsageError } from '../errors.ts'
import {
  choice,
  choices,
  describeFlags,
  helpFlag,
  integer,
  integers,
  minutes,
  parseFlags,
  seconds,
  several,
  text,
  toggle
} from '../options/flags.ts'
import { type Runtime, runtimes } from '../process/runtime.ts'
import { type SuiteName, suiteNames } from '../task/task.ts'
import { type SuiteTarget, suites } from './catalog.ts'
import { preferredTool, type Tool, tools } from './load/tool.ts'
import type { Workload } from './workloads.ts'

export interface SuiteOptions {
  readonly suite: SuiteName
  readonly workload: string
  readonly asked: Workload['asked']
  readonly name: string
  readonly target: SuiteTarget & { readonly server: string }
  /** The runtime of the server; `go`: the server is a compiled program. */
  readonly runtime: Runtime | 'go'
  readonly concurrency: number
  /** The number of processes of the server. */
  readonly workers: number
  readonly duration: number
  readonly warmup: number
  /** The port; 0: any free port. */
  readonly port: number
  readonly tool: Tool
  /** The address of a running database; `undefined`: one is started. */
  readonly database: string | undefined
  readonly progress: boolean | undefined
  readonly label: string
  readonly withParent: boolean
  readonly histogram: boolean
}

const flags = {
  suite: choice(suiteNames, 'which suite; required'),
  workload: text('a workload of the suite', 'what is asked; default the first'),
  target: text('a target of the suite', 'who is asked; required'),
  runtime: choice([...runtimes, 'go'], 'what runs the server; default the first that can'),
  concurrency: integer(1, 10_000, 'requests at a time; default 100, scale 200'),
  workers: integer(1, 256, 'with --suite=scale: processes of the server; default 1'),
  duration: seconds(0.1, 86_400, 'how long to measure; default 10'),
  warmup: seconds(0, 3_600, 'seconds before; default 1'),
  port: integer(0, 65_535, 'where the server listens; default any free one'),
  tool: choice(tools, 'what loads over HTTP; default wrk where it is'),
  database: text('an address', 'with --suite=db: a database with users in it; default one of its own'),
  progress: toggle('a progress line on stderr, where the load is ours'),
  label: text('a text', 'what the progress line calls it'),
  'with-parent': { ...toggle('end when stdin does'), negatable: false },
  histogram: { ...toggle('print the whole distribution of latencies, too'), negatable: false },
  help: helpFlag
}

export const suiteUsage = `One measurement of a suite: JSON on stdout, nothing else.

  bun run-bench.ts --suite=http --target=elysia --workload=health [flags]

${describeFlags(flags)}

Exit codes: 0 measured, 1 there is no server or the measurement has errors, 2 wrong flags.
`

/**
 * @returns the options, or `'help'` if the command line asks for help
 * @throws UsageError
 */
export function readSuiteOptions(argv: readonly string[]): SuiteOptions | 'help' {
  const given = parseFlags(flags, argv)
  if (given.help === true) return 'help'
  if (given.suite === undefined) throw new UsageError(`--suite: missing, expected ${flags.suite.allowed}`)
  const { workloads, targets, callers } = suites[given.suite]
  const workload = known('workload', given.workload ?? Object.keys(workloads)[0], workloads)
  const name = known('target', given.target, targets)
  const target = targets[name]!
  const { server, absent, runtimes: able, lacks } = target
  if (server === null) throw new UsageError(`--target: got '${name}', which cannot be installed: ${absent}`)
  const lacking = lacks?.[workload]
  if (lacking !== undefined) throw new UsageError(`--workload: got '${workload}' for ${name}: ${lacking}`)
  const runtime = given.runtime ?? able[0]!
  if (!able.includes(runtime)) {
    throw new UsageError(`--runtime: got '${runtime}' for ${name}, expected ${able.join(' or ')}`)
  }
  return {
    suite: given.suite,
    workload,
    asked: workloads[workload]!.asked,
    name,
    target: { ...target, server },
    runtime,
    concurrency:
      given.concurrency ?? workloads[workload]!.callers?.[0] ?? (given.suite === 'db' ? 100 : callers[0]!),
    workers: given.workers ?? 1,
    duration: given.duration ?? 10,
    warmup: given.warmup ?? 1,
    port: given.port ?? 0,
    tool: given.tool ?? preferredTool(),
    database: given.database,
    progress: given.progress,
    label: given.label ?? name,
    withParent: given['with-parent'] ?? false,
    histogram: given.histogram ?? false
  }
}

function known(flag: string, given: string | undefined, table: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(table)
  if (given !== undefined && names.includes(given)) return given
  throw new UsageError(
    `--${flag}: ${given === undefined ? 'missing' : `got '${given}'`}, expected ${names.join(' or ')}`
  )
}

export interface SuiteComparison {
  readonly suite: SuiteName
  readonly workloads: readonly string[]
  readonly targets: readonly string[]
  readonly runtimes: readonly Runtime[]
  readonly callers: readonly number[]
  readonly runs: number
  readonly duration: number
  readonly warmup: number
  /** Whether a time was given, which then applies to all contests. */
  readonly isShortened: boolean
  readonly tool: Tool | undefined
  readonly patience: number
  readonly within: number | null
  readonly full: boolean
  readonly out: string | undefined
}

/** Seconds after which a suite begins no measurement; one of its 22 minutes is left for the end. */
const WITHIN = 21 * 60

const comparisonFlags = {
  suite: choice(suiteNames, 'which suite'),
  workloads: several(
    'workloads of the suite, separated by commas',
    'what is asked; default all',
    (name) => name
  ),
  targets: several('targets of the suite, separated by commas', 'who is asked; default all', (name) => name),
  runtimes: choices(runtimes, 'what runs servers; default both'),
  concurrency: integers(1, 10_000, 'requests at a time; default 100, of db 20,100,500,2000'),
  runs: integer(1, 1_000, 'how often each is measured; default 2, of db 1'),
  duration: seconds(0.1, 86_400, 'how long each measurement takes; default 1.2, of db 2 and 4, of scale 3'),
  warmup: seconds(0, 3_600, 'how long to load a server before; default 0.7, of db 0.5 and 2.5, of scale 1'),
  tool: choice(tools, 'what loads over HTTP; default wrk where it is'),
  patience: seconds(1, 3_600, 'how long a measurement may take beyond what it should; default 30'),
  within: minutes(0.1, 1_440, 'after so long nothing more is begun; default 21'),
  full: {
    ...toggle('writes the published report of the suite, and the tables made of it'),
    negatable: false
  },
  out: text(
    'a path',
    'where the JSON goes; default results/<suite>.json; with --full what is published of it goes to docs/benchmarks'
  ),
  help: helpFlag
}

export const suiteComparisonUsage = `A suite: a table on stdout; JSON, Markdown and HTML as files.

  bun run compare --suite=http [flags]

${describeFlags(comparisonFlags)}

${suiteNames.map((name) => `${name}: ${Object.keys(suites[name].workloads).join(', ')}; targets ${Object.keys(suites[name].targets).join(', ')}`).join('\n')}

Exit codes: 0 all measured, 1 a measurement is missing or (not of db) had errors, 2 wrong flags.
`

/** Whether a command line is about a suite. */
export const isSuite = (argv: readonly string[]): boolean =>
  argv.some((argument) => argument === '--suite' || argument.startsWith('--suite='))

/**
 * @returns the options, or `'help'` if the command line asks for help
 * @throws UsageError
 */
export function readSuiteComparison(argv: readonly string[]): SuiteComparison | 'help' {
  const given = parseFlags(comparisonFlags, argv)
  if (given.help === true) return 'help'
  if (given.suite === undefined)
    throw new UsageError(`--suite: missing, expected ${comparisonFlags.suite.allowed}`)
  const { workloads, targets, callers, runs, duration, warmup } = suites[given.suite]
  return {
    suite: given.suite,
    workloads: allKnown('workloads', given.workloads, workloads),
    targets: allKnown('targets', given.targets, targets),
    runtimes: given.runtimes ?? runtimes,
    callers: given.concurrency ?? callers,
    runs: given.runs ?? runs,
    duration: given.duration ?? duration,
    warmup: given.warmup ?? warmup,
    isShortened: given.duration !== undefined,
    tool: given.tool,
    patience: given.patience ?? 30,
    within: given.within === undefined ? WITHIN : given.within * 60,
    full: given.full === true,
    out: given.out
  }
}

/** The given names, in the order of the suite. */
function allKnown(flag: string, given: readonly string[] | undefined, table: object): string[] {
  const names = Object.keys(table)
  const unknown = given?.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    throw new UsageError(`--${flag}: got '${unknown}', expected one or more of ${names.join(', ')}`)
  }
  return given === undefined ? names : names.filter((name) => given.includes(name))
}
