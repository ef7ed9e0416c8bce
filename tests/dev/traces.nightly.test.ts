/** Traces of a program with an OpenTelemetry set-up of its own, beside programs without one. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { familyOf, traceOf, withShop } from './traces.ts'

/** As its documentation says, with nothing of ours. */
const SDK = `import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
const resource = resourceFromAttributes({ 'service.name': 'orders of its own' })
const provider = new BasicTracerProvider({ resource, spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())] })
if (!trace.setGlobalTracerProvider(provider)) throw new Error('There is a provider already')
if (!context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())) throw new Error('There is a manager already')
propagation.setGlobalPropagator(new W3CTraceContextPropagator())
`
const TELEMETRY = `import { telemetry } from '@elysia-microservices/telemetry'\n`

describe('the traces of dev, of a program with an SDK of its own', () => {
  for (const [what, before, use] of [
    ['and telemetry()', SDK + TELEMETRY, 'telemetry()'],
    ['alone', SDK, '']
  ] as const)
    it(`are the same trace: ${what}`, () =>
      withShop(
        async (page, web) => {
          assert.equal(await (await fetch(`${web}/cart`)).text(), 'v1')
          const own = use === '' ? 'orders' : 'orders of its own'
          assert.deepEqual(familyOf(await traceOf(page, '/cart', 5)), [
            `${own} client stock.version < ${own} server orders.place`,
            `${own} server orders.place < web client orders.place`,
            `stock server stock.version < ${own} client stock.version`,
            'web client orders.place < web server GET /cart',
            'web server GET /cart < '
          ])
        },
        before,
        use
      ))
})
