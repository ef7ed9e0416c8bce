/** An app that answers calls by a client: its services are elsewhere. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { protoOf } from '@elysia-microservices/protobuf'
import { type Message, memory, microservice, RpcError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { connectRpc } from './index.ts'
import { listen, newApp } from './testing/app.ts'
import { envelopes, postJson, postStream } from './testing/calls.ts'
import { happening } from './testing/happening.ts'
import { type Order, Orders } from './testing/shop.ts'

const logger = { error() {}, warn() {} }

/** A service of another process, and an app in front of it. */
async function started(left: () => void = () => {}) {
  const transport = memory()
  const shop = microservice({ transport, logger })
    .message('shop.v1.Orders/Echo', ({ data, headers }: Message<Order>) => ({
      id: `${data.id} of ${headers['x-tenant']}`
    }))
    .message('shop.v1.Orders/Fail', ({ data }: Message<Order>) => {
      throw new RpcError({ code: data.id, message: 'Sold out', details: { left: 0 } })
    })
    .message('shop.v1.Orders/Wait', async ({ signal }: Message<Order>) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      left()
    })
    .message('shop.v1.Orders/Watch', async function* ({ data }: Message<Order>) {
      yield { id: `${data.id}0` }
      yield { id: `${data.id}1` }
      throw new RpcError({ code: 'NOT_FOUND', message: 'No more' })
    })
    .message('shop.v1.Orders/Upload', async ({ data }: Message<AsyncIterable<Order>>) => {
      const ids: string[] = []
      for await (const { id } of data) ids.push(id)
      return { id: ids.join(' ') }
    })
  await shop.listen()
  const client = () => connect({ transport, logger })
  // The client's codec is JSON, which has no bigint and no bytes.
  const proto = protoOf(Orders, { int64: 'string', bytes: 'base64' })
  const app = await listen(newApp().use(connectRpc({ proto, client })))
  return {
    url: app.url,
    shop,
    async [Symbol.asyncDispose]() {
      await app.stop()
      await shop.stop()
    }
  }
}

describe('an app in front of other services', () => {
  it('passes on calls, their headers and their answers', async () => {
    await using app = await started()
    const { body } = await postJson(app.url, 'Echo', { id: 'a' }, { 'x-tenant': 't' })
    assert.deepEqual(body, { id: 'a of t' })
  })

  it('passes on streams in both directions', async () => {
    await using app = await started()
    const { messages, end } = await postStream(app.url, 'Watch', envelopes({ id: 'v' }))
    assert.deepEqual([messages, end?.error?.code], [[{ id: 'v0' }, { id: 'v1' }], 'not_found'])
    const uploaded = await postStream(app.url, 'Upload', envelopes({ id: 'a' }, { id: 'b' }))
    assert.deepEqual(uploaded.messages, [{ id: 'a b' }])
  })

  it('passes on errors with their details', async () => {
    await using app = await started()
    const { status, body } = await postJson(app.url, 'Fail', { id: 'CONFLICT' })
    assert.deepEqual([status, body.code, body.message], [409, 'aborted', 'Sold out'])
    assert.deepEqual(
      body.details.map((one: { debug: unknown }) => one.debug),
      [{ reason: 'CONFLICT', domain: 'elysia-microservices' }, { left: 0 }]
    )
  })

  it('passes on deadlines', async () => {
    const ended = happening<void>()
    await using app = await started(() => ended.happen())
    const { status, body } = await postJson(app.url, 'Wait', {}, { 'connect-timeout-ms': '200' })
    assert.deepEqual([status, body.code], [504, 'deadline_exceeded'])
    await ended.happened
  })

  it('is unavailable while they are, and says nothing of their addresses', async () => {
    await using app = await started()
    await app.shop.stop()
    const { status, body } = await postJson(app.url, 'Echo', {}, { 'connect-timeout-ms': '2000' })
    assert.ok([501, 503, 504].includes(status), JSON.stringify(body))
  })
})
