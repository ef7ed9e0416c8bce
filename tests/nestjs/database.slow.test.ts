/**
 * A Nest application whose durable handlers have their events in a real PostgreSQL: retries and dead letters, handlers that
 * happen once, and events that recur, in two processes of it.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { drive, PostgresServer } from '@elysia-microservices/outbox/testing'
import { migrateEvents, type PostgresStore, postgres } from '@elysia-microservices/postgres'
import { Log, until } from '@elysia-microservices/test-support'
import { Controller, type INestMicroservice, Inject, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Ctx, EventPattern, MessagePattern, Payload, RpcException } from '@nestjs/microservices'
import { connect } from 'elysia-microservices/client'
import type { RpcContext } from 'elysia-microservices/nest'
import type pg from 'pg'

/** The providers of the application. */
const [STORE, SEEN] = ['the store', 'what has come']

const RETRY = { attempts: 3, minDelay: 10, factor: 1 }

@Controller()
class Payments {
  constructor(
    @Inject(STORE) private readonly store: PostgresStore<pg.Pool>,
    @Inject(SEEN) private readonly seen: string[]
  ) {}

  @EventPattern('paid', { durable: { retry: RETRY } })
  paid(@Payload() data: string, @Ctx() context: unknown): void {
    const { message } = context as RpcContext
    this.seen.push(`${data} ${message.delivery?.attempt}`)
    if (data.startsWith('bad')) throw new RpcException('broken')
  }

  @EventPattern('invoice', { durable: { transactional: true, retry: RETRY } })
  async invoice(@Payload() order: string, @Ctx() context: unknown): Promise<void> {
    const { delivery } = (context as RpcContext).message
    await this.store.transaction(delivery, async (tx) => {
      await tx.query('insert into invoice values ($1)', [`${order} ${delivery?.attempt}`])
      await this.store.in(tx).publish('paid', `after ${order}`)
      if (order === 'undone' && delivery?.attempt === 1) throw new RpcException('undone')
    })
  }

  @EventPattern('tick', { durable: { every: { cron: '* * * * * *', timeZone: 'UTC' } } })
  tick(@Payload() { due }: { due: string }): void {
    this.seen.push(`tick ${due}`)
  }

  @MessagePattern('who')
  who(): string {
    return 'billing'
  }
}

describe('a Nest application over PostgreSQL', () => {
  let server: PostgresServer
  before(async () => {
    server = await PostgresServer.start()
  })
  after(() => server.stop())
  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  /** Starts processes of the application, which share what they have seen. */
  async function started(count: number) {
    const url = await server.database()
    const seen: string[] = []
    const { lines, logger } = new Log()
    const open = () => {
      const driven = drive('pg', url)
      cleanUps.push(() => driven.end())
      return { ...driven, store: postgres({ sql: driven.sql as pg.Pool }) }
    }
    const { sql, query, store } = open()
    await migrateEvents(sql)
    await query('create table invoice (id text not null)')
    let port = 0
    for (let n = 0; n < count; n++) {
      const { store } = open()
      const strategy = new MicroserviceServer({ name: 'billing', port: 0, store, logger })
      const app = await application(strategy, [
        { provide: STORE, useValue: store },
        { provide: SEEN, useValue: seen }
      ])
      cleanUps.push(() => app.close())
      await app.listen()
      port = strategy.address?.port as number
    }
    const client = connect({ port, store, logger })
    cleanUps.push(() => client.close())
    return { client, seen, query, lines }
  }

  it('retries, keeps dead letters, and hands them out again', async () => {
    const { client, seen } = await started(1)
    assert.equal(await client.request('who'), 'billing')
    await client.publish('paid', 'good')
    await client.publish('paid', 'bad', { id: 'one' })
    // A plain event of somebody without a store is stored by the service.
    await client.emit('paid', 'emitted')
    const letters = client.group('billing').deadLetters
    const listed = async () => {
      const all = []
      for await (const { id, position, attempts, reason } of letters.list())
        all.push({ id, position, attempts, reason })
      return all
    }
    await until('There is a dead letter', async () => (await listed()).length > 0)
    const [first] = await listed()
    const { position = '', ...letter } = first ?? {}
    assert.deepEqual(letter, { id: 'one', attempts: 3, reason: 'broken' })
    assert.equal(await letters.redrive(position), true)
    await until('It has failed again', () => seen.filter((one) => one === 'bad 3').length === 2)
    assert.deepEqual(seen.filter((one) => !one.startsWith('tick')).sort(), [
      ...['bad 1', 'bad 1', 'bad 2', 'bad 2', 'bad 3', 'bad 3'],
      ...['emitted 1', 'good 1']
    ])
  })

  it('writes, publishes and acknowledges in one transaction', async () => {
    const { client, seen, query } = await started(2)
    for (const order of ['a', 'undone', 'b']) await client.publish('invoice', order)
    await until('All have come', () => seen.filter((one) => one.startsWith('after')).length === 3)
    assert.deepEqual(seen.filter((one) => one.startsWith('after')).sort(), [
      'after a 1',
      'after b 1',
      'after undone 1'
    ])
    const invoices = await query('select id from invoice order by id')
    assert.deepEqual(
      invoices.map(({ id }) => id),
      ['a 1', 'b 1', 'undone 2']
    )
    await until('Nothing is left', async () => (await client.group('billing').lag()) === 0)
  })

  it('has an event that recurs once for each of its times, in whichever process', async () => {
    const { seen, client } = await started(2)
    const ticks = () => seen.filter((one) => one.startsWith('tick'))
    await until('It recurs', () => ticks().length > 2)
    const dues = ticks()
    assert.deepEqual(dues, [...new Set(dues)].sort())
    for await (const { id } of client.waiting({ pattern: 'tick' })) assert.match(id, /^every billing: /)
  })
})

function application(
  strategy: MicroserviceServer,
  providers: readonly { readonly provide: string; readonly useValue: unknown }[]
): Promise<INestMicroservice> {
  const module = { module: class {} as Type, controllers: [Payments], providers: [...providers] }
  return NestFactory.createMicroservice(module, { strategy, logger: false, abortOnError: false })
}
