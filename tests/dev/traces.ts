/** Programs that call each other, and their traces on the page of `dev`. */
import assert from 'node:assert/strict'
import { freePort, until } from '@elysia-microservices/test-support'
import { consoleOf } from '../support/console-page.ts'
import { DevProcess, Project } from './dev-process.ts'
import { config, service } from './programs.ts'

/** The parts of the collector's answer that the tests read. */
interface TraceLine {
  readonly id: string
  readonly spans: number
}
interface TraceView {
  readonly spans: readonly {
    readonly id: string
    readonly parent: string
    readonly name: string
    readonly service: string
    readonly kind: string
    readonly attributes: readonly (readonly [name: string, value: string])[]
    readonly logs: readonly { readonly text: string }[]
  }[]
}

/**
 * Runs three programs by `dev`, each of which calls the next: `web`, `orders`, `stock`. Afterwards all are ended.
 * @param before lines at the beginning of `orders` @param use a plugin for the messages of `orders`
 */
export async function withShop(
  run: (page: string, web: string) => Promise<void>,
  before?: string,
  use?: string
): Promise<void> {
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
    const port = dev.number(/are shown at http:\/\/localhost:(\d+)\/console$/)
    await run(`http://localhost:${port}/console`, `http://127.0.0.1:${web}`)
    assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
  } finally {
    await dev.endAnyway()
    project.remove()
  }
}

/** A service that calls `stock`. @param before lines at the beginning */
function asking(port: number, stock: number, before = '', use = ''): string {
  return `${before}
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const stock = connect({ port: ${stock}${use === '' ? '' : `, wrap: [${use}]`} })
const service = microservice({ name: 'orders', transport: 'tcp', port: ${port}, shutdownOn: ['SIGTERM'] })
  ${use === '' ? '' : `.wrap(${use})`}
  .message('orders.place', async ({ data }) => {
    console.log('an order of', data)
    return stock.request('stock.version')
  })
await service.listen()
`
}

/** An HTTP server for customers that calls the service. */
function shop(port: number, orders: number): string {
  return `import http from 'node:http'
import { connect } from 'elysia-microservices/client'
const orders = connect({ port: ${orders} })
http.createServer(async (request, response) => response.end(String(await orders.request('orders.place', 'tea')))).listen(${port}, '127.0.0.1')
process.once('SIGTERM', () => process.exit(0))
`
}

/** Sends a request to the collector of the page. */
async function askTraces<Answer>(page: string, question: object): Promise<Answer> {
  await using client = consoleOf(page)
  return (await client.request('ask.traces', question)) as Answer
}

/** The one trace that contains a text, once it has this number of spans. */
export async function traceOf(page: string, text: string, spans: number): Promise<TraceView> {
  let line: TraceLine | undefined
  await until(`a trace of ${text} with ${spans} spans`, async () => {
    const question = { text, onlyErrors: false, longerThan: 0 }
    ;[line] = await askTraces<TraceLine[]>(page, question)
    return line !== undefined && line.spans >= spans
  })
  return askTraces<TraceView>(page, { trace: line!.id })
}

/** The spans, each with its parent. */
export function familyOf({ spans }: TraceView): string[] {
  const nameOf = (id: string) => {
    const span = spans.find((each) => each.id === id)
    return span === undefined ? '' : `${span.service} ${span.kind} ${span.name}`
  }
  return spans.map(({ id, parent }) => `${nameOf(id)} < ${nameOf(parent)}`).sort()
}

/** The service name of a program with an SDK of its own. */
export const OWN_NAME = 'a program of its own'

/**
 * A set-up of OpenTelemetry as in its documentation, without packages of this library; its exporter sends protobuf.
 */
export const SDK = `import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
const resource = resourceFromAttributes({ 'service.name': '${OWN_NAME}' })
const provider = new BasicTracerProvider({ resource, spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())] })
if (!trace.setGlobalTracerProvider(provider)) throw new Error('There is a provider already')
if (!context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())) throw new Error('There is a manager already')
propagation.setGlobalPropagator(new W3CTraceContextPropagator())
`
