/**
 * Durable events over a NATS server that loses its streams, or whose streams and consumers are deleted by another
 * program.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, Log, until } from '@elysia-microservices/test-support'
import type { DurableOptions } from '@elysia-microservices/transport'
import { connect as connectBare, type NatsConnection } from '@nats-io/transport-node'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

if (!isMissing('durable events whose stream or consumer is gone', natsMissing())) {
  describe('durable events whose stream or consumer is gone', () => {
    let server: NatsServerProcess
    let operator: NatsConnection
    let client: UntypedStoringClient
    let count = 0
    const log = new Log()
    const cleanUps: (() => Promise<unknown>)[] = []
    const transport = (servers = server.url) =>
      nats({ url: servers, durable: { storage: 'memory', ackWait: 1_000 }, reconnectTimeWait: 50 })
    const fresh = () => `gone${++count}`

    async function serve(
      pattern: string,
      handler: (message: Message<number>) => unknown,
      durable: DurableOptions = {},
      servers = server.url
    ) {
      const service = microservice({ name: 'gone', transport: transport(servers), logger: log.logger }).event(
        pattern,
        handler,
        { durable }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }

    async function ask(
      subject: string,
      body: object | '' = ''
    ): Promise<{ error?: object; num_pending?: number }> {
      const answer = await operator.request(`$JS.API.${subject}`, body === '' ? '' : JSON.stringify(body))
      return answer.json()
    }

    async function mustDelete(subject: string): Promise<void> {
      const { error } = await ask(subject)
      assert.equal(error, undefined)
    }

    const unavailable = (service: { stats(): readonly { unavailable?: string | undefined }[] }) =>
      service.stats()[0]?.unavailable

    before(async () => {
      server = await NatsServerProcess.start('-js')
      operator = await connectBare({ servers: server.url, reconnectTimeWait: 50, maxReconnectAttempts: -1 })
      client = connect({ transport: transport(), logger: log.logger, timeout: 20_000 })
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      log.clear()
    })
    after(async () => {
      await client.close()
      await operator.close()
      await server.stop()
    })

    it('are reported once as not received until the cause is removed, and are received then', async () => {
      const pattern = fresh()
      const seen: number[] = []
      const service = await serve(pattern, ({ data }) => void seen.push(data))
      // Both changes at once, so that the service finds the other stream.
      const other = { name: 'other', subjects: [pattern], storage: 'memory', no_ack: true }
      const answers = [ask(`STREAM.DELETE.${pattern}`), ask('STREAM.CREATE.other', other)]
      for (const { error } of await Promise.all(answers)) assert.equal(error, undefined)
      await until('Health says so', () => unavailable(service)?.includes('has no_ack') === true)
      await mustDelete('STREAM.DELETE.other')
      await client.publish(pattern, 7)
      await until('It is handled', () => seen.includes(7))
      await until('It is well again', () => unavailable(service) === undefined)
      assert.equal(log.lines.filter((line) => line.includes('is gone')).length, 1, log.lines.join('\n'))
    })

    it('are handled in order by several processes whose consumer is deleted again and again', async () => {
      const pattern = fresh()
      const firsts = new Map<string, number[]>()
      const durable = { ordered: true, concurrency: 8, retry: { attempts: 100 } }
      const handler = ({ data, delivery }: Message<number>) => {
        const key = delivery?.key as string
        const known = firsts.get(key) ?? []
        firsts.set(key, known)
        if (!known.includes(data)) known.push(data)
      }
      for (let process = 0; process < 2; process++) await serve(pattern, handler, durable)
      for (let n = 0; n < 400; n++) {
        await client.publish(pattern, n, { key: `k${n % 10}` })
        if (n % 100 === 50) await ask(`CONSUMER.DELETE.${pattern}.gone_${pattern}`)
      }
      await until('All are handled', () => [...firsts.values()].flat().length === 400)
      for (const [key, values] of firsts)
        assert.deepEqual(
          values,
          values.toSorted((one, other) => one - other),
          key
        )
    })
  })
}
