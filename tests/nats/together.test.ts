/** NATS beside other transports, behind a gateway, and in a service's own tests without it. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { Elysia, t } from 'elysia'
import { memory, microservice, type Transport } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { tcp } from 'elysia-microservices/tcp'
import { isMissing } from '../support/missing.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

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

if (!isMissing('NATS beside other transports', natsMissing())) {
  describe('a service over NATS', () => {
    let server: NatsServerProcess
    before(async () => {
      server = await NatsServerProcess.start()
    })
    after(() => server.stop())

    it('is one over TCP and in memory, too', async () => {
      const [door, inside] = [tcp({ host: '127.0.0.1', port: 0 }), memory()]
      const service = orders([door, nats({ servers: server.url }), inside])
      await service.listen()
      for (const [name, transport] of [
        ['tcp', tcp({ host: '127.0.0.1', port: door.address!.port })],
        ['nats', nats({ servers: server.url })],
        ['memory', inside]
      ] as const) {
        const client = connect<typeof service>({ transport })
        assert.equal(await client.request('orders.by'), name)
        assert.equal(await client.request('orders.total', { prices: [1, 2] }), 3)
        const { address } = door
        await assert.rejects(client.request('orders.total', { prices: ['1'] } as never), {
          code: 'VALIDATION',
          pattern: 'orders.total',
          ...(name === 'tcp' && { endpoint: `127.0.0.1:${address?.port}` }),
          ...(name === 'nats' && { endpoint: new URL(server.url).host })
        })
        await client.close()
      }
      await service.stop()
    })

    it('that takes every event answers for no other service', async () => {
      const shop = orders(nats({ servers: server.url }))
      const seen: string[] = []
      const audit = microservice({ name: 'audit', transport: nats({ servers: server.url }) }).event(
        '>',
        ({ pattern }) => void seen.push(pattern)
      )
      for (const service of [shop, audit]) await service.listen()
      const client = connect<typeof shop>({ transport: nats({ servers: server.url }) })
      for (let call = 0; call < 20; call++)
        assert.equal(await client.request('orders.total', { prices: [1, call] }), 1 + call)
      await client.emit('orders.total' as never)
      await client.close()
      for (const service of [shop, audit]) await service.stop()
      assert.deepEqual(seen, ['orders.total'])
    })

    it('forwards headers of its message to what it calls within it', async () => {
      const stock = microservice({ name: 'stock', transport: nats({ servers: server.url }) })
        .message('stock.headers', ({ headers }) => ({ ...headers }))
        .message('stock.watch', async function* ({ headers }) {
          yield { ...headers }
        })
      await stock.listen()
      const forward = ['x-request-id']
      const next = connect<typeof stock>({ transport: nats({ servers: server.url }), forward })
      const shop = microservice({ name: 'shop', transport: nats({ servers: server.url }) })
        .message('shop.ask', (within) => next.request('stock.headers', undefined, { within }))
        .message('shop.watch', (within) => next.send('stock.watch', undefined, { within }))
      await shop.listen()
      const client = connect<typeof shop>({ transport: nats({ servers: server.url }) })
      const headers = { 'x-request-id': 'r-7', secret: 'stays' }
      assert.deepEqual(await client.request('shop.ask', undefined, { headers }), { 'x-request-id': 'r-7' })
      for await (const seen of client.stream('shop.watch', undefined, { headers }))
        assert.deepEqual(seen, { 'x-request-id': 'r-7' })
      for (const end of [client, next]) await end.close()
      for (const service of [shop, stock]) await service.stop()
    })

    it('stands behind a gateway', async () => {
      const service = orders(nats({ servers: server.url }))
      await service.listen()
      const client = connect<typeof service>({ transport: nats({ servers: server.url }) })
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
      assert.equal((await ask('/total', post({ prices: [1] }))).status, 501)
      await client.close()
    })
  })
}
