/** Tests which connections of a client are resumed when their socket is lost, and which end. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { replaceTimers } from '@elysia-microservices/rsocket/testing'
import type { AcceptSocket } from '../socket/socket.ts'
import { Ends, SOCKETS } from '../testing/ends.ts'
import { FirstChunk } from './first-chunk.ts'

const RESUME = { resume: { window: 2_000 } }

/** Wraps sockets so that `end` reports the close at once, as some runtimes do. */
const closingAtOnce =
  (accept: AcceptSocket): AcceptSocket =>
  (socket) => {
    let isClosed = false
    const close = (error?: Error) => {
      if (isClosed) return
      isClosed = true
      listener.close(error)
    }
    socket.end = () => {
      socket.destroy()
      close()
    }
    const listener = accept(socket)
    return {
      data: (chunk) => listener.data(chunk),
      eof: () => listener.eof(),
      drain: () => listener.drain(),
      close
    }
  }

for (const [name, sockets] of SOCKETS) {
  describe(`a lost socket of ${name}, with options.rsocket.resume`, () => {
    let ends: Ends
    const cleanups: (() => Promise<unknown>)[] = []
    afterEach(async () => {
      await ends.close()
      for (const cleanup of cleanups.splice(0)) await cleanup()
    })

    /** Makes a call, cuts its connection when the handler has begun, and returns the outcome of the call. */
    async function cut(isLeaving: boolean): Promise<string> {
      ends = new Ends(sockets)
      const server = await ends.server({ rsocket: { resume: true } })
      let list = [`127.0.0.1:${server.address!.port}`]
      const client = ends.client(0, {
        url: async () => list,
        resolveInterval: 5,
        retry: false,
        rsocket: RESUME
      })
      const begun = ends.dispatcher.begins()
      const outcome = client.request('wait', 1).then(
        (value) => `answered ${String(value)}`,
        (error: Error) => error.name
      )
      const { peer } = await begun
      const known = new Promise<void>((resolve) => {
        client.onStatus(({ type }) => type === 'endpoints' && resolve())
      })
      if (isLeaving) {
        list = ['127.0.0.1:1']
        await known
      }
      peer?.disconnect()
      await new Promise((resolve) => setTimeout(resolve, 50))
      ends.dispatcher.waiting[0]?.answer('late')
      return outcome
    }

    it('is replaced, and the answer comes', async () => {
      assert.equal(await cut(false), 'answered late')
    })

    it('is the end of a connection that was to end anyway', async () => {
      assert.equal(await cut(true), 'ConnectionError')
    })

    it('is not replaced where the server wants TLS', async () => {
      ends = new Ends(sockets)
      let connections = 0
      const server = net.createServer((socket) => {
        connections++
        socket.on('error', () => {})
        socket.once('data', () => socket.end(Buffer.of(0x15, 3, 3, 0, 2, 2, 40)))
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      cleanups.push(() => new Promise((resolve) => server.close(resolve)))
      const { port } = server.address() as net.AddressInfo
      const client = ends.client(port, { retry: false, rsocket: RESUME })
      await assert.rejects(client.request('echo', 1), { name: 'ConnectionError' })
      assert.equal(connections, 1)
    })
  })
}

for (const [name, sockets] of SOCKETS) {
  describe(`attempts of a client to connect, with sockets of ${name}`, () => {
    /** The signals of all attempts to connect. */
    let attempts: AbortSignal[]
    /** Decides the outcome of each attempt. */
    let fate: (attempt: number) => 'connects' | 'connects late' | 'fails' | 'waits'
    let ends: Ends
    let tried: () => void

    beforeEach(() => {
      attempts = []
      fate = () => 'connects'
      tried = () => {}
      ends = new Ends({
        listen: (address, accept) => sockets.listen(address, accept),
        async connect(address, accept, signal) {
          attempts.push(signal)
          const what = fate(attempts.length)
          tried()
          if (what === 'connects late') await new Promise((resolve) => setTimeout(resolve, 20))
          if (what.startsWith('connects')) return sockets.connect(address, accept, signal)
          if (what === 'fails') throw new Error('refused')
          await once(signal, 'abort')
          throw signal.reason
        }
      })
    })
    afterEach(() => ends.close())

    /** Makes a call whose socket is lost when its handler has begun. */
    async function lost(window: number) {
      const server = await ends.server({ rsocket: { resume: true } })
      const client = ends.client(server.address!.port, { retry: false, rsocket: { resume: { window } } })
      const begun = ends.dispatcher.begins()
      const outcome = client.request('wait', 1).then(
        (value) => `answered ${String(value)}`,
        (error: Error) => error.name
      )
      const { peer } = await begun
      peer?.disconnect()
      return { client, outcome }
    }

    it('end when the client is closed, and so do its calls', async () => {
      fate = () => 'waits'
      const server = await ends.server({})
      const client = ends.client(server.address!.port, { retry: false })
      const called = new Promise<void>((resolve) => {
        tried = resolve
      })
      const call = assert.rejects(client.request('echo', 1), { name: 'ConnectionError' })
      await called
      await client.close()
      await call
      assert.deepEqual(
        attempts.map(({ aborted, reason }) => [aborted, (reason as Error).message]),
        [[true, 'the client was closed']]
      )
    })

    it('stop when the client is closed during one of them', async () => {
      fate = (attempt) => (attempt === 1 ? 'connects' : 'waits')
      const begun = new Promise<void>((resolve) => {
        tried = () => attempts.length === 2 && resolve()
      })
      const { client, outcome } = await lost(10_000)
      await begun
      await client.close()
      assert.equal(await outcome, 'ConnectionError')
      assert.equal(attempts[1]!.aborted, true)
      // Waits longer than the first pauses.
      await new Promise((resolve) => setTimeout(resolve, 120))
      assert.equal(attempts.length, 2)
    })

    it('are not made for a client that is closed, whose server is told that nobody comes back', async () => {
      const server = await ends.server({ rsocket: { resume: true } })
      const client = ends.client(server.address!.port, { retry: false, rsocket: { resume: true } })
      const begun = ends.dispatcher.begins()
      const outcome = client.request('wait', 1).catch((error: Error) => error.name)
      const { signal } = await begun
      await client.close()
      assert.equal(await outcome, 'ConnectionError')
      if (!signal.aborted) await once(signal, 'abort')
      assert.equal(attempts.length, 1)
    })

    it('are not made either when the sockets are gone as soon as they are ended', async () => {
      const abrupt = new Ends({
        listen: (address, accept) => sockets.listen(address, accept),
        connect(address, accept, signal) {
          attempts.push(signal)
          return sockets.connect(address, closingAtOnce(accept), signal)
        }
      })
      const server = await abrupt.server({ rsocket: { resume: true } })
      const client = abrupt.client(server.address!.port, { retry: false, rsocket: { resume: true } })
      await client.request('echo', 1)
      await client.close()
      // Waits longer than the first pause.
      await new Promise((resolve) => setTimeout(resolve, 60))
      assert.equal(attempts.length, 1)
      await abrupt.close()
    })

    it('wait longer before each, up to 2 s', async (t) => {
      fate = (attempt) => (attempt > 1 && attempt < 10 ? 'fails' : 'connects')
      const pauses: number[] = []
      const real = globalThis.setTimeout
      using replaced = replaceTimers({
        setTimeout: (task, delay) => {
          if (delay > 1_000) return real(task, delay)
          pauses.push(delay)
          return real(task, 0)
        }
      })
      t.mock.method(Math, 'random', () => 0.5)
      const resumed = new Promise<void>((resolve) => {
        tried = () => attempts.length === 10 && resolve()
      })
      const { outcome } = await lost(60_000)
      await resumed
      replaced[Symbol.dispose]()
      ends.dispatcher.waiting[0]?.answer('late')
      assert.equal(await outcome, 'answered late')
      assert.deepEqual(pauses, [25, 50, 100, 200, 400, 800, 1_000, 1_000])
    })

    it('have their time only until they have succeeded', async () => {
      const connectTimeout = 12_345
      const timers = new Set<unknown>()
      const set = globalThis.setTimeout
      const clear = globalThis.clearTimeout
      using _ = replaceTimers({
        setTimeout: (task, delay) => {
          const timer = set(task, delay)
          if (delay === connectTimeout) timers.add(timer)
          return timer
        },
        clearTimeout: (timer) => {
          timers.delete(timer)
          clear(timer)
        }
      })
      const server = await ends.server({})
      const client = ends.client(server.address!.port, { connectTimeout })
      const connected = client.connect()
      assert.equal(timers.size, 1)
      const [timer] = timers
      await connected
      // The protocol has the same time for the first answer of the server, in a timer of its own.
      assert.equal(timers.has(timer), false)
    })

    it('end in time while options.tls is being asked for', async () => {
      const client = ends.client(1, {
        tls: () => new Promise(() => {}),
        connectTimeout: 20,
        retry: false,
        reconnect: false
      })
      // The timers of the client do not keep the process alive, so this timer does.
      const awake = setTimeout(() => {}, 60_000)
      await assert.rejects(client.request('echo', 1), { name: 'ConnectionError', message: /connectTimeout/ })
      clearTimeout(awake)
      assert.equal(attempts.length, 0)
    })

    it('close the socket if that is not encrypted, though it should be', async () => {
      const inTheClear = new Ends({
        listen: (address, accept) => sockets.listen(address, accept),
        connect: ({ tls, ...address }, accept, signal) => sockets.connect(address, accept, signal)
      })
      const server = net.createServer((socket) => socket.on('error', () => {}).resume())
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as net.AddressInfo
      const client = inTheClear.client(port, { tls: true, retry: false, reconnect: false })
      await assert.rejects(client.request('echo', 1), { message: /does not support TLS/ })
      // `close` calls back when all connections of the server are closed.
      await new Promise((resolve) => server.close(resolve))
      await inTheClear.close()
    })

    it('make connections that are logged when their server breaks the protocol', async () => {
      const server = net.createServer((socket) => {
        socket.on('error', () => {}).resume()
        socket.write(Buffer.of(0, 0, 1, 0))
        server.close()
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as net.AddressInfo
      const client = ends.client(port, { retry: false, reconnect: false })
      await assert.rejects(client.request('echo', 1), { name: 'ConnectionError' })
      assert.match(String(ends.logger.lines), /Closing the connection of 127\.0\.0\.1/)
    })

    it('are given up when their endpoint is removed', async () => {
      fate = (attempt) => (attempt === 1 ? 'connects' : 'waits')
      const server = await ends.server({})
      const stays = `127.0.0.1:${server.address!.port}`
      let list = [stays]
      const client = ends.client(0, { url: async () => list, resolveInterval: 1, retry: false })
      await client.request('echo', 1)
      const begun = new Promise<void>((resolve) => {
        tried = resolve
      })
      list = [stays, '127.0.0.1:1']
      await begun
      list = [stays]
      const attempt = attempts[1]!
      if (!attempt.aborted) await once(attempt, 'abort')
      assert.match((attempt.reason as Error).message, /endpoint was removed/)
      assert.equal(await client.request('echo', 2), 2)
    })

    it('to resume end when the endpoint is removed, and so do the calls', async () => {
      fate = (attempt) => (attempt === 1 ? 'connects' : 'fails')
      const server = await ends.server({ rsocket: { resume: true } })
      let list = [`127.0.0.1:${server.address!.port}`]
      const client = ends.client(0, {
        url: async () => list,
        resolveInterval: 1,
        retry: false,
        rsocket: { resume: { window: 60_000 } }
      })
      const begun = ends.dispatcher.begins()
      const call = client.request('wait', 1).then(
        () => 'answered',
        (error: Error) => error.message
      )
      const { peer } = await begun
      const failed = new Promise<void>((resolve) => {
        tried = resolve
      })
      peer?.disconnect()
      await failed
      list = ['127.0.0.1:1']
      assert.match(await call, /closed: its endpoint was removed/)
    })

    it('of several endpoints take of the time that a call has, and the server is told what is left', async () => {
      fate = () => 'connects late'
      const servers = await Promise.all([ends.server({}), ends.server({})])
      const endpoints = servers.map(({ address }) => `127.0.0.1:${address!.port}`)
      const client = ends.client(0, { url: endpoints, retry: false, timeout: 5_000 })
      const told: (number | undefined)[] = []
      ends.dispatcher.began = ({ timeout }) => told.push(timeout)
      await client.request('echo', 1)
      await client.request('echo', 1)
      assert.ok(told[0]! < 5_000)
      assert.equal(told[1], 5_000)
    })

    it('are over when an HTTP server answers, which does not close', async () => {
      const server = net.createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as net.AddressInfo
      const client = ends.client(port, { retry: false, reconnect: false })
      await assert.rejects(client.request('echo', 1), { name: 'ConnectionError', message: /HTTP/ })
      // `close` calls back when all connections of the server are closed.
      await new Promise((resolve) => server.close(resolve))
    })

    it('make connections whose frames are no longer than they may be', async () => {
      let received = Buffer.alloc(0)
      const hasAll = new Promise<void>((resolve) => {
        const server = net.createServer((socket) => {
          socket.on('error', () => {})
          socket.on('data', (chunk) => {
            received = Buffer.concat([received, chunk])
            if (received.includes('the end')) resolve()
          })
          server.close()
        })
        server.listen(0, '127.0.0.1', () => {
          const { port } = server.address() as net.AddressInfo
          const client = ends.client(port, { fragmentSize: 64, retry: false })
          client.request('echo', `${'x'.repeat(500)}the end`).catch(() => {})
        })
      })
      await hasAll
      const lengths: number[] = []
      for (let at = 0; at < received.length; at += 3 + lengths.at(-1)!)
        lengths.push(received.readUIntBE(at, 3))
      const [_setup, ...requests] = lengths
      assert.ok(requests.length > 8 && requests.every((length) => length <= 64), String(lengths))
    })

    it('are repeated while the connection can be resumed', async () => {
      fate = (attempt) => (attempt === 2 || attempt === 3 ? 'fails' : 'connects')
      const resumed = new Promise<void>((resolve) => {
        tried = () => attempts.length === 4 && resolve()
      })
      const { outcome } = await lost(10_000)
      await resumed
      ends.dispatcher.waiting[0]?.answer('late')
      assert.equal(await outcome, 'answered late')
      assert.equal(attempts.length, 4)
    })

    it('are not repeated when the next would come after the window', async () => {
      fate = (attempt) => (attempt === 1 ? 'connects' : 'fails')
      const { outcome } = await lost(0)
      assert.equal(await outcome, 'ConnectionError')
      assert.equal(attempts.length, 2)
    })

    it('stop when the client is closed between two of them', async () => {
      fate = (attempt) => (attempt === 1 ? 'connects' : 'fails')
      const failed = new Promise<void>((resolve) => {
        tried = () => attempts.length === 2 && resolve()
      })
      const { client, outcome } = await lost(10_000)
      await failed
      await new Promise((resolve) => setImmediate(resolve))
      const before = attempts.length
      await client.close()
      assert.equal(await outcome, 'ConnectionError')
      // Waits longer than the first pauses.
      await new Promise((resolve) => setTimeout(resolve, 120))
      assert.equal(attempts.length, before)
    })
  })
}

describe('the first chunk of a server', () => {
  it('is that of an HTTP server only if it begins with HTTP/', () => {
    const refused = (text: string) => {
      let isRefused = false
      const protocol = { receive() {}, close() {} }
      const first = new FirstChunk(protocol as never, () => {
        isRefused = true
      })
      first.output = { adopt() {} } as never
      first.receive(Buffer.from(text))
      return isRefused
    }
    assert.equal(refused('HTTP/1.1 400 Bad Request'), true)
    for (const text of ['HTTP', 'XTTP/', 'HXTP/', 'HTXP/', 'HTTX/', 'HTTPX', '12#{}'])
      assert.equal(refused(text), false, text)
  })

  it('is a TLS alert only if all of it is', () => {
    const refused = (bytes: readonly number[]) => {
      const reasons: Error[] = []
      const received: Uint8Array[] = []
      const protocol = { receive: (chunk: Uint8Array) => received.push(chunk), close() {} }
      const first = new FirstChunk(protocol as never, (reason) => reasons.push(reason))
      first.receive(Buffer.from(bytes))
      assert.equal(received.length, 1 - reasons.length)
      return reasons[0]?.message
    }
    for (const minor of [0, 1, 2, 3, 4])
      for (const level of [1, 2])
        assert.match(String(refused([0x15, 3, minor, 0, 2, level, 40])), /speaks TLS/)
    for (const bytes of [
      [0x14, 3, 3, 0, 2, 2],
      [0x15, 2, 3, 0, 2, 2],
      [0x15, 4, 3, 0, 2, 2],
      [0x15, 3, 5, 0, 2, 2],
      [0x15, 3, 3, 1, 2, 2],
      [0x15, 3, 3, 0, 1, 2],
      [0x15, 3, 3, 0, 3, 2],
      [0x15, 3, 3, 0, 2, 0],
      [0x15, 3, 3, 0, 2, 3],
      [0, 0, 3, 0, 2, 2],
      [0, 0, 0, 0, 2, 2],
      [0x15, 3],
      [0x15]
    ])
      assert.equal(refused(bytes), undefined, String(bytes))
  })

  it('hides nothing of the protocol that waits for it', () => {
    const asked: string[] = []
    const protocol = {
      incomplete: true,
      buffered: 3,
      inFlight: 2,
      resume: () => asked.push('resume'),
      drain: () => asked.push('drain') > 0,
      close: (reason?: Error) => asked.push(`close ${reason?.message}`)
    }
    const first = new FirstChunk(protocol as never, assert.fail)
    assert.deepEqual([first.incomplete, first.buffered, first.inFlight], [true, 3, 2])
    first.resume()
    assert.equal(first.drain(), true)
    first.close(new Error('gone'))
    assert.deepEqual(asked, ['resume', 'drain', 'close gone'])
  })
})
