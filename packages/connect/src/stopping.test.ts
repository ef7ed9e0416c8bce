/** Apps that stop while calls are in flight, and CORS. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connectCors, connectRpc } from './index.ts'
import { listen, newApp } from './testing/app.ts'
import { envelopes, postJson, postStream } from './testing/calls.ts'
import { happening } from './testing/happening.ts'
import { newSeen, newShop, Orders } from './testing/shop.ts'

describe('an app that stops', () => {
  it('cuts the calls in flight that have not ended in time, and says so', async () => {
    const seen = newSeen()
    const begun = happening<void>()
    seen.changed = () => begun.happen()
    const shop = newShop(seen, { drain: 20 })
    const app = await listen(
      newApp()
        .use(shop)
        .use(connectRpc({ proto: Orders }))
    )
    const stream = postStream(app.url, 'Watch', envelopes({ id: 'waits', number: 1 }))
    await begun.happened
    const stopping = shop.stop()
    const { messages, end } = await stream
    assert.deepEqual([messages, end?.error?.code], [[{ id: 'waits0' }], 'unavailable'])
    await stopping
    await app.stop()
  })

  it('refuses further calls when its services have stopped', async () => {
    const shop = newShop()
    await using app = await listen(
      newApp()
        .use(shop)
        .use(connectRpc({ proto: Orders }))
    )
    assert.equal((await postJson(app.url, 'Echo', {})).status, 200)
    await shop.stop()
    const { status, body } = await postJson(app.url, 'Echo', {})
    assert.deepEqual([status, body.code], [503, 'unavailable'])
  })
})

describe('the headers for pages of other origins', () => {
  it('are those that clients of Connect and gRPC-Web send and read', () => {
    const sent = connectCors.allowedHeaders.map((name) => name.toLowerCase())
    for (const name of [
      'content-type',
      'connect-protocol-version',
      'connect-timeout-ms',
      'grpc-timeout',
      'x-grpc-web'
    ])
      assert.ok(sent.includes(name), name)
    assert.ok(connectCors.exposeHeaders.includes('Grpc-Status-Details-Bin'))
  })
})
