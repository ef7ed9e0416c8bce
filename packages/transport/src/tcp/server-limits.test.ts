/** Limits of a server over real sockets: what is refused, what waits, what is closed, and what the figures say. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Dispatcher, IncomingMessage } from '../dispatch.ts'
import { bunSockets } from '../socket/bun.ts'
import { nodeSockets } from '../socket/node.ts'
import type { SocketRuntime } from '../socket/socket.ts'
import { setup, stream } from '../testing/rsocket-frames.ts'
import { RecordingLogger, TestDispatcher } from '../testing/service.ts'
import { TcpClient } from './client.ts'
import type { TcpClientOptions } from './options.ts'
import { TcpServer } from './server.ts'
import type { TcpServerOptions } from './server-options.ts'

const SOCKETS: [string, SocketRuntime][] = [['node:net', nodeSockets]]
if (typeof Bun !== 'undefined') SOCKETS.push(['Bun', bunSockets])

for (const [socketsName, sockets] of SOCKETS) {
  describe(`limits of a server with sockets of ${socketsName}`, () => {
    let dispatcher: TestDispatcher
    let logger: RecordingLogger
    let server: TcpServer
    const cleanups: (() => Promise<void>)[] = []

    async function start(options: TcpServerOptions, answering: Dispatcher = dispatcher): Promise<void> {
      server = new TcpServer({ host: '127.0.0.1', port: 0, sockets, logger, ...options })
      const started = server
      await started.start(answering)
      cleanups.push(() => started.stop({ drain: 0 }))
    }

    function client(options: TcpClientOptions = {}): TcpClient {
      const { port } = server.address!
      const made = new TcpClient({
        host: '127.0.0.1',
        port,
        sockets,
        logger,
        // What a server refuses is to be seen, not made good.
        reconnect: false,
        retry: false,
        ...options
      })
      cleanups.push(() => made.close())
      return made
    }

    /** Resolves when so many handlers have begun that wait for `answer`. */
    const begun = (count: number) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (dispatcher.waiting.length >= count) resolve()
        }
        dispatcher.began = check
        check()
      })

    /** Lets the oldest handler that waits answer with its data. */
    const answerOne = () => {
      const { message, answer } = dispatcher.waiting.shift()!
      answer(message.data)
    }

    beforeEach(() => {
      dispatcher = new TestDispatcher()
      logger = new RecordingLogger()
    })
    afterEach(async () => {
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    })

    for (const protocol of ['nest', 'rsocket'] as const) {
      it(`maxConnections closes those beyond it, ${protocol}`, async () => {
        await start({ maxConnections: 1 })
        const first = client({ protocol })
        assert.equal(await first.request('echo', 1), 1)
        const told = protocol === 'nest' ? /Connection closed/ : /REJECTED_SETUP.*maxConnections allows \(1\)/
        await assert.rejects(client({ protocol }).request('echo', 2), {
          name: 'ConnectionError',
          message: told
        })
        assert.equal(await first.request('echo', 3), 3)
        assert.deepEqual(server.stats().connections, { current: 1, limit: 1 })
        assert.equal(server.stats().refused.connections, 1)
        assert.match(logger.lines[0] ?? '', /^A connection was refused: .*maxConnections allows \(1\)/)
      })

      it(`idleTimeout closes a connection that nobody uses, ${protocol}; the next call makes another`, async () => {
        await start({ idleTimeout: 40 })
        const caller = client({ protocol })
        for (let count = 1; count <= 2; count++) {
          assert.equal(await caller.request('echo', count), count)
          while (server.stats().connections.current > 0)
            await new Promise((resolve) => setTimeout(resolve, 5))
          assert.equal(server.stats().closedIdle, count)
        }
      })

      it(`idleTimeout spares a connection with a request or a stream in flight, ${protocol}`, async () => {
        await start({ idleTimeout: 20 })
        const caller = client({ protocol })
        const call = caller.request('wait', 1)
        await begun(1)
        await new Promise((resolve) => setTimeout(resolve, 100))
        answerOne()
        assert.equal(await call, 1)
      })

      it(`idleTimeout closes a connection whose peer reads nothing of what it asked for, ${protocol}`, async () => {
        const endless: Dispatcher = { request: () => endlessText(), event() {} }
        await start({ idleTimeout: 40 }, endless)
        const peer = net.connect(server.address!.port, '127.0.0.1')
        cleanups.push(async () => void peer.destroy())
        await once(peer, 'connect')
        peer.pause()
        const json = '{"pattern":"s","id":"1"}'
        const rsocket = Buffer.concat([
          setup({ keepalive: 1e9, lifetime: 1e9 }),
          stream(1, 's', 0x7fffffff, '')
        ])
        peer.write(protocol === 'nest' ? `${json.length}#${json}` : rsocket)
        while (server.stats().unsent === 0) await turn()
        while (server.stats().connections.current > 0) await turn()
        assert.equal(server.stats().closedIdle, 1)
        assert.match(logger.lines.join(), /for idleTimeout \(40 ms\), though \d+ bytes are there to be read/)
      })

      it(`maxStreams refuses streams beyond it and lets requests pass, ${protocol}`, async () => {
        const endless: Dispatcher = {
          request: ({ route, data }) => (route === 'echo' ? data : openStream()),
          event() {}
        }
        await start({ maxStreams: 2 }, endless)
        const caller = client({ protocol })
        const open = () => {
          let first!: (value: unknown) => void
          let fail!: (error: Error) => void
          const began = new Promise((resolve, reject) => {
            first = resolve
            fail = reject
          })
          const call = caller.stream('s', 1, { next: first, complete() {}, error: fail }, { demand: 1 })
          return { began, call }
        }
        const streams = [open(), open()]
        for (const { began } of streams) assert.equal(await began, 'first')
        assert.deepEqual(server.stats().perConnection.streams, { current: 2, limit: 2 })
        await assert.rejects(open().began, { code: 'REJECTED', message: /maxStreams allows \(2\)/ })
        assert.equal(await caller.request('echo', 1), 1)
        assert.equal(server.stats().refused.streams, 1)
        if (protocol === 'nest') return
        streams[0]?.call.cancel()
        assert.equal(await caller.request('echo', 1), 1)
        assert.equal(await open().began, 'first')
      })

      it(`concurrency keeps to its limit, ${protocol}`, async () => {
        await start({ concurrency: { initial: 3, min: 3, max: 3 } })
        const calls = Array.from({ length: 9 }, (_, index) => client({ protocol }).request('wait', index))
        const settled = Promise.allSettled(calls)
        await begun(3)
        if (protocol === 'rsocket') while (server.stats().refused.requests < 6) await turn()
        assert.deepEqual(server.stats().inFlight, { current: 3, limit: 0 })
        assert.deepEqual(server.stats().concurrency, { current: 3, limit: 3 })
        for (let count = 0; count < (protocol === 'nest' ? 9 : 3); count++) {
          await begun(1)
          answerOne()
        }
        const failed = (await settled).filter(({ status }) => status === 'rejected')
        assert.equal(failed.length, protocol === 'nest' ? 0 : 6)
      })
    }

    it('maxTotalInFlight refuses RSocket requests of all connections, while those before still run', async () => {
      await start({ maxTotalInFlight: 2 })
      const calls = [client().request('wait', 1), client().request('wait', 2)]
      await begun(2)
      const third = client()
      await assert.rejects(third.request('wait', 3), { name: 'RejectedError', message: /maxTotalInFlight/ })
      await third.emit('event', 1)
      await assert.rejects(third.request('echo', 4), { name: 'RejectedError' })
      assert.deepEqual(dispatcher.events, [])
      const { inFlight, refused } = server.stats()
      assert.deepEqual([inFlight, refused.requests], [{ current: 2, limit: 2 }, 3])
      assert.equal(logger.lines.filter((line) => line.startsWith('A request was refused')).length, 1)
      answerOne()
      answerOne()
      assert.deepEqual(await Promise.all(calls), [1, 2])
      assert.equal(await third.request('later', 5), 5)
      assert.equal(server.stats().inFlight.current, 0)
    })

    it('a caller that gives up frees no room while its handler runs', async () => {
      await start({ maxTotalInFlight: 1 })
      const caller = client()
      await assert.rejects(caller.request('wait', 1, { timeout: 10 }), { name: 'TimeoutError' })
      await assert.rejects(caller.request('later', 2), { name: 'RejectedError' })
      answerOne()
      await turn()
      assert.equal(await caller.request('later', 3), 3)
    })

    it('maxTotalInFlight lets clients with leases wait, and none is forgotten', async () => {
      await start({ maxTotalInFlight: 2 })
      const busy = client()
      const calls = [busy.request('wait', 1), busy.request('wait', 2)]
      await begun(2)
      const patient = [client({ lease: true }), client({ lease: true })]
      const results = patient.map((one) => one.request('later', 3))
      while (server.stats().waiting < 2) await turn()
      answerOne()
      answerOne()
      await Promise.all(calls)
      assert.deepEqual(await Promise.all(results), [3, 3])
      for (let count = 0; count < 20; count++)
        assert.equal(await patient[count % 2]?.request('later', count), count)
    })

    it("maxTotalInFlight lets Nest's messages wait, in their order, and answers them all", async () => {
      const seen: unknown[] = []
      const answering: Dispatcher = {
        request: (message) => {
          seen.push(message.data)
          return dispatcher.request(message)
        },
        event: ({ data }: IncomingMessage) => void seen.push(data)
      }
      await start({ maxTotalInFlight: 1 }, answering)
      const caller = client({ protocol: 'nest' })
      const calls = [caller.request('wait', 0)]
      await begun(1)
      for (let data = 1; data < 50; data++) {
        if (data % 5 === 0) void caller.emit('event', data)
        else calls.push(caller.request('later', data))
      }
      while (server.stats().waiting < 1) await turn()
      assert.deepEqual(seen, [0])
      assert.ok(server.stats().received > 0)
      answerOne()
      await Promise.all(calls)
      assert.deepEqual(seen, [...Array(50).keys()])
      assert.equal(server.stats().received, 0)
      assert.deepEqual(logger.lines, [])
    })

    it('forgets what it received on a connection that it ends, though the peer does not close', async () => {
      await start({ maxBufferSize: 1_000 })
      const peer = net.connect({ port: server.address!.port, host: '127.0.0.1', allowHalfOpen: true })
      cleanups.push(async () => void peer.destroy())
      const ended = once(peer.resume(), 'end')
      peer.write(`5000#${'x'.repeat(2_000)}`)
      await ended
      const { connections, received } = server.stats()
      assert.deepEqual([connections.current, received], [1, 0])
      assert.match(logger.lines.join(), /exceed maxBufferSize/)
    })

    it('refuses an RSocket frame that is longer than maxBufferSize when it is announced', async () => {
      await start({ maxBufferSize: 1_000 })
      const call = client().request('echo', 'x'.repeat(2_000))
      await assert.rejects(call, {
        name: 'ConnectionError',
        message: /exceed maxBufferSize, which allows 1000/
      })
      assert.equal(await client().request('echo', 'x'), 'x')
    })

    it("lets Nest's connections take turns, and ends one whose waiting messages exceed maxBufferSize", async () => {
      await start({ maxTotalInFlight: 1, maxBufferSize: 2_000, incompleteMessageTimeout: 20 })
      const [first, second, greedy] = [1, 2, 3].map(() => client({ protocol: 'nest' })) as [
        TcpClient,
        TcpClient,
        TcpClient
      ]
      const calls = [first.request('wait', 1)]
      await begun(1)
      calls.push(first.request('wait', 2), first.request('wait', 3))
      while (server.stats().waiting < 1) await turn()
      calls.push(second.request('wait', 4))
      while (server.stats().waiting < 2) await turn()
      await assert.rejects(greedy.request('wait', 'x'.repeat(3_000)), { name: 'ConnectionError' })
      assert.match(logger.lines.join(), /exceed maxBufferSize/)
      // Longer than incompleteMessageTimeout: what waits for room is not incomplete.
      await new Promise((resolve) => setTimeout(resolve, 60))
      const order: unknown[] = []
      for (let count = 0; count < 4; count++) {
        await begun(1)
        order.push(dispatcher.waiting[0]?.message.data)
        answerOne()
      }
      assert.deepEqual(order, [1, 2, 4, 3])
      assert.deepEqual(await Promise.all(calls), [1, 2, 3, 4])
    })

    it('answers messages that wait when it stops', async () => {
      await start({ maxTotalInFlight: 1 })
      const caller = client({ protocol: 'nest' })
      const calls = [caller.request('wait', 1), caller.request('wait', 2)]
      await begun(1)
      while (server.stats().waiting < 1) await turn()
      const stopped = server.stop({ drain: 10_000 })
      answerOne()
      await begun(1)
      answerOne()
      assert.deepEqual(await Promise.all(calls), [1, 2])
      await stopped
    })

    for (const [protocol, beginning] of [
      ['nest', '1000000#"'],
      ['rsocket', Buffer.concat([setup(), Buffer.from([0x01, 0, 0])])]
    ] as const) {
      it(`incompleteMessageTimeout ends a connection whose peer sends a byte now and then, ${protocol}`, async () => {
        await start({ incompleteMessageTimeout: 60 })
        const peer = net.connect(server.address!.port, '127.0.0.1').on('error', () => {})
        cleanups.push(async () => void peer.destroy())
        peer.resume().write(beginning)
        const drip = setInterval(() => peer.write('x'), 5)
        // A byte that crosses the end comes back as a reset, which `once` of node:events would fail for.
        await new Promise((resolve) => peer.once('close', resolve))
        clearInterval(drip)
        assert.match(logger.lines.join(), /for incompleteMessageTimeout \(60 ms\)/)
      })
    }

    it('maxHeaderSize refuses a request with more metadata, and the connection goes on', async () => {
      for (const codec of ['json', 'msgpack-records']) {
        await start({ maxHeaderSize: 200 })
        const caller = client({ codec })
        assert.deepEqual(await caller.request('headers', { a: 1 }, { headers: { a: 'b' } }), { a: 'b' })
        const headers = { a: 'x'.repeat(200) }
        await assert.rejects(caller.request('headers', { b: 2 }, { headers }), {
          code: 'INVALID',
          message: /maxHeaderSize allows 200/
        })
        assert.deepEqual(await caller.request('echo', { b: 3 }), { b: 3 })
        assert.equal(server.stats().refused.headers, 1)
      }
    })

    it('maxHeaderSize refuses a SETUP with more metadata', async () => {
      await start({ maxHeaderSize: 200 })
      const caller = client({ credentials: { type: 'bearer', token: 'x'.repeat(300) } })
      await assert.rejects(caller.request('echo', 1), /INVALID_SETUP.*maxHeaderSize allows 200/)
    })

    it('maxHeaderSize drops a METADATA_PUSH with more, tells the log, and the connection goes on', async () => {
      const pushed: number[] = []
      await start({ maxHeaderSize: 200, onMetadataPush: ({ length }) => pushed.push(length) })
      const caller = client()
      await caller.connect()
      for (const size of [200, 201, 100_000, 0]) caller.pushMetadata(new Uint8Array(size))
      assert.equal(await caller.request('echo', 1), 1)
      assert.deepEqual(pushed, [200, 0])
      assert.equal(server.stats().refused.headers, 2)
      const told = 'Metadata was refused: METADATA_PUSH has 201 bytes; maxHeaderSize allows 200'
      assert.ok(
        logger.lines.some((line) => line.startsWith(told)),
        logger.lines.join('\n')
      )
    })

    it('tells what is unsent and what is refused, and nothing is left at the end', async () => {
      await start({ maxInFlight: 1 })
      const caller = client()
      const call = caller.request('wait', 1)
      await begun(1)
      await assert.rejects(caller.request('wait', 2), { name: 'RejectedError' })
      const busy = server.stats()
      assert.deepEqual(busy.perConnection.inFlight, { current: 1, limit: 1 })
      assert.deepEqual(busy.perConnection.unsent.limit, 128 * 1024 * 1024)
      assert.equal(busy.refused.requests, 1)
      assert.equal(busy.concurrency, undefined)
      answerOne()
      await call
      const idle = server.stats()
      assert.deepEqual([idle.inFlight.current, idle.streams, idle.received, idle.unsent], [0, 0, 0, 0])
      assert.equal(JSON.parse(JSON.stringify(idle)).inFlight.limit, 0)
    })

    it('counts a peer that does not read as unsent bytes', async () => {
      await start({})
      const peer = net.connect(server.address!.port, '127.0.0.1')
      cleanups.push(async () => void peer.destroy())
      await once(peer, 'connect')
      peer.pause()
      const json = JSON.stringify({ pattern: 'echo', data: 'x'.repeat(1024 * 1024), id: '1' })
      for (let count = 0; count < 16; count++) peer.write(`${json.length}#${json}`)
      while (server.stats().unsent === 0) await turn()
      assert.ok(server.stats().perConnection.unsent.current > 0)
    })

    it('refuses options that are none', () => {
      const wrong: TcpServerOptions[] = [
        { maxConnections: -1 },
        { maxTotalInFlight: Number.NaN },
        { maxStreams: '5' as unknown as number },
        { maxHeaderSize: -5 },
        { idleTimeout: -1 },
        { concurrency: 'fixed' as 'adaptive' },
        { concurrency: { min: 0 } },
        { concurrency: { min: 10, max: 5 } },
        { concurrency: { initial: 5, min: 10 } },
        { concurrency: { initial: 50, max: 10 } }
      ]
      for (const options of wrong) assert.throws(() => new TcpServer(options), { name: 'ValidationError' })
      assert.ok(new TcpServer({ concurrency: { max: 10 } }))
      assert.ok(new TcpServer({ concurrency: { min: 5_000 } }))
    })
  })
}

/** Lets sockets have their turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1))
}

async function* endlessText(): AsyncGenerator<string> {
  while (true) yield 'x'.repeat(64 * 1024)
}

/** A stream that says it is there, and then nothing. */
async function* openStream(): AsyncGenerator<string> {
  yield 'first'
  await new Promise(() => {})
}
