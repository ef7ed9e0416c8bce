/**
 * The stored form of every result, version 2: what is in a report's JSON and what each field means. The types are made
 * of it, stored reports are checked against it, and docs/benchmarks/report.schema.json is it, for other programs.
 *
 * A field may be added without a new version; readers ignore what they do not know. A field that changes its meaning
 * or goes makes a new version.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { customShape, shapeNames } from '../payload/payload.ts'
import { codecs, methods, protocols } from '../peers/echo-client.ts'
import { runtimes } from '../process/runtime.ts'
import { handlers, sources, steps, suiteNames, takes } from '../task/task.ts'
import { contestClients, layouts } from './contest.ts'
import { type Figure, figureNames } from './figures.ts'

const describe = (description: string) => ({ description })
const nullable = <T extends TSchema>(schema: T, description = '') =>
  Type.Union([schema, Type.Null()], description === '' ? {} : { description })
const oneOf = <const T extends string>(names: readonly T[]) =>
  Type.Union(names.map((name) => Type.Literal<T>(name)))
const shape = oneOf([...shapeNames, customShape])
const pattern = nullable(Type.String(), 'what was asked of a service that is none of the bench; else null')
const some = Type.Union([Type.Number(), Type.Null()])

/** A figure that older reports lack. */
const later = (description: string) => Type.Optional(nullable(Type.Number(), description))

export const environmentSchema = Type.Object({
  cpu: Type.String(),
  cpuCount: Type.Number(),
  memoryMb: Type.Number(),
  kernel: Type.String(),
  bun: nullable(Type.String(), 'version of what ran the client, and a server that the bench started'),
  node: nullable(Type.String(), 'the same; one of the two is null'),
  packages: Type.Record(Type.String(), nullable(Type.String()), describe('versions of what was measured')),
  pinning: Type.Object({
    server: nullable(Type.Number(), 'CPU number; null: not pinned'),
    client: nullable(Type.Number()),
    loads: Type.Array(Type.Number(), describe('CPUs that several load processes share')),
    note: nullable(Type.String(), 'why something is not pinned, or not as usual')
  })
})

const taskSchema = Type.Union(
  [
    Type.Object({ mode: Type.Literal('request'), handler: oneOf(handlers) }),
    Type.Object({
      mode: Type.Literal('stream'),
      generator: oneOf(sources),
      take: nullable(oneOf(takes), 'how our client read; null: the client has one way only'),
      values: Type.Number(describe('of each stream')),
      pause: Type.Number(describe('milliseconds that the reader waited after each value'))
    }),
    Type.Object({
      mode: Type.Literal('emit'),
      batch: Type.Number(describe('events sent before their promises were awaited')),
      busy: Type.Number(describe('milliseconds that the server was busy with each event'))
    }),
    Type.Object({ mode: Type.Literal('start') }),
    Type.Object({ mode: Type.Literal('suite'), suite: oneOf(suiteNames), workload: Type.String() }),
    Type.Object({
      mode: Type.Literal('durable'),
      step: Type.Union(
        steps.map((step) => Type.Literal(step)),
        describe(
          'publish: until stored; transact: until committed with a row; consume: handled and acknowledged; relay: out of a database'
        )
      )
    })
  ],
  describe('what was asked of the server; absent: an echo, answered at once')
)
const task = Type.Optional(taskSchema)

const trialSchema = Type.Object({
  rate: Type.Number(describe('requests per second that were due')),
  rps: Type.Number(describe('right answers per second')),
  p99: some,
  errors: Type.Number(),
  kept: Type.Boolean(describe('whether it kept what was demanded'))
})

export const measurementSchema = Type.Object({
  target: Type.String(describe('what was measured; with a label where reports were put together')),
  client: Type.String(describe('who asked')),
  task,
  method: nullable(oneOf(methods), 'what was chosen for the client; null where it has no choice'),
  protocol: nullable(oneOf(protocols)),
  codec: nullable(oneOf(codecs)),
  runtime: nullable(
    oneOf(runtimes),
    'what ran client and server; null if the bench did not start the server'
  ),
  host: Type.String(),
  port: Type.Number(),
  concurrency: Type.Number(
    describe('requests outstanding, or streams read, at any moment; with a rate, at most so many callers')
  ),
  connections: Type.Number(),
  processes: Type.Number(describe('load processes, whose histograms are merged')),
  rate: nullable(Type.Number(), 'requests per second that were due (open loop); null: closed loop'),
  capacity: nullable(
    Type.Object({
      sloMs: Type.Number(describe('the p99 that had to be kept')),
      trials: Type.Array(trialSchema)
    }),
    'how the highest rate was found; null where it was not looked for'
  ),
  duration: Type.Number(describe('seconds, as asked for')),
  warmup: Type.Number(describe('seconds, as asked for')),
  measuredSeconds: Type.Number(),
  pattern,
  shape,
  payload: Type.Number(describe('bytes')),
  rps: Type.Number(
    describe('right answers per measured second; values of streams, events that the server handled, starts')
  ),
  p50: nullable(
    Type.Number(),
    'milliseconds; with a rate, from when the request was due. Of streams: until the first value; of events: until the promise resolved; of starts: from the start of the process until the first answer'
  ),
  p90: some,
  p99: some,
  max: some,
  latencyHistogram: nullable(
    Type.String(),
    'all latencies in microseconds: HdrHistogram V2, compressed, base64; null where nothing completed'
  ),
  completed: Type.Number(),
  errors: Type.Number(),
  firstError: nullable(Type.String()),
  serverCpuUsPerRequest: nullable(Type.Number(), 'user and system time in microseconds; null: not known'),
  clientCpuUsPerRequest: nullable(Type.Number(), 'null with a rate: the clock is asked all the time then'),
  serverRssMb: nullable(Type.Number(), 'MiB at the end of the load'),
  rssIdle: nullable(Type.Number(), 'MiB before the load, after a garbage collection'),
  rssPeak: some,
  rssAfter: nullable(Type.Number(), 'MiB after the load, after a garbage collection'),
  clientRssPeak: Type.Optional(
    nullable(Type.Number(), 'MiB of the measuring process at most; null: several load processes')
  ),
  engineCpuUsPerRequest: later(
    'user and system time in microseconds of the engine between both ends, such as redis-server; absent: there is none'
  ),
  listenMs: Type.Optional(
    nullable(Type.Number(), 'milliseconds from the start of the process until it listened, the median')
  ),
  average: later('milliseconds of a right answer, on average'),
  min: later('milliseconds'),
  p95: later('milliseconds'),
  successRate: later('percent of all requests that were answered rightly'),
  refused: Type.Optional(
    Type.Number(describe('requests that were told to come again: status 429 or 503, or REJECTED'))
  ),
  refusedP50: later('milliseconds until they were told'),
  refusedP99: later('milliseconds'),
  told: Type.Optional(nullable(Type.String(), 'what the first of them was told')),
  failedP50: later('milliseconds until all others that failed did'),
  firstAnswerMs: later('milliseconds from the start of the process until it had answered once'),
  workers: Type.Optional(Type.Number(describe('processes of the server'))),
  perWorker: later('right answers per second and process'),
  sent: Type.Optional(Type.Number(describe('events that were sent as the client said, warm-up included'))),
  arrived: Type.Optional(Type.Number(describe('events that the server handled, warm-up included'))),
  lost: Type.Optional(Type.Number(describe('events that were sent, as the client said, and never handled'))),
  serverPid: some,
  startedAt: Type.String(),
  environment: environmentSchema
})

const notMeasuredSchema = Type.Object({
  target: Type.String(),
  notMeasured: Type.String(describe('why')),
  failed: Type.Boolean(
    describe('true: it should have been possible; false: this peer cannot do what was asked')
  )
})

export const contestSchema = Type.Object({
  scope: Type.Optional(
    Type.String(
      describe('which few are compared beside the peers, and in what: the same contest without it is another')
    )
  ),
  part: Type.Optional(Type.String(describe('what the contest is about, in a report that has several parts'))),
  client: oneOf(contestClients),
  task,
  layout: oneOf(layouts),
  connections: Type.Number(),
  concurrency: Type.Number(),
  pattern,
  shape,
  payload: Type.Number(describe('bytes')),
  runtime: oneOf(runtimes),
  rate: nullable(Type.Number()),
  sloMs: nullable(Type.Number())
})

const optionalSpread = () => Type.Optional(nullable(spreadSchema))
const spreadSchema = Type.Object({ median: Type.Number(), min: Type.Number(), max: Type.Number() })
const figuresSchema = Type.Object(
  Object.fromEntries(figureNames.map((figure) => [figure, optionalSpread()])) as Record<
    Figure,
    ReturnType<typeof optionalSpread>
  >,
  describe('what is not known is null, or not there')
)

const resultSchema = Type.Object({
  target: Type.String(),
  figures: figuresSchema,
  ratioTo: nullable(Type.String(), 'whose figures its own are divided by; null: nobody’s'),
  ratio: nullable(figuresSchema, 'taken run by run, of measurements made one right after the other'),
  baseAhead: Type.Array(oneOf(figureNames)),
  runs: Type.Number(describe('measurements with figures')),
  seconds: nullable(Type.Number(), 'how long each of them took, as asked for; null: there are none'),
  client: nullable(Type.String(), 'who asked'),
  errors: Type.Number(describe('of all runs')),
  firstError: nullable(Type.String()),
  told: nullable(Type.String(), 'what the first request that was refused was told'),
  notMeasured: Type.Number(describe('runs without figures')),
  missing: Type.Number(describe('those of them that should have been possible')),
  reason: nullable(Type.String(), 'why the first of them has none')
})

const verdictSchema = Type.Object({
  figure: oneOf(figureNames),
  runs: Type.Array(nullable(Type.String()), describe('who was best in each run')),
  winner: nullable(Type.String(), 'null: no clear winner'),
  reason: Type.String()
})

const contestResultSchema = Type.Composite([
  contestSchema,
  Type.Object({
    rounds: Type.Array(
      Type.Array(Type.Union([measurementSchema, notMeasuredSchema])),
      describe('every measurement, in turns; empty where only medians are kept')
    ),
    results: Type.Array(resultSchema),
    verdicts: Type.Array(verdictSchema, describe('the figure that decides comes first'))
  })
])

const typeCheckingSchema = Type.Object({
  patterns: Type.Number(),
  instantiations: Type.Number(describe('types that the compiler made: the same on every machine')),
  seconds: Type.Number(describe('libraries included'))
})

const installationSchema = Type.Object({
  target: Type.String(),
  packages: Type.Number(),
  files: Type.Number(),
  bytes: Type.Number(describe('of all files on the disk')),
  packedBytes: Type.Number(
    describe('of the packages of this project among them, compressed; 0 where there are none')
  )
})

const sourceSchema = Type.Object({
  label: Type.String(),
  startedAt: Type.String(),
  command: Type.String(),
  commit: nullable(Type.String()),
  environment: nullable(environmentSchema)
})

export const SCHEMA = 'elysia-microservices/bench'
export const VERSION = 2

export const comparisonSchema = Type.Object(
  {
    schema: Type.Literal(SCHEMA),
    version: Type.Literal(VERSION),
    startedAt: Type.String(),
    command: Type.String(describe('what was typed, to be typed again')),
    commit: nullable(Type.String(), 'of this project; + where files had changed since'),
    options: Type.Object({
      targets: Type.Array(Type.String()),
      runs: Type.Number(),
      duration: Type.Number(),
      warmup: Type.Number(),
      processes: Type.Number(),
      method: oneOf(methods),
      protocol: oneOf(protocols),
      codec: oneOf(codecs)
    }),
    base: Type.String(describe('what the others are compared with')),
    environment: nullable(environmentSchema, 'null where nothing could be measured'),
    contests: Type.Array(contestResultSchema),
    types: Type.Optional(Type.Array(typeCheckingSchema, describe('what large services cost the compiler'))),
    sizes: Type.Optional(Type.Array(installationSchema, describe('what an installation of each peer is'))),
    later: Type.Optional(
      Type.Array(sourceSchema, describe('its parts that were measured again, by their titles'))
    ),
    sources: Type.Array(sourceSchema, describe('the stored reports it was put together from; else empty'))
  },
  { $id: `${SCHEMA}/${VERSION}`, title: 'A comparison of the benchmark' }
)

type Read<T> = T extends object ? { readonly [K in keyof T]: Read<T[K]> } : T

export type Environment = Read<Static<typeof environmentSchema>>
export type TypeChecking = Read<Static<typeof typeCheckingSchema>>
export type Measurement = Read<Static<typeof measurementSchema>>
export type NotMeasured = Read<Static<typeof notMeasuredSchema>>
export type Trial = Read<Static<typeof trialSchema>>
export type Contest = Read<Static<typeof contestSchema>>
export type TargetResult = Read<Static<typeof resultSchema>>
export type Verdict = Read<Static<typeof verdictSchema>>
export type ContestResult = Read<Static<typeof contestResultSchema>>
export type Installation = Read<Static<typeof installationSchema>>
export type Source = Read<Static<typeof sourceSchema>>
export type Comparison = Read<Static<typeof comparisonSchema>>
export type FigureSpreads = TargetResult['figures']
