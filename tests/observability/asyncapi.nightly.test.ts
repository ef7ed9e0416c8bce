/** The AsyncAPI documents that this library writes, read by the official parser. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { memory, microservice } from 'elysia-microservices'
import { asyncApi, type ServiceDescription } from 'elysia-microservices/describe'
import { fromOthers } from '../support/others.ts'
import { describedShop } from './described-shop.ts'

/** The methods of the parser's document model that tests call. */
interface Model {
  all(): Model[]
  operations(): Model
  channels(): Model
  messages(): Model
  reply(): Model | undefined
  id(): string
  get(id: string): Model | undefined
  payload(): Model | undefined
  info(): Model
  title(): string
  address(): string
  required(): string[]
}
interface Parser {
  parse(document: string): Promise<{
    readonly document: Model | undefined
    readonly diagnostics: readonly {
      readonly code: string
      readonly message: string
      readonly path: string[]
    }[]
  }>
}

describe('the official parser of AsyncAPI', () => {
  let parser: Parser
  before(async () => {
    const { Parser } = await fromOthers<{ readonly Parser: new () => Parser }>('asyncapi')
    parser = new Parser()
  })

  /** The model of a document about which the parser reports nothing. */
  async function accepted(document: object): Promise<Model> {
    const { document: model, diagnostics } = await parser.parse(JSON.stringify(document))
    assert.deepEqual(
      diagnostics.map(({ code, message, path }) => [code, message, path.join('.')]),
      []
    )
    return model!
  }

  it('accepts the document of a service that listens, and finds in it what the service has', async () => {
    const { service } = describedShop()
    await service.listen()
    try {
      const document = await accepted(asyncApi(service))
      assert.equal(document.operations().all().length, 9)
      assert.equal(document.info().title(), 'shop')
      const channels = document.channels().all()
      const create = channels.find((channel) => channel.address() === 'orders.create')
      assert.deepEqual(create?.messages().get('request')?.payload()?.required(), ['items'])
      const replies = document
        .operations()
        .all()
        .find((operation) => operation.reply()?.messages().get('error-OUT_OF_STOCK') !== undefined)
        ?.reply()
        ?.messages()
      assert.deepEqual(
        replies?.all().map((message) => message.id()),
        ['answer', 'error-OUT_OF_STOCK', 'error-CLOSED-TODAY', 'error-CLOSED-TODAY-2']
      )
      assert.deepEqual(replies?.get('error-OUT_OF_STOCK')?.payload()?.required(), [
        'code',
        'message',
        'details'
      ])
      const addresses = channels.map((channel) => channel.address())
      assert.ok(addresses.includes('orders.{part1}') && addresses.includes('files.{rest}'))
    } finally {
      await service.stop()
    }
  })

  it('accepts the document of a service without a name, handlers or an address, and of a description that came over the wire', async () => {
    await accepted(asyncApi(microservice({ transport: memory() })))
    const sent = JSON.stringify(describedShop().service.describe())
    await accepted(asyncApi(JSON.parse(sent) as ServiceDescription))
  })
})
