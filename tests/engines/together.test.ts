/** Every engine together with another transport, behind a gateway, and in calls from within a handler. */
import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { telemetry } from '@elysia-microservices/telemetry'
import { Log, PATIENCE, until } from '@elysia-microservices/test-support'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import * as incubating from '@opentelemetry/semantic-conventions/incubating'
import { Elysia, t } from 'elysia'
import { microservice, type Transport } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { tcp } from 'elysia-microservices/tcp'
import type { RunningEngine } from './engines.ts'
import { overEngines } from './needs.ts'

function orders(transport: Transport | readonly Transport[]) {
  return microservice({ name: 'orders', transport, logger: { error() {}, warn() {} } })
    .message('orders.total', ({ data }) => data.prices.reduce((sum, price) => sum + price, 0), {
      data: t.Object({ prices: t.Array(t.Number()) })
    })
    .message('orders.by', ({ transport }) => transport)
    .message('orders.watch', async function* () {
      yield { order: 1 }
      yield { order: 2 }
    })
}

overEngines('services beside others', [], ({ name: engineName, title, hasServer, start }, caseOf) => {
  describe(`a service over ${title}`, () => {
    let engine: RunningEngine
    before(async () => {
      engine = await start()
    })
    after(() => engine.close())

    caseOf('is one over TCP, too', [], async () => {
      const door = tcp({ host: '127.0.0.1', port: 0 })
      const service = orders([door, engine.transport()])
      await service.listen()
      for (const [name, transport] of [
        ['tcp', tcp({ host: '127.0.0.1', port: door.address!.port })],
        [engineName, engine.transport()]
      ] as const) {
        const client = connect<typeof service>({ transport })
        assert.equal(await client.request('orders.by'), name)
        assert.equal(await client.request('orders.total', { prices: [1, 2] }), 3)
        const { address } = door
        await assert.rejects(client.request('orders.total', { prices: ['1'] } as never), {
          code: 'VALIDATION',
          pattern: 'orders.total',
          ...(name === 'tcp' && { endpoint: `127.0.0.1:${address?.port}` }),
          ...(name !== 'tcp' && engine.port !== 0 && { endpoint: `127.0.0.1:${engine.port}` })
        })
        await client.close()
      }
      await service.stop()
    })

    caseOf('that takes every event answers for no other service', ['anyPattern'], async () => {
      const shop = orders(engine.transport())
      const seen: string[] = []
      const audit = microservice({ name: 'audit', transport: engine.transport() }).event(
        engine.transport().traits.levels ? '#' : '>',
        ({ pattern }) => void seen.push(pattern)
      )
      for (const service of [shop, audit]) await service.listen()
      const client = connect<typeof shop>({ transport: engine.transport() })
      for (let call = 0; call < 20; call++)
        assert.equal(await client.request('orders.total', { prices: [1, call] }), 1 + call)
      await client.emit('orders.total' as never)
      await client.close()
      for (const service of [shop, audit]) await service.stop()
      assert.deepEqual(seen, ['orders.total'])
    })

    // If a part of a large message is lost, the receiver notices this after 20 s and the request is sent again: both
    // would be logged.
    for (const [what, isBesideAudit] of [
      ['is sent requests larger than a message of the engine', false],
      ['is sent them beside one that takes every event', true]
    ] as const)
      caseOf(what, isBesideAudit ? ['anyPattern'] : [], async () => {
        const log = new Log()
        const { logger } = log
        const transport = engine.transport()
        const store = microservice({ name: 'store', transport, logger }).message(
          'store.size',
          ({ data }) => data.length,
          { data: t.String() }
        )
        const every = transport.traits.levels ? '#' : '>'
        const audit = microservice({ name: 'audit', transport, logger }).event(every, () => {})
        const services = isBesideAudit ? [audit, store] : [store]
        for (const service of services) await service.listen()
        const client = connect<typeof store>({ transport, logger, timeout: PATIENCE })
        for (const size of [3_000_000, 17_000_000])
          assert.equal(await client.request('store.size', 'x'.repeat(size)), size)
        assert.deepEqual(log.lines, [])
        await client.close()
        for (const service of services) await service.stop()
      })

    caseOf('forwards headers of its message to what it calls within it', ['headers'], async () => {
      const stock = microservice({ name: 'stock', transport: engine.transport() })
        .message('stock.headers', ({ headers }) => ({ ...headers }))
        .message('stock.watch', async function* ({ headers }) {
          yield { ...headers }
        })
      await stock.listen()
      const forward = ['x-request-id']
      const next = connect<typeof stock>({ transport: engine.transport(), forward })
      const shop = microservice({ name: 'shop', transport: engine.transport() })
        .message('shop.ask', (within) => next.request('stock.headers', undefined, { within }))
        .message('shop.watch', (within) => next.send('stock.watch', undefined, { within }))
      await shop.listen()
      const client = connect<typeof shop>({ transport: engine.transport() })
      const headers = { 'x-request-id': 'r-7', secret: 'stays' }
      assert.deepEqual(await client.request('shop.ask', undefined, { headers }), { 'x-request-id': 'r-7' })
      for await (const seen of client.stream('shop.watch', undefined, { headers }))
        assert.deepEqual(seen, { 'x-request-id': 'r-7' })
      for (const end of [client, next]) await end.close()
      for (const service of [shop, stock]) await service.stop()
    })

    caseOf(
      'is traced by the conventions of messages: who sends an event, and who takes it',
      ['headers'],
      async () => {
        const exporter = new InMemorySpanExporter()
        const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
        trace.setGlobalTracerProvider(provider)
        context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
        propagation.setGlobalPropagator(new W3CTraceContextPropagator())
        const service = microservice({ name: 'traced', transport: engine.transport() })
          .wrap(telemetry())
          .event('traced.seen', () => {})
        await service.listen()
        const client = connect<typeof service>({ transport: engine.transport(), wrap: [telemetry()] })
        try {
          await client.emit('traced.seen', undefined)
          const all = () => exporter.getFinishedSpans().map(({ name }) => name)
          await until('both spans have ended', () => all().length === 2)
          const spans = exporter.getFinishedSpans()
          const [sent, taken] = ['send traced.seen', 'process traced.seen'].map((name) =>
            spans.find((span) => span.name === name)
          )
          assert.equal(taken?.parentSpanContext?.spanId, sent?.spanContext().spanId)
          for (const span of [sent, taken]) {
            const system = hasServer ? engineName : 'elysia_microservices'
            assert.equal(span?.attributes[incubating.ATTR_MESSAGING_SYSTEM_NAME], system)
            assert.equal(span?.attributes[incubating.ATTR_MESSAGING_DESTINATION_NAME], 'traced.seen')
            assert.equal(
              span?.attributes[incubating.ATTR_MESSAGING_RABBITMQ_DESTINATION_ROUTING_KEY],
              engineName === 'rabbitmq' ? 'traced.seen' : undefined
            )
          }
        } finally {
          await client.close()
          await service.stop()
          trace.disable()
          context.disable()
          propagation.disable()
        }
      }
    )

    caseOf('stands behind a gateway', ['hearsNobody'], async () => {
      const service = orders(engine.transport())
      await service.listen()
      const client = connect<typeof service>({ transport: engine.transport() })
      const app = new Elysia().use(
        gateway(
          client,
          { 'POST /total': 'orders.total', 'GET /watch': { stream: 'orders.watch' } },
          { logger: { error() {}, warn() {} } }
        )
      )
      const ask = (path: string, init?: RequestInit) =>
        app.handle(new Request(`http://localhost${path}`, init))
      const post = (body: unknown) => ({
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body)
      })
      assert.equal(await (await ask('/total', post({ prices: [1, 2] }))).json(), 3)
      assert.equal((await ask('/total', post({ prices: ['one'] }))).status, 422)
      assert.match(
        await (await ask('/watch')).text(),
        /data: \{"order":1\}\n\ndata: \{"order":2\}\n\nevent: end/
      )
      await service.stop()
      const down = await ask('/total', post({ prices: [1] }))
      assert.deepEqual([down.status, down.headers.get('retry-after')], [503, '1'])
      assert.match(await down.text(), /The service cannot be reached/)
      await client.close()
    })
  })
})
