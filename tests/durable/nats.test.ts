/**
 * Durable events over a NATS server: what is special to JetStream. What holds for every engine is in
 * `engines/engine-tests/src/durable/`.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { type NatsDurableOptions, nats } from '@elysia-microservices/nats'
import { collected, isMissing, Log, until } from '@elysia-microservices/test-support'
import { type DurableOptions, PatternNotFoundError } from '@elysia-microservices/transport'
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
  })
}
