/** Ordered events over NATS while the server changes the process of a group that it serves, or is lost and found. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, Link, Log, pause, until } from '@elysia-microservices/test-support'
import { connect as connectBare, type NatsConnection } from '@nats-io/transport-node'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

const EVENTS = 1_500
/** Events between two changes. */
const A_CHANGE = 30
const KEYS = 40
const PROCESSES = 6

if (!isMissing('ordered events over NATS', natsMissing())) {
  describe('ordered events over NATS', () => {
    let server: NatsServerProcess
    let folder: string
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'pins-'))
      server = await NatsServerProcess.start('-js', '-sd', folder)
    })
    after(async () => {
      await server.stop()
      await rm(folder, { recursive: true })
    })

    it('are all handled in order, although the server changes again and again which process it serves', async () => {
      const { logger } = new Log()
      const transport = () => nats({ url: server.url, durable: { ackWait: 2_000 } })
      const ended = new Set<number>()
      const byKey = new Map<string, number[]>()
      const handler = async ({ data, delivery }: Message<number>) => {
        const key = delivery?.key as string
        byKey.set(key, [...(byKey.get(key) ?? []), data])
        await pause(10)
        ended.add(data)
      }
      const services = Array.from({ length: PROCESSES }, () =>
        microservice({ name: 'pins', transport: transport(), logger }).event('pinned', handler, {
          // Each change makes further deliveries, and each delivery counts as an attempt.
          durable: { ordered: true, concurrency: 16, retry: { attempts: 100 } }
        })
      )
      for (const service of services) await service.listen()
      const client = connect({ transport: transport(), logger })
      const bare = await connectBare({ servers: server.url })
      for (let n = 0; n < EVENTS; ) {
        for (const end = n + A_CHANGE; n < end; n++)
          await client.publish('pinned', n, { key: `key ${n % KEYS}` })
        const request = JSON.stringify({ group: 'one' })
        const reply = await bare.request('$JS.API.CONSUMER.UNPIN.pinned.pins_pinned', request)
        assert.equal(reply.json<{ error?: unknown }>().error, undefined)
      }
      await bare.close()
      await until('All are handled', () => ended.size === EVENTS)
      for (const [key, values] of byKey) {
        const firsts = [...new Set(values)]
        assert.deepEqual(
          firsts,
          [...firsts].sort((a, b) => a - b),
          key
        )
      }
      await client.close()
      for (const service of services) await service.stop()
    })

    describe('whose handler fails', () => {
      const log = new Log()
      const cleanUps: (() => Promise<unknown>)[] = []
      let bare: NatsConnection
      before(async () => {
        bare = await connectBare({ servers: server.url })
      })
      afterEach(async () => {
        for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      })
      after(() => bare.close())

      /**
       * A group whose event 1 runs and then fails as soon as `fail` is called.
       * @param urls the server's address for each process
       */
      async function serveFailing(pattern: string, urls: readonly string[]) {
        const handled: number[] = []
        let fail = () => {}
        const isToFail = new Promise<void>((resolve) => {
          fail = resolve
        })
        let hasBegun = false
        const handler = async ({ data }: Message<number>) => {
          if (data === 1 && !hasBegun) {
            hasBegun = true
            await isToFail
            throw new Error('once')
          }
          handled.push(data)
        }
        for (const servers of urls) {
          const transport = nats({ url: servers, durable: { ackWait: 2_000 }, reconnectTimeWait: 50 })
          const service = microservice({ name: 'pins', transport, logger: log.logger }).event(
            pattern,
            handler,
            { durable: { ordered: true, concurrency: 16, retry: { attempts: 100, minDelay: 10 } } }
          )
          await service.listen()
          cleanUps.push(() => service.stop())
        }
        const client = connect({ transport: nats({ url: server.url }), logger: log.logger })
        cleanUps.push(() => client.close())
        await client.publish(pattern, 1, { key: 'one' })
        await until('The first runs', () => hasBegun)
        return { client, handled, fail }
      }

      async function delivered(pattern: string): Promise<number> {
        const answer = await bare.request(`$JS.API.CONSUMER.INFO.${pattern}.pins_${pattern}`)
        return answer.json<{ delivered: { consumer_seq: number } }>().delivered.consumer_seq
      }

      it('after its connection was lost and is there again are retried, and keep no other event waiting', async () => {
        const link = await Link.start(server.port)
        cleanUps.push(() => link.stop())
        const { client, handled, fail } = await serveFailing('cut', [`nats://127.0.0.1:${link.port}`])
        link.cutAll()
        await client.publish('cut', 2, { key: 'two' })
        await until('The second has arrived', async () => (await delivered('cut')) > 1)
        fail()
        await client.publish('cut', 3, { key: 'one' })
        await until('All are handled', () => handled.length >= 3)
        assert.deepEqual(handled.toSorted(), [1, 2, 3])
        assert.ok(handled.indexOf(1) < handled.indexOf(3))
      })

      it('after the server serves another process are retried, and keep no other event waiting', async () => {
        const { client, handled, fail } = await serveFailing('moved', [server.url, server.url])
        await bare.request('$JS.API.CONSUMER.UNPIN.moved.pins_moved', JSON.stringify({ group: 'one' }))
        await client.publish('moved', 2, { key: 'two' })
        await until('The second has arrived', async () => (await delivered('moved')) > 1)
        // The first process learns that it is no longer served when its request, valid for 5 seconds, has expired.
        await pause(8_000)
        fail()
        await client.publish('moved', 3, { key: 'one' })
        await until('All are handled', () => handled.length >= 3)
        assert.deepEqual(handled.toSorted(), [1, 2, 3])
        assert.ok(handled.indexOf(1) < handled.indexOf(3))
      })
    })
  })
}
