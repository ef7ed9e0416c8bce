/** A service to which the engine delivers a message once for each of its subscriptions. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Dispatcher, Route } from '@elysia-microservices/transport/kit'
import { newSecret } from '../secret.ts'
import { Hub, type TestCarrier, TestEngine } from '../testing/hub.ts'
import { replyToken } from '../words.ts'
import { DialogueServer } from './dialogue-server.ts'

const logger = { error() {}, warn() {} }
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A service whose events go to every process, and its requests to one. */
async function serving(routes: readonly Route[]) {
  const hub = new Hub()
  const handled: string[] = []
  const dispatcher: Dispatcher = {
    routes: () => routes,
    request: ({ route }) => void handled.push(`request ${route}`),
    event: ({ route }) => void handled.push(`event ${route}`)
  }
  const engine = new TestEngine(hub)
  const server = new DialogueServer({
    engine,
    context: { name: 'orders', version: undefined, logger },
    queues: { message: 'orders', event: undefined },
    toEvery: true
  })
  await server.start(dispatcher)
  stops.push(() => server.stop({ drain: 0 }))
  const caller: TestCarrier = await engine.open({
    lost() {},
    restored() {},
    refused() {},
    unpublished() {},
    failed() {},
    ended() {}
  })
  const inbox = caller.newInbox()
  const answers: string[] = []
  caller.listen(inbox, ({ words }) => void answers.push(String(words)))
  const ask = async (pattern: string, kind: 'request' | 'event' = 'request') => {
    caller.publish(
      pattern,
      JSON.stringify({ pattern, data: 1 }),
      inbox + replyToken(kind, 1, newSecret(), undefined)
    )
    for (let turns = 0; turns < 5; turns++) await turn()
  }
  return { handled, answers, ask }
}

describe('a service of which several subscriptions get a request', () => {
  it('answers it once, and does not say that it lacks it', async () => {
    const { handled, answers, ask } = await serving([
      { kind: 'event', route: 'orders.*' },
      { kind: 'message', route: 'orders.new' }
    ])
    await ask('orders.new')
    assert.deepEqual([handled, answers], [['request orders.new'], ['+e']])
  })

  it('handles an event by the handlers of events, in each subscription that counts once', async () => {
    const { handled, answers, ask } = await serving([
      { kind: 'event', route: 'orders.*' },
      { kind: 'message', route: 'orders.new' }
    ])
    await ask('orders.new', 'event')
    assert.deepEqual([handled, answers], [['event orders.new'], []])
  })

  it('says that it lacks a request which only handlers of many events get', async () => {
    const { handled, answers, ask } = await serving([{ kind: 'event', route: 'orders.>' }])
    await ask('orders.new')
    assert.deepEqual([handled, answers], [[], ['+n']])
  })
})
