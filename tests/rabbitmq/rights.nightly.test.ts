/**
 * The rights in docs/rabbitmq.md: the smallest set with which calls and durable events work, and the errors without
 * them.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, Log, Values } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { type RabbitmqServerProcess, rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { rootFolder } from '../workspace.ts'

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

if (!isMissing('the rights of RabbitMQ', rabbitmqMissing())) {
  describe('the rights of the page', () => {
    let server: RabbitmqServerProcess
    const log = new Log()
    const cleanUps: (() => Promise<unknown>)[] = []
    const ctl = async (...args: string[]) => {
      const [program, ...rest] = server.ctl(...args)
      await promisify(execFile)(program, rest)
    }
    const as = (user: string, vhost = 'shop', password = 'secret') =>
      rabbitmq({ urls: `amqp://${user}:${password}@127.0.0.1:${server.port}/${vhost}` })
    before(async () => {
      server = await sharedRabbitmq()
      const commands = commandsOfPage()
      assert.equal(commands.length, 5)
      commands.push(['add_user', 'nobody', 'secret'], ['set_permissions', '-p', 'shop', 'nobody', '', '', ''])
      // Each command takes a second, so they run in parallel; rights are set after their users exist.
      const isRight = ([name]: string[]) => name === 'set_permissions'
      await Promise.all(commands.filter((one) => !isRight(one)).map((one) => ctl(...one)))
      await Promise.all(commands.filter(isRight).map((one) => ctl(...one)))
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
          { durable: { retry: { attempts: 2, delay: 10 } } }
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

    it('are required, and an error names the missing ones', async () => {
      const client = connect({ transport: as('nobody'), logger: log.logger })
      cleanUps.push(() => client.close())
      await assert.rejects(client.request('orders.total', 1), {
        name: 'ConnectionError',
        message:
          /does not let this user create or use the exchanges _elysia.*ACCESS_REFUSED.*give the user these permissions/,
        mayHaveRun: false
      })
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
