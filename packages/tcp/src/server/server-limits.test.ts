/**
 * Tests limits of a server over real sockets: what is refused, what waits, what is closed, and the figures of
 * `stats()`.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import {
  describeFrames,
  frame,
  RecordingLogger,
  request,
  setup,
  stream,
  TestDispatcher
} from '@elysia-microservices/rsocket/testing'
import { type Dispatcher, type IncomingMessage, OptionError } from '@elysia-microservices/transport/kit'
import type { TcpClient } from '../client/client.ts'
import type { TcpClientOptions } from '../options/client-options.ts'
import type { ServerLimitOptions } from '../options/limits.ts'
import { isTried, newClient, newServer, SOCKETS } from '../testing/ends.ts'
import type { TcpServer } from './server.ts'

for (const [socketsName, sockets] of SOCKETS) {
  describe(`limits of a server with sockets of ${socketsName}`, () => {
    let dispatcher: TestDispatcher
    let logger: RecordingLogger
    let server: TcpServer
    const cleanups: (() => Promise<void>)[] = []

    async function start(limits: ServerLimitOptions, answering: Dispatcher = dispatcher): Promise<void> {
      server = newServer({ host: '127.0.0.1', port: 0, sockets, limits }, logger)
      const started = server
      await started.start(answering)
      cleanups.push(() => started.stop({ drain: 0 }))
    }

    function client(options: TcpClientOptions = {}): TcpClient {
      const { port } = server.address!
      const all = {
        host: '127.0.0.1',
        port,
        sockets,
        // A refusal of the server must reach the test, and must not be retried.
        reconnect: false,
        retry: false,
        ...options
      }
      const made = newClient(all, logger)
      cleanups.push(() => made.close())
      return made
    }

    /** Resolves when `count` handlers have begun and wait for `answer`. */
    const begun = (count: number) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (dispatcher.waiting.length >= count) resolve()
        }
        dispatcher.began = check
        check()
      })

    /** Lets the oldest waiting handler answer with its data. */
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

    it("inFlight lets events wait on Nest's wire, also those whose client has closed, and a server that stops", async () => {
      await start({ inFlight: 1 })
      const busy = client()
      const answer = busy.request('wait', 0)
      await begun(1)
      const leaving = client({ protocol: 'nest' })
      for (const data of [1, 2, 3]) await leaving.emit('seen', data)
      await leaving.close()
      while (server.stats().connections.current > 1) await new Promise((resolve) => setTimeout(resolve, 1))
      const stopped = server.stop({ drain: 10_000 })
      assert.deepEqual(dispatcher.events, [])
      answerOne()
      await answer
      await stopped
      assert.deepEqual(dispatcher.events, [1, 2, 3])
    })

    for (const protocol of ['nest', 'rsocket'] as const) {
      if (!isTried(socketsName, protocol)) continue
      it(`connections closes those beyond it, ${protocol}`, async () => {
        await start({ connections: 1 })
        const first = client({ protocol })
        assert.equal(await first.request('echo', 1), 1)
        const told = protocol === 'nest' ? /was closed/ : /REJECTED_SETUP.*limits\.connections allows \(1\)/
        await assert.rejects(client({ protocol }).request('echo', 2), {
          name: 'ConnectionError',
          message: told
        })
        assert.equal(await first.request('echo', 3), 3)
        assert.deepEqual(server.stats().connections, { current: 1, limit: 1 })
        assert.equal(server.stats().refused.connections, 1)
        assert.match(logger.lines[0] ?? '', /^A connection was refused: .*limits\.connections allows \(1\)/)
      })

      it(`idle closes a connection that nobody uses, ${protocol}; the next call makes another`, async () => {
        await start({ idle: 40 })
        const caller = client({ protocol })
        for (let count = 1; count <= 2; count++) {
          assert.equal(await caller.request('echo', count), count)
          while (server.stats().connections.current > 0)
            await new Promise((resolve) => setTimeout(resolve, 5))
          assert.equal(server.stats().closedIdle, count)
        }
      })

      it(`silence closes a connection that never says anything, and no other, ${protocol}`, async () => {
        await start({ silence: 40 })
        const caller = client({ protocol })
        assert.equal(await caller.request('echo', 1), 1)
        const peer = net.connect(server.address!.port, '127.0.0.1').resume()
        cleanups.push(async () => void peer.destroy())
        await once(peer, 'close')
        while (server.stats().connections.current > 1) await turn()
        assert.equal(await caller.request('echo', 2), 2)
        assert.equal(server.stats().closedIdle, 1)
        assert.match(logger.lines.join(), /The connection sent nothing for limits\.silence \(40 ms\)/)
      })

      it(`age ${protocol === 'nest' ? 'leaves connections alone' : 'hands connections over and loses no request'}, ${protocol}`, async () => {
        const ports = new Set<number | undefined>()
        const request = (message: IncomingMessage) => {
          ports.add(message.peer?.port)
          return dispatcher.request(message)
        }
        await start({ age: 40 }, { routes: () => [], request, event() {} })
        const caller = client({ protocol, reconnect: {}, retry: {} })
        const lasting = caller.request('wait', 'first')
        await begun(1)
        let asked = 0
        const several = performance.now() + 5 * 40
        while (protocol === 'rsocket' ? ports.size < 4 : performance.now() < several) {
          assert.equal(await caller.request('echo', asked), asked)
          asked++
          await turn()
        }
        assert.equal(protocol === 'rsocket' || ports.size === 1, true)
        // The first connection stays open until its requests in flight are answered.
        assert.ok(server.stats().inFlight.current >= 1)
        answerOne()
        assert.equal(await lasting, 'first')
        // On a busy machine a request may be sent while the connection ends; the client then retries it.
        assert.deepEqual(
          logger.lines.filter((line) => !line.includes('Retrying ')),
          []
        )
      })

      it(`idle spares a connection with a request or a stream in flight, ${protocol}`, async () => {
        await start({ idle: 20 })
        const caller = client({ protocol })
        const call = caller.request('wait', 1)
        await begun(1)
        await new Promise((resolve) => setTimeout(resolve, 100))
        answerOne()
        assert.equal(await call, 1)
      })

      it(`idle closes a connection whose peer reads nothing of what it asked for, ${protocol}`, async () => {
        const endless: Dispatcher = { routes: () => [], request: () => endlessText(), event() {} }
        await start({ idle: 40 }, endless)
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
        while (server.stats().closedIdle === 0) await turn()
        // Without this, the server would wait for the peer, and then close without its FIN: see the test of `Closing`.
        peer.destroy()
        while (server.stats().connections.current > 0) await turn()
        assert.equal(server.stats().closedIdle, 1)
        assert.match(
          logger.lines.join(),
          /for limits\.idle \(40 ms\): its peer does not read the \d+ bytes sent to it/
        )
      })

      it(`streams refuses streams beyond it and lets requests pass, ${protocol}`, async () => {
        const endless: Dispatcher = {
          routes: () => [],
          request: ({ route, data }) => (route === 'echo' ? data : openStream()),
          event() {}
        }
        await start({ streams: 2 }, endless)
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
        await assert.rejects(open().began, { code: 'REJECTED', message: /limits\.streams allows \(2\)/ })
        assert.equal(await caller.request('echo', 1), 1)
        assert.equal(server.stats().refused.streams, 1)
        if (protocol === 'nest') return
        streams[0]?.call.cancel()
        assert.equal(await caller.request('echo', 1), 1)
        assert.equal(await open().began, 'first')
      })

      it(`inFlight keeps to the limit that it has found, ${protocol}`, async () => {
        await start({ inFlight: { initial: 3, min: 3, max: 3 } })
        const calls = Array.from({ length: 9 }, (_, index) => client({ protocol }).request('wait', index))
        const settled = Promise.allSettled(calls)
        await begun(3)
        if (protocol === 'rsocket') while (server.stats().refused.requests < 6) await turn()
        assert.deepEqual(server.stats().inFlight, { current: 3, limit: 3 })
        for (let count = 0; count < (protocol === 'nest' ? 9 : 3); count++) {
          await begun(1)
          answerOne()
        }
        const failed = (await settled).filter(({ status }) => status === 'rejected')
        assert.equal(failed.length, protocol === 'nest' ? 0 : 6)
      })
    }

    it('inFlight refuses RSocket requests of all connections, while those before still run', async () => {
      await start({ inFlight: 2 })
      const calls = [client().request('wait', 1), client().request('wait', 2)]
      await begun(2)
      const third = client()
      await assert.rejects(third.request('wait', 3), {
        name: 'RejectedError',
        message: /limits\.inFlight allows \(2\)/
      })
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
      await start({ inFlight: 1 })
      const caller = client()
      await caller.connect()
      await assert.rejects(caller.request('wait', 1, { timeout: 10 }), { name: 'TimeoutError' })
      await assert.rejects(caller.request('later', 2), { name: 'RejectedError' })
      answerOne()
      await turn()
      assert.equal(await caller.request('later', 3), 3)
    })

    it('inFlight lets clients with leases wait, and none is forgotten', async () => {
      await start({ inFlight: 2 })
      const busy = client()
      const calls = [busy.request('wait', 1), busy.request('wait', 2)]
      await begun(2)
      const patient = [client({ rsocket: { lease: true } }), client({ rsocket: { lease: true } })]
      const results = patient.map((one) => one.request('later', 3))
      while (server.stats().waiting < 2) await turn()
      answerOne()
      answerOne()
      await Promise.all(calls)
      assert.deepEqual(await Promise.all(results), [3, 3])
      for (let count = 0; count < 20; count++)
        assert.equal(await patient[count % 2]?.request('later', count), count)
    })

    it("inFlight lets Nest's messages wait, in their order, and answers them all", async () => {
      const seen: unknown[] = []
      const answering: Dispatcher = {
        routes: () => [],
        request: (message) => {
          seen.push(message.data)
          return dispatcher.request(message)
        },
        event: ({ data }: IncomingMessage) => void seen.push(data)
      }
      await start({ inFlight: 1 }, answering)
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
      await start({ receiveBuffer: 1_000 })
      const peer = net.connect({ port: server.address!.port, host: '127.0.0.1', allowHalfOpen: true })
      cleanups.push(async () => void peer.destroy())
      const ended = once(peer.resume(), 'end')
      peer.write(`5000#${'x'.repeat(2_000)}`)
      await ended
      const { connections, received } = server.stats()
      assert.deepEqual([connections.current, received], [1, 0])
      assert.match(logger.lines.join(), /more than limits\.receiveBuffer allows \(1000\)/)
    })

    it('refuses an RSocket frame that is longer than receiveBuffer when it is announced', async () => {
      await start({ receiveBuffer: 1_000 })
      const call = client().request('echo', 'x'.repeat(2_000))
      await assert.rejects(call, {
        name: 'ConnectionError',
        message: /more than limits\.receiveBuffer allows \(1000\)/
      })
      assert.equal(await client().request('echo', 'x'), 'x')
    })

    it("lets Nest's connections take turns, and ends one whose waiting messages exceed receiveBuffer", async () => {
      await start({ inFlight: 1, receiveBuffer: 2_000, incompleteMessage: 20 })
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
      assert.match(logger.lines.join(), /more than limits\.receiveBuffer allows \(2000\)/)
      // Waits longer than limits.incompleteMessage: a message that waits for room is not incomplete.
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
      await start({ inFlight: 1 })
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
      it(`incompleteMessage ends a connection whose peer sends a byte now and then, ${protocol}`, async () => {
        await start({ incompleteMessage: 60 })
        const peer = net.connect(server.address!.port, '127.0.0.1').on('error', () => {})
        cleanups.push(async () => void peer.destroy())
        peer.resume().write(beginning)
        const drip = setInterval(() => peer.write('x'), 5)
        // If a byte arrives after the close, the peer gets a reset. `once` of node:events would fail because of that
        // error.
        await new Promise((resolve) => peer.once('close', resolve))
        clearInterval(drip)
        assert.match(logger.lines.join(), /within limits\.incompleteMessage \(60 ms\)/)
      })
    }

    it('headerSize refuses a request with more metadata, and the connection goes on', async () => {
      for (const codec of ['json', 'msgpack'] as const) {
        await start({ headerSize: 200 })
        const caller = client({ codec })
        assert.deepEqual(await caller.request('headers', { a: 1 }, { headers: { a: 'b' } }), { a: 'b' })
        const headers = { a: 'x'.repeat(200) }
        await assert.rejects(caller.request('headers', { b: 2 }, { headers }), {
          code: 'INVALID',
          message: /limits\.headerSize allows 200/
        })
        assert.deepEqual(await caller.request('echo', { b: 3 }), { b: 3 })
        assert.equal(server.stats().refused.headers, 1)
      }
    })

    it('headerSize refuses a SETUP with more metadata', async () => {
      await start({ headerSize: 200 })
      const caller = client({ credentials: { type: 'bearer', token: 'x'.repeat(300) } })
      await assert.rejects(caller.request('echo', 1), /INVALID_SETUP.*limits\.headerSize allows 200/)
    })

    it('headerSize drops a METADATA_PUSH with more, tells the log, and the connection goes on', async () => {
      await start({ headerSize: 200 })
      const peer = net.connect(server.address!.port, '127.0.0.1')
      cleanups.push(async () => void peer.destroy())
      const pushed = [200, 201, 100_000, 0].map((size) => frame(0, 'METADATA_PUSH', 'M', Buffer.alloc(size)))
      const answered = once(peer, 'data') as Promise<[Buffer]>
      peer.write(Buffer.concat([setup(), ...pushed, request(1, 'echo', '1')]))
      assert.deepEqual(describeFrames((await answered)[0]), ['PAYLOAD 1 CN 1'])
      assert.equal(server.stats().refused.headers, 2)
      assert.equal(server.stats().connections.current, 1)
      assert.deepEqual(logger.lines, [
        'Metadata was refused: METADATA_PUSH has 201 bytes; limits.headerSize allows 200'
      ])
    })

    it('tells what is unsent and what is refused, and nothing is left at the end', async () => {
      await start({ inFlightPerConnection: 1 })
      const caller = client()
      const call = caller.request('wait', 1)
      await begun(1)
      await assert.rejects(caller.request('wait', 2), { name: 'RejectedError' })
      const busy = server.stats()
      assert.deepEqual(busy.perConnection.inFlight, { current: 1, limit: 1 })
      assert.deepEqual(busy.perConnection.unsent.limit, 128 * 1024 * 1024)
      assert.equal(busy.refused.requests, 1)
      assert.equal(busy.inFlight.limit, false)
      answerOne()
      await call
      const idle = server.stats()
      assert.deepEqual([idle.inFlight.current, idle.streams, idle.received, idle.unsent], [0, 0, 0, 0])
      assert.equal(JSON.parse(JSON.stringify(idle)).inFlight.limit, false)
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
      const wrong: ServerLimitOptions[] = [
        { connections: -1 },
        { inFlight: Number.NaN },
        { inFlight: -1 },
        { streams: 'x' as unknown as number },
        { headerSize: -5 },
        { idle: -1 },
        { handshake: -1 },
        { receiveBuffer: -1 },
        { incompleteMessage: -1 },
        { inFlight: 'fixed' as 'adaptive' },
        { inFlight: null as unknown as 'adaptive' },
        { inFlight: { min: 0 } },
        { inFlight: { min: 10, max: 5 } },
        { inFlight: { initial: 5, min: 10 } },
        { inFlight: { initial: 50, max: 10 } }
      ]
      for (const limits of wrong) {
        const [name] = Object.keys(limits)
        assert.throws(
          () => newServer({ limits }, logger),
          (error) => error instanceof OptionError && error.path.startsWith(`options.limits.${name}`),
          JSON.stringify(limits)
        )
      }
      assert.ok(newServer({ limits: { inFlight: { max: 10 } } }, logger))
      assert.ok(newServer({ limits: { inFlight: { min: 5_000 } } }, logger))
      assert.ok(newServer({ limits: { inFlight: 'adaptive' } }, logger))
    })
  })
}

/** Lets sockets handle their events. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1))
}

async function* endlessText(): AsyncGenerator<string> {
  while (true) yield 'x'.repeat(64 * 1024)
}

/** A stream that sends one value, and then nothing. */
async function* openStream(): AsyncGenerator<string> {
  yield 'first'
  await new Promise(() => {})
}
