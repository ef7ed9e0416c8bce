/** Two services of different names that handle one pattern: one of them gets a request, each of them an event. */
import assert from 'node:assert/strict'
import { afterEach, describe } from 'node:test'
import { isInCheck, Log, PATIENCE, pause, until } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import type { EngineUnderTest } from './engine-under-test.ts'
import { casesOver } from './needs.ts'

const NAMES = ['one', 'two'] as const
/** How often an answer repeats a name of three letters: it is larger than a message of an engine. */
const LARGE = isInCheck ? 400_000 : 1_000_000

/** Declares the cases of this file over an engine. */
export function twoServices(under: EngineUnderTest): void {
  casesOver(under, 'two services of one pattern', [], (engine, caseOf) => {
    describe(`two services of one pattern over ${engine.title}`, () => {
      const cleanUps: (() => Promise<unknown>)[] = []
      afterEach(async () => {
        for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      })

      async function start() {
        const running = await engine.start()
        cleanUps.push(() => running.close())
        const log = new Log()
        const { logger } = log
        /** The running streams and requests, and the services that have ended one. */
        const open = new Set<string>()
        const ran: string[] = []
        const services = []
        for (const name of NAMES) {
          const service = microservice({ name, transport: running.transport(), logger })
            .message('who', () => {
              ran.push(name)
              return name
            })
            .event('news', () => void ran.push(name))
            .message('slow', async () => {
              await pause(60)
              return name
            })
            .message('large', () => name.repeat(LARGE))
            .message('length', ({ data }) => String(data).length)
            .message('count', async function* ({ signal }) {
              open.add(name)
              try {
                for (let n = 1; n <= 500; n++) {
                  yield [name, n]
                  if (n % 10 === 0) await pause(1)
                }
              } finally {
                if (signal.aborted) open.delete(name)
              }
            })
          await service.listen()
          cleanUps.push(() => service.stop())
          services.push(service)
        }
        const client: UntypedClient = connect({ transport: running.transport(), logger })
        cleanUps.push(() => client.close())
        return { client, log, open, ran, services }
      }

      caseOf('gives each request one answer', [], async () => {
        const { client, log } = await start()
        for (const pattern of ['who', 'slow'])
          for (const answer of await Promise.all(Array.from({ length: 20 }, () => client.request(pattern))))
            assert.ok(NAMES.includes(answer as 'one'))
        for (let n = 0; n < 2; n++)
          assert.match(
            (await client.request('large')) as string,
            new RegExp(`^(?:(?:one){${LARGE}}|(?:two){${LARGE}})$`)
          )
        assert.deepEqual(log.lines, [])
      })

      caseOf('runs a request in one of them, and an event in each', ['sharesRequests'], async () => {
        const { client, ran } = await start()
        await Promise.all(Array.from({ length: 20 }, () => client.request('who')))
        // A second run of a request would have come by the time at which its service answers another one.
        for (let n = 0; n < 10; n++) await client.request('slow')
        assert.equal(ran.splice(0).length, 20)
        await client.emit('news')
        await until('both have the event', () => ran.length === 2)
        assert.deepEqual(ran.sort(), [...NAMES])
      })

      caseOf('sends a request larger than a message of the engine to one of them', [], async () => {
        const { client, log } = await start()
        for (const size of isInCheck ? [17_000_000] : [3_000_000, 17_000_000])
          assert.equal(await client.request('length', 'x'.repeat(size), { timeout: PATIENCE }), size)
        assert.deepEqual(log.lines, [])
      })

      caseOf('gives each stream the values of one of them, and ends the other', [], async () => {
        const { client, log, open, services } = await start()
        await Promise.all(
          Array.from({ length: 10 }, async () => {
            const values: [string, number][] = []
            for await (const value of client.stream('count')) values.push(value as [string, number])
            const [name] = values[0] as [string, number]
            assert.deepEqual(
              values,
              Array.from({ length: 500 }, (_, n) => [name, n + 1])
            )
          })
        )
        await until('no stream is open', () => services.every((one) => one.stats()[0]?.streams === 0))
        assert.ok(open.size <= 2)
        assert.deepEqual(log.lines, [])
      })
    })
  })
}
