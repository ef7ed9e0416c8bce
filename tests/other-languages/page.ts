/**
 * A program for a page, bundled and run by `page.nightly.test.ts`: calls another origin with each protocol and format
 * of Connect's client for the web. Writes the results to `globalThis.outcome`.
 */
import { createFileRegistry, type DescService, fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { type CallOptions, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'

interface Order {
  readonly id: string
  readonly price: number
}

/** The client of the service, as generated code types it. */
interface Orders {
  getOrder(request: { id: string }, options?: CallOptions): Promise<Order>
  watchOrders(request: { id: string }, options?: CallOptions): AsyncIterable<Order>
}

const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => 'no error',
    (error: unknown) => {
      const { code, rawMessage, details } = ConnectError.from(error)
      return { code, rawMessage, details: details.length }
    }
  )

async function outcomeOf(service: DescService, transport: Transport): Promise<object> {
  const orders = createClient(service, transport) as unknown as Orders
  const { id, price } = await orders.getOrder({ id: 'tea' })
  const prices: number[] = []
  for await (const order of orders.watchOrders({ id: 'tea' })) prices.push(order.price)
  let read = 0
  const leaving = new AbortController()
  // The client does not cancel a stream whose loop is left; its signal does.
  for await (const _ of orders.watchOrders({ id: 'endless' }, { signal: leaving.signal }))
    if (++read === 1_000) break
  leaving.abort()
  return {
    one: { id, price },
    prices,
    read,
    error: await errorOf(orders.getOrder({ id: '0' })),
    deadline: await errorOf(orders.getOrder({ id: 'never' }, { timeoutMs: 50 }))
  }
}

async function run(): Promise<object> {
  const { search } = (globalThis as unknown as { location: { search: string } }).location
  const baseUrl = new URLSearchParams(search).get('api') as string
  const bytes = new Uint8Array(await (await fetch('/descriptors')).arrayBuffer())
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes))
  const service = registry.getService('shop.v1.Orders') as DescService
  return {
    'Connect, JSON': await outcomeOf(service, createConnectTransport({ baseUrl })),
    'Connect, JSON by GET': await outcomeOf(service, createConnectTransport({ baseUrl, useHttpGet: true })),
    'Connect, bytes': await outcomeOf(service, createConnectTransport({ baseUrl, useBinaryFormat: true })),
    'gRPC-Web, bytes': await outcomeOf(service, createGrpcWebTransport({ baseUrl })),
    'gRPC-Web, JSON': await outcomeOf(service, createGrpcWebTransport({ baseUrl, useBinaryFormat: false }))
  }
}

Object.assign(globalThis, { outcome: run() })
