/** The options of a comparison: the flags of `run-comparison.ts`, and their defaults. */
import { UsageError } from '../errors.ts'
import { customPayload, customShape, type PayloadShape, shapeNames } from '../payload/payload.ts'
import { type Codec, type Method, methods, type Protocol, protocols } from '../peers/echo-client.ts'
import { isOurs, type TargetName, targetNames } from '../peers/targets.ts'
import { type Runtime, runtimes } from '../process/runtime.ts'
import { type ContestClient, contestClients, type Layout, layouts } from '../report/contest.ts'
import { ECHO, type Mode, type Task } from '../task/task.ts'
import { customFlags, nameOfPattern, readCustom } from './custom-options.ts'
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
} from './flags.ts'
import { type FullOptions, fullPartNames, readFull } from './full-options.ts'
import { checkLoad, type LoadOptions, loadFlags, readLoad } from './load-options.ts'
import { type PayloadOptions, payloadFlags, payloadsFlag, readCodec, readPayload } from './payload-options.ts'
import { callersOf, readTask, rejectBeside, taskFlags } from './task-options.ts'

/** The payload: one of the bench's, or data of the user. */
export type ComparedPayload = Omit<PayloadOptions, 'shape'> & { readonly shape: PayloadShape }

/** The address of the service, the request, and the same as flags of a single measurement. */
export interface CustomService {
  readonly pattern: string
  readonly flags: Readonly<Record<string, string | true>>
}

export interface ComparisonOptions extends LoadOptions {
  /** The targets, in the order in which they take turns. */
  readonly targets: readonly TargetName[]
  readonly runs: number
  /** The task of all targets. */
  readonly task: Task
  readonly clients: readonly ContestClient[]
  readonly layouts: readonly Layout[]
  readonly concurrency: readonly number[]
  readonly payloads: readonly ComparedPayload[]
  /** A service of the user, which is then the only target; `null`: the servers of the bench. */
  readonly custom: CustomService | null
  readonly runtimes: readonly Runtime[]
  readonly duration: number
  readonly warmup: number
  readonly method: Method
  /** The protocol and the codec of our own client. */
  readonly protocol: Protocol
  readonly codec: Codec
  /** The plan of the published report, which replaces all options above; `null`: another comparison. */
  readonly full: FullOptions | null
  /** The file for all results as JSON; reports are written beside it. `undefined`: the default file. */
  readonly out: string | undefined
  /** Seconds beyond its expected end after which a measurement is given up. */
  readonly patience: number
  /** Seconds after which no measurement is begun; `null`: no limit. */
  readonly within: number | null
  /** Stored reports to combine, instead of measuring. */
  readonly from: readonly string[]
}

const flags = {
  targets: choices(targetNames, 'who is compared; ratios are to nest, or to the first; default elysia,nest'),
  runs: integer(1, 1_000, 'how often each is measured; default 3'),
  clients: choices(contestClients, 'who asks; default own'),
  shapes: choices(layouts, 'shapes of the connections; default per-client,shared, or shared for one caller'),
  concurrency: integers(1, 10_000, 'requests outstanding at any moment; default 100'),
  ...taskFlags,
  streams: integers(1, 10_000, 'with --mode=stream: streams read at a time; default 1'),
  payloads: payloadsFlag('what is echoed; default flat'),
  ...payloadFlags,
  shape: choice(shapeNames, 'one of --payloads; --payload is then its size'),
  ...loadFlags,
  ...customFlags,
  host: text('a host name or an address', 'with the target custom: where it listens; default 127.0.0.1'),
  port: integer(1, 65_535, 'with the target custom: where it listens'),
  runtimes: choices(runtimes, 'what runs clients and servers; default bun'),
  runtime: choice(runtimes, 'one of --runtimes'),
  duration: seconds(0.1, 86_400, 'how long each measurement takes; default 6'),
  warmup: seconds(0, 3_600, 'how long to load a server before measuring; default 1'),
  method: choice(
    methods,
    'how the elysia and nest clients ask: the cheapest way, or firstValueFrom(client.send()); default request'
  ),
  protocol: choice(protocols, 'what the elysia client speaks; default rsocket'),
  patience: seconds(
    1,
    3_600,
    'how long a measurement may take beyond what it should, before it is given up; default 60'
  ),
  within: minutes(0.1, 1_440, 'after so long nothing more is begun, and the rest is reported as missing'),
  full: {
    ...toggle(
      'measures everything for the published report, in at most 39 minutes; --runs, --duration and --warmup shorten it'
    ),
    negatable: false
  },
  parts: choices(
    fullPartNames,
    'with --full: only what is compared inside Nest, or over these engines; the published report keeps everything else'
  ),
  out: text(
    'a path',
    'where the JSON goes, and the reports beside it; default results/latest.json; with --full results/report.json, and what is published of it to docs/benchmarks'
  ),
  from: several('paths of stored JSON', 'puts stored reports together; nothing is measured', (path) => path),
  help: helpFlag
}

export const comparisonUsage = `Peers against each other: a table on stdout; JSON, Markdown and HTML as files.

  bun run compare [flags]
  bun run compare --full
  bun run compare --from before.json after.json [--out=both.json]

${describeFlags(flags)}

Exit codes: 0 all measured, 1 a measurement failed or (not with --full) had errors, 2 wrong flags.
`

/**
 * @returns the options, or `'help'` if the command line asks for help
 * @throws UsageError
 */
export function readComparisonOptions(argv: readonly string[]): ComparisonOptions | 'help' {
  const given = parseFlags(flags, joinPaths(argv))
  if (given.help === true) return 'help'
  const targets = given.targets ?? ['elysia', 'nest']
  const clients = given.clients ?? ['own']
  const protocol = given.protocol ?? 'rsocket'
  const custom = readService(targets, given)
  const task = readCompared(given)
  const payloads = custom === null ? readPayloads(task.mode, given) : [custom.payload]
  rejectBoth('runtime', given.runtime, given.runtimes)
  const concurrency = given.concurrency ?? given.streams ?? [callersOf(task.mode)]
  const load = readLoad(given)
  for (const client of clients) {
    checkLoad(client === 'own' ? 'elysia' : client, load, { concurrency: Math.min(...concurrency) })
  }
  const ownClientAsks = targets.some(isOurs) && clients.includes('own')
  const [codec = 'json'] = ownClientAsks
    ? payloads.map(({ shape }) => readCodec(given.codec, protocol, shape))
    : []
  return {
    targets,
    runs: given.runs ?? 3,
    clients,
    task,
    layouts:
      given.shapes ??
      (task.mode === 'durable' || (concurrency.every((callers) => callers === 1) && task !== ECHO)
        ? ['shared']
        : layouts),
    concurrency,
    payloads,
    custom,
    ...load,
    runtimes: given.runtimes ?? [given.runtime ?? 'bun'],
    duration: given.duration ?? 6,
    warmup: given.warmup ?? 1,
    method: given.method ?? 'request',
    protocol,
    codec,
    full: given.full === true ? readFull(given) : null,
    out: given.out,
    patience: given.patience ?? 60,
    within: given.within === undefined ? null : given.within * 60,
    from: given.from ?? []
  }
}

/** The task of the comparison; a plain echo is the constant `ECHO`, which contests do not name. */
function readCompared(
  given: Omit<Parameters<typeof readTask>[0], 'streams'> & { readonly streams: unknown }
) {
  const task = readTask({ ...given, streams: given.streams === undefined ? undefined : 1 })
  rejectBeside(task.mode, given)
  return task.mode === 'request' && task.handler === ECHO.handler ? ECHO : task
}

interface GivenPayloads {
  readonly payloads: readonly PayloadOptions[] | undefined
  readonly shape: PayloadOptions['shape'] | undefined
  readonly payload: number | undefined
}

function readPayloads(mode: Mode, { payloads, shape, payload }: GivenPayloads): readonly PayloadOptions[] {
  if (mode === 'stream') return [readPayload('record', undefined)]
  if (payloads !== undefined && payload !== undefined) {
    throw new UsageError(`--payload: got '${payload}' with --payloads, expected --payloads=flat:${payload}`)
  }
  rejectBoth('shape', shape, payloads)
  return payloads ?? [readPayload(shape, payload)]
}

/** The flags of which a singular and a plural form exist. */
type GivenService = Parameters<typeof readCustom>[1] & {
  readonly host: string | undefined
  readonly port: number | undefined
}

/** The flags of a service of the user, and its data as the payload that reports name. */
function readService(targets: readonly TargetName[], given: GivenService) {
  const isCustom = targets.includes('custom')
  const custom = readCustom(isCustom, given)
  if (custom === null) {
    if (given.host === undefined && given.port === undefined) return null
    throw new UsageError(
      '--host and --port are for the target custom: the bench chooses the addresses of its own servers'
    )
  }
  if (targets.length > 1) {
    throw new UsageError(`--targets: got '${targets.join(',')}', but no other target answers like custom`)
  }
  if (given.port === undefined) throw new UsageError('--port: missing, the target custom needs one')
  const { pattern, data, headers, tls, ca, cert, key, servername, host } = given
  const texts = { pattern, data, headers, ca, cert, key, servername, host, port: String(given.port) }
  const flags = Object.entries(texts)
  return {
    pattern: nameOfPattern(custom.pattern),
    flags: {
      ...Object.fromEntries(flags.filter((flag): flag is [string, string] => flag[1] !== undefined)),
      ...(tls === true && { tls })
    },
    payload: { shape: customShape, payload: customPayload(custom.data).bytes }
  }
}

function rejectBoth(name: string, one: unknown, more: unknown): void {
  if (one === undefined || more === undefined) return
  throw new UsageError(`--${name}: given together with its plural, expected one of them`)
}

/** Joins the paths of `--from a.json b.json`, as users type it, to one value. */
function joinPaths(argv: readonly string[]): string[] {
  const at = argv.indexOf('--from')
  if (at < 0) return [...argv]
  const end = argv.findIndex((argument, index) => index > at && argument.startsWith('--'))
  const paths = argv.slice(at + 1, end < 0 ? undefined : end)
  if (paths.length === 0) return [...argv]
  return [...argv.slice(0, at), `--from=${paths.join('\n')}`, ...(end < 0 ? [] : argv.slice(end))]
}
