/** A RabbitMQ server that sends heartbeats, but takes no messages any more, or answers nothing on one channel. */
import assert from 'node:assert/strict'
import type net from 'node:net'
import { it } from 'node:test'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing, pause, until } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { between, eachFrame, isConfirmation } from '../support/rabbitmq-relay.ts'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'

/** The type of a heartbeat frame. */
const HEARTBEAT = 8

/** A server between the clients and RabbitMQ. Of the first channel with a confirmation, later confirmations are lost. */
async function withoutConfirmations(port: number) {
  const seen = { lost: 0, onOtherChannels: 0, connections: 0 }
  let blocked: number | undefined
  const passed = (frame: Buffer) => {
    if (!isConfirmation(frame)) return true
    const channel = frame.readUInt16BE(1)
    const isFirst = blocked === undefined
    blocked ??= channel
    if (channel !== blocked) seen.onOtherChannels++
    else if (!isFirst) seen.lost++
    return isFirst || channel !== blocked
  }
  const relay = await between(port, (client, server) => {
    seen.connections++
    client.pipe(server)
    eachFrame(server, (frame) => passed(frame) && client.write(frame))
  })
  return { ...relay, seen }
}

const logger = { error() {}, warn() {} }

/** A service that answers `<name>.echo`. */
async function echoing(url: string, name: string) {
  const service = microservice({ name, transport: rabbitmq({ url }), logger })
  await service.message(`${name}.echo`, ({ data }) => data).listen()
  return service
}

/** A service that handles the durable events `<name>.x`, and their data. */
async function collecting(url: string, name: string) {
  const seen: unknown[] = []
  const service = microservice({ name, transport: rabbitmq({ url }), logger })
  await service.event(`${name}.x`, ({ data }) => void seen.push(data), { durable: true }).listen()
  return { service, seen }
}

if (!isMissing('faults of RabbitMQ', rabbitmqMissing())) {
  it('a client reconnects to RabbitMQ when it sends heartbeats but takes nothing any more', async () => {
    const { port, url } = await sharedRabbitmq()
    const service = await echoing(url, 'held')
    let connections = 0
    let isHeld = false
    // Passes on all bytes of the server; while it is held, only the heartbeats of the client.
    const relay = await between(port, (client, server) => {
      connections++
      server.pipe(client)
      client.on('data', (chunk: Buffer) => {
        if (!isHeld || connections > 1) server.write(chunk)
        else if (chunk[0] === HEARTBEAT) server.write(chunk.subarray(0, 8))
      })
    })
    const client = connect({
      transport: rabbitmq({ url: relay.url, connectTimeout: 2_000, heartbeat: 2_000 }),
      logger,
      timeout: 60_000
    })
    try {
      assert.equal(await client.request('held.echo', 1), 1)
      isHeld = true
      await assert.rejects(client.request('held.echo', 2), { name: 'ConnectionError' })
      await until('there is another connection', () => connections > 1)
      assert.equal(await client.request('held.echo', 3), 3)
    } finally {
      await client.close()
      await service.stop()
      relay.close()
    }
  })

  it('a client reconnects to RabbitMQ when the server that it has found again answers nothing', async () => {
    const { port, url } = await sharedRabbitmq()
    const service = await echoing(url, 'again')
    const ends: net.Socket[] = []
    // On the second connection, the server answers until the client opens a channel, and then nothing.
    const relay = await between(port, (client, server) => {
      ends.push(client)
      const isSecond = ends.length === 2
      let isSilent = false
      client.pipe(server)
      server.on('data', (chunk: Buffer) => {
        isSilent ||= isSecond && chunk.readUInt16BE(1) > 0
        if (!isSilent) client.write(chunk)
      })
    })
    const client = connect({
      transport: rabbitmq({ url: relay.url, connectTimeout: 1_000, heartbeat: 1_000 }),
      logger,
      timeout: 60_000
    })
    try {
      assert.equal(await client.request('again.echo', 1), 1)
      ends[0]?.destroy()
      await until('there is a second connection', () => ends.length > 1)
      assert.equal(await client.request('again.echo', 2), 2)
    } finally {
      await client.close()
      await service.stop()
      relay.close()
    }
  })

  it('an event that is published while the connection is lost is stored when it is back, however idle the client was', async () => {
    const { port, url } = await sharedRabbitmq()
    const { service, seen } = await collecting(url, 'idle')
    const ends: net.Socket[] = []
    const relay = await between(port, (client, server) => {
      ends.push(client)
      client.pipe(server).pipe(client)
    })
    const client = connect({ transport: rabbitmq({ url: relay.url }), logger, timeout: 60_000 })
    const lost = new Promise<void>((resolve) => {
      client.onStatus(({ type }) => type === 'disconnected' && resolve())
    })
    try {
      await client.publish('idle.x', 1)
      // Longer than a publisher without events looks after them.
      await pause(3_000)
      ends[0]?.destroy()
      await lost
      await client.publish('idle.x', 2)
      await until('both are handled', () => seen.length === 2)
    } finally {
      await client.close()
      await service.stop()
      relay.close()
    }
  })

  it('a client publishes over a new channel when the server confirms nothing on its channel', async () => {
    const { port, url } = await sharedRabbitmq()
    const { service, seen } = await collecting(url, 'blocked')
    const relay = await withoutConfirmations(port)
    const client = connect({ transport: rabbitmq({ url: relay.url }), logger, timeout: 60_000 })
    try {
      await client.publish('blocked.x', 1)
      await Promise.all([2, 3, 4].map((n) => client.publish('blocked.x', n)))
      assert.ok(relay.seen.lost > 0)
      assert.equal(relay.seen.connections, 1)
      await until('all are handled', () => new Set(seen).size === 4)
    } finally {
      await client.close()
      await service.stop()
      relay.close()
    }
  })

  it('a service stores its failed events over a new channel when the server confirms nothing on its channel', async () => {
    const { port, url } = await sharedRabbitmq()
    const warnings: string[] = []
    const logger = { error() {}, warn: (text: string) => void warnings.push(text) }
    const relay = await withoutConfirmations(port)
    const handled: unknown[] = []
    const failed = new Set<unknown>()
    const transport = rabbitmq({ url: relay.url, connectTimeout: 1_000, heartbeat: 1_000 })
    const service = microservice({ name: 'silent', transport, logger }).event(
      'silent.x',
      ({ data }) => {
        if (!failed.has(data)) {
          failed.add(data)
          throw new Error('not yet')
        }
        handled.push(data)
      },
      { durable: { retry: { attempts: 3, minDelay: 10 } } }
    )
    await service.listen()
    const client = connect({ transport: rabbitmq({ url }), logger })
    try {
      await client.publish('silent.x', 1)
      await until('the first is handled', () => handled.includes(1))
      await client.publish('silent.x', 2)
      await until('a copy is late', () => warnings.some((text) => text.includes('has not confirmed within')))
      let next = 3
      await until('a copy is confirmed on another channel', () => {
        if (relay.seen.onOtherChannels === 0) void client.publish('silent.x', next++)
        return relay.seen.onOtherChannels > 0
      })
      assert.equal(relay.seen.connections, 1)
    } finally {
      await client.close()
      await service.stop()
      relay.close()
    }
  })
}
