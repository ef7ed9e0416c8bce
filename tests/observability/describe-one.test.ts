/** A service can be described by its name, and an instance by its id, over every transport. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing } from '@elysia-microservices/test-support'
import { memory, microservice, type Transport } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { ServiceDescription } from 'elysia-microservices/describe'
import { describeRoute } from 'elysia-microservices/kit'
import { tcp } from 'elysia-microservices/tcp'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

const quiet = { error() {}, warn() {} }
const ends: { stop?(): Promise<void>; close?(): Promise<void> }[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await (end.close?.() ?? end.stop?.())
})

async function started(name: string, transport: Transport) {
  const service = microservice({ name, transport, describe: true, logger: quiet }).message(
    `${encodeURIComponent(name)}.only`,
    () => 1
  )
  await service.listen()
  ends.push(service)
  return service
}

function connected(transport: Transport) {
  const client = connect({ transport, logger: quiet })
  ends.push(client)
  return client
}

/** Cases for engines, which all services of a system share. */
function overEngine(transport: () => Transport): void {
  it('a service answers by its name and never for another one, an instance by its id', async () => {
    const shared = transport()
    const names = ['payments', 'notifications', 'shop.eu', 'shop', 'a b * > ü']
    const services = await Promise.all(
      [...names, 'payments', 'payments'].map((name) => started(name, shared))
    )
    const client = connected(shared)
    const ask = (route: string) => client.request<ServiceDescription>(route, {})
    for (const name of names)
      for (let n = 0; n < 10; n++) assert.equal((await ask(describeRoute(name))).name, name)
    for (const service of services) {
      const { name = '', instance } = service.describe()
      assert.equal((await ask(describeRoute(name, instance))).instance, instance)
      await assert.rejects(ask(describeRoute('nobody', instance)), { code: 'PATTERN_NOT_FOUND' })
    }
    assert.equal(new Set(services.map((service) => service.describe().instance)).size, services.length)
    await assert.rejects(ask(describeRoute('payments', 'gone')), { code: 'PATTERN_NOT_FOUND' })
    assert.ok(names.includes((await ask('elysia-microservices.describe')).name as string))
  })
}

describe('describe over memory()', () => {
  let transport: Transport
  before(() => {
    transport = memory()
  })
  overEngine(() => transport)
})

if (!isMissing('describe over NATS', natsMissing()))
  describe('describe over NATS', () => {
    let server: NatsServerProcess
    before(async () => {
      server = await NatsServerProcess.start()
    })
    after(() => server.stop())
    overEngine(() => nats({ url: server.url }))
  })

describe('describe over TCP', () => {
  it('works without a name, and by name and id as over engines', async () => {
    const door = tcp({ host: '127.0.0.1', port: 0 })
    const { name = '', instance } = (await started('shop.eu', door)).describe()
    const client = connected(tcp({ host: '127.0.0.1', port: door.address!.port }))
    for (const route of ['elysia-microservices.describe', describeRoute(name), describeRoute(name, instance)])
      assert.equal((await client.request<ServiceDescription>(route, {})).instance, instance)
    for (const route of [describeRoute('shop'), describeRoute(name, 'other')])
      await assert.rejects(client.request(route, {}), { code: 'PATTERN_NOT_FOUND' })
  })

  it('writes names as one segment', () => {
    assert.equal(describeRoute('shop.eu', 'a-1_B'), 'elysia-microservices.describe.shop%2Eeu.a-1_B')
    assert.equal(describeRoute('*'), 'elysia-microservices.describe.%2A')
  })
})
