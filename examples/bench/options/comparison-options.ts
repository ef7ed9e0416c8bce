/** The options of a comparison: flags of `run-comparison.ts` and their defaults. */
import { type Runtime, runtimes } from '../process/runtime.ts'
import { type Codec, type Method, methods, type Protocol, protocols } from '../targets/echo-client.ts'
import { isOurs, type TargetName, targetNames } from '../targets/targets.ts'
import { choice, choices, describeFlags, helpFlag, integer, parseFlags, seconds, text } from './flags.ts'
import { type PayloadOptions, payloadFlags, readCodec, readPayload } from './payload-options.ts'

/** Who asks in a comparison: each target's own client, Nest's client, or raw sockets. */
export const contestClients = ['own', 'nest', 'raw'] as const
export type ContestClient = (typeof contestClients)[number]

export interface ComparisonOptions extends PayloadOptions {
  /** In the order in which they take turns. */
  readonly targets: readonly TargetName[]
  readonly runs: number
  readonly clients: readonly ContestClient[]
  readonly duration: number
  readonly warmup: number
  readonly concurrency: number
  readonly runtime: Runtime
  readonly method: Method
  /** What our own client speaks, and how it encodes data. */
  readonly protocol: Protocol
  readonly codec: Codec
  /** File that gets the whole report as JSON. `undefined`: `results/latest.json` of the bench. */
  readonly out: string | undefined
}

const flags = {
  targets: choices(targetNames, 'who is compared; ratios are to nest, or to the first; default elysia,nest'),
  runs: integer(1, 1_000, 'how often each is measured; default 3'),
  clients: choices(contestClients, 'who asks; default own'),
  duration: seconds(0.1, 86_400, 'how long each measurement takes; default 6'),
  warmup: seconds(0, 3_600, 'how long to load a server before measuring; default 1'),
  concurrency: integer(1, 10_000, 'requests outstanding at any moment; default 100'),
  ...payloadFlags,
  runtime: choice(runtimes, 'what runs clients and servers; default bun'),
  method: choice(
    methods,
    'how the elysia and nest clients ask: the cheapest way, or firstValueFrom(client.send()); default request'
  ),
  protocol: choice(protocols, 'what the elysia client speaks; default rsocket'),
  out: text('a path', 'where the JSON goes; default results/latest.json beside this command'),
  help: helpFlag
}

export const comparisonUsage = `Peers against each other: a table on stdout, the same as JSON in a file.

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
  const targets = given.targets ?? ['elysia', 'nest']
  const clients = given.clients ?? ['own']
  const protocol = given.protocol ?? 'rsocket'
  const payload = readPayload(given.shape, given.payload)
  const ownClientAsks = targets.some(isOurs) && clients.includes('own')
  return {
    targets,
    runs: given.runs ?? 3,
    clients,
    duration: given.duration ?? 6,
    warmup: given.warmup ?? 1,
    concurrency: given.concurrency ?? 100,
    ...payload,
    runtime: given.runtime ?? 'bun',
    method: given.method ?? 'request',
    protocol,
    codec: ownClientAsks ? readCodec(given.codec, protocol, payload.shape) : 'json',
    out: given.out
  }
}
