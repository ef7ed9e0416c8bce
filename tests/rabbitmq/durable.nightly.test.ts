/**
 * Durable events over RabbitMQ: what is special to RabbitMQ, such as queues for retries and for dead letters, and one
 * active process for ordered events.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import net from 'node:net'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, until } from '@elysia-microservices/test-support'
import { Discard, type DurableOptions, RetryLater } from '@elysia-microservices/transport'
import { connect as connectDriver, type GetMessage, type Options } from 'amqplib'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { rabbitmqForEach } from '../support/rabbitmq-hooks.ts'
import { rabbitmqMissing } from '../support/rabbitmq-server.ts'

/** The frame that confirms a published message: a method (1), basic (60), ack (80). */
const CONFIRM = { type: 1, method: (60 << 16) | 80 }

/** A proxy for a connection that holds back the server's confirmations until they are released. */
async function confirmsHeldBack(port: number) {
  const held: (() => void)[] = []
  let isHolding = true
  const sockets = new Set<net.Socket>()
  const between = net.createServer((client) => {
    const upstream = net.connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    client.pipe(upstream)
    upstream.on('close', () => client.destroy())
    let bytes = Buffer.alloc(0)
    upstream.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      // A frame has a type, a channel, a size, that many bytes, and an end byte.
      while (bytes.length >= 7 && bytes.length >= bytes.readUInt32BE(3) + 8) {
        const frame = bytes.subarray(0, bytes.readUInt32BE(3) + 8)
        bytes = bytes.subarray(frame.length)
        const isConfirm = frame[0] === CONFIRM.type && frame.readUInt32BE(7) === CONFIRM.method
        if (isConfirm && isHolding) held.push(() => client.write(frame))
        else client.write(frame)
      }
    })
  })
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
  return {
    port: (between.address() as net.AddressInfo).port,
    release() {
      isHolding = false
      for (const write of held.splice(0)) write()
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => between.close(resolve))
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

    it('that fails waits in a queue, and ends in the queue of dead letters; other events go on', async () => {
      const seen: string[] = []
      const durable = { retry: { attempts: 3, minDelay: 100 }, concurrency: 1 }
      const service = await serve(
        'pausing',
        'pausing.x',
        ({ data, delivery }) => {
          seen.push(`${data} ${delivery?.id} ${delivery?.key} ${delivery?.attempt} ${delivery?.redelivered}`)
          if (data === 'bad') throw new Error('not now')
        },
        durable
      )
      await setup.client.publish('pausing.x', 'bad', { id: 'b', key: 'k', headers: { 'x-a': 'ä' } })
      await setup.client.publish('pausing.x', 'good', { id: 'g', key: 'k' })
      const channel = await setup.driver.createChannel()
      await until('it is a dead letter', async () => {
        return (await channel.checkQueue('_elysia.dead.pausing')).messageCount === 1
      })
      assert.deepEqual(seen, ['bad b k 1 false', 'good g k 1 false', 'bad b k 2 true', 'bad b k 3 true'])
      const letter = await channel.get('_elysia.dead.pausing', { noAck: true })
      assert.ok(letter !== false)
      const { headers = {} } = letter.properties
      assert.equal(letter.content.toString(), '{"pattern":"pausing.x","data":"bad"}')
      assert.deepEqual(
        [headers['x-a'], headers['x-elysia-id'], headers['x-elysia-reason'], headers['x-elysia-attempts']],
        ['ä', 'b', 'Error: not now', 3]
      )
      const [figures] = service.stats()[0]?.durable ?? []
      assert.deepEqual([figures?.deadLetters, figures?.redeliveries], [1, 2])
      assert.throws(() => setup.client.group('pausing').deadLetters, {
        name: 'OptionError',
        message: /_elysia\.dead\.pausing/
      })
    })

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
      cleanUps.push(() => link.stop())
      const service = await serve(
        'hasty',
        'hasty.x',
        ({ delivery }) => {
          seen.push(delivery?.attempt)
          if (delivery?.attempt === 1) throw new Error('not now')
        },
        { retry: { attempts: 3, minDelay: 10 } },
        `amqp://127.0.0.1:${link.port}`
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

    it('that was a dead letter and is moved back into its queue is handled again, by the same process too', async () => {
      const seen: unknown[] = []
      await serve(
        'again',
        'again.x',
        ({ data, delivery }) => {
          seen.push([data, delivery?.id, delivery?.attempt])
          if (seen.length < 3) throw new Error('not now')
        },
        { retry: { attempts: 2, minDelay: 10 } }
      )
      await setup.client.publish('again.x', 1, { id: 'i' })
      const channel = await setup.driver.createChannel()
      let letter: GetMessage | false = false
      await until('it is a dead letter', async () => {
        letter = await channel.get('_elysia.dead.again', { noAck: true })
        return letter !== false
      })
      // Copies the message as RabbitMQ's shovel does.
      const { content, properties } = letter as unknown as GetMessage
      channel.sendToQueue('_elysia.d.again:again.x', content, properties as Options.Publish)
      await until('it has come again', () => seen.length === 3)
      assert.deepEqual(seen, [
        [1, 'i', 1],
        [1, 'i', 2],
        [1, 'i', 1]
      ])
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

    it('is handled in order by one process, and by the next process when the first stops', async () => {
      const seen: string[] = []
      const durable = { ordered: true, concurrency: 4 }
      const note = (name: string) => async (message: Message) => {
        await new Promise((resolve) => setTimeout(resolve, 2))
        seen.push(`${name} ${message.data}`)
      }
      const first = await serve('in-order', 'in-order.x', note('first'), durable)
      await serve('in-order', 'in-order.x', note('second'), durable)
      const all = Array.from({ length: 100 }, (_, n) => setup.client.publish('in-order.x', n, { key: 'k' }))
      await Promise.all(all)
      await until('some have come', () => seen.length > 20)
      assert.ok(seen.every((one) => one.startsWith('first')))
      await first.stop()
      await until('all have come', () => seen.length >= 100)
      assert.deepEqual(
        seen.map((one) => Number(one.split(' ')[1])),
        Array.from({ length: 100 }, (_, n) => n)
      )
      assert.ok(seen.at(-1)?.startsWith('second'))
    })

    it('whose process is lost with its connection goes to another process', async () => {
      const seen: unknown[] = []
      await serve('lost', 'lost.x', ({ data, delivery }) => void seen.push([data, delivery?.attempt]))
      const channel = await setup.driver.createChannel()
      // A process that receives an event and never acknowledges it.
      const silent = await connectDriver(setup.server.url)
      const taking = await silent.createChannel()
      await taking.prefetch(1)
      let taken = 0
      await taking.consume('_elysia.d.lost:lost.x', () => void taken++)
      for (let n = 0; n < 4; n++) await setup.client.publish('lost.x', n)
      await until('it has one', () => taken === 1 && seen.length === 3)
      await silent.close()
      await until('it has come', () => seen.length === 4)
      assert.deepEqual(seen.map((one) => (one as [number])[0]).sort(), [0, 1, 2, 3])
      assert.equal((seen[3] as [number, number])[1], 2)
      await channel.close()
    })

    it('is not stored without a group, and its publisher gets an error at once', async () => {
      await assert.rejects(setup.client.publish('nowhere.x', 1), {
        name: 'NotStoredError',
        message: /No group stores the event 'nowhere\.x'/
      })
    })

    it('restores a queue that somebody deletes, with a line in the log', async () => {
      const seen: unknown[] = []
      await serve('gone', 'gone.x', ({ data }) => void seen.push(data))
      const channel = await setup.driver.createChannel()
      await channel.deleteQueue('_elysia.d.gone:gone.x')
      await log.has(
        "The durable event 'gone.x' of the group 'gone' is not received: RabbitMQ has deleted the queue '_elysia.d.gone:gone.x'"
      )
      await log.has("The durable event 'gone.x' of the group 'gone' is received again")
      await setup.client.publish('gone.x', 1)
      await until('it has come', () => seen.length === 1)
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

    it('of a service that was renamed is reported with its queue, and so is one of a removed handler', async () => {
      for (const [name, pattern] of [
        ['old-name', 'named.x'],
        ['same-name', 'removed.x']
      ] as const)
        await serve(name, pattern, () => {})
      // They are noted in the queue of all handlers after ten seconds.
      await until('they are noted', async () => {
        const channel = await setup.driver.createChannel()
        channel.on('error', () => {})
        const notes: string[] = []
        try {
          // Reading a queue that was just made, and is empty, may cost the whole connection.
          const { messageCount } = await channel.checkQueue('_elysia.handlers')
          while (notes.length < messageCount) {
            const note = await channel.get('_elysia.handlers')
            if (note === false) break
            notes.push(note.content.toString())
          }
        } catch {}
        await channel.close().catch(() => {})
        return ['"removed.x"', '"named.x"'].every((one) => notes.some((note) => note.includes(one)))
      })
      for (const cleanUp of cleanUps.splice(0)) await cleanUp()
      await setup.client.publish('named.x', 1)
      await serve('new-name', 'named.x', () => {})
      await serve('same-name', 'other.x', () => {})
      await log.has(
        "The group 'old-name' stores the events 'named.x', and no process handles them at the moment (1 wait). If the service was renamed, give its handler durable.group 'old-name', or delete the queue when nobody needs it: rabbitmqctl delete_queue '_elysia.d.old-name:named.x'"
      )
      await log.has(
        "The group 'same-name' stores the events 'removed.x', and no process handles them at the moment (0 wait). If the handler was removed, delete the queue"
      )
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

    it('refuses what AMQP cannot do, at the start', async () => {
      for (const start of ['all', { since: new Date() }, { after: '1' }] as const)
        await assert.rejects(
          serve('old', 'old.x', () => {}, { start }),
          {
            name: 'OptionError',
            message: /durable\.start/
          }
        )
      await serve('kind', 'kind.x', () => {})
      await assert.rejects(
        serve('kind', 'kind.x', () => {}, { ordered: true }),
        {
          name: 'OptionError',
          message: /needs another group/
        }
      )
    })
  })
}
