import assert from 'node:assert/strict'
import { it } from 'node:test'
import { rabbitmq } from '../rabbitmq.ts'

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
