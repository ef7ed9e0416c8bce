import assert from 'node:assert/strict'
import { it } from 'node:test'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { TestLink } from '../testing/test-link.ts'
import { exchangeOf } from '../words/names.ts'
import type { Copies } from './copies.ts'
import { Runs } from './runs.ts'
import type { RabbitEvent } from './stored.ts'

it('the runs of an event count from 1, each event by itself, until it is done', async () => {
  const server = new FakeRabbitServer()
  server.declareExchange(exchangeOf('g'), 'direct')
  const link = new TestLink(server).asLink
  const copies = {
    put: async (_: string, queue: string, content: Buffer) =>
      server.publish('', queue, content, { headers: {} })
  } as unknown as Copies
  const runs = new Runs('g', () => copies)
  const event = (unique: string) => ({ unique, isCounted: false }) as RabbitEvent
  const one = event('one')
  assert.deepEqual(
    [await runs.begin(one, link), await runs.begin(event('one'), link), await runs.begin(event('two'), link)],
    [1, 2, 1]
  )
  runs.end(one, link)
  await new Promise(setImmediate)
  assert.equal(await runs.begin(event('one'), link), 1)
})
