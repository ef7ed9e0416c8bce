/** Cases of our client's connection to a peer's server. */
import assert from 'node:assert/strict'
import { Values } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { ConnectionError } from 'elysia-microservices/client'
import type { Case, Cases } from '../interop.ts'

export const answeringConnections = {
  'has several connections at once': async (given: Case) => {
    const server = await given.listen()
    const clients = [1, 2, 3].map(() => given.connect(server.port))
    const connections = []
    for (const client of clients) {
      await client.connect()
      const connection = await server.accepted()
      await given.ping(client, connection)
      connections.push(connection)
    }
    await clients[0]?.close()
    await clients[1]?.emit('still', 'here')
    assert.equal((await connections[1]?.requested())?.route, 'still')
  },

  'asks our client, on the connection that was made to it': async (given: Case) => {
    const told = new Values<unknown>()
    const { connection } = await given.connected({
      service: microservice({ transport: 'tcp' })
        .message('who', ({ pattern, data }) => ({ route: pattern, data }))
        .event('news', ({ data }) => told.put(data))
    })
    assert.deepEqual(await connection.request('who', 1), { route: 'who', data: 1 })
    connection.open('event', 'news', 2)
    assert.equal(await told.take(), 2)
  },

  'is told who we are: simple or bearer': async (given: Case) => {
    for (const credentials of [
      { type: 'simple', username: 'Zoë', password: 'pässword' },
      { type: 'bearer', token: 'a.b.c' }
    ] as const) {
      const { connection } = await given.connected({ credentials })
      assert.deepEqual(connection.setup.credentials, credentials)
      assert.equal(connection.setup.dataMimeType, 'application/json')
      assert.equal(connection.setup.metadataMimeType, 'message/x.rsocket.composite-metadata.v0')
    }
  },

  'refuses a connection, and says why': async (given: Case) => {
    const { port } = await given.listen({ refuse: 'not on Sundays' })
    await assert.rejects(given.connect(port).request('echo', 1), (error) => {
      assert.ok(error instanceof ConnectionError)
      assert.match(error.message, /REJECTED_SETUP.*not on Sundays/)
      return true
    })
  },

  'keeps a quiet connection alive': async (given: Case) => {
    const { client, connection, tap } = await given.connected({ rsocket: { keepalive: { interval: 50 } } })
    await tap.seen({ from: 'client', type: 'KEEPALIVE', flags: 0x80 }, 3)
    await tap.seen({ from: 'server', type: 'KEEPALIVE', flags: 0 }, 3)
    await given.ping(client, connection)
  },

  'is noticed when it is dead, and notices': async (given: Case) => {
    const { client, connection, tap } = await given.connected({
      rsocket: { keepalive: { interval: 50, lifetime: 500 } }
    })
    const lost = assert.rejects(client.request('slow', 1), { name: 'ConnectionError', mayHaveRun: true })
    await connection.requested()
    tap.mute()
    await Promise.all([lost, connection.event('closed')])
  },

  'is connected to again after it has closed': async (given: Case) => {
    const { client, connection, server } = await given.connected()
    const lost = assert.rejects(client.request('slow', 1), { name: 'ConnectionError', mayHaveRun: true })
    await connection.requested()
    await connection.leave()
    await lost
    const answer = client.request('echo', 2)
    const asked = await (await server.accepted()).requested()
    asked.answer.next(2, { complete: true })
    assert.equal(await answer, 2)
  },

  'pushes metadata, which changes nothing': async (given: Case) => {
    const { client, connection, tap } = await given.connected()
    connection.push('{"level":"€"}')
    await tap.seen({ from: 'server', type: 'METADATA_PUSH' })
    await given.ping(client, connection)
    assert.equal(tap.count({ type: 'ERROR' }), 0)
  },

  'grants leases, and is asked no more than that': async (given: Case) => {
    const { client, connection, tap } = await given.connected({ rsocket: { lease: true } }, { lease: true })
    const answers = [1, 2, 3].map((n) => client.request('echo', n))
    // When a case is ended early, answers without a lease fail; only the failure of the case matters then.
    for (const answer of answers) answer.catch(() => {})
    connection.grant(2)
    const asked = [await connection.requested(), await connection.requested()]
    for (const { answer, bytes } of asked) answer.next(bytes, { complete: true })
    assert.deepEqual(await Promise.all(answers.slice(0, 2)), [1, 2])
    assert.equal(tap.count({ type: 'REQUEST_RESPONSE' }), 2)
    connection.grant(1)
    const { answer, bytes } = await connection.requested()
    answer.next(bytes, { complete: true })
    assert.equal(await answers[2], 3)
  },

  'resumes a lost connection: nothing is lost or doubled': async (given: Case) => {
    const { client, connection, tap } = await given.connected({ rsocket: { resume: true } }, { resume: true })
    const values = client.stream<number>('count')
    const first = values.next()
    const { answer } = await connection.requested()
    for (let n = 0; n < 5; n++) answer.next(n)
    assert.deepEqual(await first, { value: 0, done: false })
    tap.cut()
    for (let n = 5; n < 10; n++) answer.next(n)
    answer.complete()
    const rest: number[] = []
    for await (const value of values) rest.push(value)
    assert.deepEqual(rest, [1, 2, 3, 4, 5, 6, 7, 8, 9])
    await tap.seen({ from: 'server', type: 'RESUME_OK' })
    await given.ping(client, connection)
  }
} satisfies Cases
