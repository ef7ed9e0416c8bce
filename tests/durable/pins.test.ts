/** Ordered events over NATS while the server changes the process of a group that it serves. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { connect as connectBare } from '@nats-io/transport-node'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { Link } from '../support/link.ts'
import { Log } from '../support/log.ts'
import { isMissing } from '../support/missing.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { pause, until } from '../support/within.ts'

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

    it('go on when a handler that ran while the server was lost fails after it has come back', async () => {
      const { logger } = new Log()
      const link = await Link.start(server.port)
      const far = nats({
        servers: `nats://127.0.0.1:${link.port}`,
        durable: { ackWait: 2_000 },
        reconnectTimeWait: 50
      })
      const seen: string[] = []
      let fail = () => {}
      const failing = new Promise<void>((_, reject) => {
        fail = () => reject(new Error('once'))
      })
      const handler = ({ data, delivery }: Message<string>) => {
        seen.push(data)
        return data === 'first' && delivery?.attempt === 1 ? failing : undefined
      }
      const service = microservice({ name: 'lost', transport: far, logger }).event('lost', handler, {
        durable: { ordered: true, concurrency: 4, retry: { delay: 10 } }
      })
      const client = connect({ transport: nats({ servers: server.url }), logger })
      try {
        await service.listen()
        await client.publish('lost', 'first', { key: 'a' })
        await until('It runs', () => seen.length === 1)
        link.cutAll()
        // By then there is another connection.
        await pause(1_000)
        fail()
        await pause(100)
        await client.publish('lost', 'second', { key: 'a' })
        await client.publish('lost', 'other', { key: 'b' })
        await until('All are handled', () => seen.includes('second') && seen.includes('other'))
        const ofKey = seen.filter((data) => data !== 'other')
        assert.deepEqual(ofKey, ['first', 'first', 'second'])
      } finally {
        await client.close()
        await service.stop()
        await link.stop()
      }
    })

    it('are all handled in order, although the server changes again and again which process it serves', async () => {
      const { logger } = new Log()
      const transport = () => nats({ servers: server.url, durable: { ackWait: 2_000 } })
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
  })
}
