/** The options of a suite: flags of `run-comparison.ts --suite=…` and their defaults. */
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
import { suites } from './catalog.ts'
import { type Tool, tools } from './load/tool.ts'

export interface SuiteComparison {
  readonly suite: SuiteName
  readonly workloads: readonly string[]
  readonly targets: readonly string[]
  readonly runtimes: readonly Runtime[]
  readonly callers: readonly number[]
  readonly runs: number
  readonly duration: number
  readonly warmup: number
  /** Whether somebody has said how long: then it is as long for everybody. */
  readonly isShortened: boolean
  readonly tool: Tool | undefined
  readonly patience: number
  readonly within: number | null
  readonly full: boolean
  readonly out: string | undefined
}

/** Seconds after which a suite begins nothing more, with a minute for the rest of its fifteen. */
const WITHIN = 14 * 60

const flags = {
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
  within: minutes(0.1, 1_440, 'after so long nothing more is begun; default 14'),
  full: {
    ...toggle('writes the published report of the suite, and the tables made of it'),
    negatable: false
  },
  out: text(
    'a path',
    'where the JSON goes; default results/<suite>.json, with --full docs/benchmarks/<suite>.json'
  ),
  help: helpFlag
}

export const suiteComparisonUsage = `A suite: a table on stdout; JSON, Markdown and HTML as files.

  bun run compare --suite=http [flags]

${describeFlags(flags)}

${suiteNames.map((name) => `${name}: ${Object.keys(suites[name].workloads).join(', ')}; targets ${Object.keys(suites[name].targets).join(', ')}`).join('\n')}

Exit codes: 0 all measured, 1 a measurement is missing or (not of db) had errors, 2 wrong flags.
`

/** Whether a command line is about a suite. */
export const isSuite = (argv: readonly string[]): boolean =>
  argv.some((argument) => argument === '--suite' || argument.startsWith('--suite='))

/**
 * @returns the options, or `'help'` if that is what was asked for
 * @throws UsageError
 */
export function readSuiteComparison(argv: readonly string[]): SuiteComparison | 'help' {
  const given = parseFlags(flags, argv)
  if (given.help === true) return 'help'
  if (given.suite === undefined) throw new UsageError(`--suite: missing, expected ${flags.suite.allowed}`)
  const { workloads, targets, callers, runs, duration, warmup } = suites[given.suite]
  return {
    suite: given.suite,
    workloads: known('workloads', given.workloads, workloads),
    targets: known('targets', given.targets, targets),
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

/** In the order of the suite. */
function known(flag: string, given: readonly string[] | undefined, table: object): string[] {
  const names = Object.keys(table)
  const unknown = given?.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    throw new UsageError(`--${flag}: got '${unknown}', expected one or more of ${names.join(', ')}`)
  }
  return given === undefined ? names : names.filter((name) => given.includes(name))
}
