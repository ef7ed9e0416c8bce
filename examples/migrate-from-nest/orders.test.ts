/**
 * The application's own tests, which call it by a NestJS client: they pass before and after the migration without a
 * change.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ClientProxy, ClientProxyFactory, Transport } from '@nestjs/microservices'
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs'
import { type Program, start } from './program.ts'

const tea = { article: 'tea', quantity: 2 }
const order = { customer: 'Ada', items: [tea] }

for (const bootstrap of ['before', 'after']) {
  describe(`the orders service ${bootstrap} the move`, () => {
    let stock: Program
    let service: Program
    let client: ClientProxy
    const send = (pattern: unknown, data: unknown) => firstValueFrom(client.send<unknown>(pattern, data))
    const failure = (pattern: unknown, data: unknown) =>
      send(pattern, data).then(
        () => assert.fail('an answer'),
        (error: unknown) => error
      )

    before(async () => {
      stock = await start('stock')
      service = await start(bootstrap, { STOCK_PORT: String(stock.port) })
      const options = { host: '127.0.0.1', port: service.port }
      client = ClientProxyFactory.create({ transport: Transport.TCP, options })
    })
    after(async () => {
      client.close()
      await service.stop()
      await stock.stop()
    })

    it('places an order, and drops and converts fields by the DTO', async () => {
      const sent = { ...order, coupon: 'x', items: [{ ...tea, quantity: '2' }] }
      assert.deepEqual(await send({ cmd: 'place-order' }, sent), { id: 1, ...order, shipped: false })
    })

    it('finds an order by its number given as text', async () => {
      assert.deepEqual(await send('orders.find', { id: '1' }), { id: 1, ...order, shipped: false })
    })

    it('reports invalid fields', async () => {
      for (const [data, fields] of [
        [{ items: [tea] }, ['customer']],
        [{ customer: '', items: [] }, ['customer', 'items']],
        [{ ...order, items: [{ article: 'tea', quantity: 0 }] }, ['items']],
        [{}, ['customer', 'items']]
      ])
        assert.deepEqual(await failure({ cmd: 'place-order' }, data), { code: 'INVALID', fields })
    })

    it('refuses a customer whom the guard refuses', async () => {
      const refused = await failure({ cmd: 'place-order' }, { ...order, customer: 'Mallory' })
      assert.equal((refused as { message: string }).message, 'Forbidden resource')
    })

    it('asks the other service what is in stock', async () => {
      const items = [{ article: 'cake', quantity: 2 }]
      assert.deepEqual(await failure({ cmd: 'place-order' }, { ...order, items }), {
        code: 'OUT_OF_STOCK',
        message: '1 of cake are left'
      })
    })

    it('converts its own errors by the filter, and no other errors', async () => {
      assert.deepEqual(await failure('orders.find', { id: 7 }), {
        code: 'NO_SUCH_ORDER',
        message: 'There is no order 7'
      })
      const refused = await failure('orders.find', { id: 'seven' })
      assert.equal((refused as { status: string }).status, 'error')
      assert.equal(
        await failure('orders.cancel', {}),
        'There is no matching message handler defined in the remote service.'
      )
    })

    it('answers with a stream', async () => {
      const articles = client.send('orders.articles', { id: 1 }).pipe(toArray())
      assert.deepEqual(await lastValueFrom(articles), ['tea'])
    })

    it('handles events, and has written them to the audit log', async () => {
      await lastValueFrom(client.emit('order.shipped', { id: 1 }), { defaultValue: undefined })
      assert.deepEqual(await send('orders.find', { id: 1 }), { id: 1, ...order, shipped: true })
      assert.deepEqual(await send('orders.log', {}), [
        'place done',
        ...Array.from({ length: 4 }, () => 'place failed: Rpc Exception'),
        'OrdersController.place refused Mallory',
        'place failed: 1 of cake are left',
        'order.shipped 1'
      ])
    })

    it('calls the hooks for start and stop once', async () => {
      await service.stop()
      assert.deepEqual(
        service.lines.filter((line) => line.startsWith('audit')),
        ['audit log opened', 'audit log closed']
      )
    })
  })
}
