import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nestShapes } from '../options/nest-shapes.ts'
import { protoTypes } from '../proto-types.ts'
import { protoOfText } from '../testing/of-text.ts'

const FILES = {
  'shop.proto': `
    syntax = "proto3";
    package shop;
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/empty.proto";
    import "other.proto";
    enum Status { STATUS_UNKNOWN = 0; STATUS_PAID = 1; }
    message Order {
      message Item { string name = 1; }
      int64 id = 1;
      Status status = 2;
      repeated Item items = 3;
      map<string, bytes> seals = 4;
      optional string note = 5;
      google.protobuf.Timestamp at = 6;
      other.Order other = 7;
    }
    message Pay { int64 order_id = 1; oneof how { string card = 2; bool cash = 3; } }
    service Orders {
      rpc Get (Order.Item) returns (Order);
      rpc Watch (google.protobuf.Empty) returns (stream Pay);
      rpc Import (stream Pay) returns (google.protobuf.Empty);
    }`,
  'other.proto': 'syntax = "proto3"; package other; message Order { repeated int64 ids = 1; }'
}

describe('the types of a .proto', () => {
  it('are contracts, what arrives and what may be sent', async () => {
    assert.equal(
      protoTypes(await protoOfText(FILES)),
      `/** The service \`shop.Orders\` for its callers: \`connect<Orders>()\`. */
export interface Orders {
  "shop.Orders/Get"(data: Order_ItemInit): ShopOrder
  "shop.Orders/Watch"(data?: EmptyInit): AsyncIterable<Pay>
  "shop.Orders/Import"(data: AsyncIterable<PayInit>): Empty
}

/** The service \`shop.Orders\` for its handlers: \`satisfies Implements<OrdersHandlers>\`. */
export interface OrdersHandlers {
  "shop.Orders/Get"(data: Order_Item): ShopOrderInit
  "shop.Orders/Watch"(data?: Empty): AsyncIterable<PayInit>
  "shop.Orders/Import"(data: AsyncIterable<Pay>): EmptyInit
}

/** A message that has arrived: \`google.protobuf.Empty\`. */
export type Empty = Record<string, never>

/** A message that has arrived: \`shop.Order.Item\`. */
export interface Order_Item {
  name: string
}

/** A message that has arrived: \`other.Order\`. */
export interface OtherOrder {
  ids: bigint[]
}

/** A message that has arrived: \`shop.Pay\`. */
export type Pay = {
  orderId: bigint
} & (
  | { card: string; cash?: never }
  | { cash: boolean; card?: never }
  | { card?: never; cash?: never }
)

/** A message that has arrived: \`shop.Order\`. */
export interface ShopOrder {
  id: bigint
  status: Status
  items: Order_Item[]
  seals: { [key: string]: Uint8Array }
  note?: string
  at?: Date
  other?: OtherOrder
}

/** A message that may be sent: \`google.protobuf.Empty\`. */
export type EmptyInit = Record<string, never>

/** A message that may be sent: \`shop.Order.Item\`. */
export interface Order_ItemInit {
  name?: string | null | undefined
}

/** A message that may be sent: \`other.Order\`. */
export interface OtherOrderInit {
  ids?: readonly (bigint | number | string)[] | null | undefined
}

/** A message that may be sent: \`shop.Pay\`. */
export type PayInit = {
  orderId?: bigint | number | string | null | undefined
} & (
  | { card: string; cash?: null | undefined }
  | { cash: boolean; card?: null | undefined }
  | { card?: null | undefined; cash?: null | undefined }
)

/** A message that may be sent: \`shop.Order\`. */
export interface ShopOrderInit {
  id?: bigint | number | string | null | undefined
  status?: Status | number | null | undefined
  items?: readonly Order_ItemInit[] | null | undefined
  seals?: { readonly [key: string]: Uint8Array | string } | null | undefined
  note?: string | null | undefined
  at?: Date | string | { seconds: bigint | number; nanos?: number } | null | undefined
  other?: OtherOrderInit | null | undefined
}

/** The enum \`shop.Status\`; a number is a value that this file does not have. */
export type Status = "STATUS_UNKNOWN" | "STATUS_PAID" | number
`
    )
  })

  it('are those of the shapes', async () => {
    const proto = await protoOfText(
      FILES,
      nestShapes({ keepCase: true, longs: String, enums: String, defaults: true, oneofs: true })
    )
    const types = protoTypes(proto)
    assert.match(
      types,
      /export interface ShopOrder \{\n {2}id: string\n {2}status: Status\n {2}items: Order_Item\[\]\n {2}seals: \{ \[key: string\]: Uint8Array \}\n {2}note\?: string\n {2}at: Timestamp \| null\n {2}other: OtherOrder \| null\n\}/
    )
    assert.match(
      types,
      /export type Pay = \{\n {2}order_id: string\n\} & \(\n {2}\| \{ card: string; cash\?: never; how: "card" \}/
    )
    const numbers = protoTypes(await protoOfText(FILES, nestShapes()))
    assert.match(numbers, /id\?: \{ low: number; high: number; unsigned: boolean/)
    assert.match(numbers, /status\?: number/)
  })

  it('hide no type of TypeScript, and have one name each', async () => {
    const types = protoTypes(
      await protoOfText(`
        syntax = "proto3";
        message Date { string text = 1; }
        message Order { Date at = 1; }
        message OrderInit { Order order = 1; }
        service Order_ { rpc Get (OrderInit) returns (Order); }
      `)
    )
    assert.match(types, /export interface Date_1 /)
    assert.match(types, /at\?: Date_1\n/)
    const names = [...types.matchAll(/^export \w+ (\w+)/gm)].map(([, name]) => name)
    assert.equal(new Set(names).size, names.length, names.join(' '))
  })

  it('are of what loadProto returns', () => {
    assert.throws(() => protoTypes({} as never), { path: 'proto' })
  })
})
