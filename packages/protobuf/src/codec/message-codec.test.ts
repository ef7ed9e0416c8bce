import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError, ProtocolError } from '@elysia-microservices/transport'
import type { MessageCodec } from '../proto.ts'
import type { ProtoShapes } from '../proto-shapes.ts'
import { protoOfText } from '../testing/of-text.ts'

const SHOP = `
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/any.proto";

enum Status { STATUS_UNKNOWN = 0; STATUS_PAID = 1; }
message Item { string name = 1; uint32 count = 2; }
message Order {
  int64 order_id = 1;
  Status status = 2;
  repeated Item items = 3;
  map<string, int32> stock = 4;
  map<int32, Item> by_number = 17;
  optional string note = 5;
  oneof payment { string card = 6; bool cash = 7; }
  bytes seal = 8;
  Item first = 9;
  double total = 10;
  float weight = 11;
  int64 as_number = 12 [jstype = JS_NUMBER];
  int64 as_text = 13 [jstype = JS_STRING];
  string constructor = 14;
}
message Known {
  google.protobuf.Timestamp at = 1;
  google.protobuf.Duration took = 2;
  google.protobuf.Struct data = 3;
  google.protobuf.Value any_value = 4;
  google.protobuf.Int32Value count = 5;
  google.protobuf.FieldMask mask = 6;
  google.protobuf.Any any = 7;
  repeated google.protobuf.StringValue names = 8;
  google.protobuf.ListValue list = 9;
  oneof choice { google.protobuf.BoolValue yes = 10; google.protobuf.Struct more = 11; }
}
`

async function codecs(shapes: ProtoShapes = {}): Promise<{ order: MessageCodec; known: MessageCodec }> {
  const proto = await protoOfText(SHOP, shapes)
  return {
    order: proto.message('shop.Order') as MessageCodec,
    known: proto.message('shop.Known') as MessageCodec
  }
}

const EMPTY = {
  orderId: 0n,
  status: 'STATUS_UNKNOWN',
  items: [],
  stock: {},
  byNumber: {},
  seal: new Uint8Array(),
  total: 0,
  weight: 0,
  asNumber: 0,
  asText: '0',
  constructor: ''
}

/** The value that arrives. */
function arriving(codec: MessageCodec, value: unknown): unknown {
  const bytes = codec.encode(value)
  const read = codec.decode(bytes)
  assert.deepEqual(codec.fromJson(codec.toJson(value)), read, 'bytes and JSON say the same')
  return read
}

describe('a message', () => {
  it('arrives with its defaults, without what was not set', async () => {
    const { order } = await codecs()
    for (const nothing of [undefined, null, {}, { note: undefined, card: null }])
      assert.deepEqual(arriving(order, nothing), EMPTY)
    assert.equal(order.encode({}).length, 0)
  })

  it('has every kind of field', async () => {
    const { order } = await codecs()
    const value = {
      orderId: 2n ** 62n,
      status: 'STATUS_PAID',
      items: [{ name: 'ä', count: 2 }],
      stock: { a: -1, ['__proto__']: 3 },
      byNumber: { 7: { name: 'b', count: 0 } },
      note: '',
      cash: false,
      seal: Uint8Array.of(1, 255),
      first: { name: 'c', count: 1 },
      total: 1.5,
      weight: 0.5,
      asNumber: 7,
      asText: '9007199254740993',
      constructor: 'x'
    }
    assert.deepEqual(arriving(order, value), value)
  })

  it('takes other forms of the same values, and the names of the file', async () => {
    const { order } = await codecs()
    const given = {
      order_id: 7,
      status: 1,
      stock: new Map([['a', 1]]),
      seal: 'AQ==',
      asNumber: 7n,
      asText: { low: 1, high: 2, unsigned: false },
      unknown: 1
    }
    assert.deepEqual(arriving(order, given), {
      ...EMPTY,
      orderId: 7n,
      status: 'STATUS_PAID',
      stock: { a: 1 },
      seal: Uint8Array.of(1),
      asNumber: 7,
      asText: '8589934593'
    })
  })

  it('keeps the number of an enum that has no name for it', async () => {
    const { order } = await codecs()
    assert.deepEqual(arriving(order, { status: 9 }), { ...EMPTY, status: 9 })
  })

  it('does not share memory with the bytes it came from', async () => {
    const { order } = await codecs()
    const bytes = Buffer.from(order.encode({ seal: Uint8Array.of(1, 2) }))
    const { seal } = order.decode(bytes) as { seal: Uint8Array }
    bytes.fill(0)
    assert.deepEqual(seal, Uint8Array.of(1, 2))
  })

  for (const [what, value, path, sentence] of [
    [
      'a text for a number',
      { items: [{}, { count: 'two' }] },
      'data.items[1].count',
      /whole number from 0 to 4294967295, but is 'two'/
    ],
    ['a number for a text', { items: [{ name: 5 }] }, 'data.items[0].name', /must be a text, but is 5/],
    ['an object for a list', { items: {} }, 'data.items', /must be an array/],
    [
      'a list for a message',
      { first: [] },
      'data.first',
      /must be an object \(shop\.Item\), but is an array/
    ],
    [
      'an unknown name of an enum',
      { status: 'PAID' },
      'data.status',
      /one of 'STATUS_UNKNOWN', 'STATUS_PAID' \(shop\.Status\), but is 'PAID'/
    ],
    [
      'too many bits',
      { orderId: 2n ** 63n },
      'data.orderId',
      /from -9223372036854775808 to 9223372036854775807/
    ],
    ['a number beyond 2^53', { orderId: 2 ** 60 }, 'data.orderId', /a bigint, a text, or a number/],
    [
      'two fields of a oneof',
      { card: '1', cash: true },
      'data.cash',
      /'card', but only one of the oneof 'payment'/
    ],
    ['a key that is no number', { byNumber: { a: {} } }, 'data.byNumber.a', /whole number/],
    ['a number in a float that is too large', { weight: 1e300 }, 'data.weight', /a float holds/],
    [
      'an item that is missing',
      { items: [null] },
      'data.items[0]',
      /must be an object \(shop\.Item\), but is null/
    ],
    ['a text for the whole', 'order', 'data', /must be an object \(shop\.Order\)/]
  ] as const)
    it(`refuses ${what}, and says where`, async () => {
      const { order } = await codecs()
      for (const write of [() => order.encode(value), () => order.toJson(value)])
        assert.throws(write, (error: OptionError) => {
          assert.ok(error instanceof OptionError)
          assert.equal(error.path, path)
          assert.match(error.message, sentence)
          return true
        })
    })

  it('that contains itself is refused', async () => {
    const { known } = await codecs()
    const data: Record<string, unknown> = {}
    data['self'] = data
    assert.throws(() => known.encode({ data }), { code: 'OPTION', message: /contains itself/ })
  })

  it('says what of foreign bytes or JSON it cannot read', async () => {
    const { order } = await codecs()
    assert.throws(() => order.decode(Uint8Array.of(0x0a, 0xff)), ProtocolError)
    assert.throws(() => order.fromJson({ status: {} }), {
      code: 'PROTOCOL',
      message: /shop\.Order: .*enum shop\.Status/
    })
    const numbers = (await codecs({ int64: 'number' })).order
    assert.throws(() => numbers.decode(order.encode({ orderId: 2n ** 60n })), {
      code: 'PROTOCOL',
      message: /data\.orderId is 1152921504606846976.*int64: 'bigint'/
    })
  })

  it('ends at a depth that no message needs', async () => {
    const { message } = await protoOfText('syntax = "proto3"; message M { M m = 1; }').then((proto) => ({
      message: proto.message('M') as MessageCodec
    }))
    let deep: object = {}
    for (let depth = 0; depth < 200; depth++) deep = { m: deep }
    assert.throws(() => message.decode(message.encode(deep)), {
      code: 'PROTOCOL',
      message: /recursion depth/
    })
  })
})

describe('the shapes', () => {
  it('say how values arrive', async () => {
    const { order } = await codecs({
      names: 'proto',
      int64: 'string',
      enums: 'number',
      bytes: 'base64',
      defaults: 'none',
      oneofs: 'named'
    })
    const value = { order_id: '5', status: 1, seal: 'AQ==', card: 'x', payment: 'card', constructor: 'y' }
    assert.deepEqual(arriving(order, value), value)
    assert.deepEqual(arriving(order, {}), {})
  })

  it('may be functions', async () => {
    const { order } = await codecs({
      names: (name) => name.toUpperCase(),
      int64: (value) => ({ value }),
      bytes: (bytes) => [...bytes],
      defaults: 'lists'
    })
    assert.deepEqual(order.decode(order.encode({ ORDER_ID: 1, SEAL: [1] })), {
      ORDER_ID: { value: 1n },
      SEAL: [1],
      ITEMS: [],
      STOCK: {},
      BY_NUMBER: {}
    })
  })

  it('convert what does not fit, if they are not strict', async () => {
    const { order } = await codecs({ strict: false })
    const given = { items: [{ name: 5, count: '7' }], total: '1.5', cash: 1, orderId: 7.9 }
    assert.deepEqual(order.decode(order.encode(given)), {
      ...EMPTY,
      items: [{ name: '5', count: 7 }],
      total: 1.5,
      cash: true,
      orderId: 7n
    })
  })

  it('are checked', async () => {
    await assert.rejects(protoOfText(SHOP, { int64: 'long' as 'bigint' }), {
      path: 'options.int64',
      message: /'bigint' or 'number' or 'string' or a function/
    })
    await assert.rejects(protoOfText(SHOP, { longs: String } as object), { code: 'OPTION', message: /longs/ })
  })
})

describe('well-known types', () => {
  const at = new Date('2026-01-31T12:00:00.250Z')
  const value = {
    at,
    took: '1.500s',
    data: { a: [1, 'b', null, { c: true }] },
    anyValue: null,
    count: 0,
    mask: ['a.b', 'c'],
    any: { '@type': 'type.googleapis.com/shop.Item', name: 'x', count: 1 },
    names: ['', 'a'],
    list: [1, [2]],
    yes: false
  }

  it('are values', async () => {
    const { known } = await codecs()
    assert.deepEqual(arriving(known, value), value)
    assert.deepEqual(arriving(known, { more: { a: 1 } }), { names: [], more: { a: 1 } })
  })

  it('may be the messages that they are', async () => {
    const { known } = await codecs({ wellKnown: 'messages', int64: 'number', defaults: 'none' })
    const read = known.decode(known.encode({ at, took: '1s' }))
    assert.deepEqual(read, {
      at: { seconds: at.getTime() / 1000 - 0.25, nanos: 250_000_000 },
      took: { seconds: 1 }
    })
    const messages = {
      data: { fields: { a: { numberValue: 1 } } },
      count: { value: 3 },
      names: [{ value: 'a' }, {}],
      mask: { paths: ['a'] },
      yes: { value: true }
    }
    assert.deepEqual(known.decode(known.encode(messages)), messages)
  })

  it('have times as texts with all their digits', async () => {
    const { known } = await codecs({ timestamps: 'text', durations: 'message' })
    for (const [given, text] of [
      ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
      ['2026-01-31T12:00:00.123456789+02:00', '2026-01-31T10:00:00.123456789Z'],
      ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59.500Z'],
      ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z']
    ])
      assert.deepEqual(known.decode(known.encode({ at: given })), { at: text, names: [] })
    assert.deepEqual(known.decode(known.encode({ took: '-0.5s' })), {
      took: { seconds: 0n, nanos: -500_000_000 },
      names: []
    })
  })

  for (const [what, wrong, path] of [
    ['a text that is no time', { at: 'yesterday' }, 'data.at'],
    ['an invalid Date', { at: new Date(Number.NaN) }, 'data.at'],
    ['a year beyond 9999', { at: new Date(8.64e15) }, 'data.at'],
    ['a span without a unit', { took: '5' }, 'data.took'],
    ['what JSON does not have', { data: { a: { b: 5n } } }, 'data.data.a.b'],
    ['Any without a type', { any: { name: 'x' } }, 'data.any'],
    ['Any of an unknown type', { any: { '@type': 'shop.Nothing' } }, 'data.any']
  ] as const)
    it(`refuse ${what}`, async () => {
      const { known } = await codecs()
      assert.throws(() => known.encode(wrong), { code: 'OPTION', path })
    })

  it('keep Any of a type that no file has as bytes', async () => {
    const { known } = await codecs()
    const any = { '@type': 'type.googleapis.com/other.Thing', value: Uint8Array.of(8, 1) }
    assert.deepEqual(known.decode(known.encode({ any })), { any, names: [] })
  })
})
