/** Events over Connect, whose answer says only that they have been taken. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serviceProto } from '@elysia-microservices/protobuf'
import { promised, within } from '@elysia-microservices/test-support'
import { type EventStore, memory } from '@elysia-microservices/transport'
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { connectRpc } from '../index.ts'
import { listen, newApp } from '../testing/app.ts'

/** An app whose store does with the event `paid` as the test says. */
async function stored(publish: () => Promise<unknown>, handler: () => unknown = () => {}, drain?: number) {
  const { store } = memory()
  const watched = {
    ...store,
    client: (context) => Object.assign(store.client(context), { publish })
  } as EventStore
  const data = t.Object({ order: t.String() })
  const shop = microservice({ name: 'shop', store: watched, drain, logger: { warn() {}, error() {} } })
    .event('paid', () => {}, { durable: true, data })
    .event('paid', handler, { data })
  const app = await listen(
    newApp()
      .use(shop)
      .use(connectRpc({ proto: serviceProto(shop) }))
  )
  const post = async (name: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await within(
      fetch(`${app.url}/shop.Shop/${name}`, {
        method: 'POST',
        body: JSON.stringify({ order: '7' }),
        headers: { 'content-type': 'application/json', ...headers }
      }),
      'an answer'
    )
    return { status: response.status, body: await response.text() }
  }
  return { app, shop, post }
}

describe('a durable event over Connect', () => {
  it('is answered when it is stored, also if its service stops meanwhile', async () => {
    const begun = promised<void>()
    const kept = promised<void>()
    const { app, shop, post } = await stored(() => kept.promise, begun.resolve)
    await using _ = app
    let isTaken = false
    const taken = post('Paid').then((answer) => {
      isTaken = true
      return answer
    })
    await within(begun.promise, 'the event')
    // The answer to a call that came behind the event.
    assert.equal((await post('Missing')).status, 404)
    assert.equal(isTaken, false)
    const stopped = shop.stop()
    kept.resolve()
    assert.deepEqual(await taken, { status: 200, body: '{}' })
    await stopped
  })

  it('is refused if it cannot be stored', async () => {
    const { app, post } = await stored(() => Promise.reject(new Error('The disk is full')))
    await using _ = app
    const { status, body } = await post('Paid')
    assert.deepEqual([status, JSON.parse(body).code], [503, 'unavailable'])
  })

  it('has the deadline of its caller', async () => {
    const kept = promised<void>()
    const { app, post } = await stored(() => kept.promise)
    await using _ = app
    const { body } = await post('Paid', { 'connect-timeout-ms': '20' })
    assert.equal(JSON.parse(body).code, 'deadline_exceeded')
    kept.resolve()
  })

  it('is not known to be stored when its service waits no longer', async () => {
    const begun = promised<void>()
    const kept = promised<void>()
    const { app, shop, post } = await stored(() => kept.promise, begun.resolve, 20)
    await using _ = app
    const taken = post('Paid')
    await within(begun.promise, 'the event')
    const stopped = shop.stop()
    assert.equal(JSON.parse((await taken).body).code, 'unavailable')
    kept.resolve()
    await stopped
  })
})
