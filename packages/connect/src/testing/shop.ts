/** A service of protobuf for tests, described as protobuf-es describes it, and its handlers. */
import { create, createFileRegistry, type DescService } from '@bufbuild/protobuf'
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  MethodOptions_IdempotencyLevel
} from '@bufbuild/protobuf/wkt'
import { type Message, microservice, RpcError } from 'elysia-microservices'

const { STRING, DOUBLE, INT64, BYTES } = FieldDescriptorProto_Type

function field(name: string, number: number, type: FieldDescriptorProto_Type, isList = false) {
  const label = isList ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL
  return { name, jsonName: name, number, type, label }
}

const orders = '.shop.v1.Order'

/** The file `shop.proto`. */
const file = create(FileDescriptorProtoSchema, {
  name: 'shop.proto',
  package: 'shop.v1',
  syntax: 'proto3',
  messageType: [
    {
      name: 'Order',
      field: [
        field('id', 1, STRING),
        field('prices', 2, DOUBLE, true),
        field('number', 3, INT64),
        field('blob', 4, BYTES)
      ]
    }
  ],
  service: [
    {
      name: 'Orders',
      method: [
        {
          name: 'GetOrder',
          inputType: orders,
          outputType: orders,
          options: { idempotencyLevel: MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS }
        },
        { name: 'Echo', inputType: orders, outputType: orders },
        { name: 'Fail', inputType: orders, outputType: orders },
        { name: 'Wait', inputType: orders, outputType: orders },
        { name: 'Missing', inputType: orders, outputType: orders },
        { name: 'Watch', inputType: orders, outputType: orders, serverStreaming: true },
        { name: 'Upload', inputType: orders, outputType: orders, clientStreaming: true },
        { name: 'Chat', inputType: orders, outputType: orders, clientStreaming: true, serverStreaming: true }
      ]
    }
  ]
})

const registry = createFileRegistry(file, () => undefined)

/** The service, as generated code has it. */
export const Orders = registry.getService('shop.v1.Orders') as DescService

/** The message, as handlers have it. */
export interface Order {
  readonly id: string
  readonly prices: readonly number[]
  readonly number: bigint
  readonly blob: Uint8Array
}

/** The messages of one service, as its handlers have seen them. */
export interface Seen {
  /** Messages that have begun. */
  begun: number
  /** Messages whose signal was aborted. */
  aborted: number
  /** Values that streams have made. */
  made: number
  /** The last error that reading a stream of the caller threw. */
  inputError: unknown
  /** Headers of the last message. */
  headers: Readonly<Record<string, string>>
  /** Called when one of these has changed. */
  changed(): void
}

/** Makes the service with its handlers. */
export function newShop(seen: Seen = newSeen(), options: { drain?: number } = {}) {
  const logger = { error() {}, warn() {} }
  const note = ({ headers, signal, set }: Message<unknown>) => {
    seen.begun++
    seen.headers = headers
    set.headers['x-cache'] = 'hit'
    set.headers['trace-bin'] = Uint8Array.of(0, 255)
    set.trailers['x-cost'] = '7'
    signal.addEventListener('abort', () => {
      seen.aborted++
      seen.changed()
    })
    seen.changed()
  }
  return microservice({ name: 'shop', logger, ...options })
    .message('shop.v1.Orders/GetOrder', ({ data }: Message<Order>) => ({ ...data, number: 7n }))
    .message('Orders/Echo', (message: Message<Order>) => {
      note(message)
      return message.data
    })
    .message('shop.v1.Orders/Fail', ({ data, set }: Message<Order>) => {
      set.headers['x-cache'] = 'miss'
      if (data.id === 'misset') set.headers['x-cache'] = 'é'
      if (data.id === 'bug') throw new Error('a secret')
      if (data.id === 'nest') throw { getError: () => ({ code: 5, message: 'by number' }) }
      throw new RpcError({ code: data.id, message: 'Sold out: 100 %', details: { left: 0 } })
    })
    .message('shop.v1.Orders/Wait', async (message: Message<Order>) => {
      note(message)
      await new Promise<void>((resolve) => message.signal.addEventListener('abort', () => resolve()))
    })
    .message('shop.v1.Orders/Watch', async function* (message: Message<Order>) {
      note(message)
      const { id, number } = message.data
      for (let index = 0; index < Number(number); index++) {
        seen.made++
        yield { id: `${id}${index}` }
      }
      if (id === 'fails') throw new RpcError({ code: 'NOT_FOUND', message: 'No more' })
      if (id === 'waits') await new Promise((resolve) => message.signal.addEventListener('abort', resolve))
    })
    .message('shop.v1.Orders/Upload', async (message: Message<AsyncIterable<Order>>) => {
      note(message)
      const ids: string[] = []
      try {
        for await (const { id } of message.data) {
          if (id === 'enough') break
          ids.push(id)
        }
      } catch (error) {
        seen.inputError = error
        seen.changed()
        throw error
      }
      return { id: ids.join(' ') }
    })
    .message('shop.v1.Orders/Chat', ({ data }: Message<AsyncIterable<Order>>) => data)
}

export function newSeen(): Seen {
  return { begun: 0, aborted: 0, made: 0, inputError: undefined, headers: {}, changed() {} }
}

/**
 * Makes a call with a deadline that its handler sees: on a busy machine, a short one may be over before the handler
 * begins.
 */
export async function withDeadline(
  seen: Seen,
  call: (milliseconds: number) => Promise<unknown>
): Promise<void> {
  for (let milliseconds = 50, before = seen.begun; seen.begun === before; milliseconds *= 2)
    await call(milliseconds)
}
