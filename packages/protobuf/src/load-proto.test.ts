import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { file_google_protobuf_type } from '@bufbuild/protobuf/wkt'
import { loadProto, protoOf } from './load-proto.ts'
import { protoOfText } from './testing/of-text.ts'

const ORDERS = `
syntax = "proto3"; // what others import
package shop.v1;
import "common.proto";
import "google/protobuf/empty.proto";
message GetOrder { int32 id = 1; }
message Order { int32 id = 1; common.Money total = 2; map<string, common.Money> parts = 3; }
service Orders {
  rpc Get (GetOrder) returns (Order) { option idempotency_level = NO_SIDE_EFFECTS; }
  rpc Watch (google.protobuf.Empty) returns (stream Order);
  rpc Import (stream Order) returns (.google.protobuf.Empty);
  rpc Talk (stream .shop.v1.Order) returns (stream Order) { option idempotency_level = IDEMPOTENT; }
}
`
const COMMON = `
/* shared */ syntax = "proto3";
package common;
message Money { int64 cents = 1; Currency currency = 2; enum Currency { EUR = 0; USD = 1; } }
service NotAsked { rpc Nothing (Money) returns (Money); }
`

describe('the services of a .proto file', () => {
  it('have methods with all that a transport needs', async () => {
    const { services, method } = await protoOfText({ 'orders.proto': ORDERS, 'common.proto': COMMON })
    assert.equal(services.length, 1, 'files that are only imported offer no service')
    const [orders] = services
    assert.equal(orders?.name, 'shop.v1.Orders')
    const told = orders?.methods.map(({ input, output, service, ...rest }) => {
      assert.equal(service, 'shop.v1.Orders')
      return { ...rest, input: input.typeName, output: output.typeName }
    })
    const common = {
      kind: 'message',
      noSideEffects: false,
      idempotent: false,
      clientStreams: false,
      serverStreams: false
    }
    const named = (name: string) => ({
      name,
      path: `shop.v1.Orders/${name}`,
      pattern: `shop.v1.Orders/${name}`
    })
    const EMPTY = 'google.protobuf.Empty'
    const ORDER = 'shop.v1.Order'
    assert.deepEqual(told, [
      {
        ...common,
        ...named('Get'),
        noSideEffects: true,
        idempotent: true,
        input: 'shop.v1.GetOrder',
        output: ORDER
      },
      { ...common, ...named('Watch'), serverStreams: true, input: EMPTY, output: ORDER },
      { ...common, ...named('Import'), clientStreams: true, input: ORDER, output: EMPTY },
      {
        ...common,
        ...named('Talk'),
        clientStreams: true,
        serverStreams: true,
        idempotent: true,
        input: ORDER,
        output: ORDER
      }
    ])
    assert.equal(method.length, 1)
  })

  it('are found by their path', async () => {
    const proto = await protoOfText({ 'orders.proto': ORDERS, 'common.proto': COMMON })
    assert.equal(proto.method('shop.v1.Orders/Get')?.name, 'Get')
    assert.equal(proto.method('/shop.v1.Orders/Get')?.name, 'Get')
    assert.equal(proto.method('shop.v1.Orders/get'), undefined)
    assert.equal(proto.message('common.Money')?.typeName, 'common.Money')
    assert.equal(proto.message('common.Nothing'), undefined)
    const value = {
      id: 1,
      total: { cents: 5n, currency: 'USD' },
      parts: { a: { cents: 1n, currency: 'EUR' } }
    }
    const codec = proto.message('shop.v1.Order')
    assert.deepEqual(codec?.decode(codec.encode(value)), value)
  })

  it('have the syntax of proto2: defaults, required fields, groups, closed enums', async () => {
    const proto = await protoOfText(`
      syntax = "proto2";
      message Old {
        required string name = 1;
        optional int32 count = 2 [default = 5];
        optional Color color = 3 [default = GREEN];
        repeated int32 numbers = 4;
        repeated int32 packed = 5 [packed = true];
        optional group Inner = 6 { optional int32 a = 1; }
      }
      enum Color { RED = 1; GREEN = 2; }
    `)
    const codec = proto.message('Old')!
    const value = { name: 'a', numbers: [1, 2], packed: [3, 4], inner: { a: 1 } }
    assert.deepEqual(codec.decode(codec.encode(value)), value)
    assert.equal(Buffer.from(codec.encode(value)).toString('hex'), '0a0161200120022a02030433080134')
    assert.throws(() => codec.encode({}), { path: 'data.name', message: /required/ })
    assert.throws(() => codec.encode({ name: 'a', color: 7 }), { path: 'data.color' })
  })

  it('have the features of editions', async () => {
    const proto = await protoOfText(`
      edition = "2023";
      option features.field_presence = IMPLICIT;
      message New {
        int32 plain = 1;
        int32 present = 2 [features.field_presence = EXPLICIT];
        repeated int32 expanded = 3 [features.repeated_field_encoding = EXPANDED];
        New inside = 4 [features.message_encoding = DELIMITED];
      }
    `)
    const codec = proto.message('New')!
    assert.deepEqual(codec.decode(new Uint8Array()), { plain: 0, expanded: [] })
    const value = { plain: 0, present: 0, expanded: [1, 2], inside: { plain: 1, expanded: [] } }
    assert.deepEqual(codec.decode(codec.encode(value)), value)
    assert.equal(Buffer.from(codec.encode(value)).toString('hex'), '100018011802230801' + '24')
  })

  it('ignore extensions, and options of files that are not there', async () => {
    const proto = await protoOfText(`
      syntax = "proto3";
      import "google/protobuf/descriptor.proto";
      extend google.protobuf.FieldOptions { string note = 50000; }
      message Noted { string name = 1 [(note) = "x"]; }
    `)
    const codec = proto.message('Noted')!
    assert.deepEqual(codec.decode(codec.encode({ name: 'a' })), { name: 'a' })
  })
})

describe('a wrong file', () => {
  for (const [what, text, message] of [
    ['is no protobuf', 'message {', /test\.proto is no valid \.proto file: .*line 1/],
    [
      'names a type that is nowhere',
      'syntax = "proto3"; message A { Nothing b = 1; }',
      /no such Type or Enum 'Nothing'/
    ],
    [
      'imports a file that is nowhere',
      'syntax = "proto3"; import "far/away.proto";',
      /imports far\/away\.proto, which is in none of the folders .*options\.includeDirs/
    ]
  ] as const)
    it(`that ${what} is told with its path`, async () => {
      await assert.rejects(protoOfText(text), { code: 'OPTION', message })
    })

  it('that is not there is told with its path', async () => {
    await assert.rejects(loadProto({ files: '/nowhere/a.proto' }), {
      code: 'OPTION',
      message: /no file .*nowhere.a\.proto/
    })
    await assert.rejects(loadProto({ files: [] }), { path: 'options.files' })
    await assert.rejects(loadProto({ files: 'a.proto', includeDirs: 'b' as never }), {
      path: 'options.includeDirs'
    })
  })

  it('of descriptors is told', () => {
    assert.throws(() => protoOf(Uint8Array.of(1, 2, 3)), {
      path: 'descriptors',
      message: /FileDescriptorSet/
    })
    assert.throws(() => protoOf({} as never), { path: 'descriptors' })
  })
})

describe('what protobuf-es has generated', () => {
  it('has the same codecs', () => {
    const proto = protoOf(file_google_protobuf_type as never)
    const codec = proto.message('google.protobuf.EnumValue')!
    const value = { name: 'A', number: 1, options: [] }
    assert.deepEqual(codec.decode(codec.encode(value)), value)
  })
})
