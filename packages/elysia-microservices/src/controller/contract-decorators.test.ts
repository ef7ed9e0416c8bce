/** Classes that are checked against a contract. A class that breaks the contract does not compile. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { from } from 'rxjs'
import { connect } from '../client/index.ts'
import { type EventOf, microservice } from '../index.ts'
import { Ctx, decoratorsOf, Payload, type RpcContext } from '../nest.ts'
import { Cleanups, newWay } from '../testing/ways.ts'

interface Orders {
  'orders.get'(id: number): { id: number; total: number }
  'orders.watch'(id: number): AsyncIterable<string>
  'orders.placed': EventOf<{ id: number }>
}

const { MessagePattern, EventPattern } = decoratorsOf<Orders>()
const placed: unknown[] = []

class OrdersController {
  @MessagePattern('orders.get')
  async get(@Payload() id: number, @Ctx() _context: RpcContext) {
    return { id, total: 12 }
  }

  @MessagePattern('orders.watch')
  watch() {
    return from(['packed', 'sent'])
  }

  @EventPattern('orders.placed')
  placed(data: unknown) {
    placed.push(data)
  }
}

/** Only compiled, never run. */
export class Mistakes {
  // @ts-expect-error the contract has no such pattern
  @MessagePattern('orders.gte')
  gte() {}

  // @ts-expect-error it must have an id
  @MessagePattern('orders.get')
  get() {
    return { total: 12 }
  }

  // @ts-expect-error it must be a stream
  @MessagePattern('orders.watch')
  watch() {
    return 'packed'
  }

  // @ts-expect-error an event is not answered
  @MessagePattern('orders.placed')
  placed() {}

  // @ts-expect-error a request is no event
  @EventPattern('orders.get')
  event() {}
}

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

describe('the decorators of a contract', () => {
  it('are those of controllers', async () => {
    const { transport, client } = newWay('rsocket')
    const service = cleanups.add(microservice({ transport, controllers: [OrdersController] }))
    await service.listen()
    const caller = cleanups.add(connect<Orders>(client()))
    await caller.emit('orders.placed', { id: 7 })
    assert.deepEqual(await caller.request('orders.get', 7), { id: 7, total: 12 })
    const states: string[] = []
    for await (const state of caller.stream('orders.watch', 7)) states.push(state)
    assert.deepEqual(states, ['packed', 'sent'])
    assert.deepEqual(placed, [{ id: 7 }])
  })
})
