/** The options of one measurement: the flags of `run-bench.ts`, their defaults, and how they depend on each other. */
import { UsageError } from '../errors.ts'
import { customPayload, customShape, type PayloadShape } from '../payload/payload.ts'
import { type Choice, type ClientName, clientNames, clients } from '../peers/clients.ts'
import { type Codec, type Method, methods, type Protocol, protocols } from '../peers/echo-client.ts'
import { type TargetName, targetNames, targets } from '../peers/targets.ts'
import { type Runtime, runtimes } from '../process/runtime.ts'
import type { Mode, Task } from '../task/task.ts'
import { type Custom, customFlags, readCustom } from './custom-options.ts'
import { choice, describeFlags, helpFlag, integer, parseFlags, seconds, text, toggle } from './flags.ts'
import { checkLoad, type LoadOptions, loadFlags, readLoad } from './load-options.ts'
import { obstacleTo } from './obstacles.ts'
import { type PayloadOptions, payloadFlags, readCodec, readPayload } from './payload-options.ts'
import { callersOf, readTask, rejectBeside, taskFlags } from './task-options.ts'

export interface BenchOptions extends Omit<PayloadOptions, 'shape'>, LoadOptions {
  readonly target: TargetName
  /** The task of the server, and how its handlers do the task. */
  readonly task: Task
  /** The request to a service of the user; `null`: an echo. */
  readonly custom: Custom | null
  readonly shape: PayloadShape
  readonly host: string
  /** The port; 0: the system chooses, which is only possible if the bench starts the server. */
  readonly port: number
  /** The number of requests outstanding, or streams read, at any moment, over all connections. */
  readonly concurrency: number
  readonly connections: number
  /** The measured seconds, after `warmup` seconds that do not count. */
  readonly duration: number
  readonly warmup: number
  /** Whether the bench may start a server; if not, one must be listening already. */
  readonly spawn: boolean
  /** The runtime of the client, and of the server that the bench starts. */
  readonly runtime: Runtime
  readonly client: ClientName
  readonly method: Method
  readonly protocol: Protocol
  readonly codec: Codec
  /** Whether to show progress; `undefined`: only if stderr is a terminal. */
  readonly progress: boolean | undefined
  /** The name in the progress line. */
  readonly label: string
  /** Whether to end when stdin ends, so that the measurement does not outlive the program that has started it. */
  readonly withParent: boolean
  /** Whether to print the whole distribution of latencies. */
  readonly histogram: boolean
}

const flags = {
  target: choice(targetNames, 'the server that is measured; required'),
  host: text('a host name or an address', 'default 127.0.0.1'),
  port: integer(
    0,
    65_535,
    `default ${targetNames.map((name) => `${targets[name].port} ${name}`).join(', ')}; 0 starts the server on a free port`
  ),
  concurrency: integer(1, 100_000, 'requests outstanding at any moment; default 100'),
  connections: integer(1, 10_000, 'connections they share; default one per request (raw client: 1)'),
  duration: seconds(0.1, 86_400, 'how long to measure; default 30'),
  warmup: seconds(0, 3_600, 'how long to load the server before measuring; default 1'),
  ...taskFlags,
  ...loadFlags,
  ...payloadFlags,
  ...customFlags,
  spawn: toggle('start the server if none is listening; default. With --no-spawn one must be listening'),
  runtime: choice(runtimes, 'what runs client and server; default bun'),
  client: choice(['own', ...clientNames], "who asks; default own: the target's own client"),
  method: choice(
    methods,
    'how the clients ask that have two ways; default request, the cheaper; send is firstValueFrom(client.send())'
  ),
  protocol: choice(protocols, 'what the elysia client speaks; default rsocket'),
  pipeline: integer(
    1,
    10_000,
    'with --client=raw: requests outstanding per connection; default concurrency ÷ connections'
  ),
  histogram: {
    ...toggle('print the whole distribution of latencies, too: 5 KB that only programs read'),
    negatable: false
  },
  progress: toggle('show a progress line on stderr; default if that is a terminal'),
  label: text('a text', 'what the progress line calls it; default the target'),
  'with-parent': toggle('end when stdin does: for programs that start this one'),
  help: helpFlag
}

export const benchUsage = `One measurement. Prints one JSON object on stdout.

  bun run-bench.ts --target=${targetNames.join('|')} [flags]

${describeFlags(flags)}

Exit codes: 0 measured, 1 no server or a measurement with errors, 2 wrong flags.
`

/**
 * @returns the options, or `'help'` if the command line asks for help
 * @throws UsageError
 */
export function readBenchOptions(argv: readonly string[]): BenchOptions | 'help' {
  const given = parseFlags(flags, argv)
  if (given.help === true) return 'help'
  const { target } = given
  if (target === undefined) throw new UsageError(`--target: missing, expected ${flags.target.allowed}`)

  const client = given.client === undefined || given.client === 'own' ? targets[target].client : given.client
  if (!clients[client].asks.includes(target)) {
    const allowed = clientNames.filter((name) => clients[name].asks.includes(target))
    throw new UsageError(
      `--client: got '${client}' with --target=${target}, expected own or ${allowed.join(' or ')}`
    )
  }
  rejectChoices(client, given)
  const asked = readTask(given)
  const { mode } = asked
  rejectBeside(mode, given)
  const task =
    asked.mode === 'stream' && !clients[client].choices.includes('take') ? { ...asked, take: null } : asked
  if (client === 'elysia' && target === 'nest' && given.protocol === 'rsocket') {
    throw new UsageError("--protocol: got 'rsocket' with --target=nest, which only speaks nest")
  }
  const protocol = given.protocol ?? (target === 'nest' ? 'nest' : 'rsocket')
  const custom = readCustom(target === 'custom', given)
  if (custom?.headers !== undefined && client !== 'elysia') {
    throw new UsageError(`--headers: got '${given.headers}' with the ${client} client, which sends none`)
  }
  if (custom?.tls !== undefined && client !== 'elysia') {
    throw new UsageError(`--tls: given with the ${client} client, expected the elysia client`)
  }
  const shape = mode === 'stream' ? 'record' : given.shape
  const payload = custom === null ? readPayload(shape, given.payload) : payloadOf(custom, given)
  const codec = client === 'elysia' ? readCodec(given.codec, protocol, payload.shape) : 'json'
  const port = given.port ?? targets[target].port
  const spawn = custom === null && (given.spawn ?? true)
  if (!spawn && custom === null) rejectRunning(mode)
  if (port === 0 && !spawn) {
    const given = custom === null ? "got '0' with --no-spawn" : 'missing or 0'
    throw new UsageError(`--port: ${given}, expected the port of the server that is listening`)
  }
  const load = readLoad(given)
  const callers = given.concurrency ?? given.streams
  const counts =
    mode === 'durable'
      ? { concurrency: callers ?? callersOf(mode), connections: 1 }
      : layout(client, callers, given.connections, given.pipeline, callersOf(mode))
  const obstacle = obstacleTo(target, client, counts.connections, task)
  if (obstacle !== undefined) {
    const isStore = targets[target].does.durable !== undefined
    const given =
      mode === 'request' && !isStore ? `--connections: got '${counts.connections}'` : `--mode: got '${mode}'`
    throw new UsageError(`${given}, but ${obstacle}`)
  }
  checkLoad(client, load, counts)
  return {
    target,
    task,
    host: given.host ?? '127.0.0.1',
    port,
    ...counts,
    ...load,
    duration: given.duration ?? 30,
    warmup: given.warmup ?? 1,
    ...payload,
    custom,
    spawn,
    runtime: given.runtime ?? 'bun',
    client,
    method: given.method ?? 'request',
    protocol,
    codec,
    progress: given.progress,
    label: given.label ?? target,
    withParent: given['with-parent'] ?? false,
    histogram: given.histogram ?? false
  }
}

function payloadOf({ data }: Custom, given: { shape: unknown; payload: unknown }) {
  for (const name of ['shape', 'payload'] as const) {
    if (given[name] === undefined) continue
    throw new UsageError(`--${name}: got '${given[name]}' with --target=custom, expected --data`)
  }
  return { shape: customShape, payload: customPayload(data).bytes }
}

/** Refuses modes for which the bench must start the server itself. */
function rejectRunning(mode: Mode): void {
  if (mode === 'request') return
  throw new UsageError(`--no-spawn: given with --mode=${mode}, for which the bench starts the server itself`)
}

/** Flags for which a client has only one value, with the reason. */
const ONLY_ONE: Readonly<Record<Choice, string>> = {
  method: 'which has only one way to ask',
  protocol: 'which speaks one only',
  codec: 'which has one only',
  take: 'which has only one way to read a stream'
}

function rejectChoices(client: ClientName, given: Readonly<Record<Choice, string | undefined>>): void {
  for (const [choice, why] of Object.entries(ONLY_ONE) as [Choice, string][]) {
    if (given[choice] === undefined || clients[client].choices.includes(choice)) continue
    throw new UsageError(`--${choice}: got '${given[choice]}' with the ${client} client, ${why}`)
  }
}

/**
 * How many requests are sent over how many connections. Only the requests of the raw client are tied to a connection.
 */
function layout(
  client: ClientName,
  concurrency: number | undefined,
  connections: number | undefined,
  pipeline: number | undefined,
  usual: number
) {
  if (client !== 'raw') {
    if (pipeline !== undefined) {
      throw new UsageError(`--pipeline: got '${pipeline}' with the ${client} client, expected --client=raw`)
    }
    const callers = concurrency ?? Math.max(usual, connections ?? 0)
    if (connections !== undefined && connections > callers) {
      throw new UsageError(
        `--connections: got '${connections}', expected at most the ${callers} of --concurrency: the rest would be idle`
      )
    }
    return { concurrency: callers, connections: connections ?? callers }
  }

  const sockets = connections ?? 1
  const depth = pipeline ?? Math.max(1, Math.round((concurrency ?? 100) / sockets))
  if (concurrency !== undefined && concurrency !== sockets * depth) {
    throw new UsageError(
      `--concurrency: got '${concurrency}', expected ${sockets * depth}: ${sockets} connections, ${depth} requests at a time on each`
    )
  }
  return { concurrency: sockets * depth, connections: sockets }
}
