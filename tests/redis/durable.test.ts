/**
 * Durable events over a Redis server: what is special to Redis. What holds for every engine is in
 * `engines/engine-tests/src/durable/`.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { redis } from '@elysia-microservices/redis'
import { collected, isMissing, Log, pause, until } from '@elysia-microservices/test-support'
import { type DurableOptions, NotStoredError, OptionError, RetryLater } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { Redis } from 'ioredis'
import { keepsIn, RedisServerProcess, redisMissing } from '../support/redis-server.ts'

const STORE = '_elysia:{events}:'

if (!isMissing('durable events over Redis', redisMissing())) {
  describe('a durable event over Redis', () => {
    let server: RedisServerProcess
    let folder: string
    let operator: Redis
    let client: UntypedStoringClient
    let count = 0
    const log = new Log()
    const cleanUps: (() => Promise<unknown>)[] = []
    const transport = (url = server.url) => redis({ url, durable: { ackWait: 1_000 } })
    const fresh = () => `event${++count}.happened`

    async function serve(
      pattern: string,
      handler: (message: Message<number>) => unknown,
      durable: DurableOptions = {},
      { name = 'test', url = server.url } = {}
    ) {
      const service = microservice({ name, transport: transport(url), logger: log.logger, drain: 5_000 })
      const listening = service.event(pattern, handler, { durable })
      await listening.listen()
      cleanUps.push(() => listening.stop())
      return listening
    }

    function newClient(url = server.url): UntypedStoringClient {
      const made = connect({ transport: transport(url), logger: log.logger, timeout: 20_000 })
      cleanUps.push(() => made.close())
      return made
    }

    const said = (words: string) => log.lines.filter((line) => line.includes(words))
    const unavailable = (service: { stats(): readonly { unavailable?: string | undefined }[] }) =>
      service.stats()[0]?.unavailable

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'redis-'))
      server = await RedisServerProcess.start(...keepsIn(folder))
      operator = new Redis(server.url)
      operator.on('error', () => {})
      client = connect({ transport: transport(), logger: log.logger, timeout: 20_000 })
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      log.clear()
    })
    after(async () => {
      await client.close()
      operator.disconnect()
      await server.stop()
      await rm(folder, { recursive: true })
    })

    it('is refused with a server that may evict it, and a warning says if nothing survives a restart', async () => {
      await operator.config('SET', 'maxmemory-policy', 'allkeys-lru')
      try {
        await assert.rejects(
          serve(fresh(), () => {}),
          (error: Error) => {
            assert.ok(error instanceof OptionError, String(error))
            assert.match(error.message, /maxmemory-policy is 'allkeys-lru'; set it to 'noeviction'/)
            return true
          }
        )
      } finally {
        await operator.config('SET', 'maxmemory-policy', 'noeviction')
      }
      const forgetful = await RedisServerProcess.start()
      cleanUps.push(() => forgetful.stop())
      await serve(fresh(), () => {}, {}, { url: forgetful.url })
      assert.equal(said('has no append-only file').length, 1)
    })

    it('cannot be ordered with wildcards in the pattern, nor begin at an invalid position', async () => {
      await assert.rejects(
        serve('any.*', () => {}, { ordered: true }),
        /streams have no order among them/
      )
      await assert.rejects(
        serve(fresh(), () => {}, { start: { after: '7' } }),
        /a position that publish\(\) gave/
      )
    })

    it('reaches a pattern with wildcards also if its stream is created later', async () => {
      const first = `wide${++count}`
      const seen: number[] = []
      await serve(`${first}.>`, ({ data }) => void seen.push(data))
      for (const n of [1, 2, 3]) await client.publish(`${first}.of${n}`, n)
      await until('All have come', () => seen.length === 3)
      assert.deepEqual(seen.toSorted(), [1, 2, 3])
    })

    it('of a process that was killed goes to another process', async () => {
      const pattern = fresh()
      const seen: number[] = []
      await serve(pattern, ({ data }) => void seen.push(data))
      // An event as a killed process leaves it.
      const stream = `${STORE}s:${pattern}`
      await operator.xgroup('CREATECONSUMER', stream, 'test', 'dead')
      await client.group('test').pause()
      await client.publish(pattern, 1)
      await operator.xreadgroup('GROUP', 'test', 'dead', 'COUNT', 1, 'STREAMS', stream, '>')
      await client.group('test').resume()
      await until('It is handled', () => seen.length === 1)
    })

    it('leaves nothing unneeded in the server: no ids generated by the library, and no stopped processes', async () => {
      const pattern = fresh()
      const service = await serve(pattern, () => {})
      for (let n = 0; n < 20; n++) await client.publish(pattern, n)
      const ids = await operator.keys(`${STORE}i:${pattern}*`)
      assert.ok(ids.length <= 1, ids.join())
      await until('All are done', () => service.stats()[0]?.durable?.[0]?.lag === 0)
      await service.stop()
      assert.deepEqual(await operator.xinfo('CONSUMERS', `${STORE}s:${pattern}`, 'test'), [])
    })

    it('of many that are stored together has the right position, and each is published on NestJS channels', async () => {
      const pattern = fresh()
      await client.publish(pattern, 'before anybody hears it')
      const heard: unknown[] = []
      const listener = new Redis(server.url)
      cleanUps.push(async () => listener.disconnect())
      listener.on('message', (_channel, text) => heard.push((JSON.parse(text) as { data: unknown }).data))
      await listener.subscribe(pattern)
      const numbers = Array.from({ length: 300 }, (_, n) => n)
      const options = (n: number) => (n % 2 === 0 ? { key: 'k', headers: { 'x-n': String(n) } } : {})
      const published = await Promise.all(numbers.map((n) => client.publish(pattern, n, options(n))))
      const entries = await operator.xrange(`${STORE}s:${pattern}`, '-', '+')
      const stored = entries.map(([position, fields]) => ({ position, id: fields[fields.indexOf('id') + 1] }))
      assert.deepEqual(
        published.map(({ position, id }) => ({ position, id })),
        stored.slice(1)
      )
      await until('All are heard', () => heard.length >= numbers.length)
      assert.deepEqual(heard, numbers)
    })

    for (const [what, destroy] of [
      ['its group is', (pattern: string) => operator.xgroup('DESTROY', `${STORE}s:${pattern}`, 'test')],
      ['its stream is', (pattern: string) => operator.del(`${STORE}s:${pattern}`)],
      ['all that the server has is', () => operator.flushall()]
    ] as const)
      it(`is handled when ${what} deleted by hand while handlers are busy, and this is logged`, async () => {
        const pattern = fresh()
        const seen: number[] = []
        let free = () => {}
        const isFree = new Promise<void>((resolve) => {
          free = resolve
        })
        const handler = async ({ data }: Message<number>) => {
          if (data < 2) await isFree
          seen.push(data)
        }
        const service = await serve(pattern, handler, { concurrency: 2 })
        for (const n of [0, 1]) await client.publish(pattern, n)
        await until('Both are busy', () => service.stats()[0]?.inFlight.current === 2)
        await destroy(pattern)
        await client.publish(pattern, 2)
        await until('It is noticed', () => said('is gone').length > 0)
        free()
        await until('All are handled', () => new Set(seen).size === 3)
        await until('It is well again', () => unavailable(service) === undefined)
        await client.publish(pattern, 3)
        await until('The next one is, too', () => seen.includes(3))
        assert.deepEqual(seen.toSorted(), [0, 1, 2, 3])
        assert.equal(said('is gone').length, 1, log.lines.join('\n'))
      })

    it('is handled when all that the server has is deleted, also by a pattern with wildcards, and this is logged once', async () => {
      const pattern = fresh()
      const seen: string[] = []
      await serve(`${pattern}.*`, ({ pattern: of }) => void seen.push(String(of)))
      for (const name of ['a', 'b']) await client.publish(`${pattern}.${name}`, 1)
      await until('Both are handled', () => seen.length === 2)
      const before = said('is gone').length
      await operator.flushall()
      await until('It is noticed', () => said('is gone').length > before)
      // The stream of `b` is named nowhere until it has an event again.
      await client.publish(`${pattern}.a`, 2)
      await until('The next one is handled', () => seen.length === 3)
      for (let turn = 0; turn < 50; turn++) await operator.ping()
      assert.ok(said('is gone').length <= before + 2, log.lines.join('\n'))
      await client.publish(`${pattern}.b`, 2)
      await until('The last one is handled', () => seen.length === 4)
    })

    it('is handled when its group is deleted and another process had taken it again after a pause', async () => {
      const pattern = fresh()
      const [stream, later] = [`${STORE}s:${pattern}`, `${STORE}l:test s:${pattern}`]
      const seen: number[] = []
      await serve(pattern, ({ data }) => void seen.push(data))
      await client.group('test').pause()
      await client.publish(pattern, 0)
      // The other process, whose handler has failed, gives the event back for later.
      const read = (await operator.xreadgroup(
        'GROUP',
        'test',
        'other',
        'COUNT',
        1,
        'STREAMS',
        stream,
        '>'
      )) as [[string, [[string, string[]]]]]
      const [[place]] = read[0][1]
      await operator.zadd(later, Date.now() + 600_000, `${place}:2`)
      await operator.xack(stream, 'test', place)
      await client.group('test').resume()
      await client.publish(pattern, 1)
      await until('A later one is done', () => seen.includes(1))
      await operator.xclaim(stream, 'test', 'other', 0, place, 'FORCE')
      await operator.zrem(later, `${place}:2`)
      await operator.xgroup('DESTROY', stream, 'test')
      await until('It is handled', () => seen.includes(0))
    })

    it('is stored once when the server refuses two batches that were sent together', async () => {
      const patterns = [fresh(), fresh()]
      for (const pattern of patterns) {
        await serve(pattern, () => {})
        await client.publish(pattern, 0)
      }
      // The scripts are sent again, and the batches behind them.
      await operator.script('FLUSH')
      await Promise.all(patterns.flatMap((pattern) => [1, 2].map((n) => client.publish(pattern, n))))
      await Promise.all(patterns.map((pattern) => client.publish(pattern, 3)))
      const lengths = await Promise.all(patterns.map((pattern) => operator.xlen(`${STORE}s:${pattern}`)))
      assert.deepEqual(lengths, [4, 4])
    })

    it('is not requested before there is room for it, also while a redriven one is handled', async () => {
      const pattern = fresh()
      const ends: (() => void)[] = []
      let isBad = true
      const handler = async ({ data }: Message<number>) => {
        if (data === 0 && isBad) throw new Error('not yet')
        await new Promise<void>((resolve) => ends.push(resolve))
      }
      const service = await serve(
        pattern,
        handler,
        { concurrency: 1, retry: { attempts: 1 } },
        { name: 'narrow' }
      )
      await client.publish(pattern, 0)
      const letters = client.group('narrow').deadLetters
      let letter: string | undefined
      await until('It is a dead letter', async () => {
        ;[letter] = (await collected(letters.list())).map(({ position }) => position)
        return letter !== undefined
      })
      isBad = false
      await client.publish(pattern, 1)
      await until('One is handled', () => ends.length === 1)
      await Promise.all(Array.from({ length: 300 }, (_, n) => client.publish(pattern, n + 2)))
      // Handlers that take long get no event in advance.
      const next = async () => {
        await until('The next one is handled', () => ends.length > 0)
        await pause(150)
        ends.shift()?.()
      }
      for (let n = 0; n < 10; n++) await next()
      await until('The next one is handled', () => ends.length > 0)
      await letters.redrive(letter ?? '')
      for (let n = 0; n < 5; n++) {
        await next()
        const [held] = await operator.xpending(`${STORE}s:${pattern}`, 'narrow')
        assert.ok(Number(held) <= 2, `${held} events are held for a handler of one at a time`)
      }
      const ending = setInterval(() => {
        for (const end of ends.splice(0)) end()
      }, 1)
      cleanUps.push(async () => clearInterval(ending))
      await until('All are handled', () => service.stats()[0]?.durable?.[0]?.lag === 0)
    })

    it('runs once although the server refuses its acknowledgement for a while', async () => {
      const pattern = fresh()
      const seen: number[] = []
      const handler = async ({ data }: Message<number>) => {
        seen.push(data)
        await pause(100)
      }
      await serve(pattern, handler)
      await serve(pattern, handler)
      await client.publish(pattern, 0)
      await until('It runs', () => seen.length === 1)
      await operator.config('SET', 'min-replicas-to-write', '1')
      cleanUps.push(() => operator.config('SET', 'min-replicas-to-write', '0'))
      await until('The acknowledgement is refused', () => said('NOREPLICAS').length > 0)
      await operator.config('SET', 'min-replicas-to-write', '0')
      await until(
        'It is acknowledged',
        async () => (await operator.xpending(`${STORE}s:${pattern}`, 'test'))[0] === 0
      )
      assert.deepEqual(seen, [0])
    })

    it('that takes longer than ackWait runs once, also in a process that is stopping', async () => {
      const pattern = fresh()
      let runs = 0
      const handler = async () => {
        runs++
        await pause(3_000)
      }
      const one = await serve(pattern, handler)
      await client.publish(pattern, 0)
      await until('It runs', () => runs === 1)
      await serve(pattern, handler)
      await one.stop()
      await until(
        'It is done',
        async () => (await operator.xpending(`${STORE}s:${pattern}`, 'test'))[0] === 0
      )
      assert.equal(runs, 1)
    })

    it('in order stays in order when its stream is deleted', async () => {
      const pattern = fresh()
      const seen: number[] = []
      await serve(pattern, ({ data }) => void seen.push(data), { ordered: true })
      for (let n = 0; n < 20; n++) {
        await client.publish(pattern, n, { key: 'k' })
        if (n === 10) await operator.del(`${STORE}s:${pattern}`)
      }
      await until('The last ones are handled', () => seen.includes(19))
      const firsts = [...new Set(seen)]
      assert.deepEqual(
        firsts,
        firsts.toSorted((a, b) => a - b)
      )
    })

    it('goes on in order with another process when the first is killed or stops', async () => {
      const pattern = fresh()
      const seen: string[] = []
      const note = (name: string) => (message: Message<number>) => void seen.push(`${name}${message.data}`)
      const durable = { ordered: true }
      const one = await serve(pattern, note('a'), durable)
      await serve(pattern, note('b'), durable)
      await client.publish(pattern, 0, { key: 'k' })
      await until('The first has its turn', () => seen.length === 1)
      await one.stop()
      for (const n of [1, 2]) await client.publish(pattern, n, { key: 'k' })
      await until('The other has it', () => seen.length === 3)
      assert.deepEqual(seen, ['a0', 'b1', 'b2'])
    })

    it('is stored, or refused with advice if memory is full; a failed event waits until its dead letter is stored', async () => {
      const pattern = fresh()
      const seen = new Set<number>()
      let isBad = false
      await serve(
        pattern,
        ({ data }) => {
          if (data === 0 && !isBad) throw new Error('poisoned')
          seen.add(data)
        },
        { retry: { attempts: 2, minDelay: 500, maxDelay: 200 } },
        { name: 'full' }
      )
      await client.publish(pattern, 0)
      await operator.config('SET', 'maxmemory', '1')
      cleanUps.push(() => operator.config('SET', 'maxmemory', '0'))
      await assert.rejects(client.publish(pattern, 1), (error: Error) => {
        assert.ok(error instanceof NotStoredError, String(error))
        assert.deepEqual([error.mayHaveRun, error.retryable], [false, true])
        assert.match(error.message, /its memory is full: raise its maxmemory/)
        return true
      })
      await assert.rejects(client.publish(fresh(), 1, { timeout: 500 }), NotStoredError)
      await until('There is no room for the dead letter', () =>
        log.lines.some((line) => line.includes('could not be stored as a dead letter'))
      )
      await operator.config('SET', 'maxmemory', '0')
      await client.publish(pattern, 2)
      await until('It is handled', () => seen.has(2))
      const letters = client.group('full').deadLetters
      const all = () => collected(letters.list())
      await until('It is a dead letter', async () => (await all()).length === 1)
      isBad = true
      assert.equal(await letters.redrive((await all())[0]?.position as string), true)
      await until('It is handled at last', () => seen.has(0))
    })

    it('that the server has lost in a failover to a lagging replica is reported; later events are handled', async () => {
      const pattern = fresh()
      const old = await mkdtemp(join(tmpdir(), 'redis-'))
      const lagging = await RedisServerProcess.start('--dir', old)
      cleanUps.push(async () => {
        await lagging.stop()
        await rm(old, { recursive: true })
      })
      const { url } = lagging
      const seen: number[] = []
      const service = await serve(pattern, ({ data }) => void seen.push(data), {}, { url })
      const publisher = newClient(url)
      await publisher.publish(pattern, 1)
      await until('It is handled', () => seen.length === 1)
      const direct = new Redis(url)
      await direct.save()
      direct.disconnect()
      await publisher.publish(pattern, 2)
      await until('It is handled', () => seen.length === 2)
      // The server starts again with the data that it had at that time.
      await lagging.stop()
      await lagging.start()
      await until('It is said', () => said('now ends at position').length > 0)
      await publisher.publish(pattern, 3)
      await until('It is handled', () => seen.includes(3))
      assert.deepEqual(seen, [1, 2, 3])
      assert.equal(unavailable(service), undefined)
    })

    it("that a client of Nest's emits is stored once, although several processes receive it", async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      const handler = ({ data, headers }: Message<number>) => void seen.push([data, headers])
      for (const name of ['a', 'a', 'b']) await serve(pattern, handler, {}, { name })
      await serve('*.happened', handler, {}, { name: 'c' })
      const emit = (packet: object) => operator.publish(pattern, JSON.stringify(packet))
      await emit({ pattern, data: 1 })
      await emit({ pattern, data: 1 })
      await emit({ pattern, data: 2, metadata: { 'x-a': '1' } })
      await emit({ pattern, data: 'request', id: '7' })
      await client.publish(pattern, 3)
      await client.emit(pattern, 4)
      await until('All have come', () => seen.length >= 15)
      await pause(100)
      const of = (data: number) => seen.filter((one) => (one as unknown[])[0] === data).length
      assert.deepEqual([of(1), of(2), of(3), of(4), seen.length], [6, 3, 3, 3, 15])
      assert.deepEqual(
        seen.find((one) => (one as unknown[])[0] === 2),
        [2, { 'x-a': '1' }]
      )
    })

    it('that somebody has deleted while its group was away is missed with a line in the log', async () => {
      const pattern = fresh()
      const runs: number[] = []
      const run = ({ data }: Message<number>) => runs.push(data)
      const first = await serve(pattern, run)
      for (const n of [1, 2]) await client.publish(pattern, n)
      await until('Both run', () => runs.length === 2)
      await first.stop()
      for (const n of [3, 4, 5, 6]) await client.publish(pattern, n)
      await operator.xtrim(`${STORE}s:${pattern}`, 'MAXLEN', 1)
      await serve(pattern, run)
      await until('The last one runs', () => runs.length === 3)
      assert.deepEqual(runs, [1, 2, 6])
      assert.equal(said(`3 events '${pattern}' that the group 'test' had not got were deleted`).length, 1)
    })

    it('of a renamed service or a removed handler is named at the start, with the command that removes its group, and never of a busy group', async () => {
      const [pattern, removed] = [fresh(), fresh()]
      const old = await serve(pattern, () => {}, {}, { name: 'old' })
      const both = microservice({ name: 'kept', transport: transport(), logger: log.logger })
        .event(pattern, () => {}, { durable: true })
        .event(removed, () => {}, { durable: true })
      await both.listen()
      await serve(pattern, () => pause(1_000), {}, { name: 'busy' })
      await Promise.all([old.stop(), both.stop()])
      for (let n = 0; n < 3; n++) await client.publish(pattern, n)
      await client.publish(removed, 1)
      await serve(pattern, () => {}, {}, { name: 'renamed' })
      await log.has(`3 events '${pattern}' wait for the group 'old', which no process handles at the moment`)
      await serve(pattern, () => {}, {}, { name: 'kept' })
      await log.has(`The group 'kept' handled '${removed}' until now, and no process does any more: 1 event`)
      assert.deepEqual([said("group 'busy'"), said(`handled '${pattern}'`)], [[], []])
      for (const words of [`for the group 'old'`, `handled '${removed}'`]) {
        const [line = ''] = said(words)
        for (const [, command = ''] of line.matchAll(/redis-cli ([^;]+)/g)) {
          const [name = '', ...args] = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
            ([, quoted, plain]) => quoted ?? plain ?? ''
          )
          assert.equal(await operator.call(name, ...args), 1, command)
        }
      }
    })

    it('is not trusted to be what a stranger claims', async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      await serve(pattern, ({ data, delivery, headers, pattern: name }) => {
        seen.push([data, name, delivery?.position !== '9-9', headers])
      })
      const forged = ['packet', '{"pattern":"other","data":1}', 'position', '9-9', 'pattern', 'other']
      await operator.xadd(`${STORE}s:${pattern}`, '*', ...forged, 'headers', '{"a":5,"b":"c"}')
      await operator.xadd(`${STORE}s:${pattern}`, '*', 'anything', 'else')
      await until('Both are handled', () => seen.length === 2)
      assert.deepEqual(seen, [
        [1, pattern, true, { b: 'c' }],
        [undefined, pattern, true, {}]
      ])
      await operator.xadd(`${STORE}s:${pattern}`, '*', 'packet', 'no JSON')
      await until('It has failed', () => said('has failed').length > 0)
      await pause(0)
    })

    it('whose next attempt would come after it is deleted by its age is a dead letter that says so', async () => {
      const HOUR = 3_600_000
      for (const ordered of [false, true]) {
        const pattern = fresh()
        const name = `ages-${ordered}`
        const ages = redis({ url: server.url, durable: { maxAge: HOUR } })
        const service = microservice({ name, transport: ages, logger: log.logger }).event(
          pattern,
          ({ data }: Message<number>) => {
            throw new RetryLater(data)
          },
          { durable: { ordered } }
        )
        await service.listen()
        cleanUps.push(() => service.stop())
        for (const delay of [HOUR / 2, 2 * HOUR]) await client.publish(pattern, delay)
        const letters = () => collected(client.group(name).deadLetters.list())
        await until('One is a dead letter', async () => (await letters()).length === 1)
        const [letter] = await letters()
        assert.equal(letter?.data, 2 * HOUR)
        assert.match(letter?.reason ?? '', /keeps it no longer \(maxAge: 3600000 ms\)/)
      }
    })
  })
}
