/** Durable events at the limits of a NATS server: headers, ids, sizes, names, and consumers that remain. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, Log, until } from '@elysia-microservices/test-support'
import {
  type DeadLetter,
  type DurableOptions,
  EventRefusedError,
  OptionError,
  PayloadTooLargeError
} from '@elysia-microservices/transport'
import { connect as connectBare, type NatsConnection, headers as newHeaders } from '@nats-io/transport-node'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

const MAX_PAYLOAD = 1024 * 1024

if (!isMissing('durable events at the limits of NATS', natsMissing())) {
  describe('a durable event at the limits of NATS', () => {
    let server: NatsServerProcess
    let bare: NatsConnection
    let client: UntypedStoringClient
    let count = 0
    const log = new Log()
    const cleanUps: (() => Promise<unknown>)[] = []
    const transport = () => nats({ url: server.url, durable: { storage: 'memory', ackWait: 2_000 } })
    const fresh = () => `limit${++count}`

    async function serve(
      pattern: string,
      handler: (message: Message) => unknown,
      durable: DurableOptions = {},
      name = 'limits'
    ) {
      const service = microservice({ name, transport: transport(), logger: log.logger }).event(
        pattern,
        handler,
        {
          durable
        }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }

    async function lettersOf(group: string, pattern: string): Promise<DeadLetter[]> {
      const found: DeadLetter[] = []
      for await (const letter of client.group(group).deadLetters.list())
        if (letter.pattern === pattern) found.push(letter)
      return found
    }

    before(async () => {
      server = await NatsServerProcess.start('-js')
      bare = await connectBare({ servers: server.url })
      client = connect({ transport: transport(), logger: log.logger, timeout: 10_000 })
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      log.clear()
    })
    after(async () => {
      await client.close()
      await bare.close()
      await server.stop()
    })

    it("is refused with a header that is NATS's own, or that NATS would change, published or emitted", async () => {
      const pattern = fresh()
      await serve(pattern, () => {})
      const seen: (string[] | undefined)[] = []
      bare.subscribe(pattern, { callback: (_, { headers }) => void seen.push(headers?.keys()) })
      await bare.flush()
      for (const headers of [
        { 'Nats-Rollup': 'all' },
        { 'nats-ttl': '1s' },
        { 'Nats-Expected-Stream': 'other' },
        { a: ' b' },
        { a: 'b\u00a0' },
        { a: '\ud800' }
      ]) {
        const path = `options.headers["${Object.keys(headers)[0]}"]`
        const refused = (error: Error) => {
          assert.ok(error instanceof OptionError, String(error))
          assert.equal(error.path, path)
          return true
        }
        await assert.rejects(client.publish(pattern, 1, { headers }), refused)
        await assert.rejects(client.emit(pattern, 1, { headers }), refused)
        await assert.rejects(client.request(pattern, 1, { headers }), refused)
      }
      await client.publish(pattern, 2, { headers: { a: 'b c', b: 'ü' } })
      await until('The good one has come', () => seen.length > 0)
      assert.equal(seen.length, 1)
    })

    it('is a dead letter without the parts that are too large, and its handler has run for all attempts', async () => {
      const pattern = fresh()
      let runs = 0
      let others = 0
      await serve(
        pattern,
        ({ data }) => {
          if (data === 'good') others++
          else {
            runs++
            throw new Error('poisoned')
          }
        },
        { ordered: true, retry: { attempts: 2, minDelay: 10, maxDelay: 50 } }
      )
      const large = newHeaders()
      large.set('Elysia-Key', 'k')
      large.set('small', 'kept')
      large.set('large', 'x'.repeat(65_000))
      await bare.request(pattern, '"large headers"', { headers: large, timeout: 5_000 })
      const keyed = newHeaders()
      keyed.set('Elysia-Key', 'k')
      const size = MAX_PAYLOAD - 100
      await bare.request(pattern, `"${'y'.repeat(size)}"`, { headers: keyed, timeout: 5_000 })
      await client.publish(pattern, 'good', { key: 'k' })
      await until('The good one behind them is handled', () => others === 1)
      await until('Both are dead letters', async () => (await lettersOf('limits', pattern)).length === 2)
      assert.equal(runs, 4)
      const [headers, data] = (await lettersOf('limits', pattern)) as [DeadLetter, DeadLetter]
      assert.deepEqual(
        [headers.data, headers.headers, headers.leftOut],
        ['large headers', { small: 'kept' }, ['headers.large']]
      )
      assert.deepEqual([data.data, data.leftOut, data.attempts], [undefined, ['data'], 2])
      await assert.rejects(client.group('limits').deadLetters.redrive(data.position), (error: Error) => {
        assert.ok(error instanceof EventRefusedError, String(error))
        assert.match(error.message, /its data were too large to be kept/)
        return true
      })
      assert.equal(await client.group('limits').deadLetters.redrive(headers.position), true)
    })

    it('that is too large together with its headers is refused', async () => {
      const pattern = fresh()
      await serve(pattern, () => {})
      const headers = { a: 'x'.repeat(60_000) }
      await assert.rejects(
        client.publish(pattern, 'y'.repeat(MAX_PAYLOAD - 10_000), { headers }),
        PayloadTooLargeError
      )
    })

    it('is redriven once even if several clients redrive it at the same time', async () => {
      const pattern = fresh()
      let isPoisoned = true
      let runs = 0
      await serve(
        pattern,
        () => {
          runs++
          if (isPoisoned) throw new Error('poisoned')
        },
        { retry: { attempts: 1 } }
      )
      for (let round = 0; round < 5; round++) await client.publish(pattern, round)
      await until('They are dead letters', async () => (await lettersOf('limits', pattern)).length === 5)
      isPoisoned = false
      const clients = Array.from({ length: 4 }, () => connect({ transport: transport(), logger: log.logger }))
      for (const { position } of await lettersOf('limits', pattern)) {
        const answers = await Promise.all(
          clients.map((one) => one.group('limits').deadLetters.redrive(position))
        )
        assert.equal(answers.filter(Boolean).length, 1)
      }
      await until('They are handled', () => runs === 10)
      await Promise.all(clients.map((one) => one.close()))
    })
  })
}
