import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makePayload } from '../payload/payload.ts'
import type { EchoClient } from '../peers/echo-client.ts'
import { ClosedLoop } from './closed-loop.ts'
import { Meter } from './meter.ts'

type Call = Parameters<EchoClient['echo']>

/** A client whose answers the test sends. */
class ManualClient implements EchoClient {
  readonly calls: Call[] = []
  closed = false

  echo(...call: Call): void {
    this.calls.push(call)
  }

  async close(): Promise<void> {
    this.closed = true
  }
}

function setUp(connections: number, concurrency: number) {
  const clients = Array.from({ length: connections }, () => new ManualClient())
  const meter = new Meter()
  const load = new ClosedLoop({ clients, concurrency, payload: makePayload('flat', 3), meter })
  meter.start()
  load.start()
  return { clients, meter, load }
}

describe('a closed loop', () => {
  it('distributes its callers evenly over the connections', () => {
    const { clients } = setUp(3, 8)
    assert.deepEqual(
      clients.map(({ calls }) => calls.length),
      [3, 3, 2]
    )
  })

  it('sends the next request only when one is answered', () => {
    const { clients, meter } = setUp(1, 2)
    const { calls } = clients[0]!
    calls[0]![1]('abc')
    assert.equal(calls.length, 3)
    assert.equal(meter.completed, 1)
  })

  for (const answer of ['ab', 'abcd', undefined, { length: 3 }, 3]) {
    it(`treats ${JSON.stringify(answer)} as a wrong answer`, () => {
      const { clients, meter } = setUp(1, 1)
      clients[0]!.calls[0]![1](answer)
      assert.deepEqual([meter.completed, meter.errors], [0, 1])
      assert.match(meter.firstError!, /wrong answer/)
    })
  }

  it('does not send at once after an error, but does later', async () => {
    const { clients, meter } = setUp(1, 1)
    const { calls } = clients[0]!
    const sentAgain = Promise.withResolvers<void>()
    clients[0]!.echo = () => sentAgain.resolve()
    calls[0]![2](new Error('lost'))
    assert.equal(calls.length, 1)
    assert.deepEqual([meter.errors, meter.firstError], [1, 'lost'])
    await sentAgain.promise
  })

  it('counts a client that throws as an error', () => {
    const meter = new Meter()
    const client = new ManualClient()
    client.echo = () => {
      throw new Error('broken client')
    }
    new ClosedLoop({ clients: [client], concurrency: 1, payload: makePayload('flat', 3), meter }).start()
    assert.deepEqual([meter.errors, meter.firstError], [1, 'broken client'])
  })

  it('finishes as soon as the last answer is in', async () => {
    const { clients, load, meter } = setUp(1, 2)
    const finished = load.finish(60_000)
    for (const [, answered] of [...clients[0]!.calls]) answered('abc')
    await finished
    assert.equal(clients[0]!.calls.length, 2)
    assert.equal(meter.errors, 0)
  })

  it('counts requests that are never answered as errors', async () => {
    const { clients, load, meter } = setUp(2, 4)
    clients[0]!.calls[0]![1]('abc')
    await load.finish(1)
    assert.equal(meter.errors, 4)
    assert.match(meter.firstError!, /no answer/)
  })

  it('closes every client', async () => {
    const { clients, load } = setUp(3, 3)
    await load.close()
    assert.ok(clients.every(({ closed }) => closed))
  })
})
