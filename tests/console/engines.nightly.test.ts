/** Groups and dead letters of real engines, as the server of the console reports them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, it } from 'node:test'
import { type ConsoleClient, consolePage } from '@elysia-microservices/console'
import { nats } from '@elysia-microservices/nats'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { isMissing, RedisServerProcess, redisMissing, until } from '@elysia-microservices/test-support'
import { microservice, type Transport } from 'elysia-microservices'
import { connect, type StoringTransport } from 'elysia-microservices/client'
import type { DeadLettersView, GroupView } from '../../tools/console/dist/protocol.js'
import { consoleOf, toldTo } from '../support/console-page.ts'
import { listen, newApp } from '../support/http-app.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
const logger = { error() {}, warn() {} }

/** A service whose events fail until `mend` is called, and the console over the same engine. */
async function start(transport: () => Transport) {
  let isMended = false
  const done: string[] = []
  const service = microservice({ name: 'billing', transport: transport(), describe: true, logger }).event(
    'payments.settled',
    ({ data }) => {
      if (!isMended) throw new Error('The bank is closed')
      done.push(String(data))
    },
    { durable: { retry: { attempts: 2, minDelay: 1 } } }
  )
  await service.listen()
  const client = connect({ transport: transport() as StoringTransport, logger })
  const services: Record<string, ConsoleClient> = { billing: client }
  const http = await listen(newApp().use(consolePage({ services, try: true, interval: 100, logger })))
  ends.push(
    () => service.stop(),
    () => client.close(),
    () => http.stop()
  )
  const ask = async (question: object) => {
    await using page = consoleOf(`${http.url}/console`)
    // The connection of this page ends with this function.
    return await page.request('ask.events', { service: 'billing', group: 'billing', ...question })
  }
  /** Waits until the page shows the group in the wanted state. */
  const group = (isWanted: (group: GroupView) => boolean): Promise<GroupView> =>
    toldTo(`${http.url}/console`, 'The group', (update) =>
      'topics' in update ? update.topics.events?.groups.find(isWanted) : undefined
    )
  return {
    client,
    done,
    ask,
    group,
    url: `${http.url}/console`,
    mend() {
      isMended = true
    }
  }
}

function showsDeadLetters(start_: () => Promise<() => Transport>): () => Promise<void> {
  return async () => {
    const { client, done, ask, group, mend } = await start(await start_())
    await client.publish('payments.settled', 'a', { id: 'settled-1' })
    const { handlers } = await group(({ dead }) => dead === 1)
    assert.deepEqual(
      handlers.map(({ pattern, died, triedAgain }) => [pattern, died, triedAgain]),
      [['payments.settled', 1, 1]]
    )
    const { letters } = (await ask({ action: 'list' })) as DeadLettersView
    assert.deepEqual(
      letters.map(({ id, reason, attempts, data }) => [id, reason, attempts, data]),
      [['settled-1', 'Error: The bank is closed', 2, '"a"']]
    )
    mend()
    assert.deepEqual(await ask({ action: 'redrive', positions: [letters[0]!.position] }), { done: 1 })
    await until('the event is done', () => done.length === 1)
    await group(({ dead }) => dead === 0)
  }
}

describe('events of engines at the console', () => {
  if (!isMissing('Redis at the console', redisMissing()))
    it(
      'Redis: dead letters are counted, shown and sent again',
      showsDeadLetters(async () => {
        const server = await RedisServerProcess.start()
        ends.push(() => server.stop())
        return () => redis({ url: server.url })
      })
    )

  if (!isMissing('NATS at the console', natsMissing()))
    it(
      'NATS: dead letters are counted, shown and sent again',
      showsDeadLetters(async () => {
        const folder = mkdtempSync(join(tmpdir(), 'console-nats-'))
        ends.push(() => rmSync(folder, { recursive: true, force: true }))
        const server = await NatsServerProcess.start('-js', '-sd', folder)
        ends.push(() => server.stop())
        return () => nats({ url: server.url })
      })
    )

  if (!isMissing('NATS that is gone', natsMissing()))
    it('reports that the engine is gone, not that services do not answer', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'console-nats-'))
      ends.push(() => rmSync(folder, { recursive: true, force: true }))
      const server = await NatsServerProcess.start('-js', '-sd', folder)
      ends.push(() => server.stop())
      const { client, group, url } = await start(() => nats({ url: server.url }))
      await client.publish('payments.settled', 'a', { id: 'settled-1' })
      await group(({ dead }) => dead === 1)
      await server.stop()
      const titles = await toldTo(url, 'The alerts', (update) => {
        const alerts = 'topics' in update ? (update.topics.alerts?.alerts ?? []) : []
        return alerts.some(({ kind }) => kind === 'engine') ? alerts.map(({ title }) => title) : undefined
      })
      assert.deepEqual(titles.sort(), ['billing has 1 dead letter', 'nats cannot be reached'])
    })

  if (!isMissing('RabbitMQ at the console', rabbitmqMissing()))
    it('RabbitMQ: dead letters are counted as they die, and the console says that it cannot show them', async () => {
      const server = await sharedRabbitmq()
      const { client, ask, group } = await start(() => rabbitmq({ url: server.url }))
      await client.publish('payments.settled', 'a', { id: 'settled-1' })
      const { deadUnknown } = await group(
        ({ handlers, deadUnknown }) => handlers.some(({ died }) => died === 1) && deadUnknown !== undefined
      )
      assert.match(deadUnknown ?? '', /^RabbitMQ cannot show dead letters one by one/)
      await assert.rejects(ask({ action: 'list' }), { message: /^RabbitMQ cannot show/ })
    })
})
