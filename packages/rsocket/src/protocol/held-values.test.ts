/** Tests values that wait for demand, with both ends of a connection. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Subject } from 'rxjs'
import { setup } from '../testing/rsocket-frames.ts'
import { newRsocketServer, rsocketClient, turn } from '../testing/rsocket-peer.ts'

/** Makes both ends of a connection. */
function ends(handlers: Parameters<typeof newRsocketServer>[1]) {
  const client = rsocketClient()
  const server = newRsocketServer({}, handlers)
  server.connection.receive(setup())
  /** Delivers sent bytes to the other end, until no more are sent. */
  const carry = async () => {
    for (let round = 0; round < 10; round++) {
      server.connection.receive(client.output.sent())
      client.connection.receive(server.output.sent())
      await turn()
    }
    assert.deepEqual([client.output.ended, server.output.ended], [undefined, undefined])
  }
  return { client, server, carry }
}

describe('values that wait for demand', () => {
  it('are understood, whatever is said before they leave', async () => {
    const subject = new Subject<object>()
    const { client, carry } = ends({ values: () => subject })
    const seen: unknown[] = []
    const call = client.caller.stream(
      'values',
      undefined,
      { next: (value) => seen.push(value), complete: () => seen.push('complete'), error: assert.fail },
      { demand: 1 }
    )
    await carry()
    for (let n = 0; n < 4; n++) subject.next({ [`key${n}`]: n, same: n })
    const asked = [{ key1: 'echoed', same: 7 }, { other: 1 }, { key3: 'echoed', same: 8 }]
    const answers = asked.map((value) => client.caller.request('echo', value))
    await carry()
    assert.deepEqual(await Promise.all(answers), asked)
    call.request(9)
    const late = client.caller.request('echo', { key2: 'late', same: 9 })
    await carry()
    subject.next({ key1: 'at once', same: 1 })
    subject.complete()
    await carry()
    assert.deepEqual(await late, { key2: 'late', same: 9 })
    const expected = [0, 1, 2, 3].map((n) => ({ [`key${n}`]: n, same: n }))
    assert.deepEqual(seen, [...expected, { key1: 'at once', same: 1 }, 'complete'])
  })

  it('do not confuse those that are sent at once behind them', async () => {
    const subject = new Subject<object>()
    const { client, carry } = ends({ values: () => subject })
    const seen: unknown[] = []
    const call = client.caller.stream(
      'values',
      undefined,
      { next: (value) => seen.push(value), complete() {}, error: assert.fail },
      { demand: 1 }
    )
    await carry()
    subject.next({ a: 1 })
    subject.next({ b: 2 })
    call.request(9)
    await carry()
    subject.next({ a: 3 })
    await carry()
    assert.deepEqual(seen, [{ a: 1 }, { b: 2 }, { a: 3 }])
  })

  it('need not be sent at all: those of a stream that is given up', async () => {
    const subject = new Subject<object>()
    const { client, carry } = ends({ values: () => subject })
    const call = client.caller.stream(
      'values',
      undefined,
      { next() {}, complete: assert.fail, error: assert.fail },
      { demand: 1 }
    )
    await carry()
    for (let n = 0; n < 4; n++) subject.next({ [`key${n}`]: n })
    call.cancel()
    await carry()
    const asked = [{ key1: 1 }, { key3: 3 }, { key1: 5 }]
    const answers = asked.map((value) => client.caller.request('echo', value))
    await carry()
    assert.deepEqual(await Promise.all(answers), asked)
  })

  it('may be those of a channel', async () => {
    const { client, carry } = ends({
      all: async ({ data }) => {
        const values: unknown[] = []
        await held
        for await (const value of data as AsyncIterable<unknown>) values.push(value)
        return values
      }
    })
    let read = () => {}
    const held = new Promise<void>((resolve) => {
      read = resolve
    })
    const subject = new Subject<object>()
    const call = client.caller.request('all', subject)
    const values = Array.from({ length: 100 }, (_, n) => ({ [`key${n % 5}`]: n, same: n }))
    for (const value of values) subject.next(value)
    subject.complete()
    const between = client.caller.request('echo', { key1: 'echoed', same: 1 })
    await carry()
    assert.deepEqual(await between, { key1: 'echoed', same: 1 })
    read()
    await carry()
    assert.deepEqual(await call, values)
  })
})
