/** Groups and dead letters of real engines, as the console's server tells them. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, it } from 'node:test'
import { console as consolePage, type GivenClient } from '@elysia-microservices/console'
import { nats } from '@elysia-microservices/nats'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { microservice, type Transport } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { listen, newApp } from '../support/http-app.ts'
import { isMissing } from '../support/missing.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { RedisServerProcess, redisMissing } from '../support/redis-server.ts'
import { until, within } from '../support/within.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
const logger = { error() {}, warn() {} }

interface Group {
  readonly engine: string
  readonly group: string
  readonly dead?: number
  readonly deadUnknown?: string
  readonly handlers: readonly {
    readonly pattern: string
    readonly died: number
    readonly triedAgain: number
  }[]
}

/** A service whose events fail until `mend`, and the console over the same engine. */
async function start(transport: () => Transport) {
  let isMended = false
  const done: string[] = []
  const service = microservice({ name: 'billing', transport: transport(), describe: true, logger }).event(
    'payments.settled',
    ({ data }) => {
      if (!isMended) throw new Error('The bank is closed')
      done.push(String(data))
    },
    { durable: { retry: { attempts: 2, delay: 1 } } }
  )
  await service.listen()
  const client = connect({ transport: transport(), logger })
  const services: Record<string, GivenClient> = { billing: client }
  const http = await listen(newApp().use(consolePage({ services, try: true, interval: 100, logger })))
  ends.push(
    () => service.stop(),
    () => client.close(),
    () => http.stop()
  )
  const ask = async (question: object) => {
    const response = await fetch(`${http.url}/console/ask/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: http.url },
      body: JSON.stringify({ service: 'billing', group: 'billing', ...question })
    })
    return { status: response.status, text: await response.text() }
  }
  /** Follows the page until its group is so. */
  const group = async (isWanted: (group: Group) => boolean): Promise<Group> => {
    const left = new AbortController()
    const { body } = await fetch(`${http.url}/console/updates`, { signal: left.signal })
    const decoder = new TextDecoder()
    let text = ''
    let found: Group | undefined
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true })
      for (const [, json = ''] of text.matchAll(/^data: (.*)\n\n/gm))
        found ??= (JSON.parse(json).topics?.events?.groups as Group[] | undefined)?.find(isWanted)
      if (found !== undefined) break
      text = text.slice(text.lastIndexOf('\n\n') + 2)
    }
    left.abort()
    if (found === undefined) throw new Error('The updates have ended')
    return found
  }
  return {
    client,
    done,
    ask,
    group: (isWanted: (group: Group) => boolean) => within(group(isWanted), 'The group'),
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
    const { letters } = JSON.parse((await ask({ action: 'list' })).text)
    assert.deepEqual(
      letters.map(({ id, reason, attempts, data }: Record<string, unknown>) => [id, reason, attempts, data]),
      [['settled-1', 'Error: The bank is closed', 2, '"a"']]
    )
    mend()
    assert.deepEqual(await ask({ action: 'redrive', positions: [letters[0].position] }), {
      status: 200,
      text: '{"done":1}'
    })
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
        return () => nats({ servers: server.url })
      })
    )

  if (!isMissing('RabbitMQ at the console', rabbitmqMissing()))
    it('RabbitMQ: dead letters are counted as they die, and it says that it cannot show them', async () => {
      const server = await sharedRabbitmq()
      const { client, ask, group } = await start(() => rabbitmq({ urls: server.url }))
      await client.publish('payments.settled', 'a', { id: 'settled-1' })
      const { deadUnknown } = await group(({ handlers }) => handlers.some(({ died }) => died === 1))
      assert.match(deadUnknown ?? '', /^RabbitMQ cannot show dead letters one by one/)
      const { status, text } = await ask({ action: 'list' })
      assert.deepEqual([status, text.startsWith('RabbitMQ cannot show')], [500, true])
    })
})
