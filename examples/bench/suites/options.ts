/** The options of one measurement of a suite: flags of `run-suite.ts`, their defaults and how they depend on each other. */
import { UsageError } from '../errors.ts'
import {
  choice,
  describeFlags,
  helpFlag,
  integer,
  parseFlags,
  seconds,
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
  /** What runs the server; `go`: nothing but itself. */
  readonly runtime: Runtime | 'go'
  readonly concurrency: number
  /** Processes of the server. */
  readonly workers: number
  readonly duration: number
  readonly warmup: number
  /** 0: any free one. */
  readonly port: number
  readonly tool: Tool
  /** Address of a database that is there; `undefined`: one is started. */
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

  bun run-suite.ts --suite=http --target=elysia --workload=health [flags]

${describeFlags(flags)}

Exit codes: 0 measured, 1 there is no server or the measurement has errors, 2 wrong flags.
`

/**
 * @returns the options, or `'help'` if that is what was asked for
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
    concurrency: given.concurrency ?? (given.suite === 'db' ? 100 : callers[0]!),
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
