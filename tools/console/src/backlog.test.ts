import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { until } from '@elysia-microservices/test-support'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { backlogSize, listBacklog } from './backlog.ts'
import type { CheckedClient } from './clients.ts'
import type { BacklogView } from './protocol.ts'
import { Events } from './sources/events.ts'

describe('the backlog of a group, on the page', () => {
  const transport = memory()
  const client = connect({ transport })
  after(() => client.close())
  const clients = () => new Map([['shop', client as never as CheckedClient]])
  const logger = { error() {}, warn() {} }
  const events = new Events({ clients, canTry: false, logger })
  const ask = async (group: string) =>
    (await events.ask({ action: 'backlog', service: 'shop', group })) as BacklogView

  it('is shown to a page that may only read, with data that are cut, and no more than fits', async () => {
    const service = microservice({ name: 'mail', transport, logger }).event('mails.sent', () => {}, {
      durable: true
    })
    await service.listen()
    await service.stop()
    const traceId = 'ab'.repeat(16)
    const headers = { traceparent: `00-${traceId}-${'cd'.repeat(8)}-01` }
    await client.publish('mails.sent', { to: 'x'.repeat(5_000) }, { id: 'first', key: 'k', headers })
    const { events: shown, hasMore } = await ask('mail')
    const [first] = shown
    assert.deepEqual([shown.length, hasMore], [1, false])
    assert.deepEqual(
      { ...first, data: first?.data.length, publishedAt: typeof first?.publishedAt },
      {
        ...{ position: '1', pattern: 'mails.sent', id: 'first', key: 'k', data: 4_000, cut: 1_014, traceId },
        ...{ publishedAt: 'number', state: 'waiting', attempts: 0 }
      }
    )
    for (let n = 0; n < 100; n++) await client.publish('mails.sent', n)
    const many = await ask('mail')
    assert.deepEqual([many.events.length, many.hasMore, many.events[99]?.data], [100, true, '98'])
  })

  it('says how many events a store has that it does not list', async () => {
    const group = { async *backlog() {}, lag: async () => 5 }
    const storing = Object.create(client, { group: { value: () => group } })
    assert.deepEqual(await listBacklog(storing, 'mail'), {
      ...{ events: [], hasMore: false, unlisted: 5 }
    })
  })

  it('is counted by its store while no process of the group tells it', async () => {
    const handler = { pattern: 'mails.sent', group: 'mail', redeliveries: 0, deadLetters: 0, isPaused: false }
    const tell = (more: object, isSilent: boolean) => {
      const transports = [{ name: 'memory', gauges: [], durable: [{ ...handler, ...more }] }]
      const told = { at: 1, services: { shop: { transports, outboxes: [], rows: [], calls: [] } } }
      const view = { id: 'shop', service: 'shop', ...(isSilent && { isSilent: true as const }) }
      events.sampled(told, { canTry: false, interval: 1, services: [view] })
      return events.latest()?.groups[0]
    }
    assert.equal(tell({ lag: 3 }, false)?.waits, undefined)
    await until('The store has told it', () => tell({ lag: 3 }, true)?.waits?.count === 101)
    assert.equal(tell({ lag: 3 }, true)?.handlers[0]?.waits, undefined)
    assert.equal(tell({ lag: 3 }, false)?.waits, undefined)
    const listing = {
      lag: async (): Promise<never> => {
        throw new Error('cannot count')
      },
      backlog: (all: object) => client.group('mail').backlog(all)
    }
    const storing = Object.create(client, { group: { value: () => listing } })
    assert.deepEqual(await backlogSize(storing, 'mail'), { count: 100, isLeast: true })
    const silent = {
      ...listing,
      backlog() {
        throw new Error('cannot list')
      }
    }
    const unlisted = Object.create(client, { group: { value: () => silent } })
    assert.equal(await backlogSize(unlisted, 'mail'), undefined)
  })

  it('and its dead letters have a reason where the client of the page has no store', async () => {
    const storeless = { request() {}, stream() {}, emit() {} }
    const other = new Events({
      clients: () => new Map([['shop', storeless as never as CheckedClient]]),
      canTry: false,
      logger
    })
    const handler = { pattern: 'a', group: 'mail', redeliveries: 0, deadLetters: 1, isPaused: false }
    const transports = [{ name: 'sqlite', gauges: [], durable: [handler] }]
    const sample = { at: 1, services: { shop: { transports, outboxes: [], rows: [], calls: [] } } }
    const overview = { canTry: false, interval: 1, services: [{ id: 'shop', service: 'shop' }] }
    await until('The reason is known', () => {
      other.sampled(sample, overview)
      return /client of shop stores no events/.test(other.latest()?.groups[0]?.deadUnknown ?? '')
    })
    const asked = other.ask({ action: 'backlog', service: 'shop', group: 'mail' })
    await assert.rejects(asked, /client of shop stores no events/)
  })

  it('of a group that does not exist is a sentence', async () => {
    await assert.rejects(ask('nobody'), /no group 'nobody'/)
    const letters = events.ask({ action: 'list', service: 'shop', group: 'nobody' })
    await assert.rejects(letters, /no group 'nobody'/)
  })
})
