import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { EchoClient } from '../peers/echo-client.ts'
import { EmitLoop } from './emit-loop.ts'
import { Meter } from './meter.ts'

/** A client whose promises the test settles. */
class ManualClient implements EchoClient {
  readonly sent: ReturnType<typeof Promise.withResolvers<void>>[] = []

  echo(): void {}

  emit(): Promise<void> {
    const promise = Promise.withResolvers<void>()
    this.sent.push(promise)
    return promise.promise
  }

  async close(): Promise<void> {}
}

function setUp({ batch = 1, concurrency = 1, client = new ManualClient() } = {}) {
  const meter = new Meter()
  const load = new EmitLoop({ clients: [client], concurrency, batch, payload: 'x', meter })
  meter.start()
  load.start()
  return { client, meter, load }
}

/** Waits until the reactions to settled promises have run; on a busy machine, the load itself waits for a turn. */
async function turn(): Promise<void> {
  for (let n = 0; n < 5; n++) await new Promise(setImmediate)
}

describe('a load of events', () => {
  it('sends the next event when the last one is sent, and not before', async () => {
    const { client, meter } = setUp()
    await turn()
    assert.equal(client.sent.length, 1)
    client.sent[0]!.resolve()
    await turn()
    assert.deepEqual([client.sent.length, meter.completed], [2, 1])
  })

  it('sends a batch without awaiting its single events', async () => {
    const { client, meter } = setUp({ batch: 3, concurrency: 2 })
    assert.equal(client.sent.length, 6)
    for (const one of client.sent.slice(0, 3)) one.resolve()
    await turn()
    assert.deepEqual([client.sent.length, meter.completed], [9, 3])
  })

  it('counts each failed event once, and waits before it goes on', async () => {
    const { client, meter } = setUp({ batch: 3 })
    client.sent[0]!.resolve()
    client.sent[1]!.reject(new Error('full'))
    client.sent[2]!.reject(new Error('full, too'))
    await turn()
    assert.deepEqual([meter.completed, meter.errors, meter.firstError], [1, 2, 'full'])
    assert.equal(client.sent.length, 3)
  })

  it('counts a client that throws', async () => {
    const broken = new ManualClient()
    broken.emit = () => {
      throw new Error('broken client')
    }
    for (const batch of [1, 2]) {
      const { meter } = setUp({ batch, client: broken })
      await turn()
      assert.deepEqual([meter.errors, meter.firstError], [batch, 'broken client'])
    }
  })

  it('lets the event loop run, even if promises resolve at once', async () => {
    const eager = new ManualClient()
    eager.emit = async () => {}
    const { load, meter } = setUp({ client: eager })
    // A timer, which would never fire otherwise.
    await new Promise((resolve) => setTimeout(resolve, 10))
    await load.finish(60_000)
    assert.ok(meter.completed > 0)
  })

  it('finishes when the last promise is settled, and counts promises that never settle', async () => {
    const { client, load, meter } = setUp()
    const finished = load.finish(60_000)
    client.sent[0]!.resolve()
    await finished
    assert.equal(client.sent.length, 1)
    const stuck = setUp({ batch: 2 })
    await stuck.load.finish(1)
    assert.deepEqual([meter.errors, stuck.meter.errors], [0, 2])
  })
})
