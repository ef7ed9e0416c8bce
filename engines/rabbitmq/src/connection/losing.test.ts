/** Errors of a connection that is lost say whether what was sent may have been taken. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { rabbitmqOptions } from '../options/options.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { RabbitConnection } from './rabbit-connection.ts'

const LISTENER = { lost() {}, restored() {}, refused() {}, unpublished() {}, failed() {}, ended() {} }

it('a connection that is lost fails what waits for it, which may have run, and what is asked later, which has not', async () => {
  const server = new FakeRabbitServer()
  const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
  const connection = await RabbitConnection.open(server.driver, options, undefined, LISTENER)
  server.suspend()
  connection.publish('p', '{}')
  const flushed = assert.rejects(connection.flush(), { name: 'ConnectionError', mayHaveRun: true })
  server.stop()
  await flushed
  await assert.rejects(
    connection.link.aside(async () => {}),
    { name: 'ConnectionError', mayHaveRun: false, message: /There is no connection/ }
  )
  await connection.close()
})
