/** Retries over RabbitMQ that wait for a minute, or for a queue that is full. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, Log, PATIENCE, until, Values, within } from '@elysia-microservices/test-support'
import { RetryLater } from '@elysia-microservices/transport'
import { connect as connectDriver } from 'amqplib'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'

class Gate {
  open: () => void = () => {}
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve
  })
}

if (!isMissing('long pauses of RabbitMQ', rabbitmqMissing())) {
  it('an event that waits for more than a minute moves from the queue for long waits to the one for short waits, and runs', async () => {
    const server = await sharedRabbitmq()
    const log = new Log()
    const transport = rabbitmq({ url: server.url })
    const seen = new Values<unknown>()
    const service = microservice({ name: 'long', transport, logger: log.logger }).event(
      'long.x',
      ({ delivery }) => {
        seen.put([delivery?.attempt, delivery?.age])
        if (delivery?.attempt === 1) throw new RetryLater(65_000)
      },
      { durable: true }
    )
    await service.listen()
    const client = connect({ transport, logger: log.logger })
    const driver = await connectDriver(server.url)
    try {
      await client.publish('long.x', 1)
      const [attempt] = (await seen.take()) as number[]
      assert.equal(attempt, 1)
      const second = within(seen.take(), 'It comes again', 65_000 + PATIENCE)
      const [again, age = 0] = (await second) as number[]
      assert.equal(again, 2)
      assert.ok(age >= 65_000, `it was ${age} ms old`)
      await service.stop()
      const channel = await driver.createChannel()
      for (const queue of ['_elysia.long.long:long.x', '_elysia.short.long:long.x'])
        assert.equal((await channel.checkQueue(queue)).messageCount, 0)
    } finally {
      await service.stop()
      await client.close()
      await driver.close()
    }
  })

  it('an event that is due while the queue of its group is full waits until there is room', async () => {
    const server = await sharedRabbitmq()
    const ctl = async (...args: string[]) => {
      const [program, ...rest] = server.ctl(...args)
      await promisify(execFile)(program, rest)
    }
    const log = new Log()
    const transport = rabbitmq({ url: server.url })
    const seen = new Values<unknown>()
    const [failing, over] = [new Gate(), new Gate()]
    const service = microservice({ name: 'full', transport, logger: log.logger }).event(
      'full.x',
      async ({ data, delivery }) => {
        seen.put(`${data} ${delivery?.attempt}`)
        if (data === 'good') return over.opened
        if (delivery?.attempt !== 1) return
        await failing.opened
        throw new RetryLater(10)
      },
      { durable: { concurrency: 1 } }
    )
    await service.listen()
    const client = connect({ transport, logger: log.logger })
    try {
      await client.publish('full.x', 'bad')
      assert.equal(await seen.take(), 'bad 1')
      for (let n = 0; n < 5; n++) await client.publish('full.x', 'good')
      await ctl('set_policy', 'full', '^_elysia\\.d\\.full:', '{"max-length":1}', '--apply-to', 'queues')
      // The server begins to refuse messages after it has accepted one more.
      await client.publish('full.x', 'good').catch(() => {})
      failing.open()
      await log.has(
        "The durable event 'full.x' of the group 'full': a retry cannot be moved to the queue of the group; trying again"
      )
      over.open()
      await until('It comes again', async () => (await seen.take()) === 'bad 2')
    } finally {
      failing.open()
      over.open()
      await ctl('clear_policy', 'full').catch(() => {})
      await service.stop()
      await client.close()
    }
  })
}
