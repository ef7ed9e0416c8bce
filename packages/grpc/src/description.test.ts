import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ProtocolError, routeOf } from '@elysia-microservices/transport/kit'
import { byPatterns, withDescription } from './description.ts'
import type { GrpcMethod } from './methods.ts'
import { METHODS } from './testing/service.ts'

const ROUTE = 'elysia-microservices.describe'
const PATH = `elysia_microservices.v1.Service/${ROUTE}`
const codecs = {
  input: { encode: () => new Uint8Array(), decode: () => {} },
  output: { encode: () => new Uint8Array(), decode: () => {} }
}
const TOTAL: GrpcMethod = {
  path: 'orders.Orders/Total',
  pattern: 'orders.total',
  kind: 'message',
  clientStreams: false,
  serverStreams: false,
  ...codecs
}

describe('the question for a description', () => {
  it('has a method at both ends, for each service and instance, and for no other pattern', () => {
    const [server, client] = [withDescription(METHODS), byPatterns(METHODS)]
    for (const more of ['', '.shop%2Eeu', '.shop.1']) {
      assert.equal(client.method(ROUTE + more)?.path, PATH + more)
      assert.equal(server.method(PATH + more)?.pattern, ROUTE + more)
    }
    assert.equal(server.method('test.Kinds/Unary')?.path, 'test.Kinds/Unary')
    for (const path of ['elysia_microservices.v1.Service/orders.total', `${PATH}d`, ROUTE])
      assert.equal(server.method(path), undefined)
    assert.equal(client.method(PATH), undefined)
  })

  it('carries JSON of any size, and refuses what is none', () => {
    const { input, output } = byPatterns(METHODS).method(ROUTE)!
    assert.equal(input.decode(input.encode(undefined)), undefined)
    for (const size of [0, 1, 100, 127, 128, 20_000, 3_000_000]) {
      const value = { text: 'é'.repeat(size) }
      assert.deepEqual(output.decode(output.encode(value)), value)
    }
    for (const bytes of [[0x0a], [0x0a, 0x80], [0x12, 1, 0x31], [0x0a, 1, 0x7b]])
      assert.throws(() => output.decode(Uint8Array.from(bytes)), ProtocolError)
  })
})

describe('the methods of a client', () => {
  it('are found by the patterns of handlers, too', () => {
    const methods = byPatterns({
      services: [{ name: 'orders.Orders', methods: [TOTAL] }],
      method: (path) => (path === TOTAL.path ? TOTAL : undefined)
    })
    assert.equal(methods.method('orders.total'), TOTAL)
    assert.equal(methods.method('orders.Orders/Total'), TOTAL)
    assert.equal(methods.method('orders.nothing'), undefined)
  })

  it('are found without their package, and by what decorators of Nest name, if that fits one method alone', () => {
    const of = (service: string, name: string): GrpcMethod => ({
      ...TOTAL,
      path: `${service}/${name}`,
      pattern: `${service}/${name}`
    })
    const [get, other, list] = [of('a.v1.Orders', 'Get'), of('b.Orders', 'Get'), of('b.Orders', 'List')]
    const methods = byPatterns({
      services: [
        { name: 'a.v1.Orders', methods: [get] },
        { name: 'b.Orders', methods: [other, list] }
      ],
      method: () => undefined
    })
    const nest = (service: string, rpc: string) => routeOf({ service, rpc, streaming: 'no_stream' })
    assert.equal(methods.method('Orders/List'), list)
    assert.equal(methods.method(nest('Orders', 'List')), list)
    assert.equal(methods.method(nest('v1.Orders', 'Get')), get)
    assert.equal(methods.method(nest('b.Orders', 'Get')), other)
    for (const route of ['Orders/Get', nest('Orders', 'Get'), nest('Orders', 'None')])
      assert.equal(methods.method(route), undefined)
  })
})
