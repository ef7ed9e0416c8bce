import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { memory } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { CheckedClient } from './clients.ts'
import type { WaitingEventsView } from './protocol.ts'
import { Events } from './sources/events.ts'

describe('events that wait for their time, on the page', () => {
  const client = connect({ transport: memory() })
  after(() => client.close())
  const log: string[] = []
  const logger = { error() {}, warn: (line: string) => void log.push(line) }
  const clients = () => new Map([['shop', client as never as CheckedClient]])
  const events = new Events({ clients, canTry: true, logger })
  const ask = (question: object, source = events) => source.ask({ service: 'shop', ...question })
  const list = async () => (await ask({ action: 'waiting' })) as WaitingEventsView
  const at = new Date('2100-01-01T00:00:00Z')

  it('are shown with their times and rules, cancelled, and delivered now, and the log says so', async () => {
    await client.publish('carts.remind', { cart: 'x'.repeat(5_000) }, { id: 'a', key: 'k', at })
    await client.publish('carts.remind', 1, { id: 'b'.repeat(1_024), at })
    await client.schedule('news', 'mails.news', 'all', { cron: '0 8 * * *', timeZone: 'UTC' })
    const { events: shown, hasMore } = await list()
    assert.deepEqual([shown.length, hasMore], [3, false])
    const [news, first, second] = shown
    assert.deepEqual(
      [news?.rule, news?.data, first?.rule],
      ['0 8 * * * in UTC, schedule news', '"all"', undefined]
    )
    assert.deepEqual([first?.id, first?.key, first?.at, first?.cut], ['a', 'k', at.getTime(), 1_016])
    const change = (action: string, id = '') => ask({ action, pattern: 'carts.remind', id })
    assert.deepEqual(await change('cancel', 'a'), { done: 1 })
    assert.deepEqual(await change('cancel', 'a'), { done: 0 })
    assert.deepEqual(await change('fire', second?.id), { done: 1 })
    assert.equal((await list()).events.length, 1)
    assert.equal(log.length, 3)
    assert.match(log[0] ?? '', /"carts.remind" with the id "a" cancelled: it was waiting/)
    assert.match(log[1] ?? '', /it was not waiting/)
  })

  it('are no more than can be shown', async () => {
    for (let n = 0; n < 101; n++) await client.publish('many', n, { id: `${n}`, at })
    const { events: shown, hasMore } = await list()
    assert.deepEqual([shown.length, hasMore], [100, true])
  })

  it('are left alone by a page that may only read, and by questions that make no sense', async () => {
    const reading = new Events({ clients, canTry: false, logger })
    await assert.rejects(ask({ action: 'cancel', pattern: 'many', id: '1' }, reading), /read-only/)
    await assert.rejects(ask({ action: 'fire', pattern: 'many', id: 1 }), /needs the texts pattern and id/)
    await assert.rejects(ask({ action: 'waiting', service: 'none' }), /whose store keeps events until a time/)
    assert.equal(((await ask({ action: 'waiting' }, reading)) as WaitingEventsView).events.length, 100)
  })
})
