/** Failures over NATS, as callers, handlers and users see them. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { type NatsOptions, nats } from '@elysia-microservices/nats'
import { isMissing, Log, until, Values } from '@elysia-microservices/test-support'
import { connect as connectBare, headers } from '@nats-io/transport-node'
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

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

    async function serve(name: string | undefined = 'test', options: NatsOptions = {}) {
      const transport = nats({ url: server.url, ...options })
      const service = microservice({ name, transport, logger: log.logger, drain: 200 })
        .message('echo', ({ data }) => data)
        .message('later', async ({ data }) => data)
        .message('fails', () => {
          throw new Error('secret')
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
    })
  })
}
