/** Durable events over every engine that stores them: what the library guarantees. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe } from 'node:test'
import { isInCheck, Log, PATIENCE, until, Values } from '@elysia-microservices/test-support'
import {
  ConnectionError,
  Discard,
  type DurableOptions,
  OptionError,
  RetryLater,
  TimeoutError
} from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import type { EngineOptions, EngineUnderTest, RunningEngine } from './engine-under-test.ts'
import { casesOfRestarts, casesOver } from './needs.ts'
import { durableStats, placesOf } from './place.ts'

/** Milliseconds: nine tenths of the `ackWait` of tests. */
const NEARLY_ACK_WAIT = 900
/** Memory that nobody writes to: to wait for it blocks the process. */
const NEVER = new Int32Array(new SharedArrayBuffer(4))
/** How many events are stored while a server is killed again and again. */
const MANY = isInCheck ? 600 : 3_000

/** Declares the cases of this file over an engine. */
export function durableEvents(under: EngineUnderTest): void {
  casesOver(under, 'durable events', ['stores'], (engineUnderTest, caseOf) => {
    const { name: engineName, title, start } = engineUnderTest
    const caseOfRestart = casesOfRestarts(engineUnderTest, caseOf)
    describe(`a durable event over ${title}`, () => {
      let engine: RunningEngine
      let place: ReturnType<typeof placesOf>
      let count = 0
      const cleanUps: (() => Promise<unknown>)[] = []
      const log = new Log()

      /** A pattern that only this test uses. */
      const fresh = () => `event${++count}.happened`

      function newClient(timeout = 10_000, options?: EngineOptions): UntypedStoringClient {
        const client = connect({ ...place(options), logger: log.logger, timeout })
        cleanUps.push(() => client.close())
        return client
      }

      /** A service with one durable handler. */
      async function serve(
        pattern: string,
        handler: (message: Message) => unknown,
        durable: DurableOptions = {},
        { name = 'test', port }: { readonly name?: string; readonly port?: number } = {}
      ) {
        const service = microservice({
          name,
          ...place(port === undefined ? {} : { port }),
          logger: log.logger,
          drain: 5_000
        }).event(pattern, handler, { durable })
        await service.listen()
        cleanUps.push(() => service.stop())
        return service
      }

      before(async () => {
        engine = await start()
        place = placesOf(engine)
      })
      afterEach(async () => {
        for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      })
      after(() => engine.close())

      caseOf(
        'is stored once for an id, and its handler learns about its delivery',
        ['once', 'positions'],
        async () => {
          const pattern = fresh()
          const seen = new Values<Message>()
          await serve(pattern, (message) => seen.put(message))
          const client = newClient()
          const first = await client.publish(
            pattern,
            { order: 7 },
            { id: 'evt 7', key: 'a.b ü', headers: { 'x-a': '1' } }
          )
          const again = await client.publish(pattern, { order: 7 }, { id: 'evt 7' })
          assert.deepEqual(first, { id: 'evt 7', position: first.position, duplicate: false })
          assert.deepEqual(again, { ...first, duplicate: true })
          const { data, delivery, headers, transport } = await seen.take()
          assert.deepEqual([data, headers, transport], [{ order: 7 }, { 'x-a': '1' }, engineName])
          assert.deepEqual(
            [delivery?.id, delivery?.key, delivery?.attempt, delivery?.redelivered, delivery?.group],
            ['evt 7', 'a.b ü', 1, false, 'test']
          )
          assert.ok((delivery?.age as number) >= 0)
          assert.equal(delivery?.position, first.position)
        }
      )

      caseOf(
        'that was published before its first service ran reaches the groups that want all',
        ['startsAll', 'positions'],
        async () => {
          const pattern = fresh()
          const client = newClient()
          const all = await Promise.all([1, 2, 3].map((n) => client.publish(pattern, n)))
          assert.equal(new Set(all.map(({ position }) => position)).size, 3)
          const seen: Record<string, unknown[]> = { all: [], behind: [], since: [], fresh: [] }
          const starts = {
            all: 'all',
            behind: { after: all[0]?.position as string },
            since: { since: new Date(0) },
            fresh: 'new'
          } as const
          for (const [name, start] of Object.entries(starts))
            await serve(pattern, ({ data }) => void seen[name]?.push(data), { start, group: name })
          const said = `The group 'fresh' is new and begins with the next event: up to 3 events '${pattern}' were stored before, and it does not get them. With durable.start 'all' a new group gets them`
          assert.deepEqual(
            log.lines
              .filter((line) => line.includes(`'${pattern}' were stored before`))
              .map((line) => line.trim()),
            [said]
          )
          await client.publish(pattern, 4)
          await until('All have come', () => Object.values(seen).every((list) => list.includes(4)))
          assert.deepEqual(seen, { all: [1, 2, 3, 4], behind: [2, 3, 4], since: [1, 2, 3, 4], fresh: [4] })
        }
      )

      caseOf('goes to one process of each group, and is handled when a process returns', [], async () => {
        const pattern = fresh()
        const seen: string[] = []
        const note = (name: string) => (message: Message) => void seen.push(`${name} ${message.data}`)
        const one = await serve(pattern, note('a'), {}, { name: 'a' })
        const two = await serve(pattern, note('a'), {}, { name: 'a' })
        await serve(pattern, note('b'), {}, { name: 'b' })
        const client = newClient()
        for (let n = 0; n < 20; n++) await client.publish(pattern, n)
        await until('All are handled', () => seen.length >= 40)
        assert.equal(new Set(seen).size, 40)
        await one.stop()
        await two.stop()
        await client.publish(pattern, 'late')
        await serve(pattern, note('a'), {}, { name: 'a' })
        await until('The late one is handled', () => seen.includes('a late') && seen.includes('b late'))
        assert.equal(seen.length, 42)
      })

      caseOf(
        'that fails comes again after a pause, and is a dead letter at last; others go on',
        ['browses'],
        async () => {
          const pattern = fresh()
          const seen: string[] = []
          const service = await serve(
            pattern,
            ({ data, delivery }) => {
              seen.push(`${data} ${delivery?.attempt}`)
              if (data === 'bad') throw new Error('not now')
            },
            { retry: { attempts: 3, minDelay: 100 }, concurrency: 1 },
            { name: 'retry' }
          )
          const client = newClient()
          await client.publish(pattern, 'bad', { id: 'b', key: 'k', headers: { 'x-a': 'ä' } })
          await client.publish(pattern, 'good')
          const letters = client.group('retry').deadLetters
          await until('It is a dead letter', async () => (await all(letters.list())).length === 1)
          assert.deepEqual(seen, ['bad 1', 'good 1', 'bad 2', 'bad 3'])
          const [letter] = await all(letters.list())
          const { position, publishedAt, diedAt, ...rest } = letter as NonNullable<typeof letter>
          assert.deepEqual(rest, {
            ...{ group: 'retry', pattern, id: 'b', key: 'k', reason: 'Error: not now', attempts: 3 },
            headers: { 'x-a': 'ä' },
            data: 'bad'
          })
          assert.ok(publishedAt.getTime() <= diedAt.getTime() && publishedAt.getTime() > 0)
          await until('The figures say so', () => {
            const [figures] = durableStats(service)?.durable ?? []
            return figures?.deadLetters === 1 && figures.redeliveries === 2 && figures.lag === 0
          })
          assert.deepEqual(await all(client.group('other').deadLetters.list()), [])
          assert.equal(await client.group('other').deadLetters.discard(position), false)
          assert.equal(await letters.discard(position), true)
          assert.equal(await letters.discard(position), false)
          assert.equal(await letters.get(position), undefined)
        }
      )

      caseOf(
        'goes back to its group alone from the dead letters, also if the group is down',
        ['browses'],
        async () => {
          const pattern = fresh()
          let isBroken = true
          const seen: string[] = []
          const handler = (name: string) => (message: Message) => {
            const { data, delivery } = message
            seen.push(
              `${name} ${data} ${delivery?.id} ${delivery?.key} ${delivery?.attempt} ${delivery?.position}`
            )
            if (isBroken && name === 'c') throw new Error('broken')
          }
          const service = await serve(pattern, handler('c'), { retry: { attempts: 1 } }, { name: 'c' })
          await serve(pattern, handler('d'), {}, { name: 'd' })
          const client = newClient()
          const { position } = await client.publish(pattern, 1, { id: 'x', key: 'k' })
          const letters = client.group('c').deadLetters
          await until('It is a dead letter', async () => (await all(letters.list())).length === 1)
          await service.stop()
          isBroken = false
          const [letter] = await all(letters.list())
          assert.equal(await letters.redrive(letter?.position as string), true)
          assert.equal(await letters.redrive(letter?.position as string), false)
          assert.deepEqual(await all(letters.list()), [])
          await serve(pattern, handler('c'), { retry: { attempts: 1 } }, { name: 'c' })
          await until('It is handled again', () => seen.length === 3)
          const said = `1 x k 1 ${position}`
          assert.deepEqual(seen.sort(), [`c ${said}`, `c ${said}`, `d ${said}`])
        }
      )

      caseOf(
        'goes back from the dead letters to an ordered group that has nothing else to do',
        ['browses'],
        async () => {
          const pattern = fresh()
          const seen: number[] = []
          let isBroken = true
          const handler = ({ delivery }: Message) => {
            if (isBroken) throw new Error('broken')
            seen.push(delivery?.attempt as number)
          }
          const durable = { ordered: true, retry: { attempts: 1 } }
          const service = await serve(pattern, handler, durable, { name: 'idle' })
          const client = newClient()
          await client.publish(pattern, 1, { key: 'k' })
          const letters = client.group('idle').deadLetters
          await until('It is a dead letter', async () => (await all(letters.list())).length === 1)
          await service.stop()
          isBroken = false
          const [letter] = await all(letters.list())
          await letters.redrive(letter?.position as string)
          await serve(pattern, handler, durable, { name: 'idle' })
          await until('It is handled', () => seen.length === 1)
          assert.deepEqual(seen, [1])
        }
      )

      caseOf('is discarded, or put off, as its handler says', ['browses'], async () => {
        const pattern = fresh()
        const seen: string[] = []
        await serve(
          pattern,
          ({ data, delivery }) => {
            seen.push(`${data} ${delivery?.attempt}`)
            if (data === 'unwanted') throw new Discard('known')
            if ((delivery?.attempt ?? 0) < 4) throw new RetryLater(100)
          },
          { retry: { attempts: 2 } },
          { name: 'says' }
        )
        const client = newClient()
        await client.publish(pattern, 'unwanted')
        await client.publish(pattern, 'later')
        await until('It has come again and again', () => seen.length === 5)
        assert.deepEqual(seen, ['unwanted 1', 'later 1', 'later 2', 'later 3', 'later 4'])
        assert.deepEqual(await all(client.group('says').deadLetters.list()), [])
      })

      caseOf('whose handler takes longer than signs of life may be missing runs once', [], async () => {
        const pattern = fresh()
        let runs = 0
        let isDone = false
        const handler = async () => {
          runs++
          await new Promise((resolve) => setTimeout(resolve, 3_500))
          isDone = true
        }
        // Either of the two may get the event.
        await serve(pattern, handler)
        await serve(pattern, handler)
        await newClient().publish(pattern, 1)
        await until('It has ended', () => isDone || runs > 1)
        // Long enough for the event to be delivered again, if it was not acknowledged.
        await new Promise((resolve) => setTimeout(resolve, 1_500))
        assert.equal(runs, 1)
      })

      caseOf('keeps its place if its process hangs for nearly `ackWait`', [], async () => {
        const pattern = fresh()
        const seen: number[] = []
        await serve(
          pattern,
          ({ data }) => {
            if (!seen.includes(data as number)) seen.push(data as number)
            if (seen.length !== 20 && seen.length !== 60) return
            // The process no longer counts on its events, and the engine does not deliver them again yet.
            Atomics.wait(NEVER, 0, 0, NEARLY_ACK_WAIT)
          },
          { ordered: true, concurrency: 1, retry: { attempts: 10 } }
        )
        const client = newClient(PATIENCE)
        const all = Array.from({ length: 300 }, (_, n) => n)
        await Promise.all(all.map((n) => client.publish(pattern, n, { key: 'k' })))
        await until('All are handled', () => seen.length === all.length)
        assert.deepEqual(seen, all)
      })

      caseOf(
        'waits for those of its key before it if they are ordered, and other keys go on',
        [],
        async () => {
          const pattern = fresh()
          const seen: string[] = []
          await serve(
            pattern,
            async ({ data, delivery }) => {
              seen.push(`${delivery?.key}${data} ${delivery?.attempt}`)
              if (delivery?.key === 'a' && data === 0 && delivery.attempt < 3) throw new Error('not now')
            },
            { ordered: true, retry: { attempts: 3, minDelay: 100, factor: 1 } },
            { name: 'ordered' }
          )
          const client = newClient()
          const both = [0, 1, 2].flatMap((n) => ['a', 'b'].map((key) => client.publish(pattern, n, { key })))
          await Promise.all(both)
          await until('All have come', () => seen.length === 8)
          assert.deepEqual(
            seen.filter((one) => one.startsWith('a')),
            ['a0 1', 'a0 2', 'a0 3', 'a1 1', 'a2 1']
          )
          assert.deepEqual(
            seen
              .slice(0, 5)
              .filter((one) => one.startsWith('b'))
              .slice(0, 3),
            ['b0 1', 'b1 1', 'b2 1']
          )
        }
      )

      caseOf('keeps its place if it is ordered and fails while its process stops', [], async () => {
        const pattern = fresh()
        const durable = { ordered: true, retry: { attempts: 5, minDelay: 500, factor: 1 } }
        let hasBegun = false
        let fail = () => {}
        const failing = new Promise<void>((_, reject) => {
          fail = () => reject(new Error('while it stops'))
        })
        const first = await serve(
          pattern,
          () => {
            hasBegun = true
            return failing
          },
          durable,
          { name: 'place' }
        )
        const client = newClient()
        for (const n of [0, 1, 2]) await client.publish(pattern, n, { key: 'k' })
        await until('The first has begun', () => hasBegun)
        const stopped = first.stop()
        fail()
        await stopped
        const seen: unknown[] = []
        await serve(pattern, ({ data }) => void seen.push(data), durable, { name: 'place' })
        await until('All are handled', () => seen.length >= 3)
        assert.deepEqual(seen, [0, 1, 2])
      })

      caseOf(
        'goes back at once when its service stops before it has begun; what runs is waited for',
        [],
        async () => {
          const pattern = fresh()
          const seen: string[] = []
          let release = () => {}
          const held = new Promise<void>((resolve) => {
            release = resolve
          })
          const first = await serve(
            pattern,
            ({ data }) => {
              seen.push(`first ${data}`)
              return held
            },
            { concurrency: 1 }
          )
          const client = newClient()
          for (let n = 0; n < 4; n++) await client.publish(pattern, n)
          await until('It runs', () => seen.length === 1)
          const stopped = first.stop()
          if (engineUnderTest.sharesByPartition === true) release()
          await serve(pattern, ({ data }) => void seen.push(`second ${data}`))
          await until('Another has the rest', () => seen.length === 4)
          release()
          await stopped
          // Long enough for an event to be delivered a second time.
          await new Promise((resolve) => setTimeout(resolve, 1_500))
          assert.deepEqual(seen.sort(), ['first 0', 'second 1', 'second 2', 'second 3'])
        }
      )

      caseOf('waits while its group is paused, in all its processes', [], async () => {
        const pattern = fresh()
        const seen: unknown[] = []
        await serve(pattern, ({ data }) => void seen.push(data), {}, { name: 'paused' })
        const client = newClient()
        await client.group('paused').pause()
        await client.publish(pattern, 1)
        const service = await serve(pattern, ({ data }) => void seen.push(data), {}, { name: 'paused' })
        await until('It is known', () => durableStats(service)?.durable?.[0]?.isPaused === true)
        assert.deepEqual(seen, [])
        await client.group('paused').resume()
        await until('It is handled', () => seen.length === 1)
        await assert.rejects(client.group('nobody').pause(), (error: Error) => {
          assert.ok(error instanceof OptionError)
          assert.match(error.message, /no group 'nobody'/)
          return true
        })
      })

      for (const ordered of [true, false])
        caseOf(
          `of ${ordered ? 'an ordered' : 'a'} group that is paused and resumed while a handler runs is not held back`,
          [],
          async () => {
            const pattern = fresh()
            const name = `resumed-${ordered}`
            const seen: unknown[] = []
            let end = () => {}
            const held = new Promise<void>((resolve) => {
              end = resolve
            })
            const handler = async ({ data }: Message) => {
              if (data === 0) await held
              seen.push(data)
            }
            const service = await serve(pattern, handler, { ordered, concurrency: 1 }, { name })
            const client = newClient()
            for (let n = 0; n < 3; n++) await client.publish(pattern, n, { key: 'k' })
            await until('It runs', () => durableStats(service)?.inFlight.current === 1)
            await client.group(name).pause()
            await client.group(name).resume()
            end()
            await client.publish(pattern, 3, { key: 'k' })
            await until('All are handled', () => seen.length >= 4)
            if (ordered) assert.deepEqual(seen, [0, 1, 2, 3])
          }
        )

      caseOf(
        'that is emitted is handled once, and one that is published by plain handlers, too, unless a store has it',
        [],
        async () => {
          const pattern = fresh()
          const seen: unknown[] = []
          const plain: unknown[] = []
          const service = microservice({ name: 'both', ...place(), logger: log.logger })
            .event(pattern, ({ data }) => void seen.push(data), { durable: true })
            .event(pattern, ({ data }) => void plain.push(data))
          await service.listen()
          cleanUps.push(() => service.stop())
          const client = newClient()
          await client.emit(pattern, 'emitted')
          await client.publish(pattern, 'published')
          const expected = ['emitted', 'published']
          const ofPlain = engine.store === undefined ? expected : ['emitted']
          await until('All have come', () => seen.length === 2 && plain.length === ofPlain.length)
          // An emitted event is stored by the service, so it may come behind what was published meanwhile.
          assert.deepEqual([seen.toSorted(), plain], [expected, ofPlain])
        }
      )

      caseOf('is handled by a pattern with wildcards', ['wideStores'], async () => {
        const first = fresh().replace('.happened', '')
        const seen = new Values<unknown>()
        await serve(`${first}.*`, ({ data, delivery }) => seen.put([data, delivery?.attempt]))
        await newClient().publish(`${first}.paid`, 1)
        await newClient().publish(`${first}.sent`, 2)
        assert.deepEqual(
          [await seen.take(), await seen.take()],
          [
            [1, 1],
            [2, 1]
          ]
        )
      })

      caseOf(
        'lets its service stop, and its client close, while there is no connection',
        ['server'],
        async () => {
          const pattern = fresh()
          const link = await engine.detour()
          cleanUps.push(() => link.stop())
          const { port } = link
          const service = await serve(pattern, () => {}, { ordered: true }, { port })
          const client = newClient(undefined, { port })
          await client.publish(pattern, 1)
          const isLost = lossOf(client)
          await link.stop()
          await until('It is noticed', isLost)
          await service.stop()
          await client.close()
        }
      )

      caseOfRestart(
        'is stored in order, many at a time, also while the server is killed',
        ['server', 'once'],
        async () => {
          const pattern = fresh()
          const seen: number[] = []
          await serve(pattern, ({ data }) => void seen.push(data as number), {
            concurrency: 64,
            ordered: true
          })
          const client = newClient(PATIENCE)
          await client.connect()
          const all: Promise<unknown>[] = []
          for (let n = 0; n < MANY; n++) {
            all.push(client.publish(pattern, n, { key: 'k' }))
            if (n % (MANY / 3) === MANY / 6) {
              await engine.stop()
              await engine.start()
            }
          }
          await Promise.all(all)
          await until('All are handled', () => new Set(seen).size === MANY)
          const firsts = [...new Set(seen)]
          assert.deepEqual(firsts, [...firsts.keys()])
        }
      )

      caseOfRestart('that is given up, or too late, says so', ['server'], async () => {
        const pattern = fresh()
        // An engine without a log stores events only for groups that exist.
        await serve(pattern, () => {})
        const client = newClient()
        const aborter = new AbortController()
        aborter.abort()
        await assert.rejects(client.publish(pattern, 1, { signal: aborter.signal }), {
          code: 'CANCELED',
          mayHaveRun: false
        })
        await assert.rejects(client.publish('a.*', 1), OptionError)
        await assert.rejects(client.publish(pattern, 1, { id: '' }), /options\.id/)
        await client.publish(pattern, 1)
        const isLost = lossOf(client)
        await engine.stop()
        await until('It is noticed', isLost)
        await assert.rejects(client.publish(pattern, 2, { timeout: 200 }), (error: Error) => {
          assert.ok(error instanceof TimeoutError)
          assert.equal(error.mayHaveRun, false)
          return true
        })
        const late = client.publish(pattern, 3, { timeout: PATIENCE })
        await engine.start()
        assert.equal((await late).duplicate, false)
        const pending = assert.rejects(client.publish(pattern, 4), ConnectionError)
        await client.close()
        await pending
        await assert.rejects(client.publish(pattern, 5), ConnectionError)
      })
    })
  })
}

/** Returns whether the client has told that a connection is lost, from now on. */
function lossOf(client: UntypedStoringClient): () => boolean {
  let isLost = false
  client.onStatus(({ type }) => {
    isLost ||= type === 'disconnected'
  })
  return () => isLost
}

async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const list: Value[] = []
  for await (const value of values) list.push(value)
  return list
}
