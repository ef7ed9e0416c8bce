/** A payload that is sent and echoed: a value, its size, and a fast check that an answer is the same value. */
import {
  makeOrder,
  makeOrderSummary,
  makeRecord,
  makeRows,
  type Order,
  type OrderSummary,
  type Row,
  type SmallRecord
} from './samples.ts'

export const shapeNames = ['flat', 'object', 'document', 'list', 'record', 'binary', 'large'] as const
export type ShapeName = (typeof shapeNames)[number]
/** The payload for a service of the user: the data of the user. */
export const customShape = 'custom' as const
export type PayloadShape = ShapeName | typeof customShape

export interface Payload {
  readonly shape: ShapeName
  /** The value that is passed to a client. */
  readonly value: unknown
  /** The size in bytes: of a string or of bytes the length, of everything else the length as JSON. */
  readonly bytes: number
  /** A description of the right answer, for the message about a wrong one. */
  readonly expected: string
  /**
   * Whether an answer is the echo. Compares only a few parts, because the check runs for every answer and must not
   * slow down the measurement.
   */
  isEcho(answer: unknown): boolean
}

interface Shape {
  /** The default size in bytes; `undefined`: the shape has a fixed size. */
  readonly defaultBytes?: number
  readonly title: string
  make(bytes: number): Omit<Payload, 'shape'>
}

export const shapes: Readonly<{ [Name in ShapeName]: Shape }> = {
  flat: { defaultBytes: 200, title: 'a string', make: stringOf },
  object: { title: 'the summary of an order', make: () => order(makeOrderSummary()) },
  document: { title: 'an order', make: () => order(makeOrder()) },
  list: { title: '100 small records', make: list },
  record: { title: 'a small record', make: record },
  binary: { defaultBytes: 16 * 1024, title: 'bytes', make: bytesOf },
  large: { defaultBytes: 256 * 1024, title: 'a large string', make: stringOf }
}

/** Creates a payload of a shape; `bytes` is only used for shapes without a fixed size. */
export function makePayload(shape: ShapeName, bytes: number = shapes[shape].defaultBytes ?? 0): Payload {
  return { shape, ...shapes[shape].make(bytes) }
}

/** A payload with data of the user. Any answer is accepted, because only the service knows what is right. */
export function customPayload(value: unknown): Payload {
  const bytes = value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
  // Clients that can send these data do not use the shape.
  return { shape: 'object', value, bytes, expected: 'any answer', isEcho: () => true }
}

/** The payload as bytes, as a peer without any encoding would send it. */
export function payloadBytes({ value }: Payload): Uint8Array {
  if (value instanceof Uint8Array) return value
  return new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
}

/** A text of `length` ASCII letters: bytes and characters are the same number, and JSON escapes none of them. */
function stringOf(length: number): Omit<Payload, 'shape'> {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz'
  const value = alphabet.repeat(Math.ceil(length / alphabet.length)).slice(0, length)
  return {
    value,
    bytes: length,
    expected: `a string of ${length} characters`,
    isEcho: (answer) => typeof answer === 'string' && answer.length === length
  }
}

/** Bytes with all values. Peers that use JSON answer with the JSON form of a Buffer. */
function bytesOf(length: number): Omit<Payload, 'shape'> {
  const value = Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 167) & 0xff))
  const middle = length >> 1
  const isSame = (bytes: ArrayLike<unknown>) =>
    bytes.length === length && bytes[middle] === value[middle] && bytes[length - 1] === value[length - 1]
  return {
    value,
    bytes: length,
    expected: `${length} bytes`,
    isEcho: (answer) => {
      if (answer instanceof Uint8Array) return isSame(answer)
      const { type, data } = (answer ?? {}) as { type?: unknown; data?: unknown }
      return type === 'Buffer' && Array.isArray(data) && isSame(data)
    }
  }
}

function order(value: Order | OrderSummary): Omit<Payload, 'shape'> {
  const items = value.items.length
  const { sku } = value.items[items - 1]!
  return {
    value,
    bytes: JSON.stringify(value).length,
    expected: `the order ${value.id} with ${items} items`,
    isEcho: (answer) => {
      const { id, placedAt, paid, total, customer, items: echoed } = (answer ?? {}) as Partial<Order>
      return (
        id === value.id &&
        placedAt === value.placedAt &&
        paid === value.paid &&
        total === value.total &&
        customer?.name === value.customer.name &&
        echoed?.length === items &&
        echoed[items - 1]?.sku === sku
      )
    }
  }
}

function list(): Omit<Payload, 'shape'> {
  const value = makeRows(100)
  const [first, last] = [value[0]!, value[value.length - 1]!]
  const isSame = (echoed: Partial<Row> | undefined, sent: Row) =>
    echoed?.id === sent.id &&
    echoed.name === sent.name &&
    echoed.active === sent.active &&
    echoed.score === sent.score
  return {
    value,
    bytes: JSON.stringify(value).length,
    expected: `a list of ${value.length} records`,
    isEcho: (answer) =>
      Array.isArray(answer) &&
      answer.length === value.length &&
      isSame(answer[0], first) &&
      isSame(answer[value.length - 1], last)
  }
}

/** One value of a stream, which can also be echoed. */
function record(): Omit<Payload, 'shape'> {
  const value = makeRecord(7)
  return {
    value,
    bytes: JSON.stringify(value).length,
    expected: `the record ${value.id}`,
    isEcho: (answer) => isRecord(answer, value.id)
  }
}

/** Whether a value is the record with this number. */
export function isRecord(value: unknown, expected: number): boolean {
  const { id, ok } = (value ?? {}) as Partial<SmallRecord>
  return id === expected && ok === true
}
