/** Tests which deliveries of JetStream count as attempts. */
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
  })
}
