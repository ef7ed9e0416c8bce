import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CarrierListener } from '../carrier.ts'
import { Hub, type TestCarrier, TestEngine } from '../testing/hub.ts'
import { DialogueServer } from './dialogue-server.ts'

/** An engine whose server is lost, and found again, before a connection is ready. */
class Shaky extends TestEngine {
  override async open(listener: CarrierListener): Promise<TestCarrier> {
    const carrier = await super.open(listener)
    carrier.lose()
    carrier.restore()
    return carrier
  }
}

it('a server that is lost and found again while a service connects is told in the log, and the service listens', async () => {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const server = new DialogueServer({
    engine: new Shaky(new Hub()),
    context: { name: 'orders', version: undefined, logger: { error: write, warn: write } },
    queues: { message: 'orders', event: 'orders' }
  })
  await server.start({ routes: () => [], request: () => undefined, event: () => undefined })
  await server.stop({ drain: 0 })
  assert.deepEqual(lines, [
    'The TEST server hub is lost; until it is back, the service gets no messages over it',
    'Connected to the TEST server hub again'
  ])
})
