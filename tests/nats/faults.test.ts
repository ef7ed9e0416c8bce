/** Failures over NATS, as callers, handlers and users see them. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { type NatsOptions, nats } from '@elysia-microservices/nats'
import { aborted, isMissing, Log, until, Values } from '@elysia-microservices/test-support'
import { connect as connectBare, headers } from '@nats-io/transport-node'
import { t } from 'elysia'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { ServerProcess } from '../support/server-process.ts'
import { RunRecord } from '../torture/support/record.ts'

if (!isMissing('what fails over NATS', natsMissing())) {
  describe('over NATS', () => {
    let server: NatsServerProcess
    const cleanUps: (() => Promise<unknown>)[] = []
    const log = new Log()
    let said = new Values<unknown>()

    function newClient(options: NatsOptions = {}): UntypedClient {
      const client = connect({ transport: nats({ url: server.url, ...options }), logger: log.logger })
      cleanUps.push(() => client.close())
      return client
    }

    /** Starts a service whose streams have large values. */
    async function serveLarge(large: () => Iterable<string> | AsyncIterable<string>): Promise<void> {
      const transport = nats({ url: server.url })
      const service = microservice({ name: 'large', transport, logger: log.logger }).message('large', large)
      await service.listen()
      cleanUps.push(() => service.stop())
    }

    async function serve(name: string | undefined = 'test', options: NatsOptions = {}) {
      const transport = nats({ url: server.url, ...options })
      const service = microservice({ name, transport, logger: log.logger, drain: 200 })
        .message('echo', ({ data }) => data)
        .message('who', () => name)
        .message('wait', async ({ signal }) => {
          said.put('begun')
          await aborted(signal)
          said.put('aborted')
        })
        .message('later', async ({ data }) => data)
        .message('fails', () => {
          throw new Error('secret')
        })
        .message('sized', ({ data }: Message<number>) => 'x'.repeat(data))
        .message('count', async function* ({ data }: Message<number>) {
          try {
            for (let n = 0; n < data; n++) yield n
          } finally {
            said.put('returned')
          }
        })
        .event('noted', ({ data }) => said.put(data))
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }

    before(async () => {
      server = await NatsServerProcess.start()
    })
    after(() => server.stop())
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      log.clear()
      said = new Values()
    })

    describe('a server that cannot be reached', () => {
      it('makes the answer of a handler wait, if the caller is connected to another server', async () => {
        const [one, two] = await NatsServerProcess.cluster(2)
        cleanUps.unshift(async () => {
          await one?.stop()
          await two?.stop()
        })
        const answer = new Values<string>()
        const service = microservice({
          name: 'clustered',
          transport: nats({ url: [one!.url, two!.url], noRandomize: true }),
          logger: log.logger
        })
          .message('ready', () => true)
          .message('slow', async () => {
            said.put('begun')
            return answer.take()
          })
        await service.listen()
        cleanUps.push(() => service.stop())
        const client = newClient({ url: two!.url, ignoreClusterUpdates: true })
        await until('the service is reached over the cluster', () =>
          client.request<boolean>('ready').catch(() => false)
        )
        const result = client.request('slow')
        assert.equal(await said.take(), 'begun')
        await one!.stop()
        await log.has('is lost; until it is back, the service gets no messages over it')
        answer.put('late')
        assert.equal(await result, 'late')
      })
    })

    describe('a user without the right to', () => {
      let folder: string
      let guarded: NatsServerProcess
      before(async () => {
        folder = await mkdtemp(join(tmpdir(), 'nats-'))
        const file = join(folder, 'server.conf')
        writeFileSync(
          file,
          `authorization { users = [
            { user: "all", password: "secret" }
            { user: "little", password: "secret", permissions: {
              publish: { allow: ["echo", "_INBOX.>"] }, subscribe: { allow: ["_INBOX.>", "$SRV.>"] } } }
            { user: "own", password: "secret", permissions: {
              publish: { allow: ["echo", "_INBOX.own.>"] }, subscribe: { allow: ["_INBOX.own.>"] } } }
          ] }`
        )
        guarded = await NatsServerProcess.start('-c', file)
      })
      after(async () => {
        await guarded.stop()
        await rm(folder, { recursive: true })
      })

      it('connect gets an error, as a service and as a client', async () => {
        const wrong = { url: guarded.url, username: 'all', password: 'wrong' }
        const refused = {
          name: 'UnauthenticatedError',
          message: /does not accept the credentials/,
          mayHaveRun: false
        }
        await assert.rejects(serve('test', wrong), refused)
        await assert.rejects(newClient(wrong).request('echo', 1), refused)
      })

      it('subscribe gets an error at the start', async () => {
        const little = { url: guarded.url, username: 'little', password: 'secret' }
        await assert.rejects(serve('test', little), {
          name: 'ListenError',
          message: /Permissions Violation/i
        })
      })

      it('have an inbox gets an error when it connects, unless it sets a prefix', async () => {
        await serve('test', { url: guarded.url, username: 'all', password: 'secret' })
        const own = { url: guarded.url, username: 'own', password: 'secret' }
        await assert.rejects(newClient(own).request('echo', 1), {
          name: 'ConnectionError',
          message: /does not let this client subscribe to _INBOX.*set inboxPrefix/,
          mayHaveRun: false
        })
        assert.equal(await newClient({ ...own, inboxPrefix: 'own' }).request('echo', 1), 1)
      })

      it('send requests together sends them one by one', async () => {
        await serve('test', { url: guarded.url, username: 'all', password: 'secret' })
        const client = newClient({ url: guarded.url, username: 'little', password: 'secret' })
        for (let round = 0; round < 3; round++) {
          const asked = Array.from({ length: 100 }, (_, n) => client.request('echo', n))
          assert.deepEqual(await Promise.all(asked), [...asked.keys()])
        }
      })

      it('publish gets an error, for that pattern alone', async () => {
        await serve('test', { url: guarded.url, username: 'all', password: 'secret' })
        const client = newClient({ url: guarded.url, username: 'little', password: 'secret' })
        const refused = {
          name: 'ConnectionError',
          message: /may|not let this client publish to/,
          mayHaveRun: false
        }
        await assert.rejects(client.request('later', 1), refused)
        await assert.rejects(client.emit('noted', 1), refused)
        assert.equal(await client.request('echo', 1), 1)
      })
    })

    describe('data that is too large, or a pattern that is no subject', () => {
      it('is refused before anything is sent or subscribed to', async () => {
        const client = newClient()
        for (const pattern of ['two words', '', 'a..b', 'a.', '.a', 'orders.*', 'orders.>', '>'])
          await assert.rejects(client.request(pattern), { name: 'OptionError', mayHaveRun: false })
        for (const pattern of [/a/, 'two words', 'a..b']) {
          const service = microservice({ transport: nats({ url: server.url }), logger: log.logger })
          service.message(pattern, () => 1)
          await assert.rejects(service.listen(), { name: 'OptionError', message: /NATS cannot carry/ })
        }
        await assert.rejects(client.emit('noted', 1, { headers: { 'a b': '1' } }), { name: 'OptionError' })
        assert.throws(() => nats({ uri: 'x' } as NatsOptions), {
          name: 'OptionError',
          message: /did you mean options.url/
        })
        await serve()
        const long = { long: 'x'.repeat(1_100_000) }
        await assert.rejects(client.request('echo', 1, { headers: long }), {
          name: 'OptionError',
          path: 'options.headers'
        })
        assert.equal(await client.request('echo', 1), 1)
      })
    })

    describe('callers that do not use this library', () => {
      it('get plain JSON, errors in headers, and an answer to data that is not JSON', async () => {
        await serve()
        const bare = await connectBare({ servers: server.url })
        cleanUps.push(() => bare.close())
        const plain = await bare.request('echo', '{"a":1}')
        assert.deepEqual(plain.json(), { a: 1 })
        assert.equal((await bare.request('echo', '')).string(), '')
        const failed = await bare.request('fails', '{"a":1}')
        assert.equal(failed.headers?.get('Nats-Service-Error-Code'), '500')
        assert.equal(failed.headers?.get('Nats-Service-Error'), 'Internal server error')
        const broken = (await bare.request('echo', '{"a":')).json<{ err: { code: string } }>()
        assert.equal(broken.err.code, 'BAD_REQUEST')
        const packet = (await bare.request('echo', '{"data":1,"id":"z"}')).string()
        assert.equal(packet, '{"response":1,"isDisposed":true,"id":"z"}')
        bare.publish('noted', '{"whole":"body"}')
        assert.deepEqual(await said.take(), { whole: 'body' })
        bare.publish('noted', 'no json')
        await log.has("The body of an event on 'noted' is not JSON")
      })

      it('find the service by the micro service API, with its figures', async () => {
        await serve('orders')
        const client = newClient()
        await client.request('echo', 1)
        await client.request('later', 1)
        await client.request('fails').catch(() => {})
        const bare = await connectBare({ servers: server.url })
        cleanUps.push(() => bare.close())
        const ask = async (subject: string) => (await bare.request(subject)).json<Record<string, unknown>>()
        const ping = await ask('$SRV.PING')
        assert.equal(ping['type'], 'io.nats.micro.v1.ping_response')
        assert.equal(ping['name'], 'orders')
        const info = await ask(`$SRV.INFO.orders.${ping['id']}`)
        const endpoints = info['endpoints'] as Record<string, unknown>[]
        assert.ok(
          endpoints.some(
            ({ subject, queue_group }) => subject === 'echo' && queue_group === 'elysia-microservices'
          )
        )
        const stats = (await ask('$SRV.STATS.orders'))['endpoints'] as Record<string, number>[]
        const of = (name: string) => stats.find((endpoint) => String(endpoint['name']) === name)!
        assert.deepEqual([of('echo')['num_requests'], of('echo')['num_errors']], [1, 0])
        assert.deepEqual([of('fails')['num_requests'], of('fails')['num_errors']], [1, 1])
        assert.ok(of('later')['processing_time']! > 0)
      })

      it('show their schemas there, if callers may have the description', async () => {
        const info = async (name: string, callers: boolean | (() => boolean) | undefined, properties = 1) => {
          const fields = Array.from({ length: properties }, (_, index) => [`field${index}`, t.Number()])
          const service = microservice({ name, describe: callers, transport: nats({ url: server.url }) })
            .message('orders.get', ({ data }) => data, {
              data: t.Object(Object.fromEntries(fields)),
              response: t.Any()
            })
            .event('orders.*', () => {})
          await service.listen()
          cleanUps.push(() => service.stop())
          const bare = await connectBare({ servers: server.url })
          cleanUps.push(() => bare.close())
          const { endpoints } = (await bare.request(`$SRV.INFO.${name}`)).json<{
            endpoints: { subject: string; metadata: Record<string, string> }[]
          }>()
          return new Map(endpoints.map(({ subject, metadata }) => [subject, metadata]))
        }
        const told = await info('told', true)
        assert.deepEqual(told.get('orders.*'), { kind: 'event' })
        const { kind, data, response } = told.get('orders.get')!
        assert.deepEqual([kind, response], ['message', '{}'])
        assert.deepEqual(JSON.parse(data!), {
          type: 'object',
          required: ['field0'],
          properties: { field0: { type: 'number' } }
        })
        for (const untold of [await info('quiet', undefined), await info('choosy', () => true)])
          assert.deepEqual([untold.get('orders.get'), untold.get('orders.*')], [{}, {}])
        // More than fits into a message of NATS: the service is found without its schemas.
        assert.deepEqual((await info('large', true, 9_000)).get('orders.get'), {})
      })

      it('answer our client: values, errors in headers', async () => {
        const bare = await connectBare({ servers: server.url })
        cleanUps.push(() => bare.close())
        bare.subscribe('foreign', {
          callback: (_error, message) => void message.respond('{"id":"1","name":"x"}')
        })
        bare.subscribe('number', { callback: (_error, message) => void message.respond('5') })
        bare.subscribe('text', { callback: (_error, message) => void message.respond('no json') })
        bare.subscribe('refusing', {
          callback(_error, message) {
            const said = headers()
            said.set('Nats-Service-Error-Code', '404')
            said.set('Nats-Service-Error', 'not found')
            message.respond('', { headers: said })
          }
        })
        await bare.flush()
        const client = newClient()
        assert.deepEqual(await client.request('foreign'), { id: '1', name: 'x' })
        assert.equal(await client.request('number'), 5)
        await assert.rejects(client.request('text'), { name: 'ProtocolError' })
        await assert.rejects(client.request('refusing'), {
          name: 'RpcError',
          code: '404',
          message: 'not found'
        })
      })
    })

    describe('several processes of a service', () => {
      it('each get an event if all are to get it', async () => {
        await serve('all', { events: 'every-process' })
        await serve('all', { events: 'every-process' })
        const client = newClient()
        await client.emit('noted', 'both')
        assert.deepEqual([await said.take(), await said.take()], ['both', 'both'])
        assert.equal(await client.request('echo', 1), 1)
      })
    })

    it('a call that never reached its service is noticed, however long its timeout is', async () => {
      await serve('lossy')
      // A process of the group receives messages and is then killed.
      const bare = await connectBare({ servers: server.url })
      cleanUps.push(() => bare.close())
      bare.subscribe('echo', { queue: 'elysia-microservices', callback() {} })
      await bare.flush()
      const client = newClient()
      const calls = Array.from({ length: 20 }, (_, n) => client.request('echo', n, { timeout: false }))
      const outcomes = await Promise.allSettled(calls)
      for (const [n, outcome] of outcomes.entries()) {
        if (outcome.status === 'fulfilled') assert.equal(outcome.value, n)
        else assert.deepEqual([outcome.reason.name, outcome.reason.mayHaveRun], ['ConnectionError', true])
      }
      assert.ok(outcomes.some(({ status }) => status === 'rejected'))
    })

    it('unreadable messages are answered, and the next messages are read', async () => {
      await serve()
      const client = newClient()
      assert.equal(await client.request('echo', 1), 1)
      const socket = net.connect(server.port, '127.0.0.1')
      cleanUps.push(async () => socket.destroy())
      let received = ''
      socket.on('data', (chunk) => {
        received += String(chunk)
      })
      const publish = (subject: string, head: string, body: string) =>
        socket.write(
          `HPUB ${subject} _INBOX.answers ${head.length} ${head.length + body.length}\r\n${head}${body}\r\n`
        )
      socket.write('CONNECT {"headers":true,"verbose":false}\r\nSUB _INBOX.answers 1\r\n')
      const deep = '['.repeat(100_000) + ']'.repeat(100_000)
      publish('echo', 'NATS/1.0\r\na b: 1\r\n\r\n', '{"data":1,"id":"1"}')
      publish('echo', 'NATS/1.0\r\n\r\n', `{"pattern":${deep},"data":1,"id":"2"}`)
      publish('echo', 'NATS/1.0 x\r\n\r\n', '{"data":3,"id":"3"}')
      publish('_ELYSIA.CALLS', 'NATS/1.0\r\n\r\n', 'a')
      await until('the last is answered', () =>
        received.includes('{"response":3,"isDisposed":true,"id":"3"}')
      )
      assert.equal(await client.request('echo', 2), 2)
      // Unexpected messages to a client, and to the control address of a call.
      const bare = await connectBare({ servers: server.url })
      cleanUps.push(() => bare.close())
      const inboxes: string[] = []
      bare.subscribe('later', { callback: (_error, { reply }) => void inboxes.push(reply ?? '') })
      await bare.flush()
      const odd = client.request('later', 1)
      odd.catch(() => {})
      await until('the request', () => inboxes.length > 0)
      const inbox = inboxes[0]!.slice(0, inboxes[0]!.lastIndexOf('.'))
      for (const token of ['', 'r', '1r', '1r-', '1r999999-', '1x1-', '1r1-aaaaaaaaaaaa-', '1'])
        for (const body of ['', '+', '+?', '+v', '+v[', '{', '5', 'null', '{"id":1}'])
          if (token !== '') bare.publish(`${inbox}.${token}`, body, { reply: 'nobody.listens' })
      await bare.flush()
      assert.equal(await client.request('echo', 3), 3)
    })

    it('a caller with many streams of large values that is busy for a while is not disconnected', async () => {
      const record = new RunRecord()
      const service = new ServerProcess({
        program: 'torture/brokers/request-service',
        arguments: () => [server.url, record.path]
      })
      cleanUps.push(async () => {
        await service.stop('SIGKILL')
        record.remove()
      })
      await service.start()
      const client = newClient()
      const streams = Array.from({ length: 100 }, () =>
        client.stream('endless', 100_000)[Symbol.asyncIterator]()
      )
      const read = () => Promise.all(streams.map((stream) => stream.next()))
      await read()
      // Far longer than the service needs to send all that it may; a NATS server buffers 64 MiB of it.
      for (const end = performance.now() + 2_000; performance.now() < end; );
      for (let turn = 0; turn < 20; turn++) await read()
      await Promise.all(streams.map((stream) => stream.return?.()))
    })

    it("streams of Nest's clients, which send no demand, take turns", async () => {
      await serveLarge(function* () {
        for (;;) yield 'x'.repeat(10_000)
      })
      const bare = await connectBare({ servers: server.url })
      cleanUps.push(() => bare.close())
      const counts = Array.from({ length: 5 }, () => 0)
      const most = new Promise<void>((resolve) => {
        for (const index of counts.keys()) {
          bare.subscribe(`_INBOX.reader.${index}`, {
            callback: () => {
              if (++counts[index]! === 2_000) resolve()
            }
          })
          bare.publish('large', `{"pattern":"large","id":"${index}"}`, { reply: `_INBOX.reader.${index}` })
        }
      })
      await most
      assert.ok(Math.min(...counts) > 500, `values read of each: ${counts.join(', ')}`)
    })
  })
}
