/**
 * Durable events over a NATS server: what is special to JetStream. What holds for every engine is in
 * `engines/engine-tests/src/durable.ts`.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { type NatsDurableOptions, nats } from '@elysia-microservices/nats'
import { collected, isMissing, Log, until, Values } from '@elysia-microservices/test-support'
import {
  type DurableOptions,
  NotStoredError,
  OptionError,
  PatternNotFoundError,
  PayloadTooLargeError
} from '@elysia-microservices/transport'
import { connect as connectBare } from '@nats-io/transport-node'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

if (!isMissing('durable events over NATS', natsMissing())) {
  describe('a durable event over NATS', () => {
    let server: NatsServerProcess
    let folder: string
    let count = 0
    const cleanUps: (() => Promise<unknown>)[] = []
    const log = new Log()

    /** A pattern that only this test uses. */
    const fresh = () => `event${++count}.happened`

    function transport(durable: NatsDurableOptions = {}) {
      return nats({ url: server.url, durable: { ackWait: 1_000, ...durable } })
    }

    function newClient(durable?: NatsDurableOptions, timeout = 10_000): UntypedStoringClient {
      const client = connect({ transport: transport(durable), logger: log.logger, timeout })
      cleanUps.push(() => client.close())
      return client
    }

    /** A service with one durable handler. */
    async function serve(
      pattern: string,
      handler: (message: Message) => unknown,
      durable: DurableOptions = {},
      { name = 'test', options = {} as NatsDurableOptions } = {}
    ) {
      const service = microservice({
        name,
        transport: transport(options),
        logger: log.logger,
        drain: 5_000
      }).event(pattern, handler, { durable })
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'durable-'))
      server = await NatsServerProcess.start('-js', '-sd', folder)
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
    })
    after(async () => {
      await server.stop()
      await rm(folder, { recursive: true })
    })

    it('that is emitted, or published by another program, is handled once', async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      const plain: unknown[] = []
      const service = microservice({ name: 'both', transport: transport(), logger: log.logger })
        .event(pattern, ({ data }) => void seen.push(data), { durable: true })
        .event(pattern, ({ data }) => void plain.push(data))
      await service.listen()
      cleanUps.push(() => service.stop())
      const client = newClient()
      await client.emit(pattern, 'emitted')
      await client.publish(pattern, 'published')
      const bare = await connectBare({ servers: server.url })
      bare.publish(pattern, '{"foreign":true}')
      await bare.drain()
      await until('All have come', () => seen.length === 3 && plain.length === 3)
      const expected = ['emitted', 'published', { foreign: true }]
      assert.deepEqual([seen, plain], [expected, expected])
    })

    it('is handled by a pattern with wildcards, from one stream for many patterns', async () => {
      const first = fresh().replace('.happened', '')
      const stream = { name: `${first}-all`, subjects: [`${first}.*`] }
      const seen = new Values<unknown>()
      await serve(
        `${first}.*`,
        ({ data, delivery }) => seen.put([data, delivery?.attempt]),
        {},
        { options: { stream } }
      )
      await newClient({ stream }).publish(`${first}.paid`, 1)
      // A client without the option for the stream finds the stream.
      await newClient().publish(`${first}.sent`, 2)
      assert.deepEqual(
        [await seen.take(), await seen.take()],
        [
          [1, 1],
          [2, 1]
        ]
      )
      const other = fresh().replace('.happened', '')
      await newClient().publish(`${other}.paid`, 1)
      await assert.rejects(
        serve(`${other}.*`, () => {}),
        (error: Error) => {
          assert.ok(error instanceof OptionError)
          assert.match(error.message, new RegExp(`stored by the streams ${other}_paid, each only a part`))
          return true
        }
      )
    })

    it('is received again after the consumer of its group was deleted', async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      await serve(pattern, ({ data }) => void seen.push(data), { start: 'all' }, { name: 'deleted' })
      const client = newClient()
      await client.publish(pattern, 1)
      await until('The first is handled', () => seen.length === 1)
      const bare = await connectBare({ servers: server.url })
      const stream = pattern.replace('.', '_')
      await bare.request(`$JS.API.CONSUMER.DELETE.${stream}.deleted_${stream}`, '')
      await bare.close()
      await client.publish(pattern, 2)
      await until('The second is handled', () => seen.includes(2))
      await log.has('is gone')
    })

    it("whose headers NATS's driver cannot read is handled, and becomes a dead letter if they are read", async () => {
      for (const ordered of [false, true]) {
        const pattern = fresh()
        const group = `headers-${ordered}`
        const seen: unknown[] = []
        const handler = (message: Message) =>
          void seen.push(message.data === 'reads' ? message.headers : message.data)
        await serve(pattern, handler, { ordered, group, retry: { attempts: 2, minDelay: 1 } })
        const socket = net.connect(server.port, '127.0.0.1')
        cleanUps.push(async () => socket.destroy())
        const head = 'NATS/1.0\r\na b: 1\r\n\r\n'
        socket.write('CONNECT {"headers":true,"verbose":false}\r\n')
        for (const body of ['"reads"', '', '"plain"'])
          socket.write(`HPUB ${pattern} ${head.length} ${head.length + body.length}\r\n${head}${body}\r\n`)
        await until('The others are handled', () => seen.length === 2)
        assert.deepEqual(seen, [undefined, 'plain'])
        const client = newClient()
        const letters = () => collected(client.group(group).deadLetters.list())
        await until('One is a dead letter', async () => (await letters()).length > 0)
        const [letter, ...others] = await letters()
        assert.match(letter?.reason ?? '', /headers of the event cannot be read/)
        assert.deepEqual([letter?.data, letter?.leftOut, others], ['reads', ['headers'], []])
      }
    })

    it('cannot be sent as a request', async () => {
      const pattern = fresh()
      await serve(pattern, () => 1)
      await assert.rejects(newClient().request(pattern, 1), (error: Error) => {
        assert.ok(error instanceof PatternNotFoundError)
        assert.match(error.message, /publish\(\)/)
        return true
      })
    })

    it('of more than 8 MiB is handled over a server that takes it, and so are the events behind it', async () => {
      const file = join(folder, 'large.conf')
      await writeFile(file, 'max_payload: 16777216')
      const large = await NatsServerProcess.start('-js', '-c', file)
      cleanUps.push(() => large.stop())
      const seen: number[] = []
      const options = { url: large.url }
      const service = microservice({ name: 'large', transport: nats(options), logger: log.logger }).event(
        'large',
        ({ data }: Message<string>) => void seen.push(data.length),
        { durable: true }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
      const client = connect({ transport: nats(options), logger: log.logger })
      cleanUps.push(() => client.close())
      const sizes = [9_000_000, 16_000_000, 1]
      for (const size of sizes) await client.publish('large', 'x'.repeat(size))
      await until('All are handled', () => seen.length === sizes.length)
      assert.deepEqual(seen, sizes)
    })

    it('that is too large, or has no subject, is refused with the reason', async () => {
      const client = newClient()
      await assert.rejects(client.publish(fresh(), 'x'.repeat(1_100_000)), PayloadTooLargeError)
      await assert.rejects(client.publish('$JS.x', 1), /NATS's own/)
    })

    describe('is refused where', () => {
      it('JetStream is off', async () => {
        const bare = await NatsServerProcess.start()
        cleanUps.push(() => bare.stop())
        const service = microservice({
          name: 's',
          transport: nats({ url: bare.url }),
          logger: log.logger
        }).event('off', () => {}, { durable: true })
        const isOff = (error: Error) => {
          assert.ok(error instanceof NotStoredError, String(error))
          assert.match(error.message, /JetStream.*-js/)
          return true
        }
        await assert.rejects(service.listen(), isOff)
        const client = connect({ transport: nats({ url: bare.url }), timeout: 1_000 })
        cleanUps.push(() => client.close())
        await assert.rejects(client.publish('off', 1), isOff)
      })

      it('its stream exists with other limits; a stream with narrower limits is changed', async () => {
        const pattern = fresh()
        const hour = 3_600_000
        await serve(pattern, () => {}, {}, { options: { maxAge: 2 * hour, duplicateWindow: 60_000 } })
        await serve(pattern, () => {}, {}, { options: { maxAge: 3 * hour } })
        await assert.rejects(
          serve(pattern, () => {}, {}, { options: { maxAge: hour, storage: 'memory', replicas: 3 } }),
          (error: Error) => {
            assert.ok(error instanceof OptionError)
            assert.match(
              error.message,
              /storage is 'file', not 'memory'; replicas is 1, not 3; maxAge is 10800000, and 3600000 would be less/
            )
            return true
          }
        )
      })

      it('two services of one group disagree', async () => {
        const pattern = fresh()
        await serve(pattern, () => {}, { ordered: true })
        await assert.rejects(
          serve(pattern, () => {}, {}),
          /ordered: true, and this service wants ordered: false/
        )
        await serve(pattern, () => {}, { ordered: true, retry: { attempts: 9 } })
        assert.ok(log.lines.some((line) => line.includes('should have the same settings')))
      })

      it('its stream is full', async () => {
        const pattern = fresh()
        const client = newClient({ maxBytes: 5_000 })
        const full = async () => {
          for (let n = 0; n < 100; n++) await client.publish(pattern, 'x'.repeat(500))
        }
        await assert.rejects(full(), (error: Error) => {
          assert.ok(error instanceof NotStoredError, String(error))
          assert.match(error.message, /'maximum bytes exceeded'.*the stream is full: raise .*maxBytes/)
          return true
        })
      })

      it('its pattern cannot be stored', async () => {
        await assert.rejects(
          serve('*.happened', () => {}),
          /first part must be a text/
        )
        await assert.rejects(
          serve('a b', () => {}),
          /blank/
        )
      })
    })
  })
}
