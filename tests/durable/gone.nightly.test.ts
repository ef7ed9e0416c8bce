/**
 * Durable events over a NATS server that loses its streams, or whose streams and consumers are deleted by another
 * program.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, Link, Log, until } from '@elysia-microservices/test-support'
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

    it('are handled from the last position of the group when the consumer is deleted while all handlers are busy', async () => {
      const pattern = fresh()
      const seen: number[] = []
      let free = () => {}
      const isFree = new Promise<void>((resolve) => {
        free = resolve
      })
      const service = await serve(
        pattern,
        async ({ data }) => {
          if (data < 2) await isFree
          seen.push(data)
        },
        { concurrency: 2 }
      )
      for (const n of [0, 1, 2]) await client.publish(pattern, n)
      await until('Both are busy', () => service.stats()[0]?.inFlight.current === 2)
      await mustDelete(`CONSUMER.DELETE.${pattern}.gone_${pattern}`)
      await client.publish(pattern, 3)
      // All handlers are busy, so no events are requested, and yet the loss is noticed.
      await until('It is there again', async () => {
        const { error } = await ask(`CONSUMER.INFO.${pattern}.gone_${pattern}`)
        return error === undefined
      })
      free()
      await until('All are handled', () => new Set(seen).size === 4)
      assert.deepEqual(seen.toSorted(), [0, 1, 2, 3])
      // The new consumer answers requests to the lost one, perhaps before this service knows that it exists.
      await until('It is well again', () => unavailable(service) === undefined)
      assert.equal(log.lines.filter((line) => line.includes('is gone')).length, 1, log.lines.join('\n'))
    })

    it('are handled when the server has come back without its streams', async () => {
      const pattern = fresh()
      const seen: number[] = []
      const service = await serve(pattern, ({ data }) => void seen.push(data))
      await client.publish(pattern, 1)
      await until('It is handled', () => seen.length === 1)
      await server.stop()
      await server.start()
      for (const n of [2, 3]) await client.publish(pattern, n)
      await until('All are handled', () => seen.length >= 3)
      assert.deepEqual(seen, [1, 2, 3])
      await until('It is well again', () => unavailable(service) === undefined)
      assert.equal(log.lines.filter((line) => line.includes('is gone')).length, 1, log.lines.join('\n'))
    })

    it('are handled in order by the process that has them when the server has come back without its streams', async () => {
      const pattern = fresh()
      const seen: number[] = []
      let free = () => {}
      const isFree = new Promise<void>((resolve) => {
        free = resolve
      })
      let isBusy = false
      const service = await serve(
        pattern,
        async ({ data }) => {
          isBusy = true
          await isFree
          seen.push(data)
        },
        { ordered: true, concurrency: 1 }
      )
      for (const n of [0, 1, 2, 3]) await client.publish(pattern, n, { key: 'one' })
      await until('The first runs', () => isBusy)
      await until('All have arrived', async () => {
        const { num_pending } = await ask(`CONSUMER.INFO.${pattern}.gone_${pattern}`)
        return num_pending === 0
      })
      await server.stop()
      await server.start()
      await until('The loss is noticed', () => log.lines.some((line) => line.includes('is gone')))
      free()
      await client.publish(pattern, 4, { key: 'one' })
      await until('All are handled', () => seen.length >= 5)
      assert.deepEqual(seen, [0, 1, 2, 3, 4])
      await until('It is well again', () => unavailable(service) === undefined)
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

    it('are not skipped when a process that starts creates the deleted consumer before a running process does', async () => {
      const pattern = fresh()
      const seen: number[] = []
      const handler = ({ data }: Message<number>) => void seen.push(data)
      const link = await Link.start(server.port)
      cleanUps.push(() => link.stop())
      const running = await serve(pattern, handler, {}, `nats://127.0.0.1:${link.port}`)
      await client.publish(pattern, 1)
      await until('The first is handled', () => seen.length === 1)
      link.hold()
      await mustDelete(`CONSUMER.DELETE.${pattern}.gone_${pattern}`)
      for (const n of [2, 3]) await client.publish(pattern, n)
      const started = await serve(pattern, handler)
      await client.publish(pattern, 4)
      await until('The new process handles events', () => seen.includes(4))
      link.release()
      await until('All are handled', () => new Set(seen).size === 4)
      for (const service of [running, started])
        await until('It is well again', () => unavailable(service) === undefined)
    })

    it('are acknowledged when they end while JetStream is off, and JetStream has kept them', async () => {
      const pattern = fresh()
      const kept = await NatsServerProcess.start('-js')
      cleanUps.push(() => kept.stop())
      const options = { url: kept.url, durable: { ackWait: 300_000 }, reconnectTimeWait: 50 }
      let free = () => {}
      const isFree = new Promise<void>((resolve) => {
        free = resolve
      })
      const service = microservice({ name: 'gone', transport: nats(options), logger: log.logger }).event(
        pattern,
        () => isFree,
        { durable: true }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
      const publisher = connect({ transport: nats(options), logger: log.logger })
      cleanUps.push(() => publisher.close())
      await publisher.publish(pattern, 1)
      const isBusy = () => service.stats()[0]?.inFlight.current === 1
      await until('It runs', isBusy)
      await kept.stop('SIGTERM')
      const off = new NatsServerProcess(kept.port, [])
      cleanUps.push(() => off.stop())
      await off.start()
      await log.has('JetStream is off')
      free()
      await until('It has ended', () => !isBusy())
      await off.stop()
      await kept.start()
      await until('It is well again', () => unavailable(service) === undefined)
      const bare = await connectBare({ servers: kept.url })
      cleanUps.push(() => bare.close())
      await until(
        'It is acknowledged',
        async () => {
          const answer = await bare.request(`$JS.API.CONSUMER.INFO.${pattern}.gone_${pattern}`)
          return answer.json<{ num_ack_pending: number }>().num_ack_pending === 0
        },
        20_000
      )
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
