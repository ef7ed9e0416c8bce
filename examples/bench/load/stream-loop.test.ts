import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makeRecord } from '../payload/samples.ts'
import type { EchoClient, StreamReader } from '../peers/echo-client.ts'
import { Meter } from './meter.ts'
import { StreamLoop } from './stream-loop.ts'

/** A client whose values the test sends. */
class ManualClient implements EchoClient {
  readonly readers: StreamReader[] = []
  left = 0
  whenAsked = () => {}

  echo(): void {}

  stream(_count: number, reader: StreamReader): () => void {
    this.readers.push(reader)
    this.whenAsked()
    return () => {
      this.left++
      reader.ended()
    }
  }

  async close(): Promise<void> {}
}

function setUp({ streams = 1, values = 3, pause = 0 } = {}) {
  const client = new ManualClient()
  const meter = new Meter()
  const load = new StreamLoop({ clients: [client], streams, values, pause, meter })
  meter.start()
  load.start()
  const give = (...ids: number[]) => ids.map((id) => client.readers.at(-1)!.value(makeRecord(id)))
  return { client, meter, load, give }
}

describe('a load of streams', () => {
  it('reads the given number of streams at a time, and opens the next when one has ended', () => {
    const { client, meter, give } = setUp({ streams: 2 })
    assert.equal(client.readers.length, 2)
    give(0, 1, 2)
    client.readers.at(-1)!.ended()
    assert.equal(client.readers.length, 3)
    assert.deepEqual([meter.completed, meter.errors], [3, 0])
  })

  it('measures the time until the first value, once for each stream', () => {
    const { meter, give } = setUp()
    assert.equal(meter.latencies().max, null)
    give(0)
    const first = meter.latencies().max
    give(1, 2)
    assert.notEqual(first, null)
    assert.equal(meter.latencies().max, first)
  })

  for (const [what, ids, message] of [
    ['that is too short', [0, 1], /ended after 2 of 3 values/],
    ['without a value', [], /ended after 0 of 3 values/]
  ] as const) {
    it(`counts a stream ${what} as an error, and opens another one later`, async () => {
      const { client, meter, give } = setUp()
      give(...ids)
      const again = Promise.withResolvers<void>()
      client.whenAsked = again.resolve
      client.readers[0]!.ended()
      assert.equal(meter.errors, 1)
      assert.match(meter.firstError!, message)
      assert.equal(client.readers.length, 1)
      await again.promise
    })
  }

  it('counts a wrong value as one error, and leaves that stream', () => {
    const { client, meter, give } = setUp()
    give(0, 2, 3)
    assert.deepEqual([meter.errors, meter.completed, client.left], [1, 1, 1])
    assert.match(meter.firstError!, /wrong value: expected the record 1/)
  })

  it('counts the failure of a stream, and a client that throws', () => {
    const { client, meter } = setUp()
    client.readers[0]!.failed(new Error('lost'))
    client.readers[0]!.failed(new Error('lost again'))
    assert.deepEqual([meter.errors, meter.firstError], [1, 'lost'])
    const broken = new ManualClient()
    broken.whenAsked = () => {
      throw new Error('broken client')
    }
    const told = new Meter()
    new StreamLoop({ clients: [broken], streams: 1, values: 1, pause: 0, meter: told }).start()
    assert.deepEqual([told.errors, told.firstError], [1, 'broken client'])
  })

  it('requests no value for a while after each value, if its reader is slow', async () => {
    const { give } = setUp({ pause: 1 })
    const [taken] = give(0)
    assert.ok(taken instanceof Promise)
    await taken
    assert.deepEqual(setUp().give(0), [undefined])
  })

  it('leaves streams that have not ended at the end, which is not an error', async () => {
    const { client, meter, load, give } = setUp({ streams: 2 })
    give(0)
    await load.finish(60_000)
    assert.deepEqual([client.left, meter.errors], [2, 0])
  })

  it('counts a stream that does not end after it was left', async () => {
    const { client, meter, load } = setUp()
    client.stream = () => () => {}
    client.readers[0]!.failed('over')
    const stuck = new StreamLoop({ clients: [client], streams: 1, values: 1, pause: 0, meter })
    stuck.start()
    await Promise.all([load.finish(1), stuck.finish(1)])
    assert.equal(meter.errors, 2)
  })
})
