/** The options of one measurement: flags of `run-bench.ts`, their defaults and how they depend on each other. */
import { UsageError } from '../errors.ts'
import { type Method, methods, type Protocol, protocols } from '../targets/echo-client.ts'
import { type ClientName, clientNames, type TargetName, targetNames, targets } from '../targets/targets.ts'
import { choice, describeFlags, helpFlag, integer, parseFlags, seconds, text, toggle } from './flags.ts'

export const runtimes = ['bun', 'node'] as const
export type Runtime = (typeof runtimes)[number]

export interface BenchOptions {
  readonly target: TargetName
  readonly host: string
  /** 0: the system chooses, possible only where the bench starts the server. */
  readonly port: number
  /** Requests outstanding at any moment, over all connections. */
  readonly concurrency: number
  readonly connections: number
  /** Seconds measured, after `warmup` seconds that are not. */
  readonly duration: number
  readonly warmup: number
  /** Length of the echoed string in bytes. */
  readonly payload: number
  /** `false`: only a server that is already listening will do. */
  readonly spawn: boolean
  /** What runs the server that the bench starts. */
  readonly runtime: Runtime
  readonly client: ClientName
  readonly method: Method
  readonly protocol: Protocol
}

const flags = {
  target: choice(targetNames, 'the server that is measured; required'),
  host: text('a host name or an address', 'default 127.0.0.1'),
  port: integer(0, 65_535, 'default 7001 for elysia, 7002 for nest; 0 starts the server on a free port'),
  concurrency: integer(1, 100_000, 'requests outstanding at any moment; default 100'),
  connections: integer(1, 10_000, 'connections they share; default one per request (raw client: 1)'),
  duration: seconds(0.1, 86_400, 'how long to measure; default 30'),
  warmup: seconds(0, 3_600, 'how long to load the server before measuring; default 1'),
  payload: integer(0, 10_000_000, 'bytes of the echoed string; default 200'),
  spawn: toggle('start the server if none is listening; default. With --no-spawn one must be listening'),
  runtime: choice(runtimes, 'what runs a server that is started here; default bun'),
  client: choice(['own', ...clientNames], "who asks; default own: the target's own client"),
  method: choice(methods, 'how the elysia client asks; default request'),
  protocol: choice(protocols, 'what the elysia client speaks; default rsocket'),
  pipeline: integer(
    1,
    10_000,
    'with --client=raw: requests outstanding per connection; default concurrency ÷ connections'
  ),
  help: helpFlag
}

export const benchUsage = `One measurement. Prints one JSON object on stdout.

  bun run-bench.ts --target=elysia|nest [flags]

${describeFlags(flags)}

Exit codes: 0 measured, 1 no server or a measurement with errors, 2 wrong flags.
`

/**
 * @returns the options, or `'help'` if that is what was asked for
 * @throws UsageError
 */
export function readBenchOptions(argv: readonly string[]): BenchOptions | 'help' {
  const given = parseFlags(flags, argv)
  if (given.help === true) return 'help'
  const { target } = given
  if (target === undefined) throw new UsageError(`--target: missing, expected ${flags.target.allowed}`)

  const client = given.client === undefined || given.client === 'own' ? targets[target].client : given.client
  if (given.method !== undefined && client !== 'elysia') {
    throw new UsageError(
      `--method: got '${given.method}' with the ${client} client, which has only one way to ask`
    )
  }
  if (given.protocol !== undefined && client !== 'elysia') {
    throw new UsageError(
      `--protocol: got '${given.protocol}' with the ${client} client, which speaks one only`
    )
  }
  if (client === 'elysia' && target === 'nest' && given.protocol === 'rsocket') {
    throw new UsageError("--protocol: got 'rsocket' with --target=nest, which speaks nest only")
  }
  const port = given.port ?? targets[target].port
  const spawn = given.spawn ?? true
  if (port === 0 && !spawn) {
    throw new UsageError("--port: got '0' with --no-spawn, expected the port of the server that is listening")
  }
  return {
    target,
    host: given.host ?? '127.0.0.1',
    port,
    ...shape(client, given.concurrency, given.connections, given.pipeline),
    duration: given.duration ?? 30,
    warmup: given.warmup ?? 1,
    payload: given.payload ?? 200,
    spawn,
    runtime: given.runtime ?? 'bun',
    client,
    method: given.method ?? 'request',
    protocol: given.protocol ?? (target === 'nest' ? 'nest' : 'rsocket')
  }
}

/** How many requests over how many connections. Only the raw client's requests are tied to a connection. */
function shape(
  client: ClientName,
  concurrency: number | undefined,
  connections: number | undefined,
  pipeline: number | undefined
) {
  if (client !== 'raw') {
    if (pipeline !== undefined) {
      throw new UsageError(`--pipeline: got '${pipeline}' with the ${client} client, expected --client=raw`)
    }
    const callers = concurrency ?? Math.max(100, connections ?? 0)
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
      `--concurrency: got '${concurrency}', expected ${sockets * depth}: ${sockets} connections, ${depth} requests deep each`
    )
  }
  return { concurrency: sockets * depth, connections: sockets }
}
