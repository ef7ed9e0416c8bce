import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { newScenes, settled } from '../testing/scene.ts'
import { TestLink } from '../testing/test-link.ts'
import { exchangeOf } from '../words/names.ts'
import type { Copies } from './copies.ts'
import { Runs } from './runs.ts'
import { HEADER, type RabbitEvent } from './stored.ts'

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

describe('an ordered event', () => {
  const newScene = newScenes()

  it('has its runs counted at the server once it was delivered as often as it may be attempted, and not before', async () => {
    const scene = newScene()
    scene.handle = () => new Promise(() => {})
    const counted: number[] = []
    for (let lives = 0; lives < 4; lives++) {
      await scene.join({ ordered: true, retry: { attempts: 2 } })
      if (lives === 0) await scene.publish('x', { [HEADER.key]: 'k' })
      counted.push([...scene.server.queues.keys()].filter((name) => name.startsWith('_elysia.runs.')).length)
      scene.consumers.at(-1)?.cut()
      await scene.connections.at(-1)?.link.close()
      await settled(scene.server)
    }
    assert.deepEqual(counted, [0, 0, 1, 1])
  })
})
