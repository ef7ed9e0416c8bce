import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport'
import type { DescribedHandler, DescribedService, JsonSchema } from './schema/described.ts'
import { serviceProto } from './service-proto.ts'

function handler(pattern: string, rest: Partial<DescribedHandler> = {}): DescribedHandler {
  return { kind: 'message', patterns: [{ kind: 'exact', pattern }], ...rest }
}

const text = { type: 'string' }
const object = (properties: object, required = Object.keys(properties)): JsonSchema => ({
  type: 'object',
  properties,
  required
})
const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })

const ITEM = object({ name: text, price: { type: 'number' } })
const ORDERS: DescribedService = {
  name: 'orders',
  handlers: [
    handler('orders.total', {
      data: { type: 'array', items: { type: 'number' } },
      response: { type: 'number' }
    }),
    handler('orders.place', {
      data: object(
        {
          items: { type: 'array', items: ITEM },
          status: { anyOf: [{ const: 'paid' }, { const: 'in-progress' }] },
          note: nullable(text),
          stock: {
            type: 'object',
            patternProperties: { '^(.*)$': { type: 'integer', minimum: 0, maximum: 100 } }
          },
          grid: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
          tags: nullable({ type: 'array', items: text }),
          orderId: { type: 'integer' },
          at: { type: 'string', format: 'date-time' },
          extra: {},
          first: ITEM,
          maybe: { type: 'boolean' }
        },
        ['items', 'status', 'note', 'stock', 'grid', 'tags', 'orderId', 'at', 'extra']
      ),
      response: { anyOf: [object({ id: { type: 'integer' } }), { type: 'null' }] },
      idempotent: true
    }),
    handler('orders.watch', { streams: { data: false, answer: true }, response: text }),
    handler('orders.import', { streams: { data: true, answer: false }, data: ITEM }),
    handler('payments.settled', { kind: 'event', data: object({ order: text }) }),
    handler('audit', { patterns: [{ kind: 'wildcard', pattern: 'audit.>' }] })
  ]
}

const PROTO = `// Written by \`npx elysia-microservices proto\`. Changes here are lost: change the schemas of the service.
// Not here, because they stand for many names: audit.>
syntax = "proto3";

package orders;

import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";

service Orders {
  // The pattern "orders.import"
  rpc Import (stream ImportRequest) returns (google.protobuf.Value);
  // The pattern "orders.place"
  rpc Place (PlaceRequest) returns (PlaceResponse) { option idempotency_level = IDEMPOTENT; }
  // The pattern "orders.total"
  rpc Total (TotalRequest) returns (TotalResponse);
  // The pattern "orders.watch"
  rpc Watch (google.protobuf.Value) returns (stream WatchResponse);
  // The event "payments.settled"
  rpc PaymentsSettled (PaymentsSettledRequest) returns (google.protobuf.Empty);
}

message ImportRequest {
  string name = 1;
  double price = 2;
}

message PlaceRequest {
  repeated PlaceRequestItems items = 1;
  PlaceRequestStatus status = 2;
  optional string note = 3;
  map<string, int32> stock = 4;
  repeated PlaceRequestGridItems grid = 5;
  PlaceRequestTags tags = 6;
  int64 order_id = 7;
  google.protobuf.Timestamp at = 8;
  google.protobuf.Value extra = 9;
  PlaceRequestFirst first = 10;
  optional bool maybe = 11;
}

message PlaceRequestItems {
  string name = 1;
  double price = 2;
}

message PlaceRequestGridItems {
  repeated double value = 1;
}

message PlaceRequestTags {
  repeated string value = 1;
}

message PlaceRequestFirst {
  string name = 1;
  double price = 2;
}

message PlaceResponseValue {
  int64 id = 1;
}

message PlaceResponse {
  PlaceResponseValue value = 1;
}

message TotalRequest {
  repeated double value = 1;
}

message TotalResponse {
  double value = 1;
}

message WatchResponse {
  string value = 1;
}

message PaymentsSettledRequest {
  string order = 1;
}

enum PlaceRequestStatus {
  PLACE_REQUEST_STATUS_UNSPECIFIED = 0;
  PLACE_REQUEST_STATUS_PAID = 1;
  PLACE_REQUEST_STATUS_IN_PROGRESS = 2;
}
`

describe('the .proto of a service', () => {
  it('has a method for each pattern, and a message for each schema', () => {
    assert.equal(serviceProto(ORDERS).text, PROTO)
    assert.equal(serviceProto({ describe: () => ORDERS }).text, PROTO)
    const turned = { ...ORDERS, handlers: ORDERS.handlers.toReversed() }
    assert.equal(serviceProto(turned).text, PROTO, 'the order of handlers does not matter')
  })

  it('has codecs that take what handlers take', () => {
    const { services, method } = serviceProto(ORDERS)
    assert.deepEqual(
      services[0]?.methods.map(({ pattern, kind, clientStreams, serverStreams }) => [
        pattern,
        kind,
        clientStreams,
        serverStreams
      ]),
      [
        ['orders.import', 'message', true, false],
        ['orders.place', 'message', false, false],
        ['orders.total', 'message', false, false],
        ['orders.watch', 'message', false, true],
        ['payments.settled', 'event', false, false]
      ]
    )
    assert.equal(typeof method, 'function')
    const { input, output } = serviceProto(ORDERS).method('orders.Orders/Place')!
    const value = {
      items: [{ name: 'a', price: 1.5 }],
      status: 'in-progress',
      note: null,
      stock: { a: 3 },
      grid: [[1, 2], [], [3]],
      tags: null,
      orderId: 2 ** 53 - 1,
      at: '2026-01-31T12:00:00.000Z',
      extra: null,
      maybe: false
    }
    assert.deepEqual(input.decode(input.encode(value)), value)
    assert.deepEqual(input.decode(input.encode({ ...value, at: new Date(value.at) })), value)
    const full = { ...value, note: '', tags: [], extra: [1, { a: null }], first: { name: 'b', price: 0 } }
    assert.deepEqual(input.fromJson(input.toJson(full)), full)
    for (const answer of [null, { id: 7 }]) assert.deepEqual(output.decode(output.encode(answer)), answer)
    const total = serviceProto(ORDERS).method('orders.Orders/Total')!
    assert.deepEqual(total.input.decode(total.input.encode([1, 2])), [1, 2])
    assert.deepEqual(total.input.toJson([1, 2]), { value: [1, 2] })
    assert.equal(total.output.decode(total.output.encode(3)), 3)
  })

  it('tells of a wrong value where it is in the value of the service', () => {
    const { input } = serviceProto(ORDERS).method('orders.Orders/Place')!
    assert.throws(() => input.encode({ grid: [[1], ['x']] }), { path: 'data.grid[1][0]' })
    assert.throws(() => input.encode({ status: 'lost' }), {
      path: 'data.status',
      message: /'paid', 'in-progress'/
    })
    const total = serviceProto(ORDERS).method('orders.Orders/Total')!
    assert.throws(() => total.input.encode(['x']), { path: 'data[0]' })
  })

  it('has values without a schema as any JSON', () => {
    const { input, output } = serviceProto(ORDERS).method('orders.Orders/Watch')!
    for (const value of [undefined, null, 1, 'a', [1], { a: { b: [null] } }])
      assert.deepEqual(input.decode(input.encode(value)), value)
    assert.equal(output.decode(output.encode('x')), 'x')
  })

  it('has one message for types of one name, also within themselves', () => {
    const node = {
      type: 'object',
      properties: { name: text, children: { type: 'array', items: { $ref: '#/definitions/Node' } } },
      required: ['name', 'children']
    }
    const schema = { $ref: '#/definitions/Node', definitions: { Node: node } }
    const service = { name: 'trees', handlers: [handler('trees.grow', { data: schema, response: schema })] }
    const { text: proto, method } = serviceProto(service)
    assert.match(proto, /rpc Grow \(Node\) returns \(Node\);/)
    assert.match(proto, /message Node \{\n {2}string name = 1;\n {2}repeated Node children = 2;\n\}/)
    assert.equal(typeof method, 'function')
    const { input } = serviceProto(service).method('trees.Trees/Grow')!
    const tree = { name: 'a', children: [{ name: 'b', children: [] }] }
    assert.deepEqual(input.decode(input.encode(tree)), tree)
  })
})

describe('numbers', () => {
  const with_ = (properties: object): DescribedService => ({
    name: 'a',
    handlers: [handler('b', { data: object(properties) })]
  })

  it('stay when fields are added, removed and added again', () => {
    const first = serviceProto(with_({ x: text, y: text, z: text }))
    const second = serviceProto(with_({ z: text, w: text }), { numbers: first.numbers })
    assert.match(second.text, /reserved 1, 2;\n {2}reserved "x", "y";\n {2}string z = 3;\n {2}string w = 4;/)
    const third = serviceProto(with_({ y: text, w: text }), { numbers: second.numbers })
    assert.match(third.text, /reserved 1, 3;\n {2}reserved "x", "z";\n {2}string y = 2;\n {2}string w = 4;/)
  })

  it('are new for a field with another type', () => {
    const first = serviceProto(with_({ x: text, y: text }))
    const second = serviceProto(with_({ x: { type: 'number' }, y: text }), { numbers: first.numbers })
    assert.match(second.text, /reserved 1;\n {2}string y = 2;\n {2}double x = 3;/)
    const third = serviceProto(with_({ x: text, y: text }), { numbers: second.numbers })
    assert.match(third.text, /reserved 1, 3;\n {2}string y = 2;\n {2}string x = 4;/)
  })

  it('of values of enums stay, too', () => {
    const status = (...all: string[]) => with_({ status: { enum: all } })
    const first = serviceProto(status('a', 'b'))
    const second = serviceProto(status('c', 'b'), { numbers: first.numbers })
    assert.match(
      second.text,
      /reserved 1;\n {2}reserved "B_REQUEST_STATUS_A";\n {2}B_REQUEST_STATUS_UNSPECIFIED = 0;\n {2}B_REQUEST_STATUS_B = 2;\n {2}B_REQUEST_STATUS_C = 3;/
    )
  })

  it('keep the names of package and service', () => {
    const first = serviceProto(with_({ x: text }), { package: 'shop.v1', service: 'Things' })
    assert.match(first.text, /package shop\.v1;[\s\S]*service Things \{/)
    const second = serviceProto({ ...with_({ x: text }), name: 'renamed' }, { numbers: first.numbers })
    assert.match(second.text, /package shop\.v1;[\s\S]*service Things \{/)
  })

  it('that are none are refused', () => {
    for (const numbers of [
      [],
      { package: 'a' },
      { package: 'a', service: 'A', messages: { M: { x: { number: 0 } } }, enums: {} }
    ])
      assert.throws(() => serviceProto(with_({ x: text }), { numbers }), { path: 'numbers' })
  })
})

describe('what protobuf has no word for', () => {
  const WRONG: Readonly<Record<string, JsonSchema>> = {
    "'w.a': data.x is string or number": object({ x: { anyOf: [text, { type: 'number' }] } }),
    "'w.a': data.x is one of several types": object({
      x: { anyOf: [object({ a: text }), object({ b: text })] }
    }),
    "'w.a': data.x is a tuple": object({ x: { type: 'array', items: [text, text] } }),
    "'w.a': data.x[] may be null": object({ x: { type: 'array', items: nullable(text) } }),
    "'w.a': data.x{} may be null": object({ x: { type: 'object', additionalProperties: nullable(text) } }),
    "'w.a': data.x has values of different types": object({ x: { enum: ['a', 1] } }),
    "'w.a': data.x has the value 'A'": object({ x: { enum: ['a', 'A'] } }),
    "'w.a': data has properties with names and others": { ...object({ x: text }), additionalProperties: text }
  }
  for (const [sentence, data] of Object.entries(WRONG))
    it(`is told: ${sentence}`, () => {
      assert.throws(
        () => serviceProto({ name: 'w', handlers: [handler('w.a', { data })] }),
        (error: OptionError) => error instanceof OptionError && error.message.includes(sentence)
      )
    })

  it('is told at once, with each path', () => {
    const wrong = { anyOf: [text, { type: 'number' }] }
    const service = {
      name: 'w',
      handlers: [
        handler('w.a', { data: object({ x: wrong, y: { type: 'array', items: wrong } }) }),
        handler('w.b', { response: wrong })
      ]
    }
    assert.throws(
      () => serviceProto(service),
      (error: Error) => {
        const lines = error.message.split('\n')
        assert.deepEqual(
          lines.slice(1).map((line) => line.trim().split(' is ')[0]),
          ["'w.a': data.x", "'w.a': data.y[]", "'w.b': response"]
        )
        return true
      }
    )
  })

  it('is two patterns of one name, or none at all', () => {
    assert.throws(() => serviceProto({ name: 'w', handlers: [handler('w.get'), handler('get')] }), {
      message: /'w\.get' and 'get' would both be the method Get/
    })
    assert.throws(() => serviceProto({ name: 'w', handlers: [] }), { message: /no pattern/ })
  })
})
