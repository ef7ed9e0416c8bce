/** The commands that durable handlers with nothing to do cost a RabbitMQ server. */
import assert from 'node:assert/strict'
import net from 'node:net'
import { describe, it } from 'node:test'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, pause } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { rabbitmqForEach } from '../support/rabbitmq-hooks.ts'
import { rabbitmqMissing } from '../support/rabbitmq-server.ts'

/** The type of a frame that only shows that its sender lives. */
const HEARTBEAT = 8

/** A proxy that counts the frames from clients, without heartbeats. */
async function counting(port: number) {
  let frames = 0
  const sockets = new Set<net.Socket>()
  const between = net.createServer((client) => {
    const upstream = net.connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    upstream.pipe(client)
    let bytes = Buffer.alloc(0)
    let isFirst = true
    client.on('data', (chunk: Buffer) => {
      upstream.write(chunk)
      bytes = Buffer.concat([bytes, chunk])
      // A connection begins with the 8 bytes of the protocol's name.
      if (isFirst && bytes.length >= 8) bytes = bytes.subarray(8)
      isFirst = false
      while (bytes.length >= 7 && bytes.length >= bytes.readUInt32BE(3) + 8) {
        if (bytes[0] !== HEARTBEAT) frames++
        bytes = bytes.subarray(bytes.readUInt32BE(3) + 8)
      }
    })
  })
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
  return {
    port: (between.address() as net.AddressInfo).port,
    count: () => frames,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => between.close(resolve))
    }
  }
}

if (!isMissing('idle handlers of RabbitMQ', rabbitmqMissing()))
  describe('durable handlers of RabbitMQ', () => {
    const setup = rabbitmqForEach()
    const { log, cleanUps } = setup

    it('cost the server no more requests if there are more of them and nothing happens', async () => {
      const requests = await Promise.all(
        [1, 30].map(async (count) => {
          const link = await counting(setup.server.port)
          cleanUps.push(() => link.stop())
          const transport = rabbitmq({ url: `amqp://127.0.0.1:${link.port}` })
          const service = microservice({ name: `idle${count}`, transport, logger: log.logger })
          for (let n = 0; n < count; n++) service.event(`idle.${count}.${n}`, () => {}, { durable: true })
          await service.listen()
          cleanUps.push(() => service.stop())
          // Ten seconds after its start a service looks for queues that are left behind.
          await pause(15_000)
          const before = link.count()
          await pause(15_000)
          return link.count() - before
        })
      )
      const [one = 0, many = 0] = requests
      // A handler's queues were looked at every 5 s before: 4 requests each time.
      assert.ok(many < one + 20, `${one} and ${many} requests`)
    })
  })
