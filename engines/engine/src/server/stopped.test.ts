import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { CarrierListener } from '../carrier.ts'
import { Hub, TestCarrier, TestEngine } from '../testing/hub.ts'
import { DialogueServer } from './dialogue-server.ts'

/** A connection on which messages still arrive while it closes, because its server does not hear that it leaves. */
class Slow extends TestCarrier {
  override async leave(): Promise<void> {}

  override async close(): Promise<void> {
    for (let n = 0; n < 5; n++) await turn()
    await super.close()
  }
}

class SlowEngine extends TestEngine {
  readonly #slow: Hub

  constructor(hub: Hub) {
    super(hub)
    this.#slow = hub
  }

  override async open(listener: CarrierListener): Promise<TestCarrier> {
    return new Slow(this.#slow, listener)
  }
}

it('a message that comes when its service has stopped, and its connection is still closing, is not handled', async () => {
  const hub = new Hub()
  const handled: unknown[] = []
  const server = new DialogueServer({
    engine: new SlowEngine(hub),
    context: { name: 'orders', version: undefined, logger: { error() {}, warn() {} } },
    queues: { message: 'orders', event: 'orders' }
  })
  await server.start({
    routes: () => [{ kind: 'event', route: 'paid' }],
    request: () => undefined,
    event: ({ data }) => void handled.push(data)
  })
  const publisher = new TestCarrier(hub, {} as CarrierListener)
  const publish = (data: number) => publisher.publish('paid', JSON.stringify({ pattern: 'paid', data }))
  publish(1)
  await turn()
  const stopped = server.stop({ drain: 0 })
  await turn()
  publish(2)
  await stopped
  assert.deepEqual(handled, [1])
})
