import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memory } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { newOrders, type Orders } from './orders.ts'
import { newRoutes } from './routes.ts'
import { newStock, type Stock } from './stock.ts'

describe('the gateway', () => {
  const transport = memory()
  const inStock = memory()
  const stock = newStock(inStock)
  const service = newOrders(transport, connect<Stock>({ transport: inStock }))
  const client = connect<Orders>({ transport })
  const routes = newRoutes(() => client)
  before(async () => {
    await stock.listen()
    await service.listen()
  })
  after(async () => {
    await client.close()
    await service.stop()
    await stock.stop()
  })

  function ask(method: string, path: string, body?: object): Promise<Response> {
    const headers = { 'content-type': 'application/json' }
    return routes.handle(
      new Request(`http://localhost${path}`, { method, headers, body: JSON.stringify(body) })
    )
  }

  it('places orders, takes payments and shows orders', async () => {
    const placed = await ask('POST', '/orders', { item: 'tea', quantity: 2 })
    assert.equal(placed.status, 201)
    const { id } = (await placed.json()) as { id: number }
    assert.equal((await ask('POST', `/orders/${id}/payment`)).status, 202)
    const order = await ask('GET', `/orders/${id}`)
    assert.deepEqual(await order.json(), { id, item: 'tea', quantity: 2, paid: true })
  })

  it('says what is wrong with a request', async () => {
    assert.equal((await ask('GET', '/orders/0')).status, 404)
    assert.equal((await ask('POST', '/orders', { item: 'tea' })).status, 422)
    assert.equal((await ask('POST', '/orders', { item: 'tea', quantity: 101 })).status, 409)
  })

  it('has documents of its routes', async () => {
    const { paths } = (await (await ask('GET', '/openapi/json')).json()) as { paths: object }
    assert.ok('/orders/{id}' in paths)
  })
})
