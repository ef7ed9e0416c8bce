/** A RabbitMQ server that sends heartbeats, but takes no messages any more, or answers nothing on one channel. */
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
/** `basic.ack`, as the class and the method of a frame. */
const ACK = (60 << 16) | 80
/** Bytes of a frame besides its content: type, channel and size before it, one byte behind it. */
const AROUND = 8

if (!isMissing('faults of RabbitMQ', rabbitmqMissing())) {
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

  it('a client publishes over a new channel when the server confirms nothing on its channel', async () => {
    const { port, url } = await sharedRabbitmq()
    const logger = { error() {}, warn() {} }
    const seen: unknown[] = []
    const service = microservice({ name: 'blocked', transport: rabbitmq({ urls: url }), logger }).event(
      'blocked.x',
      ({ data }) => void seen.push(data),
      { durable: true }
    )
    await service.listen()
    /** The first channel with a confirmation: later confirmations on it are lost. */
    let blocked: number | undefined
    let lost = 0
    let connections = 0
    const passed = (frame: Buffer) => {
      const isAck = frame[0] === 1 && frame.readUInt32BE(7) === ACK
      if (!isAck) return true
      const channel = frame.readUInt16BE(1)
      if (channel === blocked) lost++
      const isPassed = channel !== blocked
      blocked ??= channel
      return isPassed
    }
    const between = net.createServer((client) => {
      connections++
      const server = net.connect(port, '127.0.0.1')
      for (const socket of [client, server]) socket.on('error', () => {})
      client.pipe(server)
      let rest = Buffer.alloc(0)
      server.on('data', (chunk: Buffer) => {
        rest = Buffer.concat([rest, chunk])
        while (rest.length >= AROUND) {
          const end = AROUND + rest.readUInt32BE(3)
          if (rest.length < end) return
          if (passed(rest.subarray(0, end))) client.write(rest.subarray(0, end))
          rest = rest.subarray(end)
        }
      })
      client.on('close', () => server.destroy())
      server.on('close', () => client.destroy())
    })
    await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
    const urls = `amqp://127.0.0.1:${(between.address() as net.AddressInfo).port}`
    const client = connect({ transport: rabbitmq({ urls }), logger, timeout: 60_000 })
    try {
      await client.publish('blocked.x', 1)
      await Promise.all([2, 3, 4].map((n) => client.publish('blocked.x', n)))
      assert.ok(lost > 0)
      assert.equal(connections, 1)
      await until('all are handled', () => new Set(seen).size === 4)
    } finally {
      await client.close()
      await service.stop()
      between.close()
    }
  })
}
