/** Traces of a program with an OpenTelemetry set-up of its own, beside programs without one. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { DevProcess, Project } from './dev-process.ts'
import { config, service } from './programs.ts'
import { asking, familyOf, shop, traceOf } from './traces.ts'

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
    it(`are the same trace: ${what}`, async () => {
      const [stock, orders, web] = [await freePort(), await freePort(), await freePort()]
      const project = new Project({
        'microservices.config.ts': config({
          page: { port: 0 },
          services: {
            stock: 'stock.js',
            orders: { entry: 'orders.js', after: ['stock'] },
            web: { entry: 'web.js', after: ['orders'] }
          }
        }),
        'stock.js': service('stock', stock),
        'orders.js': asking(orders, stock, before, use),
        'web.js': shop(web, orders)
      })
      const dev = new DevProcess(project, { args: [] })
      try {
        await dev.says('All services are ready')
        const page = `http://localhost:${dev.number(/are shown at http:\/\/localhost:(\d+)\/console$/)}/console`
        assert.equal(await (await fetch(`http://127.0.0.1:${web}/cart`)).text(), 'v1')
        const own = use === '' ? 'orders' : 'orders of its own'
        assert.deepEqual(familyOf(await traceOf(page, '/cart', 5)), [
          `${own} client stock.version < ${own} server orders.place`,
          `${own} server orders.place < web client orders.place`,
          `stock server stock.version < ${own} client stock.version`,
          'web client orders.place < web server GET /cart',
          'web server GET /cart < '
        ])
        assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      } finally {
        await dev.endAnyway()
        project.remove()
      }
    })
})
