/** The options of a comparison: flags of `run-comparison.ts` and their defaults. */
import { type Protocol, protocols } from '../targets/echo-client.ts'
import { type Runtime, runtimes } from './bench-options.ts'
import { choice, choices, describeFlags, helpFlag, integer, parseFlags, seconds, text } from './flags.ts'

/** Who asks in a comparison: each target's own client, Nest's client against both, or raw sockets against both. */
export const contestClients = ['own', 'nest', 'raw'] as const
export type ContestClient = (typeof contestClients)[number]

export interface ComparisonOptions {
  readonly runs: number
  readonly clients: readonly ContestClient[]
  readonly duration: number
  readonly warmup: number
  readonly concurrency: number
  readonly payload: number
  readonly runtime: Runtime
  /** What our own client speaks. */
  readonly protocol: Protocol
  /** File that gets the whole report as JSON. `undefined`: `results/latest.json` of the bench. */
  readonly out: string | undefined
}

const flags = {
  runs: integer(1, 1_000, 'how often each pair is measured; default 3'),
  clients: choices(contestClients, 'who asks; default own'),
  duration: seconds(0.1, 86_400, 'how long each measurement takes; default 6'),
  warmup: seconds(0, 3_600, 'how long to load a server before measuring; default 1'),
  concurrency: integer(1, 10_000, 'requests outstanding at any moment; default 100'),
  payload: integer(0, 10_000_000, 'bytes of the echoed string; default 200'),
  runtime: choice(runtimes, 'what runs both servers; default bun'),
  protocol: choice(protocols, 'what the elysia client speaks; default rsocket'),
  out: text('a path', 'where the JSON goes; default results/latest.json beside this command'),
  help: helpFlag
}

export const comparisonUsage = `Elysia against Nest: a table on stdout, the same as JSON in a file.

  bun run-comparison.ts [flags]

${describeFlags(flags)}

Exit codes: 0 all measured, 1 a measurement failed or had errors, 2 wrong flags.
`

/**
 * @returns the options, or `'help'` if that is what was asked for
 * @throws UsageError
 */
export function readComparisonOptions(argv: readonly string[]): ComparisonOptions | 'help' {
  const given = parseFlags(flags, argv)
  if (given.help === true) return 'help'
  return {
    runs: given.runs ?? 3,
    clients: given.clients ?? ['own'],
    duration: given.duration ?? 6,
    warmup: given.warmup ?? 1,
    concurrency: given.concurrency ?? 100,
    payload: given.payload ?? 200,
    runtime: given.runtime ?? 'bun',
    protocol: given.protocol ?? 'rsocket',
    out: given.out
  }
}
