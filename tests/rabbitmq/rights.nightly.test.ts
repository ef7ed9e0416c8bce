/**
 * The rights in docs/rabbitmq.md: the smallest set with which calls and durable events work, and the errors without
 * them.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, Log, Values } from '@elysia-microservices/test-support'
import { type Channel, connect as connectDriver } from 'amqplib'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { ownFolder } from '../support/own-folder.ts'
import { type RabbitmqServerProcess, rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { rootFolder } from '../workspace.ts'

/** The exchanges on the page, as RabbitMQ imports them. */
function definitionsOfPage(): string {
  const page = readFileSync(join(rootFolder, 'docs/rabbitmq.md'), 'utf8')
  return /```json\n(.*?)```/s.exec(page)?.[1] ?? ''
}

/** The commands on the page: `rabbitmqctl …`, with patterns in quotes. */
function commandsOfPage(): string[][] {
  const page = readFileSync(join(rootFolder, 'docs/rabbitmq.md'), 'utf8')
  const lines = page.split('\n').filter((line) => line.startsWith('rabbitmqctl '))
  return lines.map((line) =>
    [...line.slice('rabbitmqctl '.length).matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, plain]) => quoted ?? plain ?? ''
    )
  )
}

/** Whether RabbitMQ refuses what a user tries. */
async function isRefused(url: string, attempt: (channel: Channel) => unknown): Promise<boolean> {
  const driver = await connectDriver(url)
  driver.on('error', () => {})
  const channel = await driver.createChannel()
  let refusal = ''
  channel.on('error', (error: Error) => {
    refusal = error.message
  })
  try {
    await attempt(channel)
    // The server answers in order: this answer comes after its refusal of a message.
    await channel.prefetch(1)
  } catch (error) {
    refusal ||= (error as Error).message
  }
  await driver.close()
  return /ACCESS.REFUSED/.test(refusal)
}

if (!isMissing('the rights of RabbitMQ', rabbitmqMissing())) {
  describe('the rights of the page', () => {
    let server: RabbitmqServerProcess
    const log = new Log()
    const cleanUps: (() => Promise<unknown>)[] = []
    const ctl = async (...args: string[]) => {
      const [program, ...rest] = server.ctl(...args)
      await promisify(execFile)(program, rest)
    }
    const urlOf = (user: string, vhost = 'shop', password = 'secret') =>
      `amqp://${user}:${password}@127.0.0.1:${server.port}/${vhost}`
    const as = (...whose: Parameters<typeof urlOf>) => rabbitmq({ url: urlOf(...whose) })
    before(async () => {
      server = await sharedRabbitmq()
      const commands = commandsOfPage()
      assert.equal(commands.length, 15)
      const definitions = join(ownFolder('rights'), 'exchanges.json')
      writeFileSync(definitions, definitionsOfPage())
      commands.push(['add_user', 'nobody', 'secret'], ['set_permissions', '-p', 'shop', 'nobody', '', '', ''])
      for (const name of ['billing', 'everything']) commands.push(['add_user', name, 'secret'])
      // Another service has the same rights with its own name.
      for (const [name, ...args] of commands.filter(([, , , user]) => user === 'orders'))
        commands.push([name as string, ...args.map((one) => one.replaceAll('orders', 'billing'))])
      commands.push(['set_permissions', '-p', 'shop', 'everything', '.*', '.*', '.*'], ['add_vhost', 'bare'])
      commands.push(['set_permissions', '-p', 'bare', 'nobody', '', '', ''])
      // Each command takes a second, so they run in parallel; rights are set after their users exist.
      const isRight = ([name]: string[]) => /^set_|^import_/.test(name as string)
      const run = ([name, ...args]: string[]) =>
        name === 'import_definitions' ? ctl(name, definitions) : ctl(name as string, ...args)
      await Promise.all(commands.filter((one) => !isRight(one)).map(run))
      await Promise.all(commands.filter(isRight).map(run))
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
    })

    it('are enough for calls, streams, events and durable events, with retries and dead letters', async () => {
      const seen = new Values<unknown>()
      const service = microservice({ name: 'orders', transport: as('orders'), logger: log.logger })
        .message('orders.total', ({ data }) => data)
        .message('orders.all', () => [1, 2])
        .event('orders.placed', ({ data }) => seen.put(['placed', data]))
        .event(
          'orders.paid',
          ({ data, delivery }) => {
            seen.put(['paid', data, delivery?.attempt])
            throw new Error('not now')
          },
          { durable: { retry: { attempts: 2, minDelay: 10 } } }
        )
      await service.listen()
      cleanUps.push(() => service.stop())
      const client = connect({ transport: as('shop-gateway'), logger: log.logger })
      cleanUps.push(() => client.close())
      assert.equal(await client.request('orders.total', 7), 7)
      await client.emit('orders.placed', 1)
      assert.deepEqual(await seen.take(), ['placed', 1])
      await client.publish('orders.paid', 2)
      assert.deepEqual(
        [await seen.take(), await seen.take()],
        [
          ['paid', 2, 1],
          ['paid', 2, 2]
        ]
      )
      await log.has('becomes a dead letter')
    })

    it('are enough to pause and resume a group', async () => {
      const seen = new Values<unknown>()
      const service = microservice({ name: 'orders', transport: as('orders'), logger: log.logger }).event(
        'orders.paused',
        ({ data }) => seen.put(data),
        { durable: true }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
      const client = connect({ transport: as('shop-gateway'), logger: log.logger })
      cleanUps.push(() => client.close())
      const operator = connect({ transport: as('operator'), logger: log.logger })
      cleanUps.push(() => operator.close())
      await operator.group('orders').pause()
      await client.publish('orders.paused', 1)
      assert.equal(service.stats()[0]?.durable?.[0]?.isPaused, true)
      await operator.group('orders').resume()
      assert.equal(await seen.take(), 1)
    })

    it('protect a service from all others, whatever their programs send', async () => {
      const service = microservice({ name: 'orders', transport: as('orders'), logger: log.logger })
        .message('orders.total', ({ data }) => data)
        .event('orders.kept', () => {}, { durable: true })
        .event('orders.later', () => {}, { durable: { ordered: true, group: 'orders' } })
      await service.listen()
      await service.stop()
      const driver = await connectDriver(urlOf('everything'))
      cleanUps.push(() => driver.close())
      const admin = await driver.createConfirmChannel()
      const queues = ['d.orders:orders.kept', 'd.orders:orders.later', 'dead.orders', 'paused.orders']
      const names = [...queues, 'short.orders:orders.kept', 'members.orders'].map((name) => `_elysia.${name}`)
      for (const name of names) admin.sendToQueue(name, Buffer.from('{}'))
      await admin.waitForConfirms()
      const content = Buffer.from('{"pattern":"orders.kept","data":"forged"}')
      const own = (channel: Channel, user: string) =>
        channel.assertQueue(`_elysia.${user === 'billing' ? 'd.billing:x' : 'i.abcdefghijkl'}`)
      const forbidden: Record<string, (channel: Channel, user: string) => Promise<unknown> | unknown> = {
        'publish to any queue': (channel) => channel.sendToQueue(names[0] as string, content),
        'publish to the queues of the group': (channel) =>
          channel.publish('_elysia.own.orders', names[0] as string, content),
        'publish a pattern of others as stored event': (channel) =>
          channel.publish('_elysia.stored', 'admin.x', content),
        'publish a pattern of others as event': (channel) =>
          channel.publish('_elysia.events', 'admin.x', content),
        'pause a group': (channel) => channel.publish('_elysia.groups', '_elysia.paused.orders', content)
      }
      for (const name of names) {
        forbidden[`take from ${name}`] = (channel) => channel.get(name)
        forbidden[`consume ${name}`] = (channel) => channel.consume(name, () => {})
        forbidden[`purge ${name}`] = (channel) => channel.purgeQueue(name)
        forbidden[`delete ${name}`] = (channel) => channel.deleteQueue(name)
        forbidden[`bind ${name}`] = (channel) => channel.bindQueue(name, '_elysia.inboxes', 'x')
        forbidden[`unbind ${name}`] = (channel) => channel.unbindQueue(name, '_elysia.stored', 'orders.kept')
      }
      for (const exchange of ['', '.events', '.stored', '.inboxes', '.everyone', '.groups', '.own.orders']) {
        const name = `_elysia${exchange}`
        forbidden[`delete the exchange ${name}`] = (channel) => channel.deleteExchange(name)
        forbidden[`lead the exchange ${name} elsewhere`] = async (channel, user) => {
          const { queue } = await own(channel, user)
          // A service hears what all services hear, and answers come to addresses that nobody can guess.
          if (exchange === '.inboxes' || (user === 'billing' && exchange === '.everyone'))
            throw new Error('ACCESS_REFUSED')
          await channel.bindQueue(
            queue,
            name,
            exchange === '.groups' ? '_elysia.paused.orders' : 'orders.kept'
          )
        }
      }
      const allowed: string[] = []
      for (const user of ['shop-gateway', 'billing', 'operator'])
        for (const [what, attempt] of Object.entries(forbidden)) {
          const isMayOf =
            user === 'billing'
              ? /as (stored )?event$/
              : user === 'operator'
                ? /pause a group|(take from|consume|purge) _elysia.paused/
                : /^$/
          if (isMayOf.test(what)) continue
          if (!(await isRefused(urlOf(user), (channel) => attempt(channel, user))))
            allowed.push(`${user}: ${what}`)
        }
      assert.deepEqual(allowed, [])
      // Each attempt is refused for lack of rights alone.
      for (const [what, attempt] of Object.entries(forbidden))
        if (/^(publish|pause|take|lead)/.test(what) && !/\.(inboxes)/.test(what))
          assert.equal(
            await isRefused(urlOf('everything'), (channel) => attempt(channel, 'everything')),
            false,
            what
          )
      for (const name of names) assert.ok((await admin.checkQueue(name)).messageCount > 0, name)
      for (const name of names) await admin.purgeQueue(name)
    })

    it('are required, and an error names the missing ones', async () => {
      const expected = {
        shop: /does not let this client subscribe to _elysia\.i\..*give its user the permission/,
        bare: /does not let this user create the exchanges _elysia.*ACCESS_REFUSED.*import them, or give/
      }
      for (const [vhost, message] of Object.entries(expected)) {
        const client = connect({ transport: as('nobody', vhost), logger: log.logger })
        cleanUps.push(() => client.close())
        await assert.rejects(client.request('orders.total', 1), {
          name: 'ConnectionError',
          message,
          mayHaveRun: false
        })
      }
    })

    it('are not mentioned for a wrong password, or for a virtual host that does not exist', async () => {
      const wrong = connect({ transport: as('orders', 'shop', 'wrong'), logger: log.logger })
      const elsewhere = connect({ transport: as('orders', 'elsewhere'), logger: log.logger })
      cleanUps.push(
        () => wrong.close(),
        () => elsewhere.close()
      )
      await assert.rejects(wrong.request('orders.total', 1), (error: Error) => {
        assert.equal(error.name, 'UnauthenticatedError')
        assert.match(error.message, /check user and password in options\.urls/)
        assert.ok(!error.message.includes('wrong@'))
        return true
      })
      await assert.rejects(elsewhere.request('orders.total', 1), {
        name: 'ConnectionError',
        message: /add_vhost/
      })
    })
  })
}
