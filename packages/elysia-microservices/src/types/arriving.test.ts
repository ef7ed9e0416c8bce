/**
 * The types that arrive: each cell of the tables in docs/types.md, as a type and at run time. A wrong type does not
 * compile.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { t } from 'elysia'
import { expectTypeOf } from 'expect-type'
import { z } from 'zod'
import { type ClientOf, connect, isError, RpcError } from '../client/index.ts'
import { type EventOf, type Message, memory, microservice, type Transport } from '../index.ts'
import { decoratorsOf, Payload } from '../nest.ts'
import { tcp } from '../tcp.ts'
import type { NotCarried } from './index.ts'

const EPOCH = new Date(0)
const TEXT = '1970-01-01T00:00:00.000Z'

interface User {
  readonly id: number
  readonly nick: string | undefined
  readonly tags?: readonly string[]
  readonly friends: User[]
}

class Order {
  readonly id = 7
  readonly at = EPOCH
  total(): number {
    return this.id
  }
}

class Money {
  readonly cents = 150
  toJSON(): string {
    return `${this.cents / 100} EUR`
  }
}

class SoldOut extends Error {
  readonly left = 3
}

const day = t
  .Transform(t.String())
  .Decode((text) => new Date(text))
  .Encode((value) => value.toISOString().slice(0, 10))
const isoDate = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString()
})
const USER: User = { id: 1, nick: undefined, friends: [] }

const newService = (transport: Transport) =>
  microservice({ transport, logger: { error() {}, warn() {} } })
    .message('plain', () => USER)
    .message('date', () => EPOCH)
    .message('inside', () => ({ at: EPOCH, user: USER }))
    .message('class', () => new Order())
    .message('toJSON', () => new Money())
    .message('method', () => ({ id: 1, save: () => 2 }))
    .message('map', () => new Map([['a', EPOCH]]))
    .message('set', () => new Set([1]))
    .message('bigint', () => 5n)
    .message('bytes', () => new Uint8Array([1, 2]))
    .message('buffer', () => Buffer.from([1, 2]))
    .message('list', () => [EPOCH, undefined])
    .message('error', () => ({ why: new SoldOut('none left') }))
    .message('dates', async function* () {
      yield EPOCH
    })
    .message('t.Date', () => ({ at: EPOCH }), { response: t.Object({ at: t.Date() }) })
    .message('transform', () => EPOCH, { response: day })
    .message('codec', () => TEXT, { response: isoDate })
    .message(
      'fails',
      ({ fail }) => {
        throw fail('CLOSED', { since: EPOCH })
      },
      { errors: { CLOSED: z.object({ since: z.date() }) } }
    )
    .message('takes plain', ({ data }: Message<User>) => data.id)
    .message('takes Date', ({ data }: Message<{ at: Date }>) => data.at instanceof Date)
    .message('takes either', ({ data }: Message<Date | string>) => typeof data)
    .message('takes class', ({ data }: Message<Order>) => data.id)
    .message('takes t.Date', ({ data }) => data.at instanceof Date, { data: t.Object({ at: t.Date() }) })
    .message('takes transform', ({ data }) => data instanceof Date, { data: day })
    .message('takes z.date', ({ data }) => data instanceof Date, { data: z.date() })
    .message('takes codec', ({ data }) => data instanceof Date, { data: isoDate })
    .message('takes dates', ({ data }: Message<AsyncIterable<Date>>) => data)
    .event('dated', ({ data }: Message<Date>) => data)

type Service = ReturnType<typeof newService>

const transports = { json: memory(), packed: memory({ codec: 'msgpack' }) }
const json = connect<Service>({ transport: transports.json })
const packed = connect<Service>({ transport: transports.packed })

const services = Object.values(transports).map(newService)
before(() => Promise.all(services.map((service) => service.listen())))
after(() => Promise.all(services.map((service) => service.stop())))

const refused = (answer: Promise<unknown>) =>
  assert.rejects(answer, (error) => error instanceof RpcError && error.code === 'INTERNAL')

/** Checks the type of an answer, and its value. */
async function gives<Type>(answer: Promise<Type>, value: Type): Promise<void> {
  assert.deepEqual(await answer, value)
}

describe('what arrives of a handler’s result', () => {
  it('is plain data, whose type keeps its name', async () => {
    expectTypeOf(json.request('plain')).toEqualTypeOf<Promise<User>>()
    expectTypeOf(packed.request('plain')).toEqualTypeOf<Promise<User>>()
    await gives(json.request('plain'), { id: 1, friends: [] } as unknown as User)
    await gives(packed.request('plain'), USER)
  })

  it('is a text of a Date by JSON, at any depth, and a Date by MessagePack', async () => {
    expectTypeOf(json.request('date')).toEqualTypeOf<Promise<string>>()
    expectTypeOf(packed.request('date')).toEqualTypeOf<Promise<Date>>()
    expectTypeOf(json.request('inside')).toEqualTypeOf<Promise<{ at: string; user: User }>>()
    expectTypeOf(() => json.stream('dates')).returns.toEqualTypeOf<AsyncIterableIterator<string>>()
    expectTypeOf(() => packed.stream('dates')).returns.toEqualTypeOf<AsyncIterableIterator<Date>>()
    await gives(json.request('date'), TEXT)
    await gives(packed.request('date'), EPOCH)
    for await (const value of json.stream('dates')) assert.equal(value, TEXT)
    for await (const value of packed.stream('dates')) assert.deepEqual(value, EPOCH)
  })

  it('has no methods of a class', async () => {
    expectTypeOf(json.request('class')).toEqualTypeOf<Promise<{ readonly id: 7; readonly at: string }>>()
    expectTypeOf(packed.request('class')).toEqualTypeOf<Promise<{ readonly id: 7; readonly at: Date }>>()
    expectTypeOf(json.request('method')).toEqualTypeOf<Promise<{ id: number }>>()
    expectTypeOf(packed.request('method')).toEqualTypeOf<Promise<{ id: number }>>()
    await gives(json.request('class'), { id: 7, at: TEXT })
    await gives(packed.request('class'), { id: 7, at: EPOCH })
    await gives(json.request('method'), { id: 1 })
    await gives(packed.request('method'), { id: 1 })
  })

  it('is what toJSON returns', async () => {
    expectTypeOf(json.request('toJSON')).toEqualTypeOf<Promise<string>>()
    expectTypeOf(packed.request('toJSON')).toEqualTypeOf<Promise<string>>()
    expectTypeOf(json.request('buffer')).toEqualTypeOf<Promise<{ type: 'Buffer'; data: number[] }>>()
    await gives(json.request('toJSON'), '1.5 EUR')
    await gives(packed.request('toJSON'), '1.5 EUR')
    await gives(json.request('buffer'), { type: 'Buffer', data: [1, 2] })
    expectTypeOf(packed.request('buffer')).toEqualTypeOf<Promise<Uint8Array>>()
    assert.deepEqual(Uint8Array.from(await packed.request('buffer')), new Uint8Array([1, 2]))
  })

  it('is nothing of a Map, Set, bigint or bytes by JSON, and the same by MessagePack', async () => {
    expectTypeOf(() => json.request('map')).returns.resolves.toEqualTypeOf<NotCarried<'json'>>()
    expectTypeOf(() => json.request('set')).returns.resolves.toEqualTypeOf<NotCarried<'json'>>()
    expectTypeOf(() => json.request('bigint')).returns.resolves.toEqualTypeOf<NotCarried<'json'>>()
    expectTypeOf(() => json.request('bytes')).returns.resolves.toEqualTypeOf<NotCarried<'json'>>()
    for (const name of ['map', 'set', 'bigint', 'bytes'] as const) await refused(json.request(name))
    await gives(packed.request('map'), new Map([['a', EPOCH]]))
    await gives(packed.request('set'), new Set([1]))
    await gives(packed.request('bigint'), 5n)
    assert.deepEqual(Uint8Array.from(await packed.request('bytes')), new Uint8Array([1, 2]))
  })

  it('is null of undefined in a list by JSON, and undefined by MessagePack', async () => {
    expectTypeOf(json.request('list')).toEqualTypeOf<Promise<(string | null)[]>>()
    expectTypeOf(packed.request('list')).toEqualTypeOf<Promise<(Date | undefined)[]>>()
    await gives(json.request('list'), [TEXT, null])
    await gives(packed.request('list'), [EPOCH, undefined])
  })

  it('is only the own members of an error by JSON, and nothing by MessagePack', async () => {
    expectTypeOf(json.request('error')).toEqualTypeOf<Promise<{ why: { readonly left: 3 } }>>()
    expectTypeOf(() => packed.request('error')).returns.resolves.toEqualTypeOf<{
      why: NotCarried<'msgpack'>
    }>()
    await gives(json.request('error'), { why: { left: 3 } })
    await refused(packed.request('error'))
  })

  it('is the encoded form of a schema of t, with every codec', async () => {
    expectTypeOf(json.request('t.Date')).toEqualTypeOf<Promise<{ at: string }>>()
    expectTypeOf(packed.request('t.Date')).toEqualTypeOf<Promise<{ at: string }>>()
    expectTypeOf(json.request('transform')).toEqualTypeOf<Promise<string>>()
    expectTypeOf(packed.request('transform')).toEqualTypeOf<Promise<string>>()
    for (const client of [json, packed]) {
      assert.deepEqual(await client.request('t.Date'), { at: TEXT })
      assert.equal(await client.request('transform'), '1970-01-01')
    }
  })

  it('is what arrives of the output of a Standard Schema', async () => {
    expectTypeOf(json.request('codec')).toEqualTypeOf<Promise<string>>()
    expectTypeOf(packed.request('codec')).toEqualTypeOf<Promise<Date>>()
    await gives(json.request('codec'), TEXT)
    await gives(packed.request('codec'), EPOCH)
  })

  it('is JSON in the details of an error, with every codec', async () => {
    for (const client of [json, packed] as const) {
      const { error } = await client.safe.request('fails')
      assert.ok(isError(error, 'CLOSED'))
      expectTypeOf(error.details).toEqualTypeOf<{ since: string }>()
      assert.deepEqual(error.details, { since: TEXT })
    }
  })

  it('is what a contract or a controller says, carried by the codec', async () => {
    const orders = () => connect<Orders>({ transport: transports.json })
    expectTypeOf(() => orders().request('orders.get', 1)).returns.toEqualTypeOf<Promise<{ at: string }>>()
    expectTypeOf(() => orders().stream('orders.watch')).returns.toEqualTypeOf<AsyncIterableIterator<string>>()
    // @ts-expect-error JSON delivers no Date
    expectTypeOf(() => orders().emit('orders.placed', EPOCH)).toBeFunction()
    const byPack = () => connect<Orders>({ transport: transports.packed })
    expectTypeOf(() => byPack().request('orders.get', 1)).returns.toEqualTypeOf<Promise<{ at: Date }>>()
    expectTypeOf(() => byPack().emit('orders.placed', EPOCH)).toBeFunction()
    const controllers = memory()
    const logger = { error() {}, warn() {} }
    await using service = microservice({ transport: controllers, controllers: [OrdersController], logger })
    await service.listen()
    await using client = connect<Orders>({ transport: controllers })
    await gives(client.request('orders.get', 1), { at: TEXT })
  })
})

interface Orders {
  'orders.get'(id: number): { at: Date }
  'orders.watch'(): AsyncIterable<Date>
  'orders.placed': EventOf<Date>
}
const { MessagePattern } = decoratorsOf<Orders>()

class OrdersController {
  @MessagePattern('orders.get')
  get(@Payload() _id: number) {
    return { at: EPOCH }
  }
}

describe('what a caller may send', () => {
  it('is plain data', async () => {
    assert.equal(await json.request('takes plain', USER), 1)
    assert.equal(await packed.request('takes plain', USER), 1)
  })

  it('is a Date only with a codec that delivers a Date', async () => {
    // @ts-expect-error the handler would get a text
    const asText: Promise<boolean> = json.request('takes Date', { at: EPOCH })
    assert.equal(await asText, false)
    assert.equal(await packed.request('takes Date', { at: EPOCH }), true)
  })

  it('is a Date by JSON if the handler takes its text, too', async () => {
    assert.equal(await json.request('takes either', EPOCH), 'string')
    assert.equal(await packed.request('takes either', EPOCH), 'object')
  })

  it('is no object of a class with methods', () => {
    // @ts-expect-error the handler would get an object without methods
    expectTypeOf(() => json.request('takes class', new Order())).toBeFunction()
    // @ts-expect-error the handler would get an object without methods
    expectTypeOf(() => packed.request('takes class', new Order())).toBeFunction()
  })

  it('is a Date, its text or its milliseconds for t.Date, with every codec', async () => {
    for (const client of [json, packed] as const)
      for (const at of [EPOCH, TEXT, 0]) assert.equal(await client.request('takes t.Date', { at }), true)
  })

  it('is the encoded form for a transform or a codec', async () => {
    for (const client of [json, packed] as const) {
      assert.equal(await client.request('takes transform', '1970-01-01'), true)
      assert.equal(await client.request('takes codec', TEXT), true)
    }
    // @ts-expect-error a text
    expectTypeOf(() => packed.request('takes transform', EPOCH)).toBeFunction()
    // @ts-expect-error a text
    expectTypeOf(() => json.request('takes codec', EPOCH)).toBeFunction()
  })

  it('is nothing by JSON for a schema of dates that reads no text', async () => {
    // @ts-expect-error the schema refuses the text that arrives
    expectTypeOf(() => json.request('takes z.date', EPOCH)).toBeFunction()
    await assert.rejects(connect({ transport: transports.json }).request('takes z.date', EPOCH), {
      code: 'VALIDATION'
    })
    assert.equal(await packed.request('takes z.date', EPOCH), true)
  })

  it('is judged in streams and events, too', async () => {
    async function* dates() {
      yield EPOCH
    }
    // @ts-expect-error the handler would get texts
    expectTypeOf(() => json.stream('takes dates', dates())).toBeFunction()
    // @ts-expect-error the handler would get a text
    expectTypeOf(() => json.emit('dated', EPOCH)).toBeFunction()
    expectTypeOf(() => packed.emit('dated', EPOCH)).toBeFunction()
    // @ts-expect-error every store keeps events as JSON
    expectTypeOf(() => packed.publish('dated', EPOCH)).toBeFunction()
    for await (const value of packed.stream('takes dates', dates())) assert.deepEqual(value, EPOCH)
  })
})

describe('the codec of a client', () => {
  it('is known from its options or its transport', () => {
    expectTypeOf(() => connect<Service>({ codec: 'shapes' })).returns.toEqualTypeOf<ClientOf<Service>>()
    expectTypeOf(() => connect<Service>({ transport: tcp({ codec: 'shapes' }) })).returns.toEqualTypeOf<
      ClientOf<Service>
    >()
    expectTypeOf(() => connect<Service>({ codec: 'msgpack' })).returns.toEqualTypeOf<
      ClientOf<Service, 'msgpack'>
    >()
    expectTypeOf(() => connect<Service>({ transport: tcp({ codec: 'msgpack' }) })).returns.toEqualTypeOf<
      ClientOf<Service, 'msgpack'>
    >()
    expectTypeOf(() => connect<Service>({ transport: tcp() })).returns.toEqualTypeOf<ClientOf<Service>>()
    expectTypeOf(() => connect<Service>({ codec: 'application/json' }).request('plain')).toBeFunction()
  })

  it('may be one of several: then all that may arrive is in the type', () => {
    const one = (codec: 'json' | 'msgpack') => connect<Service>({ codec }).request('date')
    expectTypeOf(one).returns.toEqualTypeOf<Promise<string | Date>>()
    const send = (codec: 'json' | 'msgpack') => {
      // @ts-expect-error JSON delivers no Date
      return connect<Service>({ codec }).emit('dated', EPOCH)
    }
    expectTypeOf(send).toBeFunction()
  })

  it('of bytes carries nothing else', () => {
    const bytes = () => connect<Service>({ codec: 'bytes' })
    expectTypeOf(() => bytes().request('bytes')).returns.resolves.toExtend<Uint8Array>()
    expectTypeOf(() => bytes().request('date')).returns.resolves.toEqualTypeOf<NotCarried<'bytes'>>()
  })
})
