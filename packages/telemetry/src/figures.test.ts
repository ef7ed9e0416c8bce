/** Figures, and the forms in which they are written: for Prometheus, and for an OpenTelemetry SDK. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type Middleware, type ReceivedMessage, RpcError } from '@elysia-microservices/transport'
import { consume } from '@elysia-microservices/transport/kit'
import { metrics as api } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type HistogramMetricData,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader
} from '@opentelemetry/sdk-metrics'
import fc from 'fast-check'
import { figures, MAX_PATTERNS, SideFigures } from './figures/figures.ts'
import { handlerFigures } from './figures/handler-figures.ts'
import { BOUNDS, CONVENTIONAL_BOUNDS, Histogram } from './figures/histogram.ts'
import { metricProducer } from './metrics/producer.ts'
import { prometheusText } from './metrics/prometheus.ts'
import { telemetry } from './telemetry.ts'
import { type Handlers, newEnds, take } from './testing/ends.ts'

/** How many messages ended with each code. */
function codes(
  side: keyof typeof figures & ('server' | 'client' | 'consumer' | 'producer'),
  pattern: string
) {
  return Object.fromEntries(
    [...figures[side].of(pattern).durations].map(([code, { count }]) => [code, count])
  )
}

describe('what is counted', () => {
  let ends: Awaited<ReturnType<typeof newEnds>> | undefined
  afterEach(async () => {
    await ends?.close()
    ends = undefined
  })
  const asking = async (handlers: Handlers, middleware: Parameters<typeof newEnds>[1] = {}) => {
    ends = await newEnds(handlers, middleware)
    return ends.client
  }

  it('how often each pattern ended in which way, at both ends', async () => {
    const client = await asking({
      'figures.value': () => 1,
      'figures.object': () => ({ a: 1 }),
      'figures.later': async () => 1,
      'figures.meant': () => {
        throw new RpcError({ code: 'NO' })
      },
      'figures.broken': async () => {
        throw new Error('x')
      }
    })
    for (let n = 0; n < 3; n++) {
      await client.request('figures.value', 1)
      await client.request('figures.object', 1)
      await client.request('figures.later', 1)
      await client.request('figures.meant', 1).catch(() => {})
      await client.request('figures.broken', 1).catch(() => {})
    }
    for (const side of ['server', 'client'] as const) {
      for (const pattern of ['figures.value', 'figures.object', 'figures.later'])
        assert.deepEqual(codes(side, pattern), { OK: 3 })
      assert.deepEqual(codes(side, 'figures.meant'), { NO: 3 })
      assert.deepEqual(codes(side, 'figures.broken'), { INTERNAL: 3 })
    }
  })

  it('events, on both sides', async () => {
    const client = await asking({ 'figures.event': async () => {} })
    await client.emit('figures.event', 1)
    await ends?.close()
    assert.deepEqual(codes('producer', 'figures.event'), { OK: 1 })
    assert.deepEqual(codes('consumer', 'figures.event'), { OK: 1 })
  })

  it('what is in flight, and the values of streams', async () => {
    let inside: number[] = []
    const client = await asking({
      async *'figures.stream'() {
        inside = [figures.server.of('figures.stream').inFlight, figures.client.of('figures.stream').inFlight]
        yield* [1, 2, 3]
      }
    })
    await take(client, 'figures.stream', 9)
    assert.deepEqual(inside, [1, 1])
    for (const side of ['server', 'client'] as const) {
      assert.equal(figures[side].of('figures.stream').inFlight, 0)
      assert.equal(figures[side].of('figures.stream').values, 3)
    }
  })

  it('patterns that nobody handles share one name, however many there are', async () => {
    const client = await asking({ 'figures.known': () => 1 })
    const before = codes('server', '_OTHER')['PATTERN_NOT_FOUND'] ?? 0
    const names = () => [...figures.server.all(), ...figures.client.all()].length
    await client.request('figures.known', 1)
    await client.request('unknown', 1).catch(() => {})
    const atFirst = names()
    for (let n = 0; n < 2_000; n++) await client.request(`unknown.${n}`, 1).catch(() => {})
    assert.equal(names(), atFirst)
    const [other] = [...figures.server.all()].filter(({ pattern }) => pattern === '_OTHER')
    assert.equal(other?.durations.get('PATTERN_NOT_FOUND')?.count, before + 2_001)
  })

  const refusals: Readonly<Record<string, () => unknown>> = {
    'at once': () => {
      throw new RpcError({ code: 'FORBIDDEN' })
    },
    later: async () => {
      throw new RpcError({ code: 'FORBIDDEN' })
    },
    'by an answer': () => 'none of your business',
    'by a late answer': async () => 'none of your business'
  }
  for (const [how, refuse] of Object.entries(refusals))
    it(`patterns that a middleware refuses ${how} share that name, unless they are known`, async () => {
      const guard: Middleware<ReceivedMessage> = (next) => (message) =>
        message.data === 'in' ? next(message) : refuse()
      const client = await asking({ 'figures.guarded': () => 1 }, { service: [telemetry(), guard] })
      const names = () => [...figures.server.all()].map(({ pattern }) => pattern)
      await client.request('figures.guarded', 'in')
      await client.request('figures.guarded', 'out').catch(() => {})
      for (let n = 0; n < 50; n++) await client.request(`refused ${how} ${n}`, 'out').catch(() => {})
      assert.deepEqual(
        names().filter((name) => name.startsWith('refused')),
        []
      )
      const counted = [...figures.server.of('figures.guarded').durations.values()]
      assert.ok(counted.reduce((sum, { count }) => sum + count, 0) >= 2)
      assert.equal(figures.server.of('_OTHER').inFlight, 0)
    })

  it('has a bound for patterns, and one for codes', () => {
    const side = new SideFigures()
    for (let n = 0; n < MAX_PATTERNS + 50; n++) side.of(`p${n}`).ended('OK', 1)
    const all = [...side.all()]
    assert.equal(all.length, MAX_PATTERNS + 1)
    assert.equal(all.at(-1)?.durations.get('OK')?.count, 50)
    const figuresOfOne = side.of('p0')
    for (let n = 0; n < 1_000; n++) figuresOfOne.ended(`code ${n}`, 1)
    assert.ok(figuresOfOne.durations.size < 40)
    const counted = [...figuresOfOne.durations.values()].reduce((sum, { count }) => sum + count, 0)
    assert.equal(counted, 1_001)
  })
})

describe('Histogram', () => {
  it('loses no duration, and puts each below its bound', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 20, noNaN: true })), (durations) => {
        const histogram = new Histogram()
        for (const seconds of durations) histogram.add(seconds)
        assert.equal(histogram.count, durations.length)
        const below = (bound: number) => durations.filter((seconds) => seconds <= bound).length
        let sum = 0
        for (const [index, bound] of BOUNDS.entries()) {
          sum += histogram.counts[index]!
          assert.equal(sum, below(bound))
        }
        sum = 0
        for (const [index, bound] of CONVENTIONAL_BOUNDS.entries()) {
          sum += histogram.conventional[index]!
          assert.equal(sum, below(bound))
        }
        assert.equal(
          histogram.conventional.reduce((a, b) => a + b, 0),
          durations.length
        )
      })
    )
  })
})

describe('for Prometheus', () => {
  it('writes durations with their buckets, and what else is counted', async () => {
    const ends = await newEnds({ 'prom."quoted"\n': () => 1 })
    await ends.client.request('prom."quoted"\n', 1)
    await ends.close()
    const { text, contentType } = await prometheusText()
    assert.match(contentType, /^text\/plain; version=0\.0\.4/)
    const own = text.split('\n').filter((line) => line.includes('rpc_server') && line.includes('quoted'))
    const labels = String.raw`rpc_system_name="elysia_microservices",rpc_method="prom.\"quoted\"\n",rpc_status_code="OK"`
    assert.equal(own.length, CONVENTIONAL_BOUNDS.length + 3)
    const sum = own.find((line) => line.startsWith(`rpc_server_call_duration_seconds_sum{${labels}} `))
    const seconds = Number(sum?.split(' ').at(-1))
    assert.ok(seconds > 0, own.join('\n'))
    for (const bound of CONVENTIONAL_BOUNDS) {
      const bucket = `rpc_server_call_duration_seconds_bucket{${labels},le="${bound}"} ${seconds <= bound ? 1 : 0}`
      assert.ok(own.includes(bucket), bucket)
    }
    assert.ok(own.includes(`rpc_server_call_duration_seconds_bucket{${labels},le="+Inf"} 1`))
    assert.ok(own.includes(`rpc_server_call_duration_seconds_count{${labels}} 1`))
    assert.match(text, /^# TYPE elysia_microservices_client_ejections_total counter$/m)
  })
})

describe('events', () => {
  it('are of the broker that carried them, in figures as in spans', async () => {
    const handle = telemetry()(() => undefined)
    const event = { kind: 'event', transport: 'nats', pattern: 'figures.broker', headers: {} } as const
    for (const transport of ['nats', 'redis', 'rabbitmq', 'mqtt', 'kafka', 'tcp', 'websocket'])
      handle({ ...event, transport } as ReceivedMessage)
    const { text } = await prometheusText()
    for (const system of ['nats', 'redis', 'rabbitmq', 'mqtt', 'kafka', 'elysia_microservices']) {
      const count = system === 'elysia_microservices' ? 2 : 1
      const labels = `messaging_system_name="${system}",messaging_destination_name="figures.broker"`
      assert.match(
        text,
        new RegExp(`^messaging_process_duration_seconds_count\\{${labels},.*\\} ${count}$`, 'm')
      )
    }
    const own = handlerFigures().filter(({ pattern }) => pattern === 'figures.broker')
    assert.deepEqual(
      own.map(({ outcomes }) => outcomes),
      [{ OK: 7 }]
    )
  })

  it('of streams are told apart from others, whose durations they are not', async () => {
    const pattern = 'figures.lifetime'
    const message = { kind: 'request', transport: 'tcp', pattern, headers: {} } as ReceivedMessage
    const stream = telemetry()(async function* () {
      yield 1
    } as never)(message) as object
    await new Promise<void>((complete, error) => {
      const source = consume(stream, { next: () => true, complete, error, teardownFailed: error })
      source.resume()
    })
    telemetry()(() => 1)(message)
    const [own] = handlerFigures().filter((each) => each.pattern === pattern)
    const sum = (counts: readonly number[] = []) => counts.reduce((all, count) => all + count, 0)
    assert.deepEqual(
      [own?.outcomes, sum(own?.durations.counts), sum(own?.lifetimes?.counts)],
      [{ OK: 2 }, 1, 1]
    )
  })

  it('that are stored have their figures', async () => {
    const durable = [
      { pattern: 'paid', group: 'orders', lag: 7, redeliveries: 3, deadLetters: 1, isPaused: false },
      { pattern: 'new', group: 'orders', lag: undefined, redeliveries: 0, deadLetters: 0, isPaused: true }
    ]
    const stats = {
      transport: 'nats',
      address: undefined,
      inFlight: { current: 0, limit: false as const },
      streams: 0
    }
    const service = { status: 'listening', stats: () => [{ ...stats, durable }] } as const
    const other = { status: 'listening', stats: () => [{ ...stats, durable }] } as const
    telemetry().attach?.(service)
    telemetry().attach?.(other)
    const { text } = await prometheusText()
    const of = (name: string, pattern: string) =>
      new RegExp(
        `^elysia_microservices_durable_${name}\\{messaging_system_name="nats",messaging_destination_name="${pattern}",messaging_consumer_group_name="orders"\\} (.*)$`,
        'm'
      ).exec(text)?.[1]
    // Both services report the same figures of the group, and each service counts only the events that it has
    // handled.
    assert.deepEqual([of('lag', 'paid'), of('lag', 'new')], ['7', undefined])
    assert.deepEqual([of('redeliveries_total', 'paid'), of('dead_letters_total', 'paid')], ['6', '2'])
    assert.deepEqual([of('paused', 'paid'), of('paused', 'new')], ['0', '1'])
    // Services that share a server tell its figures together.
    const shared = {
      transport: 'websocket',
      address: undefined,
      inFlight: { current: 0, limit: false as const },
      streams: 5
    }
    const both = [0, 1].map(() => ({ status: 'listening', stats: () => [shared] }) as const)
    for (const each of both) telemetry().attach?.(each)
    assert.match(
      (await prometheusText()).text,
      /^elysia_microservices_transport_streams\{transport="websocket"\} 5$/m
    )
    assert.equal(both.length, 2)
    assert.ok([service, other].every(({ status }) => status === 'listening'))
  })
})

describe('for an SDK', () => {
  it('gives durations by a producer and the rest by instruments, when somebody collects', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    // The type assertion is the one that users write: for the compiler the result is then a producer of the SDK.
    const producer: MetricProducer = metricProducer() as MetricProducer
    const reader = new PeriodicExportingMetricReader({ exporter, metricProducers: [producer] })
    const provider = new MeterProvider({ readers: [reader] })
    api.setGlobalMeterProvider(provider)
    try {
      const ends = await newEnds({ 'sdk.value': () => 1 })
      await ends.client.request('sdk.value', 1)
      await ends.close()
      await reader.forceFlush()
      const collected =
        exporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? []
      const names = collected.map(({ descriptor }) => descriptor.name)
      assert.ok(names.includes('elysia_microservices.in_flight'), names.join())
      const durations = collected.find(({ descriptor }) => descriptor.name === 'rpc.server.call.duration')
      assert.equal(durations?.descriptor.unit, 's')
      const point = (durations as HistogramMetricData).dataPoints.find(
        ({ attributes }) => attributes['rpc.method'] === 'sdk.value'
      )
      assert.equal(point?.value.count, 1)
      assert.deepEqual(point?.value.buckets.boundaries, CONVENTIONAL_BOUNDS)
      assert.equal(point?.value.buckets.counts.length, CONVENTIONAL_BOUNDS.length + 1)
    } finally {
      await provider.shutdown()
      api.disable()
    }
  })

  it('gives the figures that a service has only since its start', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader = new PeriodicExportingMetricReader({ exporter })
    const provider = new MeterProvider({ readers: [reader] })
    api.setGlobalMeterProvider(provider)
    try {
      const handler = {
        pattern: 'late',
        group: 'late',
        lag: 3,
        redeliveries: 0,
        deadLetters: 0,
        isPaused: false
      }
      const stats = {
        transport: 'nats',
        address: undefined,
        inFlight: { current: 0, limit: false as const },
        streams: 0
      }
      let told: object[] = []
      const service = { status: 'listening', stats: () => told } as never
      telemetry().attach?.(service)
      told = [{ ...stats, durable: [handler], lateDoors: 2 }]
      const collected = async () => {
        await reader.forceFlush()
        const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
        return all.flatMap(({ metrics }) => metrics).map(({ descriptor }) => descriptor.name)
      }
      assert.ok((await collected()).includes('elysia_microservices.durable.lag'))
      await new Promise((resolve) => setImmediate(resolve))
      assert.ok((await collected()).includes('elysia_microservices.transport.late_doors'))
      assert.ok(service)
    } finally {
      await provider.shutdown()
      api.disable()
    }
  })
})
