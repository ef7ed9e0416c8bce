import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Driver } from '../driver.ts'
import { rabbitmqOptions } from '../options/options.ts'
import { rabbitmq } from '../rabbitmq.ts'
import { Link } from './link.ts'

it('a port with the digits of an error code is not taken for that error', async () => {
  // 403 means "access refused", 530 "not allowed".
  for (const port of [1403, 1530]) {
    const client = rabbitmq({ url: `amqp://127.0.0.1:${port}` }).client({
      logger: { error() {}, warn() {} },
      timeout: 0,
      dispatcher: undefined
    })
    await assert.rejects(client.connect(), {
      name: 'ConnectionError',
      message: new RegExp(`^Cannot reach RabbitMQ at 127.0.0.1:${port}`)
    })
    await client.close()
  }
})

it('a server that refuses the credentials is the answer: no other server is asked', async () => {
  const asked: string[] = []
  const driver: Driver = {
    connect: async (url) => {
      asked.push(url)
      throw new Error('Handshake terminated by server: 403 (ACCESS-REFUSED) with message "ACCESS_REFUSED"')
    }
  }
  const options = rabbitmqOptions({ url: ['amqp://a', 'amqp://b'] })
  const listener = { lost() {}, restored() {}, halted() {}, failed() {} }
  await assert.rejects(Link.open(driver, options, undefined, listener), { name: 'UnauthenticatedError' })
  assert.equal(asked.length, 1)
})
