/** Traces that a receiver of OTLP collects, and the path of an HTTP request through all kinds of services. */
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { telemetry } from '@elysia-microservices/telemetry'
import { nestTelemetry } from '@elysia-microservices/telemetry/nestjs'
import { Controller } from '@nestjs/common'
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import * as conventions from '@opentelemetry/semantic-conventions'
import * as incubating from '@opentelemetry/semantic-conventions/incubating'
import { type AnyElysia, Elysia } from 'elysia'
import { memory, microservice, type Transport } from 'elysia-microservices'
import { type ConnectOptions, connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { tcp } from 'elysia-microservices/tcp'
import { startNest } from '../conformance/harness/servers.ts'
import { listen, newApp } from '../support/http-app.ts'
import { type ReceivedSpan, startReceiver } from './otlp-receiver.ts'

/** The controllers of the Nest applications. */
@Controller()
export class StockController {
  @MessagePattern('stock.count')
  count(@Payload() item: string): number {
    return item.length
  }

  @EventPattern('stock.taken')
  taken(@Payload() item: string): string {
    return item
  }
}

/** The transports of the hop in the middle. */
const WAYS: Readonly<Record<string, () => { transport: Transport; client: () => ConnectOptions }>> = {
  RSocket() {
    const transport = tcp({ host: '127.0.0.1', port: 0 })
    return { transport, client: () => ({ host: '127.0.0.1', port: transport.address!.port }) }
  },
  memory() {
    const transport = memory()
    return { transport, client: () => ({ transport }) }
  }
}

/** The names of all attributes in the semantic conventions, stable and incubating. */
const KNOWN = new Set<unknown>(Object.values({ ...incubating, ...conventions }))

/** The traces of a suite's tests. */
export interface Traces {
  readonly provider: BasicTracerProvider
  /** All spans that were received, after waiting spans were sent. */
  spans(): Promise<readonly ReceivedSpan[]>
  /** The received spans of one trace, from its root: each span has one child. */
  lineOf(root: string): Promise<ReceivedSpan[]>
}

/** Collects the traces of this suite's tests. */
export function collectTraces(): Traces {
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  let provider: BasicTracerProvider
  before(async () => {
    receiver = await startReceiver()
    const exporter = new OTLPTraceExporter({ url: receiver.url })
    provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] })
    trace.setGlobalTracerProvider(provider)
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  })
  after(async () => {
    await provider.shutdown()
    receiver.stop()
    trace.disable()
    context.disable()
    propagation.disable()
  })
  return {
    get provider() {
      return provider
    },
    async spans() {
      await provider.forceFlush()
      return receiver.spans
    },
    async lineOf(root) {
      const spans = (await this.spans()).filter(({ traceId }) => traceId === root)
      const line: ReceivedSpan[] = []
      for (
        let next = spans.find(({ parentSpanId }) => !spans.some(({ spanId }) => spanId === parentSpanId));
        next !== undefined;
        next = spans.find(({ parentSpanId }) => parentSpanId === line.at(-1)?.spanId)
      )
        line.push(next)
      return line
    }
  }
}

/**
 * The tests of a trace that begins with an HTTP request.
 * @param spans a plugin that creates a span for each route; without a plugin, the gateway passes on the header of the
 * caller
 */
export function fromHttp(traces: Traces, spans?: () => Promise<AnyElysia>): void {
  for (const [way, newWay] of Object.entries(WAYS)) {
    it(`from HTTP by the gateway, ${way}, a service and Nest's wire to a Nest application`, async () => {
      const nest = await startNest([StockController], {}, { preRequestHooks: [nestTelemetry()] })
      const stock = connect({ host: '127.0.0.1', port: nest.port, protocol: 'nest', wrap: [telemetry()] })
      const { transport, client: options } = newWay()
      const shop = microservice({ name: 'shop', transport })
        .wrap(telemetry())
        .message('items.*', ({ params: [item] }) => stock.request<number>('stock.count', item))
      await shop.listen()
      const client = connect<typeof shop>({ ...options(), wrap: [telemetry()] })
      const app = newApp()
        .use((await spans?.()) ?? new Elysia())
        .use(gateway(client, { 'GET /items/:id': { pattern: 'items.apple', data: () => undefined } }))
      const http = await listen(app)
      const traceId = '0af7651916cd43dd8448eb211c80319c'.replace('0a', way === 'memory' ? '0b' : '0a')
      try {
        const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
        const answer = await fetch(`${http.url}/items/7`, { headers })
        assert.equal(await answer.text(), '5')
      } finally {
        await http.stop()
        await client.close()
        await shop.stop()
        await stock.close()
        await nest.stop()
      }

      const line = await traces.lineOf(traceId)
      const rpc = line.filter(({ attributes }) => attributes['rpc.system.name'] !== undefined)
      assert.deepEqual(
        rpc.map(({ kind, name }) => `${kind} ${name}`),
        ['client items.apple', 'server items.*', 'client stock.count', 'server stock.count']
      )
      assert.equal(line[0]?.parentSpanId, 'b7ad6b7169203331')
      const outermost = line.findIndex(({ kind }) => kind === 'client')
      if (spans === undefined) assert.equal(outermost, 0)
      else assert.ok(outermost > 0, 'the span of the route stands above that of the call')
      for (const { attributes, isError } of rpc) {
        assert.equal(isError, false)
        assert.equal(attributes[conventions.ATTR_RPC_SYSTEM_NAME], 'elysia_microservices')
        assert.equal(attributes[conventions.ATTR_RPC_STATUS_CODE], 'OK')
        assert.deepEqual(
          Object.keys(attributes).filter((name) => !KNOWN.has(name)),
          []
        )
      }
      assert.equal(rpc[1]?.attributes[conventions.ATTR_RPC_METHOD], 'items.*')
      assert.equal(rpc[1]?.attributes[conventions.ATTR_RPC_METHOD_ORIGINAL], 'items.apple')
    })
  }
}
