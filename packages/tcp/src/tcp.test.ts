/** Tests server and client over real sockets: every protocol on every kind of socket that this runtime has. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { RecordingLogger, TestDispatcher } from '@elysia-microservices/rsocket/testing'
import { DEAF_PORT, isInCheck, isOnPush } from '@elysia-microservices/test-support'
import type { CallReceiver, ConnectionError } from '@elysia-microservices/transport/kit'
import type { TcpClient } from './client/client.ts'
import type { TcpClientOptions } from './options/client-options.ts'
import type { TcpServerOptions } from './options/server-options.ts'
import type { TestOptions } from './options/shared-options.ts'
import type { TcpServer } from './server/server.ts'
import type { SocketRuntime } from './socket/socket.ts'
import { type ClientParts, newClient, newServer, SOCKETS } from './testing/ends.ts'

type ServerOptions = TcpServerOptions & TestOptions
type ClientOptions = TcpClientOptions & TestOptions & ClientParts

/** Mebibytes that are sent at once: several times what sockets buffer. */
const AT_ONCE = isInCheck ? 4 : isOnPush ? 16 : 64
const MANY = isInCheck ? 1_000 : 10_000

/** Collects all values of a stream. */
function values(client: TcpClient, pattern: string, data: unknown): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const all: unknown[] = []
    const receiver: CallReceiver = {
      next: (value) => all.push(value),
      complete: () => resolve(all),
      error: reject
    }
    client.stream(pattern, data, receiver)
  })
}

for (const [socketsName, sockets] of SOCKETS) {
  for (const protocol of ['nest', 'rsocket'] as const) {
    describe(`TCP with sockets of ${socketsName}, protocol ${protocol}`, () => {
      let dispatcher: TestDispatcher
      let logger: RecordingLogger
      let server: TcpServer
      let client: TcpClient
      const cleanups: (() => Promise<void>)[] = []

      async function start(options: ServerOptions = {}): Promise<TcpServer> {
        const started = newServer({ host: '127.0.0.1', port: 0, sockets, ...options }, logger)
        await started.start(dispatcher)
        cleanups.push(() => started.stop({ drain: 0 }))
        return started
      }

      function connectTo(port: number, { timeout, ...options }: ClientOptions = {}): TcpClient {
        const all = { host: '127.0.0.1', port, sockets, protocol, ...options }
        const made = newClient(all, logger, { timeout })
        cleanups.push(() => made.close())
        return made
      }

      /** Resolves when a handler has begun. */
      const begun = () => dispatcher.begins()

      beforeEach(async () => {
        dispatcher = new TestDispatcher()
        logger = new RecordingLogger()
        server = await start()
        client = connectTo(server.address!.port)
      })
      afterEach(async () => {
        for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
      })

      it('answers with values, promises, streams and errors', async () => {
        for (const data of [0, '', null, 'text €😀é', { a: [1, { b: false }] }]) {
          assert.deepEqual(await client.request('echo', data), data)
          assert.deepEqual(await client.request('later', data), data)
        }
        assert.equal(await client.request('echo', undefined), undefined)
        assert.deepEqual(await values(client, 'count', 1000), [...Array(1000).keys()])
        assert.deepEqual(await values(client, 'echo', 'one'), ['one'])
        assert.equal(await client.request('count', 5), 0)
        await assert.rejects(client.request('fail', 1), {
          name: 'RpcError',
          code: 'E',
          message: 'm',
          details: { d: 1 }
        })
        await assert.rejects(client.request('bug', 1), { code: 'INTERNAL', message: 'Internal server error' })
        await assert.rejects(client.request('unknown', 1), { name: 'PatternNotFoundError' })
        await assert.rejects(values(client, 'fail', 1), { code: 'E' })
      })

      it('hands headers on', async () => {
        assert.deepEqual(await client.request('headers', 1, { headers: { a: 'A' } }), { a: 'A' })
        assert.deepEqual(await client.request('headers', 1), {})
      })

      it('keeps the order of calls made before it is connected, and of events', async () => {
        const sent = Array.from({ length: 100 }, (_, index) => client.emit('event', index))
        await Promise.all([...sent, client.connect()])
        await client.request('echo', 1)
        assert.deepEqual(dispatcher.events, [...Array(100).keys()])
      })

      it(`settles ${MANY} requests in flight at once`, async () => {
        const calls = Array.from({ length: MANY }, (_, index) => client.request('later', index))
        assert.deepEqual(await Promise.all(calls), [...Array(MANY).keys()])
      })

      it(`carries ${AT_ONCE} MiB at once in both directions`, async () => {
        const data = 'x'.repeat(1024 * 1024)
        const calls = Array.from({ length: AT_ONCE }, () => client.request('echo', data))
        for (const answer of await Promise.all(calls)) assert.ok(answer === data)
      })

      it('gives a call up when its time has passed, and the default time too', async () => {
        // The client connects first, because a timeout while connecting would report that nothing has run.
        await client.connect()
        await assert.rejects(client.request('wait', 1, { timeout: 20 }), {
          name: 'TimeoutError',
          timeout: 20,
          mayHaveRun: true
        })
        const hasty = connectTo(server.address!.port, { timeout: 20 })
        await hasty.connect()
        await assert.rejects(hasty.request('wait', 1), { name: 'TimeoutError', timeout: 20 })
        await assert.rejects(values(hasty, 'wait', 1), { name: 'TimeoutError' })
        assert.equal(await hasty.request('echo', 1, { timeout: 60_000 }), 1)
        await assert.rejects(client.request('echo', 1, { timeout: -1 }), {
          name: 'OptionError',
          path: 'options.timeout'
        })
      })

      it('gives a call up by its signal: before it is made and while it waits', async () => {
        await assert.rejects(client.request('echo', 1, { signal: AbortSignal.abort() }), {
          name: 'CanceledError'
        })
        const controller = new AbortController()
        const waiting = begun()
        const call = client.request('wait', 1, { signal: controller.signal })
        await waiting
        controller.abort()
        await assert.rejects(call, { name: 'CanceledError' })
        assert.equal(await client.request('echo', 1), 1)
      })

      it('aborts the signal of a handler when its caller is gone', async () => {
        const waiting = begun()
        const call = assert.rejects(client.request('wait', 1), { name: 'ConnectionError', mayHaveRun: true })
        const { signal } = await waiting
        const aborted = once(signal, 'abort')
        await client.close()
        await call
        await aborted
      })

      it('ends a generator when its reader leaves with the connection', async () => {
        const first = new Promise<void>((resolve, reject) => {
          client.stream('endless', 1, { next: () => resolve(), complete() {}, error: reject })
        })
        await first
        // The stream fails when the client closes. The test does not check that error, because the first value has
        // already arrived.
        await client.close()
        await dispatcher.ended
      })

      it('says that a request never left when nobody listens', async () => {
        const lonely = connectTo(DEAF_PORT)
        await assert.rejects(lonely.connect(), {
          name: 'ConnectionError',
          message: `Cannot connect to tcp://127.0.0.1:${DEAF_PORT}: connection refused`,
          reason: 'ECONNREFUSED',
          mayHaveRun: false
        })
        await assert.rejects(lonely.request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
        await assert.rejects(lonely.emit('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
      })

      it('gives up connecting after connectTimeout, and when it is closed', async () => {
        // A server that accepts nothing: its backlog is full, so a connection is not made or gets no answer.
        const hanging: SocketRuntime = {
          listen: sockets.listen,
          connect: (_address, _accept, signal) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
        }
        const slow = connectTo(1, { sockets: hanging, connectTimeout: 20 })
        await assert.rejects(slow.request('echo', 1), { name: 'ConnectionError', message: /connectTimeout/ })
        const closed = connectTo(1, { sockets: hanging })
        const call = assert.rejects(closed.request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
        await closed.close()
        await call
      })

      it('fails what waits when the connection is lost, and connects again with the next call', async () => {
        assert.equal(await client.request('echo', 1), 1)
        const { port } = server.address!
        const waiting = begun()
        const lost = assert.rejects(client.request('wait', 1), { name: 'ConnectionError', mayHaveRun: true })
        await waiting
        await server.stop({ drain: 0 })
        await lost
        await start({ port })
        assert.equal(await client.request('echo', 2), 2)
      })

      it('refuses calls after close()', async () => {
        await client.close()
        await assert.rejects(client.request('echo', 1), { name: 'ConnectionError', message: /closed/ })
        await assert.rejects(client.emit('echo', 1), { name: 'ConnectionError' })
        await assert.rejects(values(client, 'echo', 1), { name: 'ConnectionError' })
        await assert.rejects(client.connect(), { name: 'ConnectionError' })
      })

      it('drains: lets requests in flight end, then closes', async () => {
        const waiting = begun()
        const call = client.request('wait', 'answer')
        await waiting
        const stopped = server.stop()
        dispatcher.waiting[0]!.answer('answer')
        assert.equal(await call, 'answer')
        await stopped
        assert.equal(server.stats().connections.current, 0)
      })

      it('cuts what is still in flight after the drain time', async () => {
        const waiting = begun()
        const lost = assert.rejects(client.request('wait', 1), { name: 'ConnectionError' })
        await waiting
        await server.stop({ drain: 10 })
        await lost
        assert.equal(server.stats().connections.current, 0)
      })

      it('refuses data that cannot be carried', async () => {
        await assert.rejects(client.request('echo', 1n), { name: 'OptionError', path: 'data' })
        const circle: { self?: unknown } = {}
        circle.self = circle
        await assert.rejects(client.request('echo', circle), { name: 'OptionError' })
        assert.equal(await client.request('echo', 1), 1)
      })

      it('bounds what a client may have unsent, and does not where the limit is 0', async () => {
        const strict = connectTo(server.address!.port, { limits: { sendBuffer: 1_000 } })
        await assert.rejects(strict.request('echo', 'x'.repeat(2_000)), {
          name: 'PayloadTooLargeError',
          limit: 1_000
        })
        assert.equal(await strict.request('echo', 'short'), 'short')
        const calls = Array.from({ length: 4 }, () => strict.request('echo', 'x'.repeat(400)))
        const refused = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected')
        assert.ok(refused.length > 0)
        for (const { reason } of refused as PromiseRejectedResult[]) {
          assert.deepEqual([reason.name, reason.mayHaveRun], ['OverloadedError', false])
          assert.match(reason.message, /limits\.sendBuffer allows \(1000\)/)
        }
        const free = connectTo(server.address!.port, { limits: { sendBuffer: false } })
        const long = 'x'.repeat(2_000)
        assert.equal(await free.request('echo', long), long)
      })

      it('keeps no connection of clients that have left', async () => {
        const others = Array.from({ length: 50 }, () => connectTo(server.address!.port))
        await Promise.all(others.map((other) => other.request('echo', 1)))
        assert.equal(server.stats().connections.current, 50)
        await Promise.all(others.map((other) => other.close()))
        assert.equal(await client.request('echo', 1), 1)
        while (server.stats().connections.current > 1) await new Promise((resolve) => setImmediate(resolve))
      })
    })
  }

  describe(`RSocket with sockets of ${socketsName}`, () => {
    let dispatcher: TestDispatcher
    let server: TcpServer
    const cleanups: (() => Promise<void>)[] = []

    async function startBoth(
      server_: ServerOptions = {},
      { timeout, dispatcher: answering, ...client_ }: ClientOptions = {}
    ): Promise<TcpClient> {
      const logger = new RecordingLogger()
      dispatcher = new TestDispatcher()
      const started = newServer({ host: '127.0.0.1', port: 0, sockets, ...server_ }, logger)
      server = started
      await started.start(dispatcher)
      const all = { host: '127.0.0.1', port: server.address!.port, sockets, ...client_ }
      const client = newClient(all, logger, { timeout, dispatcher: answering })
      cleanups.push(
        () => started.stop({ drain: 0 }),
        () => client.close()
      )
      return client
    }
    afterEach(async () => {
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    })

    it('cancels the handler when the caller leaves a stream or a request', async () => {
      const client = await startBoth()
      await new Promise<void>((resolve, reject) => {
        const call = client.stream('endless', 1, {
          next: (value) => {
            if (value !== 9) return
            call.cancel()
            resolve()
          },
          complete() {},
          error: reject
        })
      })
      await dispatcher.ended
      const waiting = dispatcher.begins()
      const timedOut = assert.rejects(client.request('wait', 1, { timeout: 20 }), { name: 'TimeoutError' })
      const { signal, timeout } = await waiting
      assert.equal(timeout, 20)
      if (!signal.aborted) await once(signal, 'abort')
      await timedOut
    })

    it('sends what an Observable has made ahead of its reader as soon as it is asked for', async () => {
      const client = await startBoth()
      const seen: unknown[] = []
      await new Promise<void>((resolve, reject) => {
        const receiver: CallReceiver = {
          next: (value) => {
            seen.push(value)
            // Nothing else is sent meanwhile, so the values must be sent by themselves.
            if (seen.length === 1) setTimeout(() => call.request(2), 20)
            if (seen.length === 3) resolve()
          },
          complete: () => reject(new Error('it never completes')),
          error: reject
        }
        const call = client.stream('burst', 5, receiver, { demand: 1 })
      })
      assert.deepEqual(seen, [0, 1, 2])
    })

    it('lets a stream be only as far ahead as it was asked', async () => {
      const client = await startBoth()
      const received: unknown[] = []
      await new Promise<void>((resolve, reject) => {
        const call = client.stream(
          'endless',
          1,
          {
            next: (value) => {
              received.push(value)
              if (received.length === 10) resolve()
              if (received.length === 3) call.request(7)
            },
            complete() {},
            error: reject
          },
          { demand: 3 }
        )
      })
      assert.equal(await client.request('echo', 'in between'), 'in between')
      assert.deepEqual(received, [...Array(10).keys()])
      assert.ok(dispatcher.made <= 11, `${dispatcher.made} values were made for 10`)
    })

    for (const fragmentSize of [64, 1_000]) {
      it(`carries channels, streams and large messages in fragments of ${fragmentSize} bytes`, async () => {
        const client = await startBoth({ fragmentSize, limits: { headerSize: 200_000 } }, { fragmentSize })
        const text = 'é'.repeat(50_000)
        assert.equal(await client.request('echo', text), text)
        assert.deepEqual(await client.request('headers', 1, { headers: { long: text } }), { long: text })
        assert.equal(await client.request('sum', [1, 2, 3].values()), 6)
        assert.equal(await client.request('sum', many(1_000)), 499_500)
        assert.equal(await client.request('sum', many(0)), 0)
        assert.deepEqual(await values(client, 'count', 500), [...Array(500).keys()])
      })
    }

    it('fails a channel whose input fails', async () => {
      const client = await startBoth()
      async function* failing() {
        yield 1
        throw new Error('no more input')
      }
      await assert.rejects(client.request('sum', failing()), { message: 'no more input' })
      assert.equal(await client.request('echo', 1), 1)
    })

    it('carries bytes', async () => {
      const client = await startBoth({}, { codec: 'bytes' })
      const bytes = Uint8Array.from({ length: 1_000 }, (_, index) => index)
      assert.deepEqual(await client.request('echo', bytes), bytes)
      await assert.rejects(client.request('echo', 'text'), {
        name: 'OptionError',
        message: /a Uint8Array/
      })
    })

    it('refuses requests beyond limits.inFlightPerConnection, and lets a client with leases wait', async () => {
      const client = await startBoth({ limits: { inFlightPerConnection: 2 } })
      const calls = [1, 2, 3].map((data) => client.request('wait', data))
      await assert.rejects(calls[2]!, { name: 'RejectedError' })
      const { port } = server.address!
      const leased = { host: '127.0.0.1', port, sockets, rsocket: { lease: true } }
      const patient = newClient(leased, new RecordingLogger())
      cleanups.push(() => patient.close())
      const results = Promise.all([4, 5, 6, 7].map((data) => patient.request('later', data)))
      assert.deepEqual(await results, [4, 5, 6, 7])
      for (const { message, answer } of dispatcher.waiting) answer(message.data)
      assert.deepEqual(await Promise.all(calls.slice(0, 2)), [1, 2])
    })

    it('asks the authenticate hook about connections', async () => {
      const seen: unknown[] = []
      const authenticate = async ({ credentials }: { credentials: unknown }) => {
        seen.push(credentials)
        return (credentials as { token?: string } | undefined)?.token === 'good'
      }
      const names = await startBoth({ authenticate: () => ({ user: 'anna' }) })
      const named = new Promise((resolve) => {
        dispatcher.began = ({ peer }) => resolve(peer?.user)
      })
      assert.equal(await names.request('echo', 1), 1)
      assert.equal(await named, 'anna')
      const hook = { authenticate }
      const welcome = await startBoth(hook, { credentials: { type: 'bearer', token: 'good' } })
      assert.equal(await welcome.request('echo', 1), 1)
      const refused = await startBoth(hook, {
        credentials: { type: 'simple', username: 'a', password: 'b' }
      })
      await assert.rejects(refused.request('echo', 1), {
        name: 'UnauthenticatedError',
        code: 'UNAUTHENTICATED',
        message: `tcp://127.0.0.1:${server.address?.port}: The credentials are not accepted`,
        mayHaveRun: false
      })
      assert.deepEqual(seen, [
        { type: 'bearer', token: 'good' },
        { type: 'simple', username: 'a', password: 'b' }
      ])
    })

    it('asks a function for credentials before each connection, and fails with what it fails with', async () => {
      const seen: unknown[] = []
      const authenticate = async ({ credentials }: { credentials: unknown }) => {
        seen.push((credentials as { token?: string } | undefined)?.token)
        return true
      }
      let asked = 0
      const credentials = async () => {
        if (++asked === 2) throw new Error('nobody gives a token')
        return { type: 'bearer', token: `token ${asked}` } as const
      }
      const caller = await startBoth({ authenticate }, { credentials })
      let leave = () => {}
      dispatcher.began = ({ peer }) => {
        leave = () => peer?.disconnect()
      }
      // The first calls are made while the credentials are being requested.
      assert.deepEqual(await Promise.all([caller.request('echo', 1), caller.request('echo', 2)]), [1, 2])
      assert.deepEqual(seen, ['token 1'])
      const isTold = new Promise((resolve) => {
        caller.onStatus(({ type }) => type === 'connect-failed' && resolve(undefined))
      })
      leave()
      await isTold
      assert.equal(await caller.request('echo', 3), 3)
      assert.deepEqual(seen, ['token 1', 'token 3'])
    })

    it('loses no request while its server stops: each is answered, refused, or never left', async () => {
      // Reconnecting and retries are off, because they would hide lost requests.
      const client = await startBoth({}, { reconnect: false, retry: false })
      const doubtful: unknown[] = []
      let answered = 0
      let stopped = false
      const callers = Array.from({ length: 50 }, async () => {
        while (!stopped) {
          try {
            await client.request('later', 1)
            answered++
          } catch (error) {
            if ((error as Error).name !== 'RejectedError' && (error as ConnectionError).mayHaveRun !== false)
              doubtful.push(error)
            // A caller that was refused stops; the other callers are enough.
            return
          }
        }
      })
      await client.request('echo', 1)
      await server.stop()
      stopped = true
      await Promise.all(callers)
      assert.ok(answered > 0)
      assert.deepEqual(doubtful, [])
    })

    it('lets a server ask its clients', async () => {
      const asked = new TestDispatcher()
      const client = await startBoth({}, { dispatcher: asked })
      const begun = dispatcher.begins()
      void client.request('echo', 1)
      const { peer } = await begun
      assert.equal(await peer!.caller!.request('echo', 'from the server'), 'from the server')
    })

    it('resumes lost connections with nothing lost or doubled, also those of a user', async () => {
      const authenticate = () => ({ user: 'anna' })
      const direct = await startBoth({ authenticate, rsocket: { resume: true } })
      const pairs = new Set<net.Socket>()
      const proxy = net.createServer((near) => {
        const far = net.connect(server.address!.port, '127.0.0.1')
        near.pipe(far).pipe(near)
        for (const socket of [near, far]) {
          pairs.add(socket)
          socket.on('error', () => {})
          socket.on('close', () => {
            pairs.delete(socket)
            near.destroy()
            far.destroy()
          })
        }
      })
      proxy.listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      const { port } = proxy.address() as net.AddressInfo
      const resumed = { host: '127.0.0.1', port, sockets, rsocket: { resume: true } }
      const client = newClient(resumed, new RecordingLogger())
      // The second stream has all its values asked for at once.
      const count = 20 * MANY
      for (const options of [undefined, { demand: 2 ** 31 - 1 }]) {
        const streamed: unknown[] = []
        let cuts = 0
        await new Promise<void>((resolve, reject) => {
          const receiver = {
            next: (value: unknown) => {
              // Cuts the connections several times in the middle of the stream.
              if (streamed.push(value) % (count / 8) === 0 && cuts++ < 5)
                for (const socket of pairs) socket.destroy()
            },
            complete: resolve,
            error: reject
          }
          client.stream('count', count, receiver, options)
        })
        assert.deepEqual(streamed, [...Array(count).keys()])
        assert.equal(cuts > 3, true)
      }
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          if (index === 100) for (const socket of pairs) socket.destroy()
          return client.request('later', index)
        })
      )
      assert.deepEqual(answers, [...Array(200).keys()])
      await client.close()
      proxy.close()
      assert.equal(await direct.request('echo', 1), 1)
    })

    it('refuses to resume where it is switched off', async () => {
      const client = await startBoth({}, { rsocket: { resume: true } })
      await assert.rejects(client.request('echo', 1), { name: 'ConnectionError', message: /REJECTED_SETUP/ })
    })
  })
}

async function* many(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n++) yield n
}
