/** Tests Protocol.md, REQUEST_STREAM, REQUEST_CHANNEL and REQUEST_N frames, "Flow Control", "Request Channel". */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CallReceiver } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { Subject } from 'rxjs'
import { cancel, channel, error, payload, request, requestN, stream } from '../testing/rsocket-frames.ts'
import { outcomeOf, RecordingReceiver, rsocketClient, rsocketServer, turn } from '../testing/rsocket-peer.ts'

async function* naturals(): AsyncGenerator<number> {
  for (let n = 1; ; n++) yield n
}
async function* upTo(last: number): AsyncGenerator<number> {
  for (let n = 1; n <= last; n++) yield n
}

describe('REQUEST_N, responder', () => {
  it('sends no more values than were asked for, over any sequence of credits [MUST]', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 8 }),
        async (first, more) => {
          const server = rsocketServer({ naturals })
          const seen = server.on(stream(1, 'naturals', first, ''))
          seen.push(...(await server.later()))
          assert.equal(seen.length, first)
          for (const n of more) {
            seen.push(...server.on(requestN(1, n)))
            seen.push(...(await server.later()))
          }
          const credits = more.reduce((sum, n) => sum + n, first)
          assert.deepEqual(
            seen,
            Array.from({ length: credits }, (_, index) => `PAYLOAD 1 N ${index + 1}`)
          )
          server.on(cancel(1))
        }
      ),
      { numRuns: 30 }
    )
  })

  it('does not ask its handler for a value nobody has asked for', async () => {
    let made = 0
    const server = rsocketServer({
      async *counted() {
        while (true) yield ++made
      }
    })
    server.on(stream(1, 'counted', 3, ''))
    await server.later()
    assert.ok(made <= 4, `${made} values were made`)
  })

  it('takes a demand of 2^31-1 for no limit, and adding to it changes nothing', async () => {
    const server = rsocketServer({ numbers: () => upTo(500) })
    server.on(stream(1, 'numbers', 2 ** 31 - 1, ''), requestN(1, 2 ** 31 - 1))
    // Values that are there at once take two turns of the event loop.
    const frames = [...(await server.later()), ...(await server.later())]
    assert.equal(frames.at(-1), 'PAYLOAD 1 C')
    assert.equal(frames.length, 501)
  })

  it('ends an Observable that is too many bytes ahead of its reader with ERROR[APPLICATION_ERROR]', async () => {
    const subject = new Subject<string>()
    const server = rsocketServer({ texts: () => subject }, { maxUnsent: 1_000 })
    server.on(stream(1, 'texts', 1, ''))
    for (let n = 0; n < 10; n++) subject.next('x'.repeat(100))
    assert.equal(server.on().length, 1)
    subject.next('x'.repeat(100))
    const [answer = ''] = server.on()
    assert.match(
      answer,
      /^ERROR 1 0x201 \{"code":"STREAM_OVERFLOW","message":".*limits\.sendBuffer allows \(1000\)/
    )
    assert.equal(subject.observed, false)
    assert.equal(server.connection.inFlight, 0)
    assert.deepEqual(server.on(requestN(1, 9), request(3, 'echo', '1')), ['PAYLOAD 3 CN 1'])
  })

  for (const n of [0, 2 ** 31]) {
    it(`answers an initial demand of ${n === 0 ? 0 : '0 with the reserved bit'} with ERROR[INVALID] [MUST]`, () => {
      const server = rsocketServer({ naturals })
      assert.match(server.on(stream(1, 'naturals', n, ''))[0] ?? '', /^ERROR 1 0x204 /)
      assert.match(server.on(channel(3, 'naturals', n, '1'))[0] ?? '', /^ERROR 3 0x204 /)
      assert.equal(server.dispatcher.requests.length, 0)
    })
  }

  it('ends a connection whose REQUEST_N has no number', () => {
    const server = rsocketServer({ naturals })
    assert.match(server.on(requestN(1, 1).subarray(0, 9).fill(6, 2, 3))[0] ?? '', /^ERROR 0 0x101 /)
  })
})

describe('REQUEST_N, requester', () => {
  it('is never sent with 0, and asks for what was consumed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 600 }), async (count) => {
        const client = rsocketClient()
        const receiver = new RecordingReceiver()
        client.caller.stream('a', 1, receiver)
        let credits = Number(/n=(\d+)/.exec(client.on()[0] ?? '')?.[1])
        for (let n = 0; n < count; n++) {
          assert.ok(credits-- > 0, 'the stream has run dry')
          for (const sent of client.on(payload(1, 'N', String(n)))) {
            const more = Number(/^REQUEST_N 1 (\d+)$/.exec(sent)?.[1])
            assert.ok(more > 0)
            credits += more
          }
        }
        assert.equal(receiver.seen.length, count)
      }),
      { numRuns: 20 }
    )
  })

  /** Makes a stream and a sender that respects its demand. Its functions return how many values may still be sent. */
  function fed(size: number, receiver: Partial<CallReceiver> = {}) {
    const client = rsocketClient({ maxBufferSize: 1e6 })
    const call = client.caller.stream('a', 1, { next() {}, complete() {}, error: assert.fail, ...receiver })
    let credits = Number(/n=(\d+)/.exec(client.on()[0] ?? '')?.[1])
    const value = JSON.stringify('x'.repeat(size))
    const ask = (frames: string[]) => {
      for (const text of frames) credits += Number(/^REQUEST_N 1 (\d+)$/.exec(text)?.[1])
    }
    /** Sends one value, if there is demand; returns how many values may be sent then. */
    const feed = (): number => {
      if (credits === 0) return 0
      credits--
      ask(client.on(payload(1, 'N', value)))
      return credits
    }
    const resume = () => {
      call.resume()
      ask(client.on())
      return credits
    }
    return { first: credits, feed, resume }
  }

  it('asks a sender for more and more while its reader keeps up, but never for more than 16,384', () => {
    const { first, feed } = fed(1)
    assert.equal(first, 256)
    let most = 0
    for (let n = 0; n < 100_000; n++) {
      const credits = feed()
      assert.ok(credits > 0, 'the stream has run dry')
      most = Math.max(most, credits)
    }
    assert.equal(most, 16_384)
  })

  it('asks for fewer large values: for as many as have 1 MiB together', () => {
    const { feed } = fed(10_000)
    for (let n = 0; n < 256; n++) assert.ok(feed() < 256)
    for (let n = 0; n < 1_000; n++) {
      const credits = feed()
      assert.ok(credits > 0 && credits * 10_000 <= 1024 * 1024, `${credits} values`)
    }
  })

  it('asks for nothing while its reader has enough, and for no more than before when it goes on', () => {
    let isFull = false
    const { feed, resume } = fed(1, { next: () => !isFull })
    for (let n = 0; n < 128; n++) feed()
    assert.equal(feed(), 511)
    isFull = true
    while (feed() > 0);
    isFull = false
    assert.equal(feed(), 0)
    assert.equal(resume(), 512)
  })

  it('is not sent for a stream that has ended', () => {
    const client = rsocketClient()
    const call = client.caller.stream('a', 1, new RecordingReceiver(), { demand: 1 })
    client.on(payload(1, 'C'))
    call.request(5)
    call.cancel()
    assert.deepEqual(client.on(), [])
  })
})

describe('the first demand of a stream', () => {
  for (const demand of [0, -1, 1.5, 2 ** 31, Number.NaN]) {
    it(`is not ${demand}: nothing is sent, and the reader hears why [MUST]`, () => {
      const client = rsocketClient()
      const errors: Error[] = []
      const receiver = { next() {}, complete() {}, error: (error: Error) => void errors.push(error) }
      client.caller.stream('a', 1, receiver, { demand })
      assert.deepEqual(
        errors.map(({ name }) => name),
        ['OptionError']
      )
      assert.match(errors[0]?.message ?? '', /^options\.demand must be a whole number from 1 to 2147483647/)
      assert.deepEqual(client.on(), [])
    })
  }
})

describe('REQUEST_CHANNEL, requester', () => {
  it('is one frame; the other values are PAYLOAD frames, as many as the responder has asked for [MUST]', async () => {
    const client = rsocketClient()
    void outcomeOf(client.caller.request('sum', upTo(5)))
    assert.deepEqual(await client.later(), ['REQUEST_CHANNEL 1 M n=1 {sum} 1'])
    assert.deepEqual(await client.later(), [])
    client.on(requestN(1, 2))
    assert.deepEqual(await client.later(), ['PAYLOAD 1 N 2', 'PAYLOAD 1 N 3'])
    client.on(requestN(1, 9))
    assert.deepEqual(await client.later(), ['PAYLOAD 1 N 4', 'PAYLOAD 1 N 5', 'PAYLOAD 1 C'])
  })

  it('fails when its source is an Observable that is too many bytes ahead of the responder', async () => {
    const subject = new Subject<string>()
    const client = rsocketClient({ maxUnsent: 1_000 })
    const call = client.caller.request('sum', subject)
    for (let n = 0; n < 10; n++) subject.next('x'.repeat(100))
    assert.equal(client.on().length, 1)
    subject.next('x'.repeat(100))
    assert.match(client.on()[0] ?? '', /^ERROR 1 0x201 \{"code":"INTERNAL"/)
    assert.equal(subject.observed, false)
    await assert.rejects(call, { name: 'OverloadedError', message: /limits\.sendBuffer allows \(1000\)/ })
    assert.equal(client.connection.inFlight, 0)
  })

  it('sends nothing after COMPLETE [MUST]', async () => {
    const client = rsocketClient()
    void outcomeOf(client.caller.request('sum', upTo(1)))
    await client.later()
    client.on(requestN(1, 9))
    await client.later()
    client.on(requestN(1, 9))
    assert.deepEqual(await client.later(), [])
  })

  it('stops its input when the responder cancels it, and still takes the answer', async () => {
    let returned = false
    async function* watched() {
      try {
        yield* naturals()
      } finally {
        returned = true
      }
    }
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('first', watched()))
    await client.later()
    client.on(requestN(1, 3))
    await client.later()
    client.on(cancel(1))
    await client.later()
    assert.equal(returned, true)
    client.on(requestN(1, 9), payload(1, 'NC', '7'))
    await turn()
    assert.deepEqual(call, ['7'])
  })

  it('stops its input when the responder fails', async () => {
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('first', naturals()))
    await client.later()
    client.on(error(1, 0x201, '{"code":"E","message":"m"}'), requestN(1, 5))
    assert.deepEqual(await client.later(), [])
    assert.deepEqual(call, ['RpcError'])
    assert.equal(client.connection.inFlight, 0)
  })
})

describe('REQUEST_CHANNEL, responder', () => {
  const sum = async ({ data }: { data: unknown }) => {
    let total = 0
    for await (const value of data as AsyncIterable<number>) total += value
    return total
  }

  it('is answered with REQUEST_N at once [MUST]', () => {
    const server = rsocketServer({ sum })
    assert.match(server.on(channel(1, 'sum', 1, '1'))[0] ?? '', /^REQUEST_N 1 [1-9]\d*$/)
  })

  it('may be complete at once, with one value', async () => {
    const server = rsocketServer({ sum })
    server.on(channel(1, 'sum', 1, '41', 'C'))
    assert.deepEqual(
      (await server.later()).filter((text) => !text.startsWith('REQUEST_N')),
      ['PAYLOAD 1 CN 41']
    )
  })

  it('ignores values and the end of an input that has ended', async () => {
    const server = rsocketServer({ sum })
    server.on(channel(1, 'sum', 1, '1', 'C'), payload(1, 'N', '5'), payload(1, 'C'))
    assert.deepEqual(
      (await server.later()).filter((text) => !text.startsWith('REQUEST_N')),
      ['PAYLOAD 1 CN 1']
    )
  })

  it('ends with ERROR[INVALID] when far more values come than were asked for', async () => {
    const seen: unknown[] = []
    const server = rsocketServer({
      // The handler reads only after all values have arrived.
      sum: async ({ data }) => {
        await turn()
        try {
          for await (const value of data as AsyncIterable<unknown>) seen.push(value)
        } catch (error) {
          seen.push((error as Error).name)
        }
      }
    })
    server.on(channel(1, 'sum', 1, '0'))
    const answers = server.on(...Array.from({ length: 1_000 }, () => payload(1, 'N', '1')))
    assert.match(
      answers.at(-1) ?? '',
      /^ERROR 1 0x204 The caller has sent far more values than it was granted/
    )
    await turn()
    await turn()
    assert.equal(seen.length, 129)
    assert.equal(seen.at(-1), 'ProtocolError')
    assert.deepEqual(server.on(request(3, 'echo', '1')), ['PAYLOAD 3 CN 1'])
  })

  it('asks for more as values are read, not as they come', async () => {
    const server = rsocketServer({ never: () => new Promise(() => {}) })
    server.on(channel(1, 'never', 1, '0'))
    const asked = Array.from({ length: 60 }, () => server.on(payload(1, 'N', '1'))).flat()
    // The sizes of the first values tell that further values are small, so the window grows.
    assert.deepEqual(asked, ['REQUEST_N 1 4', 'REQUEST_N 1 8', 'REQUEST_N 1 16', 'REQUEST_N 1 32'])
    assert.deepEqual(await server.later(), [])
  })
})
