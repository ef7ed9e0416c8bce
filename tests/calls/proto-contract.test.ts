/** The types that `types` prints for a `.proto`, in a service and in a client that call each other over gRPC. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { grpc } from '@elysia-microservices/grpc'
import { loadProto, protoTypes } from '@elysia-microservices/protobuf'
import { collected } from '@elysia-microservices/test-support'
import { type Implements, type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { GetOrder, Order, Orders, OrdersHandlers } from '../fixtures/shop-types.ts'
import { testsFolder } from '../workspace.ts'

const FIXTURES = join(testsFolder, 'fixtures')

describe('the contract of a .proto', () => {
  it('has the types of what is sent and arrives over gRPC', async () => {
    const proto = await loadProto({ files: join(FIXTURES, 'shop.proto') })
    // The formatter writes other quotation marks.
    const types = readFileSync(join(FIXTURES, 'shop-types.ts'), 'utf8').replaceAll("'", '"')
    assert.equal(types, protoTypes(proto))

    const at = new Date(0)
    const transport = grpc({ proto, host: '127.0.0.1', port: 0 })
    const shop = microservice({ name: 'shop', transport })
      .message('shop.Orders/Get', ({ data }: Message<GetOrder>) => ({ id: data.id + 1n, status: 1, at }))
      .message('shop.Orders/Watch', async function* ({ data }: Message<GetOrder>) {
        yield { id: data.id, tags: ['new'] }
      })
      .message('shop.Orders/Add', async ({ data }: Message<AsyncIterable<Order>>) => ({
        count: (await collected(data)).flatMap(({ tags }) => tags).length
      }))
      .message('shop.Orders/Quote', async function* ({ data }: Message<AsyncIterable<GetOrder>>) {
        for await (const { id } of data) yield { id: `${id * 2n}`, status: 'PAID' as const }
      })
    shop satisfies Implements<OrdersHandlers>
    await shop.listen()
    const client = connect<Orders>({
      transport: grpc({ proto, host: '127.0.0.1', port: transport.address!.port })
    })

    const order: Order = await client.request('shop.Orders/Get', { id: '7' })
    assert.deepEqual(order, { id: 8n, status: 'PAID', tags: [], at })
    for await (const { id, tags } of client.stream('shop.Orders/Watch', { id: 7 }))
      assert.deepEqual([id, tags], [7n, ['new']])
    async function* orders() {
      yield { tags: ['a', 'b'] }
      yield { id: 1, tags: ['c'], at: '2026-01-31T12:00:00Z' }
    }
    const { count } = await client.request('shop.Orders/Add', orders())
    assert.equal(count.toFixed(), '3')
    async function* wanted() {
      yield { id: 2n ** 60n }
    }
    const [quoted] = await collected(client.stream('shop.Orders/Quote', wanted()))
    assert.deepEqual([quoted?.id, quoted?.status, quoted?.at], [2n ** 61n, 'PAID', undefined])

    const misfits = [
      // @ts-expect-error the .proto has no such method
      () => client.request('shop.Orders/Put', { id: 7 }),
      // @ts-expect-error this number is no id
      () => client.request('shop.Orders/Get', { id: true })
    ]
    for (const call of misfits)
      await assert.rejects(async () => call(), { name: /^(Option|PatternNotFound)Error$/ })

    await client.close()
    await shop.stop()
  })
})
