/** The parts that callers and handlers of Nest's gRPC share: metadata and patterns. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GrpcMetadata, readGrpcMetadata, valuesOfMetadata } from './grpc-metadata.ts'
import { grpcFormOf, grpcPatternsOf } from './grpc-patterns.ts'

describe('metadata of gRPC', () => {
  it("has the methods of grpc-js's class", () => {
    const metadata = new GrpcMetadata()
    metadata.set('X-User', 'Ada')
    metadata.add('x-user', 'Bob')
    metadata.set('token-bin', Buffer.from([1]))
    assert.deepEqual(metadata.get('x-USER'), ['Ada', 'Bob'])
    assert.deepEqual(metadata.getMap(), { 'x-user': 'Ada', 'token-bin': Buffer.from([1]) })
    const copy = metadata.clone()
    copy.remove('x-user')
    assert.deepEqual([copy.get('x-user'), metadata.get('x-user').length], [[], 2])
    for (const [key, value, sentence] of [
      ['a b', 'x', /illegal characters/],
      ['a', 'ü', /illegal characters/],
      ['a', Buffer.from('x'), /texts as values/],
      ['a-bin', 'x', /bytes as values/]
    ] as const)
      assert.throws(() => metadata.set(key, value), sentence)
  })

  it('is read of texts, bytes and base64, and leaves out what it cannot be', () => {
    const read = readGrpcMetadata({
      a: 'b',
      'c-bin': 'AQI,Aw==',
      'd-bin': [new Uint8Array([4])],
      'e f': 'g',
      h: 7
    })
    assert.deepEqual(valuesOfMetadata(read), [
      ['a', ['b']],
      ['c-bin', [Buffer.from([1, 2]), Buffer.from([3])]],
      ['d-bin', [Buffer.from([4])]]
    ])
  })
})

describe("patterns of Nest's decorators", () => {
  it('are known by their form', () => {
    assert.equal(grpcFormOf({ service: 'A', rpc: 'B', streaming: 'rx_stream' }), 'rx_stream')
    for (const other of ['a', null, { service: 'A', rpc: 'B' }, { service: 'A', rpc: 'B', streaming: 'x' }])
      assert.equal(grpcFormOf(other), undefined)
  })

  it('of a method have its service without the package, with its inner parts, and with all of it', () => {
    const of = (service: string, clientStreams: boolean) =>
      grpcPatternsOf({ service, name: 'Get', clientStreams }).map((one) => `${one.service} ${one.streaming}`)
    assert.deepEqual(of('shop.v1.Orders', false), [
      'Orders no_stream',
      'v1.Orders no_stream',
      'shop.v1.Orders no_stream'
    ])
    assert.deepEqual(of('Orders', true), ['Orders rx_stream', 'Orders pt_stream'])
  })
})
