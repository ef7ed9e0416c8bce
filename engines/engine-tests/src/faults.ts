/** Failures over every engine, as callers, handlers and users see them. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe } from 'node:test'
import { type HealthReport, health } from '@elysia-microservices/telemetry'
import { aborted, freePort, isInCheck, Log, pause, Values } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import type { EngineOptions, EngineUnderTest, RunningEngine } from './engine-under-test.ts'
import { casesOfRestarts, casesOver } from './needs.ts'

/** The timeout in milliseconds of a call that waits while a server starts, which may take long. */
const LONG = 170_000

/** Declares the cases of this file over an engine. */
export function failures(under: EngineUnderTest): void {
  casesOver(under, 'what fails', [], (engineUnderTest, caseOf) => {
    const { title, start } = engineUnderTest
    const caseOfRestart = casesOfRestarts(engineUnderTest, caseOf)
    describe(`what fails over ${title}`, () => {
      let engine: RunningEngine
      const cleanUps: (() => Promise<unknown>)[] = []
      const log = new Log()
      let said = new Values<unknown>()

      function newClient(options?: EngineOptions): UntypedClient {
        const client = connect({ transport: engine.transport(options), logger: log.logger })
        cleanUps.push(() => client.close())
        return client
      }

      /** Starts a service whose streams have large values. */
      async function serveLarge(large: () => Iterable<string> | AsyncIterable<string>): Promise<void> {
        const transport = engine.transport()
        const service = microservice({ name: 'large', transport, logger: log.logger }).message('large', large)
        await service.listen()
        cleanUps.push(() => service.stop())
      }

      /**
       * @param noted the pattern of its events; if events are sent while the service may not be running, a pattern of
       * its own, because an engine may keep them
       */
      async function serve(name = 'test', options?: EngineOptions, noted = 'noted') {
        const transport = engine.transport(options)
        const service = microservice({ name, transport, logger: log.logger, drain: 200 })
          .message('echo', ({ data }) => data)
          .message('wait', async ({ signal }) => {
            said.put('begun')
            await aborted(signal)
            said.put('aborted')
          })
          .message('later', async ({ data }) => data)
          .message('sized', ({ data }: Message<number>) => 'x'.repeat(data))
          .event(noted, ({ data }) => said.put(data))
        await service.listen()
        cleanUps.push(() => service.stop())
        return service
      }

      before(async () => {
        engine = await start()
      })
      after(() => engine.close())
      afterEach(async () => {
        for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
        log.clear()
        said = new Values()
      })

      caseOf(
        'no server: a service that starts fails, and each call, with where it was looked for',
        ['server'],
        async () => {
          const port = await freePort()
          await assert.rejects(serve('test', { port }), {
            name: 'ConnectionError',
            message: new RegExp(`Cannot reach ${title} at .*127.0.0.1:${port}`),
            mayHaveRun: false
          })
          const client = newClient({ port })
          for (const call of [client.request('echo', 1), client.emit('noted', 1), client.connect()])
            await assert.rejects(call, { name: 'ConnectionError', mayHaveRun: false })
          assert.equal(client.status, 'disconnected')
        }
      )

      caseOfRestart(
        'a lost server: what is under way fails at once, idempotent calls are retried, others wait',
        ['server'],
        async () => {
          await serve()
          const client = newClient()
          assert.equal(await client.request('echo', 1), 1)
          const lost = assert.rejects(client.request('wait'), { name: 'ConnectionError', mayHaveRun: true })
          const again = client.request('wait', 0, { idempotent: true, timeout: LONG })
          again.catch(() => {})
          assert.deepEqual([await said.take(), await said.take()], ['begun', 'begun'])
          await engine.stop()
          await lost
          assert.equal(client.status, 'reconnecting')
          const waiting = client.request('echo', 2, { timeout: LONG })
          const event = client.emit('noted', 'kept', { timeout: LONG })
          await engine.start()
          await event
          assert.equal(await waiting, 2)
          // The handlers of cancelled calls are told, the retried call runs, and the event has arrived.
          const told: unknown[] = []
          while (told.length < 4) told.push(await said.take())
          assert.deepEqual(told.sort(), ['aborted', 'aborted', 'begun', 'kept'])
          await client.close()
          await assert.rejects(again, { name: 'ConnectionError' })
        }
      )

      caseOf('a lost connection is told by health and log, and that it is back', ['server'], async () => {
        const link = await engine.detour()
        cleanUps.push(() => link.stop())
        const { port } = link
        const service = microservice({ transport: engine.transport({ port }), logger: log.logger }).message(
          'echo',
          ({ data }) => data
        )
        const probes = health({ port: 0, host: '127.0.0.1' })
        await service.use(probes).listen()
        cleanUps.push(async () => probes.close())
        cleanUps.push(() => service.stop())
        const ask = async (path: string) => {
          const response = await fetch(`http://127.0.0.1:${await probes.port}${path}`)
          return { status: response.status, body: await response.text() }
        }
        assert.equal((await ask('/readyz')).status, 200)
        await link.stop()
        await log.has('is lost; until it is back, the service gets no messages over it')
        assert.equal((await ask('/readyz')).status, 503)
        const { services, transports } = JSON.parse((await ask('/healthz')).body) as HealthReport
        assert.deepEqual(services, ['listening'])
        assert.equal(transports[0]?.ok, false)
        assert.match(String(transports[0]?.reason), new RegExp(`^The ${title} server .* is lost$`))
        const again = await engine.detour(port)
        cleanUps.unshift(() => again.stop())
        await log.has(`Connected to the ${title} server 127.0.0.1:${port} again`)
        assert.equal((await ask('/readyz')).status, 200)
      })

      caseOf(
        'a channel whose service was away for a moment ends at both ends, and its handler is not blamed',
        ['server'],
        async () => {
          const link = await engine.detour()
          cleanUps.push(() => link.stop())
          const { port } = link
          const service = microservice({ transport: engine.transport({ port }), logger: log.logger }).message(
            'sum',
            async ({ data }: Message<AsyncIterable<number>>) => {
              let sum = 0
              try {
                for await (const value of data) {
                  if (sum === 0) said.put('begun')
                  sum += value
                }
                return sum
              } finally {
                said.put('over')
              }
            }
          )
          await service.listen()
          cleanUps.push(() => service.stop())
          let away!: () => void
          const isAway = new Promise<void>((resolve) => {
            away = resolve
          })
          async function* source() {
            yield 1
            await isAway
            yield 2
            yield 3
          }
          const call = newClient()
            .request('sum', source(), { timeout: false })
            .catch((error: { readonly code: string; readonly mayHaveRun: boolean }) => {
              assert.deepEqual([error.code, error.mayHaveRun], ['CONNECTION', true])
              return 'lost'
            })
          assert.equal(await said.take(), 'begun')
          await link.stop()
          await log.has('is lost; until it is back, the service gets no messages over it')
          // The last values of the channel, and its end: an engine that keeps no messages loses them.
          away()
          await pause(200)
          const again = await engine.detour(port)
          cleanUps.unshift(() => again.stop())
          assert.ok([6, 'lost'].includes((await call) as number | string), String(await call))
          assert.equal(await said.take(), 'over')
          assert.ok(!log.lines.some((line) => /handler of/i.test(line)), log.lines.join('\n'))
        }
      )

      caseOf('large data is carried whole, and what is too large is refused; others go on', [], async () => {
        await serve()
        const client = newClient()
        const large = 'é'.repeat(isInCheck ? 1_000_000 : 5_000_000)
        assert.equal(await client.request('echo', large), large)
        const size = 4 * large.length
        assert.equal((await client.request<string>('sized', size)).length, size)
        assert.equal(await client.request('echo', 1), 1)
      })

      caseOf('patterns with wildcards and empty segments are no calls', ['wildcards'], async () => {
        const client = newClient()
        for (const pattern of ['', 'a..b', 'a.', '.a', 'orders.*', 'orders.>', '>'])
          await assert.rejects(client.request(pattern), { name: 'OptionError', mayHaveRun: false })
        for (const pattern of [/a/, 'a..b']) {
          const service = microservice({ transport: engine.transport(), logger: log.logger })
          service.message(pattern, () => 1)
          await assert.rejects(service.listen(), {
            name: 'OptionError',
            message: new RegExp(`${title} cannot carry`)
          })
        }
      })

      caseOf(
        'services of one name share requests and events; of two names both get an event',
        [],
        async () => {
          for (const name of ['one', 'one', 'two']) await serve(name, {}, 'shared')
          const client = newClient()
          for (let n = 0; n < 20; n++) await client.emit('shared', n)
          const got: unknown[] = []
          while (got.length < 40) got.push(await said.take())
          const expected = [...Array(20).keys()].flatMap((n) => [n, n])
          assert.deepEqual(
            got.sort((a, b) => Number(a) - Number(b)),
            expected
          )
          assert.equal(await client.request('echo', 1), 1)
        }
      )

      caseOf('services are replaced one after the other under load, and no request fails', [], async () => {
        let running = [await serve('rolling'), await serve('rolling')]
        const client = newClient()
        let isOver = false
        let answered = 0
        const load = Array.from({ length: 20 }, async (_, caller) => {
          while (!isOver) {
            assert.equal(await client.request('later', caller), caller)
            answered++
            // A transport without sockets would otherwise let no timer fire.
            if (answered % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
          }
        })
        for (let round = 0; round < 5; round++) {
          const next = await serve('rolling')
          const [old, ...rest] = running
          await old!.stop()
          running = [...rest, next]
        }
        isOver = true
        await Promise.all(load)
        assert.ok(answered > 0)
      })

      caseOf('a stopping service ends what it has, and tells callers of what it cuts off', [], async () => {
        const service = await serve()
        const client = newClient()
        const cut = assert.rejects(client.request('wait'), { name: 'ConnectionError', mayHaveRun: true })
        assert.equal(await said.take(), 'begun')
        await service.stop()
        await cut
        assert.equal(await said.take(), 'aborted')
      })

      caseOf('a slow reader slows the generator of large values, by its bytes', [], async () => {
        let made = 0
        await serveLarge(function* () {
          for (;;) {
            made++
            yield 'x'.repeat(100_000)
          }
        })
        const client = newClient()
        const values = client.stream('large')[Symbol.asyncIterator]()
        await values.next()
        for (let turn = 0; turn < 50; turn++) await client.request('nobody').catch(() => {})
        assert.ok(made < 1_000, `${made} values of 100 KB were made`)
        await values.return?.()
      })

      caseOf(
        'a server that takes nothing slows all streams together, and they go on when it does',
        ['server'],
        async () => {
          let made = 0
          let go!: () => void
          const gone = new Promise<void>((resolve) => {
            go = resolve
          })
          await serveLarge(async function* () {
            yield ''
            await gone
            for (;;) {
              made++
              yield 'x'.repeat(100_000)
            }
          })
          const client = newClient()
          const streams = Array.from({ length: isInCheck ? 50 : 100 }, () =>
            client.stream('large')[Symbol.asyncIterator]()
          )
          const read = () => Promise.all(streams.map((stream) => stream.next()))
          await read()
          engine.suspend()
          try {
            go()
            for (let seen = -1; seen !== made; await pause(200)) seen = made
            assert.ok(made < 200, `${made} values of 100 KB were made for a server that takes none`)
          } finally {
            engine.resume()
          }
          // More values than had been produced.
          for (let turn = 0; turn < 2; turn++) await read()
          await Promise.all(streams.map((stream) => stream.return?.()))
        }
      )
    })
  })
}
