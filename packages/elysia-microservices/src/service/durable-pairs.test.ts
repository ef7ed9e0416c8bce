/**
 * Two durable handlers of one event. A group has one outcome for an event, so two handlers in one group would run again
 * whenever one of them fails: a service with such handlers does not start.
 */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ManualClock } from '@elysia-microservices/transport'
import { connect } from '../client/index.ts'
import { memory, microservice, OptionError } from '../index.ts'
import { EventPattern } from '../nest.ts'
import { Cleanups } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const logger = { error() {}, warn() {} }
const named = (...controllers: object[]) =>
  microservice({ name: 'shop', transport: memory(), controllers, logger })
const handler = () => {}

class Mail {
  @EventPattern('paid', { durable: {} })
  mail() {}
}
class Books {
  @EventPattern('paid', { durable: {} })
  book() {}
}
class Both {
  @EventPattern('paid', { durable: { group: 'both' } })
  mail() {}
  @EventPattern('paid', { durable: { group: 'both' } })
  book() {}
}

/** Services with two durable handlers of one pattern in one group. */
const REFUSED: Readonly<Record<string, () => { listen(): Promise<unknown>; stop(): Promise<void> }>> = {
  'two functions': () =>
    named()
      .event('paid', handler, { durable: true })
      .event('paid', () => {}, { durable: true }),
  'two functions with different options': () =>
    named()
      .event('paid', handler, { durable: true })
      .event('paid', () => {}, { durable: { ordered: true } }),
  'one function twice': () =>
    named().event('paid', handler, { durable: true }).event('paid', handler, { durable: true }),
  'one function with a pattern twice': () => named().event(['paid', 'paid'], handler, { durable: true }),
  'functions of two used services': () =>
    named()
      .use(named().event('paid', handler, { durable: true }))
      .use(named().event('paid', handler, { durable: true })),
  'functions of a group and its service': () =>
    named()
      .event('orders.paid', handler, { durable: true })
      .group('orders', (g) => g.event('paid', handler, { durable: true })),
  'two controllers': () => named(Mail, Books),
  'two methods of one controller': () => named(Both),
  'a controller and a function': () => named(Mail).event('paid', handler, { durable: true }),
  'a handler with the group that the service is named after': () =>
    named()
      .event('paid', handler, { durable: true })
      .event('paid', handler, { durable: { group: 'shop' } })
}

describe('two durable handlers of one event in one group', () => {
  for (const [what, make] of Object.entries(REFUSED))
    it(`are refused at the start: ${what}`, async () => {
      await assert.rejects(cleanups.add(make()).listen(), (error: OptionError) => {
        assert.ok(error instanceof OptionError)
        assert.match(error.message, /'(orders\.)?paid' has two handlers in the group .*durable: \{ group:/)
        return true
      })
    })
})

describe('two durable handlers of one event in different groups', () => {
  /** Publishes an event that one of two handlers cannot handle. */
  async function failing(plain: boolean) {
    const clock = new ManualClock(0)
    const transport = memory({ clock })
    const ran = { mails: 0, books: 0, plain: 0 }
    const retry = { attempts: 3, minDelay: 10 }
    const service = microservice({ name: 'shop', transport, logger })
      .event('paid', () => void ran.mails++, { durable: { retry } })
      .event(
        'paid',
        () => {
          ran.books++
          throw new Error('no books')
        },
        { durable: { group: 'books', retry } }
      )
    if (plain) service.event('paid', () => void ran.plain++)
    await cleanups.add(service).listen()
    const client = cleanups.add(connect({ transport, logger }))
    await client.publish('paid', 1)
    await clock.advance(100_000)
    return { clock, client, ran }
  }

  for (const plain of [false, true])
    it(`are each done for themselves${plain ? ', beside a plain one' : ''}`, async () => {
      const { clock, client, ran } = await failing(plain)
      assert.deepEqual(ran, { mails: 1, books: 3, plain: plain ? ran.plain : 0 })
      const letters = client.group('books').deadLetters
      for await (const { position } of letters.list()) await letters.redrive(position)
      await clock.advance(100_000)
      assert.deepEqual([ran.mails, ran.books], [1, 6])
      for await (const _ of client.group('shop').deadLetters.list())
        assert.fail('no event of this group has failed')
    })

  it('may overlap: each pattern has its own outcome', async () => {
    const clock = new ManualClock(0)
    const transport = memory({ clock })
    const ran: string[] = []
    const service = microservice({ name: 'shop', transport, logger })
      .event('orders.*', () => void ran.push('all'), { durable: { retry: { attempts: 2, minDelay: 10 } } })
      .event(
        'orders.paid',
        () => {
          ran.push('paid')
          throw new Error('no')
        },
        { durable: { retry: { attempts: 2, minDelay: 10 } } }
      )
    await cleanups.add(service).listen()
    const client = cleanups.add(connect({ transport, logger }))
    await client.publish('orders.paid', 1)
    await clock.advance(100_000)
    assert.deepEqual(ran.sort(), ['all', 'paid', 'paid'])
  })
})
