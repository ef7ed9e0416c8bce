/** A RabbitMQ server that sends heartbeats, but takes no messages any more. */
import assert from 'node:assert/strict'
import net from 'node:net'
import { it } from 'node:test'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { isMissing } from '../support/missing.ts'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { until } from '../support/within.ts'

/** The type of a heartbeat frame. */
const HEARTBEAT = 8

if (!isMissing('faults of RabbitMQ', rabbitmqMissing()))
  it('a client reconnects to RabbitMQ when it sends heartbeats but takes nothing any more', async () => {
    const { port, url } = await sharedRabbitmq()
    const logger = { error() {}, warn() {} }
    const service = microservice({ name: 'held', transport: rabbitmq({ urls: url }), logger }).message(
      'held.echo',
      ({ data }) => data
    )
    await service.listen()
    let connections = 0
    let isHeld = false
    // Passes on all bytes of the server; while it is held, only the heartbeats of the client.
    const between = net.createServer((client) => {
      connections++
      const server = net.connect(port, '127.0.0.1')
      for (const socket of [client, server]) socket.on('error', () => {})
      server.pipe(client)
      client.on('data', (chunk: Buffer) => {
        if (!isHeld || connections > 1) server.write(chunk)
        else if (chunk[0] === HEARTBEAT) server.write(chunk.subarray(0, 8))
      })
      client.on('close', () => server.destroy())
      server.on('close', () => client.destroy())
    })
    await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
    const { port: held } = between.address() as net.AddressInfo
    const urls = `amqp://127.0.0.1:${held}`
    const client = connect({ transport: rabbitmq({ urls, timeout: 2_000 }), logger, timeout: 60_000 })
    try {
      assert.equal(await client.request('held.echo', 1), 1)
      isHeld = true
      await assert.rejects(client.request('held.echo', 2), { name: 'ConnectionError' })
      await until('there is another connection', () => connections > 1)
      assert.equal(await client.request('held.echo', 3), 3)
    } finally {
      await client.close()
      await service.stop()
      between.close()
    }
  })
