import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makePayload } from '../payload/payload.ts'
import type { EchoClient } from '../peers/echo-client.ts'
import { deferred } from '../process/deferred.ts'
import { Meter } from './meter.ts'
import { OpenLoop } from './open-loop.ts'

type Call = Parameters<EchoClient['echo']>

/** Clients that keep their calls, and a promise that resolves when they have enough calls together. */
function setUp(connections: number, rate: number, enough: number, failing = false) {
  const calls: Call[][] = Array.from({ length: connections }, () => [])
  const reached = deferred()
  const state = { answersAtOnce: false, count: 0 }
  const clients = calls.map(
    (mine): EchoClient => ({
      echo: (...call) => {
        if (failing) throw new Error('broken client')
        mine.push(call)
        if (state.answersAtOnce) call[1]('abc')
        if (++state.count === enough) reached.resolve()
      },
      close: async () => {}
    })
  )
  const meter = new Meter()
  const load = new OpenLoop({ clients, rate, payload: makePayload('flat', 3), meter })
  /** Answers all waiting calls, and those that a busy machine sends later. */
  const answerAll = () => {
    state.answersAtOnce = true
    for (const [, answered] of calls.flat()) answered('abc')
  }
  return { calls, reached: reached.promise, meter, load, answerAll }
}

describe('an open loop', () => {
  it('goes on sending without answers, on its connections in turn', async () => {
    const { calls, reached, load, answerAll } = setUp(3, 10_000, 90)
    load.start()
    await reached
    const [least, most] = [Math.min, Math.max].map((pick) => pick(...calls.map(({ length }) => length)))
    assert.ok(most! - least! <= 1)
    answerAll()
    await load.finish(1)
  })

  it('measures latency from the time at which a request was due, and counts requests due while measuring', async () => {
    const { reached, meter, load, answerAll } = setUp(1, 1000, 50)
    meter.start()
    load.start()
    await reached
    meter.stop()
    const finished = load.finish(60_000)
    answerAll()
    await finished
    assert.equal(meter.errors, 0)
    assert.ok(meter.completed >= 49, String(meter.completed))
    // The first request was due about 49 ms before any answer.
    assert.ok(meter.latencies().max! >= 48, String(meter.latencies().max))
  })

  it('counts requests that were never answered, and those that were due and never sent', async () => {
    // A higher rate than the limit of outstanding requests allows.
    const { calls, reached, meter, load } = setUp(1, 5_000_000, 50_000)
    meter.start()
    load.start()
    await reached
    meter.stop()
    await load.finish(1)
    assert.equal(calls.flat().length, 50_000)
    assert.ok(meter.errors > 50_000, `${meter.errors} errors`)
    assert.match(meter.firstError!, /not even sent/)
  })

  it('sends requests that were due before the end, even if late', async () => {
    const { reached, meter, load, answerAll } = setUp(1, 1_000_000, 1)
    meter.start()
    load.start()
    await reached
    // Blocks the event loop so long that more requests are due than are sent in one go.
    const until = performance.now() + 5
    while (performance.now() < until);
    meter.stop()
    const finished = load.finish(60_000)
    answerAll()
    await finished
    assert.equal(meter.errors, 0)
    assert.ok(meter.completed >= 5000, String(meter.completed))
  })

  it('counts a client that throws, and a wrong answer, as errors', async () => {
    const broken = setUp(1, 1000, 1, true)
    broken.load.start()
    await broken.load.finish(1)
    assert.equal(broken.meter.firstError ?? 'broken client', 'broken client')
    const { calls, reached, meter, load } = setUp(1, 1000, 1)
    load.start()
    await reached
    calls[0]![0]![1]('ab')
    assert.match(meter.firstError!, /wrong answer/)
    await load.finish(1)
  })

  it('that has not started has nothing to finish', async () => {
    const { meter, load } = setUp(1, 1000, 1)
    await load.finish(1)
    await load.close()
    assert.equal(meter.errors, 0)
  })
})
