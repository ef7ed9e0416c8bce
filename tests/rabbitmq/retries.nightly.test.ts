/**
 * Failed events over RabbitMQ that wait for their next attempts, in queues from which the processes of their group
 * move them back.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, Link, Values } from '@elysia-microservices/test-support'
import { RetryLater } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { rabbitmqForEach } from '../support/rabbitmq-hooks.ts'
import { rabbitmqMissing } from '../support/rabbitmq-server.ts'

if (!isMissing('pauses of RabbitMQ', rabbitmqMissing())) {
  describe('a failed event of RabbitMQ', () => {
    const setup = rabbitmqForEach()
    const { log, cleanUps } = setup

    async function serve(name: string, handler: (message: Message) => unknown, urls = setup.server.url) {
      const transport = rabbitmq({ url: urls, connectTimeout: 2_000, heartbeat: 2_000 })
      const service = microservice({ name, transport, logger: log.logger, drain: 1_000 }).event(
        `${name}.x`,
        handler,
        { durable: { concurrency: 1 } }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }

    it('that waits in a process goes to another process if the first is lost, and runs only once', async () => {
      const link = await Link.start(setup.server.port)
      cleanUps.push(() => link.stop())
      const seen = new Values<string>()
      const first = await serve(
        'heir',
        ({ delivery }) => {
          seen.put(`first ${delivery?.attempt}`)
          throw new RetryLater(1_000)
        },
        `amqp://127.0.0.1:${link.port}`
      )
      await setup.client.publish('heir.x', 1)
      assert.equal(await seen.take(), 'first 1')
      await serve('heir', ({ delivery }) => seen.put(`second ${delivery?.attempt}`))
      await link.stop()
      assert.equal(await seen.take(), 'second 2')
      await first.stop()
      await cleanUps.pop()?.()
      const channel = await setup.driver.createChannel()
      for (const queue of ['_elysia.short.heir:heir.x', '_elysia.d.heir:heir.x'])
        assert.equal((await channel.checkQueue(queue)).messageCount, 0)
    })

    it('waits while no process of its group runs, however often it was delivered and given back', async () => {
      const seen = new Values<number | undefined>()
      const handler = ({ delivery }: Message) => {
        seen.put(delivery?.attempt)
        if (delivery?.attempt === 1) throw new RetryLater(500)
      }
      await serve('nobody', handler)
      await setup.client.publish('nobody.x', 1)
      assert.equal(await seen.take(), 1)
      await cleanUps.pop()?.()
      const channel = await setup.driver.createChannel()
      // By default, RabbitMQ 4 drops a message that was given back 20 times.
      for (let n = 0; n < 25; n++) {
        const paused = await channel.get('_elysia.short.nobody:nobody.x')
        assert.ok(paused !== false)
        channel.nack(paused)
      }
      await serve('nobody', handler)
      assert.equal(await seen.take(), 2)
    })

    it('is also retried in a group whose first processes have started at the same time', async () => {
      // RabbitMQ 3.10 closes the connection of a consumer if another connection is creating the same queue at that
      // moment.
      for (let n = 0; n < 5; n++) {
        const seen = new Values<number | undefined>()
        const handler = ({ delivery }: Message) => {
          seen.put(delivery?.attempt)
          if (delivery?.attempt === 1) throw new RetryLater(10)
        }
        await Promise.all([1, 2, 3].map(() => serve(`new${n}`, handler)))
        await setup.client.publish(`new${n}.x`, 1)
        assert.deepEqual([await seen.take(), await seen.take()], [1, 2])
      }
    })

    it('also waits if its queue was deleted, because the queue is created again', async () => {
      const seen = new Values<unknown>()
      await serve('remade', ({ delivery }) => {
        seen.put(delivery?.attempt)
        if (delivery?.attempt === 1) throw new RetryLater(10)
      })
      const channel = await setup.driver.createChannel()
      await channel.deleteQueue('_elysia.short.remade:remade.x')
      await log.has("The durable event 'remade.x' of the group 'remade': its retries are not received")
      await log.has("The durable event 'remade.x' of the group 'remade': its retries are received again")
      await setup.client.publish('remade.x', 1)
      assert.deepEqual([await seen.take(), await seen.take()], [1, 2])
    })
  })
}
