import 'reflect-metadata'
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { tcp } from '@elysia-microservices/tcp'
import { type EventStore, memory, NotStoredError } from '@elysia-microservices/transport'
import { EventPattern, Transport } from '@nestjs/microservices'
import { connect } from '../client/connect.ts'
import { microservice } from './microservice.ts'

const cleanUps: (() => Promise<unknown>)[] = []
const logger = { warn() {}, error() {} }

/** Values that come one after the other. */
function arrivals<Value>(count: number) {
  const values: Value[] = []
  let done = () => {}
  const all = new Promise<readonly Value[]>((resolve) => {
    done = () => resolve(values)
  })
  const put = (value: Value) => {
    if (values.push(value) === count) done()
  }
  return { put, all, values }
}

/** A client of a service that listens with TCP, without a store. */
function clientOf(service: { readonly address: { readonly port: number } | undefined }) {
  const client = connect({ port: service.address?.port as number, logger })
  cleanUps.push(() => client.close())
  return client
}

describe('a store beside a transport', () => {
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  it('keeps what a client without a store emits, for the durable handlers of the service that gets it', async () => {
    const store = memory()
    const seen = arrivals<readonly unknown[]>(3)
    const service = microservice({ name: 'mail', transport: tcp({ port: 0 }), store, logger })
      .event(
        'paid',
        ({ data, delivery, transport }) => seen.put(['durable', data, delivery?.group, transport]),
        {
          durable: true
        }
      )
      .event('paid', ({ data, delivery, transport }) => seen.put(['plain', data, delivery, transport]))
      .event('*', ({ data, delivery }) => seen.put(['wide', data, delivery?.group]), {
        durable: { group: 'audit' }
      })
    await service.listen()
    cleanUps.push(() => service.stop())
    await clientOf(service).emit('paid', 7)
    assert.deepEqual(
      [...(await seen.all)].sort(),
      [
        ['durable', 7, 'mail', 'memory'],
        ['plain', 7, undefined, 'tcp'],
        ['wide', 7, 'audit']
      ].sort()
    )
  })

  it('keeps what is emitted over a transport that subscribes to each pattern, also without a plain handler', async () => {
    const transport = { ...memory(), name: 'calls' }
    const seen = arrivals<readonly unknown[]>(3)
    const services = ['mail', 'audit'].map((name) =>
      microservice({ name, transport, store: memory(), logger })
        .event('paid', ({ data, transport }) => seen.put([name, data, transport]), { durable: true })
        .event('paid.*', ({ data, transport }) => seen.put([name, data, transport]), { durable: true })
    )
    services[0]?.event('paid', ({ data, transport }) => seen.put(['plain', data, transport]))
    for (const service of services) {
      await service.listen()
      cleanUps.push(() => service.stop())
    }
    const client = connect({ transport, logger })
    cleanUps.push(() => client.close())
    await client.emit('paid', 7)
    assert.deepEqual(
      [...(await seen.all)].sort(),
      [
        ['audit', 7, 'memory'],
        ['mail', 7, 'memory'],
        ['plain', 7, 'memory']
      ].sort()
    )
  })

  it('tells the sender of an event that it could not be stored', async () => {
    const { store } = memory()
    const full: EventStore = {
      ...store,
      client: (context) =>
        Object.assign(store.client(context), {
          publish: () => Promise.reject(new NotStoredError('The disk is full', true))
        })
    }
    const service = microservice({ name: 'mail', transport: tcp({ port: 0 }), store: full, logger }).event(
      'paid',
      () => {},
      { durable: true }
    )
    await service.listen()
    cleanUps.push(() => service.stop())
    const client = clientOf(service)
    const refused = new Promise<string>((resolve) =>
      client.onStatus((event) => event.type === 'event-refused' && resolve(event.pattern))
    )
    await client.emit('paid', 7)
    assert.equal(await refused, 'paid')
  })

  it('has the durable handlers of controllers, also those that are bound to a transport', async () => {
    class Mail {
      @EventPattern('paid', Transport.TCP, { durable: true })
      paid(data: unknown) {
        seen.put(data)
      }
    }
    const seen = arrivals(2)
    const store = memory()
    const service = microservice({
      name: 'mail',
      transport: tcp({ port: 0 }),
      store,
      controllers: [Mail],
      logger
    })
    await service.listen()
    cleanUps.push(() => service.stop())
    const client = connect({ port: service.address?.port as number, store, logger })
    cleanUps.push(() => client.close())
    await client.emit('paid', 'emitted')
    assert.equal((await client.publish('paid', 'published')).duplicate, false)
    assert.deepEqual([...(await seen.all)].sort(), ['emitted', 'published'])
  })

  it('subscribes at a transport only for the durable handlers that are bound to it, and to each pattern once', async () => {
    class Mail {
      @EventPattern('paid', Transport.TCP, { durable: true })
      paid(_data: unknown) {}

      @EventPattern('sent', { durable: true })
      sent(_data: unknown) {}

      @EventPattern('sent', { durable: { group: 'audit' } })
      audited(_data: unknown) {}
    }
    const asked: (string | undefined)[] = []
    const hub = memory()
    const transport = {
      ...hub,
      name: 'calls',
      server: (context: Parameters<typeof hub.server>[0]) => {
        const server = hub.server(context)
        return Object.assign(Object.create(server, { name: { value: 'calls' } }) as typeof server, {
          start: (dispatcher: Parameters<typeof server.start>[0]) => {
            asked.push(...dispatcher.routes().map(({ route }) => route))
            return server.start(dispatcher)
          },
          begin: () => server.begin?.(),
          stop: () => server.stop()
        })
      }
    }
    const service = microservice({
      name: 'mail',
      transport: [transport, tcp({ port: 0 })],
      store: memory(),
      controllers: [Mail],
      logger
    })
    await service.listen()
    cleanUps.push(() => service.stop())
    assert.deepEqual(
      asked.filter((route) => route === 'paid' || route === 'sent'),
      ['sent']
    )
  })

  it('has its own figures, and stands still when the service has stopped', async () => {
    const { store } = memory()
    const seen = arrivals(1)
    const service = microservice({ name: 'mail', transport: tcp({ port: 0 }), store, logger }).event(
      'paid',
      ({ data }) => seen.put(data),
      { durable: true }
    )
    await service.listen()
    const client = storing(store)
    await client.publish('paid', 1)
    await seen.all
    assert.deepEqual(
      service.stats().map(({ transport, durable }) => [transport, durable?.[0]?.group]),
      [
        ['tcp', undefined],
        ['memory', 'mail']
      ]
    )
    await client.group('mail').pause()
    await service.stop()
    await client.publish('paid', 2)
    assert.deepEqual(seen.values, [1])
    await client.close()
    await assert.rejects(client.publish('paid', 3), { code: 'CONNECTION' })
  })

  it('is refused if it is none, or if a transport of its kind stores events itself', () => {
    const refused = (store: unknown, transport = tcp({ port: 0 }) as never) => {
      const message = { code: 'OPTION', path: 'options.store' }
      assert.throws(() => microservice({ transport, store: store as never }), message)
      assert.throws(() => connect({ transport, store: store as never }), message)
    }
    refused(tcp({ port: 0 }))
    refused('postgres')
    refused(memory(), memory() as never)
    assert.throws(() => microservice({ transport: memory().store as never }), /options\.transport must be/)
    assert.throws(() => connect({ transport: memory().store as never }), /options\.transport must be/)
  })
})

function storing(store: EventStore) {
  const client = connect({ port: 1, store, logger })
  cleanUps.push(() => client.close())
  return client
}
