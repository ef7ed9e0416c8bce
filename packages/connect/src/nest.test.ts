/** Controllers with Nest's decorators for gRPC answer calls of Connect. */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UseFilters } from '@nestjs/common'
import { GrpcMethod, GrpcStreamCall, GrpcStreamMethod } from '@nestjs/microservices'
import { microservice } from 'elysia-microservices'
import { map, type Observable, throwError, toArray } from 'rxjs'
import { connectRpc } from './index.ts'
import { listen, newApp } from './testing/app.ts'
import { envelopes, postJson, postStream } from './testing/calls.ts'
import { type Order, Orders } from './testing/shop.ts'

interface Metadata {
  get(name: string): string[]
}
interface Call {
  on(event: 'data', listener: (order: Order) => void): void
  on(event: 'end', listener: () => void): void
}

class OrdersController {
  echo(order: Order) {
    return { id: `${order.id} by Nest` }
  }

  get(order: Order) {
    return { id: order.id, number: '9007199254740993' }
  }

  watch({ id }: Order, metadata: Metadata) {
    return [1, 2].map((price) => ({ id: `${id} of ${metadata.get('x-user')}`, prices: [price] })).values()
  }

  upload(orders: Observable<Order>) {
    return orders.pipe(
      toArray(),
      map((all) => ({ id: all.map(({ id }) => id).join('+') }))
    )
  }
}

class CallsController {
  upload(call: Call, callback: (error: null, value: object) => void) {
    let ids = ''
    call.on('data', ({ id }) => {
      ids += id
    })
    call.on('end', () => callback(null, { id: ids }))
  }
}

type Decorator = (service: string, method?: string) => MethodDecorator

/** Decorates a method as `@GrpcMethod(…)` above it does. */
function decorate(type: new () => object, name: string, decorator: Decorator, method?: string): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name) as PropertyDescriptor
  decorator('Orders', method)(type.prototype, name, descriptor)
  Object.defineProperty(type.prototype, name, descriptor)
}
decorate(OrdersController, 'echo', GrpcMethod)
decorate(OrdersController, 'get', GrpcMethod, 'GetOrder')
decorate(OrdersController, 'watch', GrpcMethod)
decorate(OrdersController, 'upload', GrpcStreamMethod)
decorate(CallsController, 'upload', GrpcStreamCall)

function appWith(controller: new () => object) {
  const shop = microservice({ controllers: [controller], logger: { error() {}, warn() {} } })
  return listen(
    newApp()
      .use(shop)
      .use(connectRpc({ proto: Orders }))
  )
}

describe('a controller of Nest', () => {
  it('keeps the words of an error that nobody has made for callers, also in the Observable of a filter', async () => {
    for (const error of [
      new Error('secret'),
      Object.assign(new Error('connect ECONNREFUSED secret'), { code: 'ECONNREFUSED' })
    ]) {
      @UseFilters({ catch: () => throwError(() => error) })
      class Controller {
        echo(): never {
          throw new Error('secret')
        }
      }
      decorate(Controller, 'echo', GrpcMethod)
      await using app = await appWith(Controller as never)
      const { status, body } = await postJson(app.url, 'Echo', { id: 'a' })
      assert.equal(status, 500)
      assert.doesNotMatch(JSON.stringify(body), /secret/)
    }
  })

  it('answers calls of the methods that its decorators name', async () => {
    await using app = await appWith(OrdersController)
    assert.deepEqual((await postJson(app.url, 'Echo', { id: 'a' })).body, { id: 'a by Nest' })
    assert.deepEqual((await postJson(app.url, 'GetOrder', { id: 'b' })).body, {
      id: 'b',
      number: '9007199254740993'
    })
    const watched = await postStream(app.url, 'Watch', envelopes({ id: 'c' }), {
      headers: { 'x-user': 'Ada' }
    })
    assert.deepEqual(watched.messages, [
      { id: 'c of Ada', prices: [1] },
      { id: 'c of Ada', prices: [2] }
    ])
  })

  it('gets the messages of a caller that streams, as an Observable or as a call', async () => {
    for (const [controller, id] of [
      [OrdersController, 'a+b'],
      [CallsController, 'ab']
    ] as const) {
      await using app = await appWith(controller)
      const { messages } = await postStream(app.url, 'Upload', envelopes({ id: 'a' }, { id: 'b' }))
      assert.deepEqual(messages, [{ id }])
    }
  })
})
