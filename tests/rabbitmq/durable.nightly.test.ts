/**
 * Durable events over RabbitMQ: what is special to RabbitMQ, such as queues for retries and for dead letters, and one
 * active process for ordered events.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, until } from '@elysia-microservices/test-support'
import { Discard, type DurableOptions, RetryLater } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { rabbitmqForEach } from '../support/rabbitmq-hooks.ts'
import { between, eachFrame, isConfirmation } from '../support/rabbitmq-relay.ts'
import { rabbitmqMissing } from '../support/rabbitmq-server.ts'

/** A server between clients and RabbitMQ that holds back confirmations until they are released. */
async function confirmsHeldBack(port: number) {
  const held: (() => void)[] = []
  let isHolding = true
  const relay = await between(port, (client, server) => {
    client.pipe(server)
    eachFrame(server, (frame) => {
      if (isHolding && isConfirmation(frame)) held.push(() => client.write(frame))
      else client.write(frame)
    })
  })
  return {
    ...relay,
    release() {
      isHolding = false
      for (const write of held.splice(0)) write()
    }
  }
}

if (!isMissing('durable events of RabbitMQ', rabbitmqMissing())) {
  describe('a durable event of RabbitMQ', () => {
    const setup = rabbitmqForEach()
    const { log, cleanUps } = setup

    async function serve(
      name: string,
      pattern: string,
      handler: (message: Message) => unknown,
      durable: DurableOptions = {},
      urls = setup.server.url
    ) {
      const transport = rabbitmq({ url: urls, connectTimeout: 2_000, heartbeat: 2_000 })
      const service = microservice({ name, transport, logger: log.logger, drain: 5_000 }).event(
        pattern,
        handler,
        {
          durable
        }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }

    it('whose headers leave no room for those of a copy is retried and buried without the largest', async () => {
      const seen: unknown[] = []
      await serve(
        'large',
        'large.x',
        ({ delivery }) => {
          seen.push(delivery?.attempt)
          throw new Error('not now')
        },
        { retry: { attempts: 2, minDelay: 10 } }
      )
      const headers = { 'x-large': 'x'.repeat(63 * 1024), 'x-small': 'a' }
      await setup.client.publish('large.x', 1, { id: 'l', headers })
      const channel = await setup.driver.createChannel()
      await until('it is a dead letter', async () => {
        return (await channel.checkQueue('_elysia.dead.large')).messageCount === 1
      })
      assert.deepEqual(seen, [1, 2])
      const letter = await channel.get('_elysia.dead.large', { noAck: true })
      assert.ok(letter !== false)
      const { headers: kept = {} } = letter.properties
      assert.deepEqual([kept['x-large'], kept['x-small'], kept['x-elysia-id']], [undefined, 'a', 'l'])
    })

    it('whose next attempt arrives before the server has confirmed it is still handled, and only once', async () => {
      const seen: unknown[] = []
      const link = await confirmsHeldBack(setup.server.port)
      cleanUps.push(async () => link.close())
      const service = await serve(
        'hasty',
        'hasty.x',
        ({ delivery }) => {
          seen.push(delivery?.attempt)
          if (delivery?.attempt === 1) throw new Error('not now')
        },
        { retry: { attempts: 3, minDelay: 10 } },
        link.url
      )
      await setup.client.publish('hasty.x', 1)
      await until('its second attempt has come', () => seen.length === 2)
      assert.deepEqual(seen, [1, 2])
      await log.has('has not confirmed within')
      assert.equal(service.stats()[0]?.durable?.[0]?.redeliveries, 1)
      link.release()
      const channel = await setup.driver.createChannel()
      // Unacknowledged messages return to the queue when their channel ends.
      await cleanUps.pop()?.()
      assert.equal((await channel.checkQueue('_elysia.d.hasty:hasty.x')).messageCount, 0)
      assert.deepEqual(seen, [1, 2])
    })

    it('is discarded or retried later, as its handler decides', async () => {
      const seen: string[] = []
      await serve(
        'says',
        'says.x',
        ({ data, delivery }) => {
          seen.push(`${data} ${delivery?.attempt}`)
          if (data === 'unwanted') throw new Discard('known')
          if (delivery?.attempt === 1) throw new RetryLater(100)
        },
        { retry: { attempts: 1 } }
      )
      await setup.client.publish('says.x', 'unwanted')
      await setup.client.publish('says.x', 'later')
      await until('it has come again', () => seen.length === 3)
      assert.deepEqual(seen, ['unwanted 1', 'later 1', 'later 2'])
      const channel = await setup.driver.createChannel()
      assert.equal((await channel.checkQueue('_elysia.dead.says')).messageCount, 0)
    })

    it('is received also after RabbitMQ has closed the channel on which its service answers', async () => {
      const seen: unknown[] = []
      const transport = rabbitmq({ url: setup.server.url })
      const service = microservice({ name: 'answers', transport, logger: log.logger })
        .message('answers.echo', ({ data }) => data)
        .event('answers.x', ({ data }) => void seen.push(data), { durable: true })
      await service.listen()
      cleanUps.push(() => service.stop())
      const caller = connect({ transport, logger: log.logger })
      cleanUps.push(() => caller.close())
      assert.equal(await caller.request('answers.echo', 1), 1)
      const channel = await setup.driver.createChannel()
      // The inbox of the client of all tests is bound to this exchange, and stays without answers.
      cleanUps.push(() => setup.connectAgain())
      await channel.deleteExchange('_elysia.inboxes')
      // The answer is published to an exchange that does not exist.
      await assert.rejects(caller.request('answers.echo', 2, { timeout: 500 }))
      await log.has('Connected to the RabbitMQ server')
      await setup.client.publish('answers.x', 1)
      await until('it has come', () => seen.length === 1)
    })

    it('that takes longer than RabbitMQ allows costs its channel, and no call', async () => {
      const set = async (name: string, value: number) => {
        const [program, ...rest] = setup.server.ctl('eval', `application:set_env(rabbit, ${name}, ${value}).`)
        await promisify(execFile)(program, rest)
      }
      cleanUps.push(
        () => set('consumer_timeout', 1_800_000),
        () => set('channel_tick_interval', 60_000)
      )
      await set('consumer_timeout', 1_000)
      await set('channel_tick_interval', 500)
      const ended: unknown[] = []
      let end = () => {}
      const held = new Promise<void>((resolve) => {
        end = resolve
      })
      const transport = rabbitmq({ url: setup.server.url })
      const service = microservice({ name: 'slow', transport, logger: log.logger })
        .message('slow.echo', ({ data }) => data)
        .event('slow.x', ({ data }) => held.then(() => ended.push(data)), { durable: { ordered: true } })
      await service.listen()
      cleanUps.push(() => service.stop())
      await setup.client.publish('slow.x', 1)
      await log.has('delivery acknowledgement on channel')
      await log.has("The durable event 'slow.x' of the group 'slow' is received again")
      assert.equal(await setup.client.request('slow.echo', 1), 1)
      end()
      await until('it has ended', () => ended.length === 1)
      assert.deepEqual(
        log.lines.filter((line) => line.includes('is lost')),
        []
      )
    })
  })
}
