/** Tests which deliveries of JetStream count as attempts, and what becomes of events that JetStream will delete. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type NatsOptions, nats } from '@elysia-microservices/nats'
import { collected, isMissing, Log, PATIENCE, until } from '@elysia-microservices/test-support'
import { type DurableOptions, RetryLater } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

const HOUR = 60 * 60 * 1_000

if (!isMissing('attempts of NATS', natsMissing())) {
  describe('an event of NATS', () => {
    let server: NatsServerProcess
    let client: UntypedStoringClient
    const log = new Log()
    const transport = (durable: NatsOptions['durable'] = {}) => nats({ url: server.url, durable })
    before(async () => {
      server = await NatsServerProcess.start('-js')
      client = connect({ transport: transport(), logger: log.logger })
    })
    after(async () => {
      await client.close()
      await server.stop()
    })

    async function start(name: string, handler: (message: Message) => unknown, durable: DurableOptions) {
      const service = microservice({ name, transport: transport(), logger: log.logger, drain: 1 }).event(
        `${name}.happened`,
        handler,
        { durable }
      )
      await service.listen()
      return service
    }

    it('that waits for an earlier one of its key has not been attempted, however many processes come and go', {
      timeout: 2 * PATIENCE
    }, async () => {
      const durable = { ordered: true, retry: { attempts: 3, minDelay: 1 } }
      const runs: string[] = []
      const note = ({ data, delivery }: Message) => void runs.push(`${data} ${delivery?.attempt}`)
      const waits = (message: Message) => {
        note(message)
        if (message.data === 'first') throw new RetryLater(HOUR)
      }
      const create = await start('waits', waits, durable)
      for (const data of ['first', 'second', 'third', 'fourth'])
        await client.publish('waits.happened', data, { key: 'k' })
      await until('The first runs', () => runs.length === 1)
      await create.stop()
      for (let round = 2; round <= 8; round++) {
        const service = await start('waits', waits, durable)
        await until('The first runs', () => runs.length === round)
        await service.stop()
      }
      assert.deepEqual(new Set(runs.map((run) => run.split(' ')[0])), new Set(['first']))
      runs.length = 0
      // The first is done now, and the process of the second ends while its handler runs for the first time.
      const hangs = await start(
        'waits',
        (message) => {
          note(message)
          return message.data === 'second' ? new Promise(() => {}) : undefined
        },
        durable
      )
      await until('The second runs', () => runs.some((run) => run.startsWith('second')))
      await hangs.stop()
      // Then it fails once, and succeeds.
      const last = await start(
        'waits',
        (message) => {
          note(message)
          if (message.data === 'second' && message.delivery?.attempt === 2) throw new Error('once')
        },
        durable
      )
      await until('All are done', () => runs.at(-1)?.startsWith('fourth') === true)
      await last.stop()
      assert.deepEqual(
        runs.filter((run) => !run.startsWith('first')),
        ['second 1', 'second 2', 'second 3', 'third 1', 'fourth 1']
      )
      assert.deepEqual(await collected(client.group('waits').deadLetters.list()), [])
    })

    it('whose process ends each time is a dead letter after some 20 runs, also if it had waited before', {
      timeout: 2 * PATIENCE
    }, async () => {
      const durable = { ordered: true, retry: { attempts: 1 } }
      let runs = 0
      let runsOfFirst = 0
      const handler = ({ data }: Message) => {
        if (data === 'waits') runs++
        else if (++runsOfFirst > 3) return undefined
        return new Promise(() => {})
      }
      let service = await start('crashes', handler, durable)
      for (const data of ['first', 'waits']) await client.publish('crashes.happened', data, { key: 'k' })
      for (let round = 1; round <= 3; round++) {
        await until('The first runs', () => runsOfFirst === round)
        await service.stop()
        service = await start('crashes', handler, durable)
      }
      let before = 0
      const isDead = async () => (await collected(client.group('crashes').deadLetters.list())).length > 0
      while (!(await isDead())) {
        await until('It runs, or is given up', async () => runs > before || (await isDead()))
        before = runs
        await service.stop()
        service = await start('crashes', handler, durable)
      }
      await service.stop()
      assert.ok(runs > 18 && runs < 25, `${runs} runs`)
    })

    it('whose next attempt would come after it is deleted by its age is a dead letter that says so', {
      timeout: PATIENCE
    }, async () => {
      for (const ordered of [false, true]) {
        const name = `ages-${ordered}`
        const service = microservice({
          name,
          transport: transport({ maxAge: HOUR, duplicateWindow: 1_000 }),
          logger: log.logger
        })
          .event(
            `${name}.later`,
            ({ data }) => {
              throw new RetryLater(Number(data))
            },
            { durable: { ordered } }
          )
          .event(
            `${name}.fails`,
            () => {
              throw new Error('it is full')
            },
            { durable: { ordered, retry: { attempts: 5, minDelay: 2 * HOUR, maxDelay: 2 * HOUR } } }
          )
        await service.listen()
        await client.publish(`${name}.later`, HOUR / 2)
        await client.publish(`${name}.later`, 2 * HOUR)
        await client.publish(`${name}.fails`, 1)
        const letters = () => collected(client.group(name).deadLetters.list())
        await until('Both are dead letters', async () => (await letters()).length === 2)
        const found = await letters()
        for (const { reason } of found) assert.match(reason, /keeps it no longer \(maxAge: 3600000 ms\)/)
        assert.match(found.map(({ reason }) => reason).join(), /Error: it is full; it was to run again/)
        const later = service.stats()[0]?.durable?.find(({ pattern }) => pattern === `${name}.later`)
        assert.equal(later?.deadLetters, 1)
        await service.stop()
      }
    })
  })
}
