/** Ordered events over NATS while the server changes the process of a group that it serves, or is lost and found. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, Log, pause, until } from '@elysia-microservices/test-support'
import { connect as connectBare } from '@nats-io/transport-node'
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
  })
}
