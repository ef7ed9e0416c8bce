/**
 * One trace across everything: an HTTP request, the gateway, RSocket, our own service, NestJS's protocol, a NestJS
 * application, and back; collected by a receiver of OTLP. Then the same inside one process.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MicroserviceClient } from '@elysia-microservices/nestjs'
import { telemetry } from '@elysia-microservices/telemetry'
import { nestTelemetry, traceNestClient } from '@elysia-microservices/telemetry/nestjs'
import {
  ClientProxyFactory,
  EventPattern,
  KafkaContext,
  MessagePattern,
  NatsContext,
  Transport as NestTransport,
  RedisContext,
  RmqContext,
  TcpContext
} from '@nestjs/microservices'
import { context, trace } from '@opentelemetry/api'
import * as incubating from '@opentelemetry/semantic-conventions/incubating'
import { type Message, microservice, RejectedError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { tcp } from 'elysia-microservices/tcp'
import { firstValueFrom, of } from 'rxjs'
import { startNest, startOursInNest } from '../conformance/harness/servers.ts'
import type { ReceivedSpan } from './otlp-receiver.ts'
import { collectTraces, fromHttp, StockController } from './tracing.ts'

describe('one trace', () => {
  const traces = collectTraces()
  fromHttp(traces)

  it("from Nest's client to our service, and an event the other way", async () => {
    const nest = await startNest([StockController], {}, { preRequestHooks: [nestTelemetry()] })
    const stock = connect({ host: '127.0.0.1', port: nest.port, protocol: 'nest', wrap: [telemetry()] })
    const transport = tcp({ host: '127.0.0.1', port: 0 })
    const service = microservice({ transport })
      .wrap(telemetry())
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
    const root = traces.provider.getTracer('test').startSpan('root')
    const work = trace.setSpan(context.active(), root)
    assert.equal(await context.with(work, () => firstValueFrom(nestClient.send('take', 'apple'))), 'apple')
    root.end()
    await nestClient.close()
    await service.stop()
    await stock.close()
    await nest.stop()
    const line = await traces.lineOf(root.spanContext().traceId)
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

  it('through our own client and server inside of Nest, over RSocket', async () => {
    const nest = await startOursInNest([StockController], {}, { preRequestHooks: [nestTelemetry()] })
    const client = traceNestClient(
      ClientProxyFactory.create({
        customClass: MicroserviceClient,
        options: { host: '127.0.0.1', port: nest.port }
      })
    )
    const root = traces.provider.getTracer('test').startSpan('root')
    const work = trace.setSpan(context.active(), root)
    await context.with(work, async () => {
      assert.equal(await firstValueFrom(client.send('stock.count', 'apple')), 5)
      await assert.rejects(firstValueFrom(client.send('nobody', 1)))
    })
    root.end()
    await client.close()
    await nest.stop()
    const spans = (await traces.spans()).filter(({ traceId }) => traceId === root.spanContext().traceId)
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

  it("names what Nest handles by its handler's pattern, on each of Nest's transports", async () => {
    class Handlers {
      @MessagePattern({ cmd: 'b', a: 1 })
      object() {}
      @EventPattern(['first', 'users.*'])
      events() {}
      @MessagePattern('users.*')
      users() {}
    }
    const handled = [
      ['object', new TcpContext([undefined as never, '{"a":1,"cmd":"b"}'])],
      ['events', new RedisContext(['users.*'])],
      ['users', new NatsContext(['users.17', {}])],
      ['users', new RmqContext([{}, {}, 'users.17'])],
      ['events', new KafkaContext([{}, 0, 'first'] as never)]
    ] as const
    for (const [method, given] of handled) {
      const execution = {
        getHandler: () => Handlers.prototype[method],
        switchToRpc: () => ({ getContext: () => given })
      }
      nestTelemetry()(execution, () => of(1)).subscribe()
    }
    const spans = (await traces.spans()).filter(({ name }) => /users\.\*|first|"cmd":"b"/.test(name))
    const told = spans.map(({ name, attributes }) => [
      name,
      attributes[incubating.ATTR_MESSAGING_SYSTEM_NAME]
    ])
    assert.deepEqual(told.sort(), [
      ['process first', 'kafka'],
      ['process users.*', 'redis'],
      ['users.*', undefined],
      ['users.*', undefined],
      ['{"a":1,"cmd":"b"}', undefined]
    ])
  })

  it('a call that is retried has a span for each further attempt', async () => {
    const bystander = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
    let refusals = 2
    bystander.wrap((next) => (message) => {
      if (refusals-- > 0) throw new RejectedError('busy')
      return next(message)
    })
    bystander.message('x', () => 1)
    await bystander.listen()
    const client = connect({
      host: '127.0.0.1',
      port: bystander.address!.port,
      retry: { attempts: 3, minDelay: 1 },
      wrap: [telemetry()]
    })
    const root = traces.provider.getTracer('test').startSpan('root')
    await context.with(trace.setSpan(context.active(), root), () => client.request('x', 1))
    root.end()
    await client.close()
    await bystander.stop()
    const spans = (await traces.spans()).filter(({ traceId }) => traceId === root.spanContext().traceId)
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
