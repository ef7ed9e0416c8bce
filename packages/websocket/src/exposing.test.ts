/** The types of a client behind a door. The assertions are about types: a wrong type does not compile. */
import { describe, it } from 'node:test'
import { memory } from '@elysia-microservices/transport'
import { Elysia } from 'elysia'
import { type EventOf, type Message, microservice } from 'elysia-microservices'
import { expectTypeOf } from 'expect-type'
import { connect } from './client.ts'
import { type Exposing, websocket } from './index.ts'

const service = microservice({ transport: memory() })
  .message('shop.items', () => [{ id: 'tea' }])
  .message('shop.prices', async function* ({ data }: Message<string>) {
    yield { item: data, price: 4 }
  })
  .message('shop.orders.all', () => 7)
  .message('stock.correct', ({ data }: Message<number>) => data)
  .message('stock.*', () => 'wildcard')
  .message({ cmd: 'sum', v: 2 }, () => 1)
  .message(7, () => 'seven')
  .event('shop.seen', ({ data }: Message<{ readonly id: string }>) => data)
  .event('stock.moved', () => {})
const door = websocket({ expose: ['shop.*', { v: 2, cmd: 'sum' }, 7] })

interface Contract {
  'shop.get'(id: number): { id: number }
  'stock.get'(id: number): number
  'shop.seen': EventOf<string>
}

describe('a client behind a door', () => {
  it('has the patterns that the door exposes', () => {
    const calls = async (client = connect<typeof service, typeof door>()) => {
      expectTypeOf(client.request('shop.items')).resolves.toEqualTypeOf<{ id: string }[]>()
      expectTypeOf(client.request({ cmd: 'sum', v: 2 })).resolves.toEqualTypeOf<number>()
      expectTypeOf(client.request(7)).resolves.toEqualTypeOf<string>()
      for await (const value of client.stream('shop.prices', 'tea'))
        expectTypeOf(value).toEqualTypeOf<{ item: string; price: number }>()
      await client.emit('shop.seen', { id: 'tea' })
    }
    expectTypeOf(calls).returns.resolves.toBeVoid()
  })

  it('has no others', () => {
    const calls = async (client = connect<typeof service, typeof door>()) => {
      // @ts-expect-error one segment more than `*` stands for
      await client.request('shop.orders.all')
      // @ts-expect-error not exposed
      await client.request('stock.correct', 1)
      // @ts-expect-error not exposed, by a wildcard either
      await client.request('stock.tea')
      // @ts-expect-error not exposed
      await client.emit('stock.moved')
    }
    expectTypeOf(calls).returns.resolves.toBeVoid()
  })

  it('has by `>` what has more segments, and of a wildcard what the wildcard stands for', () => {
    const calls = async (client = connect<typeof service, Exposing<['shop.>', 'stock.*']>>()) => {
      expectTypeOf(client.request('shop.orders.all')).resolves.toEqualTypeOf<number>()
      expectTypeOf(client.request('stock.correct', 1)).resolves.toEqualTypeOf<number>()
      expectTypeOf(client.request('stock.tea')).resolves.toEqualTypeOf<string>()
      // @ts-expect-error an object stands for itself alone
      await client.request({ cmd: 'sum', v: 2 })
    }
    expectTypeOf(calls).returns.resolves.toBeVoid()
  })

  it('has nothing of a wildcard of which one name is exposed, as at run time', () => {
    const calls = async (client = connect<typeof service, Exposing<['stock.tea']>>()) => {
      // @ts-expect-error the handler takes more than that name
      await client.request('stock.tea')
    }
    expectTypeOf(calls).returns.resolves.toBeVoid()
  })

  it('has all of them where the patterns are known at run time only, and without a door', () => {
    const patterns: string[] = ['shop.*']
    const later = websocket({ expose: patterns })
    const calls = async (
      client = connect<typeof service, typeof later>(),
      any = connect<typeof service>()
    ) => [await client.request('stock.correct', 1), await any.request('stock.correct', 1)]
    expectTypeOf(calls).returns.resolves.toEqualTypeOf<number[]>()
  })

  it('comes from a contract, too', () => {
    const calls = async (client = connect<Contract, typeof door>()) => {
      expectTypeOf(client.request('shop.get', 1)).resolves.toEqualTypeOf<{ id: number }>()
      await client.emit('shop.seen', 'tea')
      // @ts-expect-error not exposed
      await client.request('stock.get', 1)
    }
    expectTypeOf(calls).returns.resolves.toBeVoid()
  })

  it('comes from a plugin that any app can use', () => {
    expectTypeOf(new Elysia().use(service).use(door)).toExtend<Elysia>()
    expectTypeOf(door).toExtend<Exposing<readonly ['shop.*', { readonly v: 2; readonly cmd: 'sum' }, 7]>>()
  })
})
