/**
 * One trace across everything: an HTTP request, the gateway, RSocket, a service of ours, Nest's wire, a real Nest
 * application, and back; collected by a receiver of OTLP. The same inside one process.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MicroserviceClient } from '@elysia-microservices/nestjs'
import { telemetry } from '@elysia-microservices/telemetry'
import { nestTelemetry, traceNestClient } from '@elysia-microservices/telemetry/nestjs'
import { opentelemetry } from '@elysiajs/opentelemetry'
import { Controller } from '@nestjs/common'
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Transport as NestTransport,
  Payload
} from '@nestjs/microservices'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import * as conventions from '@opentelemetry/semantic-conventions'
import * as incubating from '@opentelemetry/semantic-conventions/incubating'
import { Elysia } from 'elysia'
import { type Message, memory, microservice, RejectedError, type Transport } from 'elysia-microservices'
import { type ConnectOptions, connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { tcp } from 'elysia-microservices/tcp'
import { firstValueFrom } from 'rxjs'
import { startNest, startOursInNest } from '../conformance/harness/servers.ts'
import { listen, newApp } from '../support/http-app.ts'
import { underBun } from '../workspace.ts'
import { type ReceivedSpan, startReceiver } from './otlp-receiver.ts'

@Controller()
class StockController {
  @MessagePattern('stock.count')
  count(@Payload() item: string): number {
    return item.length
  }

  @EventPattern('stock.taken')
  taken(@Payload() item: string): string {
    return item
  }
}

/** What the middle hop is carried by. */
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

/** All names of attributes that the conventions know, in either state. */
const KNOWN = new Set<unknown>(Object.values({ ...incubating, ...conventions }))

describe('one trace', () => {
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

  /** The received spans of one trace, from its root down a line: each span has one child. */
  const lineOf = async (root: string): Promise<ReceivedSpan[]> => {
    await provider.forceFlush()
    const spans = receiver.spans.filter(({ traceId }) => traceId === root)
    const line: ReceivedSpan[] = []
    for (
      let next = spans.find(({ parentSpanId }) => !spans.some(({ spanId }) => spanId === parentSpanId));
      next !== undefined;
      next = spans.find(({ parentSpanId }) => parentSpanId === line.at(-1)?.spanId)
    )
      line.push(next)
    return line
  }

  for (const [way, newWay] of Object.entries(WAYS)) {
    it(`from HTTP by the gateway, ${way}, a service and Nest's wire to a Nest application`, async () => {
      const nest = await startNest([StockController], {}, { preRequestHooks: [nestTelemetry()] })
      const stock = connect({ host: '127.0.0.1', port: nest.port, protocol: 'nest', use: [telemetry()] })
      const { transport, client: options } = newWay()
      const shop = microservice({ name: 'shop', transport })
        .use(telemetry())
        .message('items.*', ({ params: [item] }) => stock.request<number>('stock.count', item))
      await shop.listen()
      const client = connect<typeof shop>({ ...options(), use: [telemetry()] })
      // Under Node 20 Elysia's traces fail for want of Promise.withResolvers: the gateway passes on the caller's header.
      const app = newApp()
        .use(underBun ? opentelemetry() : new Elysia())
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

      const line = await lineOf(traceId)
      const rpc = line.filter(({ attributes }) => attributes['rpc.system.name'] !== undefined)
      assert.deepEqual(
        rpc.map(({ kind, name }) => `${kind} ${name}`),
        ['client items.apple', 'server items.*', 'client stock.count', 'server stock.count']
      )
      assert.equal(line[0]?.parentSpanId, 'b7ad6b7169203331')
      const outermost = line.findIndex(({ kind }) => kind === 'client')
      if (underBun) assert.ok(outermost > 0, 'the span of the route stands above that of the call')
      else assert.equal(outermost, 0)
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

  it("from a client of Nest's to a service of ours, and an event the other way", async () => {
    const nest = await startNest([StockController], {}, { preRequestHooks: [nestTelemetry()] })
    const stock = connect({ host: '127.0.0.1', port: nest.port, protocol: 'nest', use: [telemetry()] })
    const transport = tcp({ host: '127.0.0.1', port: 0 })
    const service = microservice({ transport })
      .use(telemetry())
      .message('take', async ({ data }: Message<string>) => {
        await stock.emit('stock.taken', data)
        return data
      })
    await service.listen()
    const nestClient = traceNestClient(
      ClientProxyFactory.create({
        transport: NestTransport.TCP,
        options: { host: '127.0.0.1', port: transport.address!.port }
      })
    )
    const root = provider.getTracer('test').startSpan('root')
    const work = trace.setSpan(context.active(), root)
    assert.equal(await context.with(work, () => firstValueFrom(nestClient.send('take', 'apple'))), 'apple')
    root.end()
    await nestClient.close()
    await service.stop()
    await stock.close()
    await nest.stop()
    const line = await lineOf(root.spanContext().traceId)
    assert.deepEqual(
      line.map(({ kind, name }) => `${kind} ${name}`),
      [
        'internal root',
        'client take',
        'server take',
        'producer send stock.taken',
        'consumer process stock.taken'
      ]
    )
    const event = line.at(-1)?.attributes ?? {}
    assert.equal(event[incubating.ATTR_MESSAGING_SYSTEM_NAME], 'elysia_microservices')
    assert.equal(event[incubating.ATTR_MESSAGING_DESTINATION_NAME], 'stock.taken')
    assert.equal(event[incubating.ATTR_MESSAGING_OPERATION_NAME], 'process')
    assert.equal(
      event[incubating.ATTR_MESSAGING_OPERATION_TYPE],
      incubating.MESSAGING_OPERATION_TYPE_VALUE_PROCESS
    )
  })

  it('through our own ends inside of Nest, over RSocket', async () => {
    const nest = await startOursInNest([StockController], {}, { preRequestHooks: [nestTelemetry()] })
    const client = traceNestClient(
      ClientProxyFactory.create({
        customClass: MicroserviceClient,
        options: { host: '127.0.0.1', port: nest.port }
      })
    )
    const root = provider.getTracer('test').startSpan('root')
    const work = trace.setSpan(context.active(), root)
    await context.with(work, async () => {
      assert.equal(await firstValueFrom(client.send('stock.count', 'apple')), 5)
      await assert.rejects(firstValueFrom(client.send('nobody', 1)))
    })
    root.end()
    await client.close()
    await nest.stop()
    await provider.forceFlush()
    const spans = receiver.spans.filter(({ traceId }) => traceId === root.spanContext().traceId)
    const told = ({ kind, name, isError }: ReceivedSpan) => `${kind} ${name}${isError ? ' fails' : ''}`
    assert.deepEqual(spans.map(told).sort(), [
      'client _OTHER fails',
      'client stock.count',
      'internal root',
      'server stock.count'
    ])
    const [sent, received] = ['client', 'server'].map((kind) =>
      spans.find((span) => span.kind === kind && span.name === 'stock.count')
    )
    assert.equal(received?.parentSpanId, sent?.spanId)
    assert.equal(sent?.parentSpanId, root.spanContext().spanId)
  })

  it('a call that is made again has a span for each further attempt', async () => {
    const bystander = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
    let refusals = 2
    bystander.use((next) => (message) => {
      if (refusals-- > 0) throw new RejectedError('busy')
      return next(message)
    })
    bystander.message('x', () => 1)
    await bystander.listen()
    const client = connect({
      host: '127.0.0.1',
      port: bystander.address!.port,
      retry: { attempts: 3, minDelay: 1 },
      use: [telemetry()]
    })
    const root = provider.getTracer('test').startSpan('root')
    await context.with(trace.setSpan(context.active(), root), () => client.request('x', 1))
    root.end()
    await client.close()
    await bystander.stop()
    await provider.forceFlush()
    const spans = receiver.spans.filter(({ traceId }) => traceId === root.spanContext().traceId)
    const call = spans.find(({ kind }) => kind === 'client')
    const attempts = spans.filter(({ parentSpanId }) => parentSpanId === call?.spanId)
    assert.deepEqual(
      attempts.map(({ name, attributes }) => [name, attributes['elysia_microservices.failure']]),
      [
        ['attempt 2', 'REJECTED'],
        ['attempt 3', 'REJECTED']
      ]
    )
    assert.equal(call?.attributes['rpc.status_code'], 'OK')
  })
})
