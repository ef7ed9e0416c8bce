/** The options of the gate: flags of `run-gate.ts` and their defaults. */
import { UsageError } from '../errors.ts'
import { pairsNeeded, type Rule } from '../gate/decide.ts'
import { type GateLoad, loadsOf } from '../gate/loads.ts'
import { MAX_PAIRS } from '../gate/signed-rank.ts'
import { ownTargets, type TargetName } from '../peers/targets.ts'
import { layouts } from '../report/contest.ts'
import { type Figure, figureNames } from '../report/figures.ts'
import { handlers, sources } from '../task/task.ts'
import { choice, choices, describeFlags, helpFlag, integer, parseFlags, seconds, text } from './flags.ts'
import { payloadsFlag, readPayload } from './payload-options.ts'

export interface GateOptions {
  readonly base: string
  readonly target: TargetName
  readonly runs: number
  /** The loads on both commits. */
  readonly loads: readonly GateLoad[]
  readonly figures: readonly Figure[]
  readonly concurrency: number
  readonly duration: number
  readonly warmup: number
  readonly rule: Rule
}

/** The probability with which a gate may fail by chance: one in twenty. */
const FALSE_ALARMS = 0.05

const flags = {
  base: text('a commit', 'what this checkout is compared with; required'),
  target: choice(ownTargets, 'whose server and client are measured; default elysia'),
  runs: integer(1, MAX_PAIRS, 'how often each commit is measured in each shape; default 11'),
  shapes: choices(layouts, 'shapes of the connections; default per-client,shared'),
  payloads: payloadsFlag('what is echoed; default flat,object'),
  handlers: choices(
    handlers,
    'how handlers answer: each payload by the first, the first payload by the others; default sync,waits'
  ),
  generators: choices(sources, 'streams, too: one long one, or 100 of 10 values; default none'),
  figures: choices(figureNames, 'what may not drop; default rps,serverCpuUsPerRequest'),
  concurrency: integer(1, 10_000, 'requests outstanding at any moment; default 100'),
  duration: seconds(0.1, 3_600, 'how long each measurement takes; default 2'),
  warmup: seconds(0, 3_600, 'how long to load a server before measuring; default 0.5'),
  tolerance: seconds(0, 100, 'by how many percent a figure may drop; default 2'),
  help: helpFlag
}

export const gateUsage = `This checkout against an earlier commit, in turns.

  bun run bench:gate --base=<commit> [flags]

${describeFlags(flags)}

Exit codes: 0 nothing dropped, 1 something did or could not be measured, 2 wrong flags.
`

/**
 * @returns the options, or `'help'` if the command line asks for help
 * @throws UsageError
 */
export function readGateOptions(argv: readonly string[]): GateOptions | 'help' {
  const given = parseFlags(flags, argv)
  if (given.help === true) return 'help'
  if (given.base === undefined) throw new UsageError(`--base: missing, expected ${flags.base.allowed}`)
  const loads = loadsOf({
    layouts: given.shapes ?? layouts,
    payloads: given.payloads ?? [readPayload('flat', undefined), readPayload('object', undefined)],
    handlers: given.handlers ?? ['sync', 'waits'],
    generators: given.generators ?? []
  })
  const figures = given.figures ?? ['rps', 'serverCpuUsPerRequest']
  const runs = given.runs ?? 11
  const rule = {
    tolerance: (given.tolerance ?? 2) / 100,
    falseAlarms: FALSE_ALARMS,
    findings: loads.length * figures.length
  }
  if (runs < pairsNeeded(rule)) {
    throw new UsageError(
      `--runs: got '${runs}', expected at least ${pairsNeeded(rule)}: with fewer, no drop can be distinguished from chance`
    )
  }
  return {
    base: given.base,
    target: given.target ?? 'elysia',
    runs,
    loads,
    figures,
    concurrency: given.concurrency ?? 100,
    duration: given.duration ?? 2,
    warmup: given.warmup ?? 0.5,
    rule
  }
}
