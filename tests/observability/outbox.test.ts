/**
 * An event continues the trace of the handler that wrote it into its outbox, and the metrics of the outbox are
 * exported.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { migrate, outbox, outboxRelay } from '@elysia-microservices/outbox'
import { prometheus, telemetry } from '@elysia-microservices/telemetry'
import { until } from '@elysia-microservices/test-support'
import { context, propagation, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { Elysia } from 'elysia'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import pg from 'pg'
import { type Postgres, startPostgres } from '../support/postgres.ts'

describe('an outbox that is observed', () => {
  let database: Postgres
  let pool: pg.Pool
  const exporter = new InMemorySpanExporter()
  before(async () => {
    database = await startPostgres()
    pool = new pg.Pool({ connectionString: await database.database() })
    pool.on('error', () => {})
    await migrate(pool)
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
    )
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  })
  after(async () => {
    await pool.end()
    await database.stop()
    trace.disable()
    context.disable()
    propagation.disable()
  })

  it('publishes in the trace of the handler, and exports its metrics', async () => {
    const transport = memory()
    const client = connect({ transport, wrap: [telemetry()] })
    let handled = 0
    const service = microservice({ name: 'orders', transport })
      .wrap(telemetry())
      .message('orders.place', async () => {
        const writer = await pool.connect()
        await writer.query('begin')
        await outbox(writer).publish('orders.placed', 7, { key: 'k', headers: { tenant: 'x' } })
        await writer.query('commit')
        writer.release()
        return 'placed'
      })
      .event(
        'orders.placed',
        ({ headers }) => {
          assert.equal(headers['tenant'], 'x')
          handled++
        },
        { durable: true }
      )
    await service.listen()
    const relay = outboxRelay({ sql: pool, client })
    // The relay is started inside another trace, to which its events must not belong.
    const tracer = trace.getTracer('test')
    await tracer.startActiveSpan('start', async (span) => {
      await relay.start()
      span.end()
    })
    assert.equal(await client.request('orders.place', undefined), 'placed')
    await until('The event is handled', () => handled === 1)
    await until('Nothing is pending', async () => (await relay.stats()).pending === 0)
    const named = (name: string) => {
      const found = exporter
        .getFinishedSpans()
        .find((span) => span.name === name && span.kind !== SpanKind.CLIENT)
      assert.ok(found, name)
      return found
    }
    await until('All spans have ended', () =>
      exporter.getFinishedSpans().some(({ name }) => name === 'process orders.placed')
    )
    const place = named('orders.place')
    const send = named('send orders.placed')
    const process = named('process orders.placed')
    assert.equal(send.spanContext().traceId, place.spanContext().traceId)
    assert.equal(send.parentSpanContext?.spanId, place.spanContext().spanId)
    assert.equal(process.parentSpanContext?.spanId, send.spanContext().spanId)

    const app = new Elysia().use(prometheus())
    const told = async () => (await app.handle(new Request('http://here/metrics'))).text()
    const figure = (name: string) =>
      `elysia_microservices_outbox_${name}{schema="elysia_microservices",engine="memory"}`
    const text = await told()
    for (const line of ['pending', 'failed', 'oldest_seconds'].map((name) => `${figure(name)} 0\n`))
      assert.ok(text.includes(line), `${line} is in ${text}`)
    assert.ok(text.includes(`${figure('published_total')} 1\n`))
    await relay.stop()
    assert.ok(!(await told()).includes('outbox'))
    await service.stop()
    await client.close()
  })
})
