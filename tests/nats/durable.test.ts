/** Tests durable events over NATS, in cases that no other engine has. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, Log, until } from '@elysia-microservices/test-support'
import { connect as connectDriver, headers } from '@nats-io/transport-node'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

const DAY = 24 * 60 * 60 * 1_000

if (!isMissing('durable events of NATS', natsMissing())) {
  describe('a durable event of NATS', () => {
    let server: NatsServerProcess
    before(async () => {
      server = await NatsServerProcess.start('-js')
    })
    after(() => server.stop())

    it('is redriven whatever the options of its stream are, and with a new ackWait', async () => {
      const log = new Log()
      const transport = (ackWait: number) =>
        nats({ url: server.url, durable: { maxAge: 30 * DAY, duplicateWindow: 60_000, ackWait } })
      let isDown = true
      const seen: unknown[] = []
      const service = (ackWait: number) =>
        microservice({ name: 'billing', transport: transport(ackWait), logger: log.logger }).event(
          'billing.paid',
          ({ data }) => {
            seen.push(data)
            if (isDown) throw new Error('down')
          },
          { durable: { retry: { attempts: 1 } } }
        )
      const first = service(5_000)
      await first.listen()
      const client = connect({ transport: transport(5_000), logger: log.logger })
      await client.publish('billing.paid', 1)
      const letters = client.group('billing').deadLetters
      const list = async () => {
        const all: { readonly position: string }[] = []
        for await (const { position } of letters.list()) all.push({ position: String(position) })
        return all
      }
      await until('it is a dead letter', async () => (await list()).length === 1)
      await first.stop()
      isDown = false
      const second = service(10_000)
      await second.listen()
      assert.equal(await letters.redrive((await list())[0]!.position), true)
      await until('it is handled again', () => seen.length === 2)
      await client.close()
      await second.stop()
    })

    it('without data is handled, whatever headers its publisher gave it', async () => {
      const log = new Log()
      const transport = nats({ url: server.url })
      const seen: unknown[] = []
      const service = microservice({ name: 'odd', transport, logger: log.logger }).event(
        'odd.paid',
        ({ data }) => void seen.push(data),
        { durable: { retry: { attempts: 1 } } }
      )
      await service.listen()
      const driver = await connectDriver({ servers: server.url })
      for (const code of [408, 100, 423])
        driver.publish('odd.paid', '', { headers: headers(code, 'not a status') })
      await driver.flush()
      const figures = () => service.stats()[0]?.durable?.[0]
      await until('all are done', () => seen.length + (figures()?.deadLetters ?? 0) === 3)
      await driver.close()
      await service.stop()
    })
  })
}
