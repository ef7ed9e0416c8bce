/** Controllers with Nest's decorators for gRPC answer calls of Connect. */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GrpcMethod } from '@nestjs/microservices'
import { microservice } from 'elysia-microservices'
import { connectRpc } from './index.ts'
import { listen, newApp } from './testing/app.ts'
import { postJson } from './testing/calls.ts'
import { type Order, Orders } from './testing/shop.ts'

class OrdersController {
  echo(order: Order) {
    return { id: `${order.id} by Nest` }
  }

  get(order: Order) {
    return { id: order.id, number: '9007199254740993' }
  }
}

/** Decorates a method as `@GrpcMethod(…)` above it does. */
function decorate(method: keyof OrdersController, ...names: [string, string?]): void {
  const descriptor = Object.getOwnPropertyDescriptor(OrdersController.prototype, method)
  GrpcMethod(...(names as [string, string]))(OrdersController.prototype, method, descriptor as never)
}
decorate('echo', 'Orders')
decorate('get', 'Orders', 'GetOrder')

describe('a controller of Nest', () => {
  it('answers calls of the methods that its decorators name', async () => {
    const shop = microservice({ controllers: [OrdersController], logger: { error() {}, warn() {} } })
    await using app = await listen(
      newApp()
        .use(shop)
        .use(connectRpc({ proto: Orders }))
    )
    assert.deepEqual((await postJson(app.url, 'Echo', { id: 'a' })).body, { id: 'a by Nest' })
    assert.deepEqual((await postJson(app.url, 'GetOrder', { id: 'b' })).body, {
      id: 'b',
      number: '9007199254740993'
    })
  })
})
