/** Services and clients with the codecs of a real `.proto`. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { loadProto, type Proto, protoOf } from '@elysia-microservices/protobuf'
import { collected, Log, within } from '@elysia-microservices/test-support'
import {
  type ClientTransport,
  type IncomingMessage,
  RpcError,
  StreamValues
} from '@elysia-microservices/transport/kit'
import { grpc } from './grpc.ts'
import type { GrpcClientOptions, GrpcServerOptions } from './options/options.ts'
import { dispatcherOf } from './testing/service.ts'

const SHOP = `
  syntax = "proto3";
  package shop.v1;
  import "google/protobuf/timestamp.proto";
  service Orders {
    rpc Get (Order) returns (Order);
    rpc Watch (Order) returns (stream Order);
    rpc Add (stream Order) returns (Count);
    rpc Quote (stream Order) returns (stream Order);
  }
  service Stock { rpc Left (Order) returns (Count); }
  enum State { UNKNOWN = 0; PAID = 1; }
  message Item { string sku = 1; double price = 2; }
  message Order {
    string id = 1; int64 number = 2; State state = 3; repeated Item items = 4; bytes blob = 5;
    google.protobuf.Timestamp at = 6; map<string, int32> left = 7; oneof by { string card = 8; int32 points = 9; }
  }
  message Count { int32 count = 1; }
`
const ORDER = {
  id: '7',
  number: 2n ** 60n,
  state: 'PAID',
  items: [{ sku: 'a', price: 1.5 }],
  blob: Uint8Array.of(0, 255),
  at: new Date('2026-01-31T12:00:00.5Z'),
  left: { a: 3 },
  points: 4
}
const EMPTY = { id: '', number: 0n, state: 'UNKNOWN', items: [], blob: new Uint8Array(), left: {} }

type Order = Omit<typeof ORDER, 'number'> & { readonly number: bigint }
const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')
const orderOf = ({ data }: IncomingMessage) => data as Order
const ordersOf = ({ data }: IncomingMessage) => data as AsyncIterable<Order>
async function* values<Value>(...all: readonly Value[]) {
  yield* all
}

/** A service whose handlers the test gives, and a client of it. */
async function connected(
  proto: GrpcServerOptions['proto'],
  handlers: Parameters<typeof dispatcherOf>[0],
  options: Partial<GrpcServerOptions> = {},
  own: Partial<GrpcClientOptions> = {}
): Promise<{ readonly client: ClientTransport; readonly log: Log } & AsyncDisposable> {
  const log = new Log()
  const transport = grpc({ proto, port: 0, host: '127.0.0.1', ...options })
  const server = transport.server({ name: 'test', version: undefined, logger: log.logger })
  await server.start(dispatcherOf(handlers))
  const { port } = transport.address!
  const client = grpc({ proto, host: '127.0.0.1', port, ...own }).client({
    logger: log.logger,
    timeout: 10_000,
    dispatcher: undefined
  })
  return {
    client,
    log,
    async [Symbol.asyncDispose]() {
      await client.close()
      await server.stop({ drain: 0 })
    }
  }
}

describe('a service and a client of a .proto', () => {
  let proto: Proto

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'grpc-proto-'))
    writeFileSync(join(folder, 'shop.proto'), SHOP)
    proto = await loadProto({ files: join(folder, 'shop.proto') })
    rmSync(folder, { recursive: true })
  })

  it('carry its values in calls of all four kinds', async () => {
    await using pair = await connected(proto, {
      Get: orderOf,
      async *Watch(one) {
        for (let at = 0; at < 3; at++) yield { ...orderOf(one), number: at }
      },
      async Add(one) {
        return { count: (await collected(ordersOf(one))).length }
      },
      async *Quote(one) {
        for await (const { id } of ordersOf(one)) yield { id: `<${id}>` }
      }
    })
    const { client } = pair
    const stream = (name: string, data: unknown) =>
      collected(new StreamValues((receiver) => client.stream(`shop.v1.Orders/${name}`, data, receiver)))
    assert.deepEqual(await soon(client.request('shop.v1.Orders/Get', ORDER)), ORDER)
    assert.deepEqual(await soon(client.request('shop.v1.Orders/Get', undefined)), EMPTY)
    const watched = (await soon(stream('Watch', ORDER))) as Order[]
    assert.deepEqual(
      watched.map(({ number }) => number),
      [0n, 1n, 2n]
    )
    assert.deepEqual(await soon(client.request('shop.v1.Orders/Add', values<object>(ORDER, {}, ORDER))), {
      count: 3
    })
    const quoted = (await soon(stream('Quote', values({ id: 'a' }, { id: 'b' })))) as Order[]
    assert.deepEqual(
      quoted.map(({ id }) => id),
      ['<a>', '<b>']
    )
  })

  it('say which field does not fit: to the caller its own, to the log that of a handler', async () => {
    await using pair = await connected(proto, {
      Get: () => ({ items: [{}, { price: 'dear' }] }),
      async *Watch() {
        yield { left: { a: 1.5 } }
      }
    })
    const { client, log } = pair
    await assert.rejects(soon(client.request('shop.v1.Orders/Get', { items: [{ price: '1' }] })), {
      name: 'OptionError',
      path: 'data.items[0].price',
      message: /must be a number/,
      mayHaveRun: false
    })
    const internal = { name: 'RpcError', code: 'INTERNAL', message: 'Internal server error' }
    await assert.rejects(soon(client.request('shop.v1.Orders/Get', {})), internal)
    await log.has('data.items[1].price must be a number')
    await assert.rejects(
      soon(collected(new StreamValues((receiver) => client.stream('shop.v1.Orders/Watch', {}, receiver)))),
      internal
    )
    await log.has('data.left.a must be a whole number')
    await assert.rejects(soon(client.request('shop.v1.Orders/Nothing', {})), {
      name: 'OptionError',
      message: /There is no method 'shop.v1.Orders\/Nothing'/
    })
  })

  it('refuse messages of more than 4 MB, unless their limits say otherwise', async () => {
    const blob = new Uint8Array(4_194_304)
    const handlers = { Get: orderOf, Watch: () => ({ blob }) }
    {
      await using pair = await connected(proto, handlers)
      await assert.rejects(soon(pair.client.request('shop.v1.Orders/Get', { blob })), {
        code: 'RESOURCE_EXHAUSTED',
        message: 'A message is longer than limits.messageSize (4194304 bytes)'
      })
      await assert.rejects(soon(pair.client.request('shop.v1.Orders/Watch', {})), {
        name: 'PayloadTooLargeError',
        message: '4194309 bytes of a message are more than limits.messageSize allows (4194304)',
        mayHaveRun: true
      })
    }
    const limits = { messageSize: 8_388_608 }
    await using larger = await connected(proto, handlers, { limits }, { limits })
    const answer = (await soon(larger.client.request('shop.v1.Orders/Get', { blob }))) as Order
    assert.equal(answer.blob.length, blob.length)
  })

  it('take several files, and services as protobuf-es has generated them, each with its own methods only', async () => {
    const stock = protoOf(proto.descriptors())
    const [orders] = proto.services
    const only: Proto = { ...stock, services: stock.services.filter(({ name }) => name === 'shop.v1.Stock') }
    const some: Proto = {
      ...proto,
      services: [orders!],
      method: proto.method,
      message: proto.message,
      descriptors: () => proto.descriptors()
    }
    await using pair = await connected([some, { ...only, descriptors: () => stock.descriptors() }], {
      Get: orderOf,
      Left: () => ({ count: 1 })
    })
    assert.deepEqual(await soon(pair.client.request('shop.v1.Stock/Left', {})), { count: 1 })
    assert.deepEqual(await soon(pair.client.request('shop.v1.Orders/Get', ORDER)), ORDER)
    assert.throws(() => grpc({ proto: [proto, proto] }).client(pair.client as never), {
      path: 'options.proto'
    })
    assert.throws(() => grpc({ proto: [] }).client(pair.client as never), { path: 'options.proto' })
  })

  it('have the patterns and the codes that the application chooses', async () => {
    const pattern = ({ name }: { readonly name: string }) => `orders/${name}`
    const handlers = {
      Get() {
        throw new RpcError({ code: 'SOLD_OUT', message: 'none left' })
      }
    }
    const options = { pattern, errors: { SOLD_OUT: 'failed_precondition' } } as const
    await using pair = await connected(proto, handlers, options, { pattern })
    await assert.rejects(soon(pair.client.request('orders/Get', {})), {
      code: 'SOLD_OUT',
      message: 'none left',
      received: { grpcStatus: 9, code: 'SOLD_OUT', message: 'none left', details: undefined }
    })
    assert.throws(() => grpc({ proto, errors: { A: 'gone' as never } }).server(pair.client as never), {
      path: 'options.errors.A'
    })
  })
})
