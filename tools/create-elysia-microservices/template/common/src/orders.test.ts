import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memory, ValidationError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { newOrders, type Orders } from './orders.ts'
import { newStock, type Stock } from './stock.ts'

describe('orders', () => {
  const transport = memory()
  const inStock = memory()
  const stock = newStock(inStock)
  const service = newOrders(transport, connect<Stock>({ transport: inStock }))
  const client = connect<Orders>({ transport })
  before(async () => {
    await stock.listen()
    await service.listen()
  })
  after(async () => {
    await client.close()
    await service.stop()
    await stock.stop()
  })

  it('are placed, and found again', async () => {
    const placed = await client.request('orders.place', { item: 'tea', quantity: 2 })
    assert.deepEqual(placed, { id: placed.id, item: 'tea', quantity: 2, paid: false })
    assert.deepEqual(await client.request('orders.get', { id: placed.id }), placed)
  })

  it('are paid by an event', async () => {
    const { id } = await client.request('orders.place', { item: 'cups', quantity: 6 })
    await client.emit('orders.paid', { id })
    const { paid } = await client.request('orders.get', { id })
    assert.equal(paid, true)
  })

  it('are watched: those that there are, and then each that changes', async () => {
    const { id } = await client.request('orders.place', { item: 'spoons', quantity: 1 })
    for await (const order of client.stream('orders.watch')) {
      if (order.id !== id) continue
      if (order.paid) break
      await client.emit('orders.paid', { id })
    }
  })

  it('need a quantity', async () => {
    await assert.rejects(client.request('orders.place', { item: 'tea', quantity: 0 }), ValidationError)
  })

  it('are refused where stock has too little', async () => {
    await assert.rejects(client.request('orders.place', { item: 'forks', quantity: 101 }), {
      code: 'OUT_OF_STOCK',
      details: { left: 100 }
    })
  })

  it('that are unknown are an error with a code', async () => {
    await assert.rejects(client.request('orders.get', { id: 0 }), { code: 'ORDER_NOT_FOUND' })
  })
})
