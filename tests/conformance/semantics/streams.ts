/** Scenarios of streams: slow readers, and streams as data. */
import assert from 'node:assert/strict'
import { collected, Values } from '@elysia-microservices/test-support'
import { CanceledError, OptionError, ProtocolError, RpcError } from 'elysia-microservices/client'
import { from, interval, lastValueFrom, type Observable, take, toArray } from 'rxjs'
import type { Given, Scenario } from './case.ts'
import { made, said } from './live-controller.ts'

async function* numbers(to: number): AsyncGenerator<number> {
  for (let n = 1; n <= to; n++) yield n
}

/**
 * Checks a call that sends a stream. On transports that cannot send streams, it is refused before anything is sent.
 */
async function sends(given: Given, call: () => Promise<unknown>, expected: unknown): Promise<void> {
  if (given.traits.hasChannels) assert.deepEqual(await call(), expected)
  else
    await assert.rejects(call(), (error: OptionError) => {
      assert.ok(error instanceof OptionError)
      assert.match(error.message, /cannot carry a stream/)
      assert.equal(error.mayHaveRun, false)
      return true
    })
}

export const streams: readonly Scenario[] = [
  // ── slow readers ───────────────────────────────────────────────────────────────────────────────────
  {
    name: 'makes few values more than a slow reader takes, and loses none',
    async run({ client, traits }) {
      const values = client.stream<number>('count', 5_000)
      assert.deepEqual(await values.next(), { value: 0, done: false })
      if (traits.demand === 'none') assert.equal(await said.values.take(), 'returned')
      // Turns of the event loop in which a generator without demand would go on.
      for (let turn = 0; turn < 20; turn++) await client.request('echo', turn)
      if (traits.demand === 'values') assert.ok(made.count <= 1_000, `${made.count} values were made`)
      assert.deepEqual(
        await collected(values),
        Array.from({ length: 4_999 }, (_, index) => index + 1)
      )
      assert.equal(made.count, 5_000)
      if (traits.demand !== 'none') assert.equal(await said.values.take(), 'returned')
    }
  },
  {
    name: 'returns a generator whose reader leaves',
    async run(given) {
      const client = given.connect()
      for await (const value of client.stream('count', 50_000)) if (value === 5) break
      if (given.traits.demand !== 'none') {
        assert.equal(await said.values.take(), 'returned')
        assert.ok(made.count < 50_000, `${made.count} values were made`)
      } else {
        // The handler goes on until it ends, or until the connection is closed.
        await client.close()
        assert.equal(await said.values.take(), 'returned')
      }
    }
  },
  {
    name: 'runs several streams side by side',
    async run({ client }) {
      const streams = Array.from({ length: 20 }, () => collected(client.stream<number>('count', 500)))
      for (const values of await Promise.all(streams)) assert.deepEqual(values, [...Array(500).keys()])
      for (let n = 0; n < 20; n++) assert.equal(await said.values.take(), 'returned')
    }
  },

  // ── channels ───────────────────────────────────────────────────────────────────────────────────────
  {
    name: 'sends a generator, and an Observable, as data',
    async run(given) {
      const { client } = given
      await sends(given, () => client.request('sum', numbers(1_000)), 500_500)
      await sends(given, () => client.request('sum', from([1, 2, 3])), 6)
      await sends(given, () => client.request('sum', interval(1).pipe(take(4))), 6)
      await sends(given, () => client.request('sum', numbers(0)), 0)
    }
  },
  {
    name: 'has values both ways',
    async run(given) {
      const { client } = given
      const sums = [1, 3, 6, 10]
      await sends(given, () => collected(client.stream('running-sum', numbers(4))), sums)
      const all: Observable<unknown[]> = client.send('running-sum', numbers(4)).pipe(toArray())
      await sends(given, () => lastValueFrom(all), sums)
    }
  },
  {
    name: 'gives a source up of which enough is read',
    async run(given) {
      const { client } = given
      let isReturned = false
      let taken = 0
      async function* endless() {
        try {
          for (;;) yield ++taken
        } finally {
          isReturned = true
        }
      }
      await sends(given, () => client.request('first-of-a-channel', endless()), 1)
      await client.request('echo', 1)
      if (given.traits.hasChannels) assert.ok(isReturned, 'the generator was returned')
      assert.ok(taken < 1_000, `${taken} values were taken`)
    }
  },
  {
    name: 'tells both ends of a source that fails',
    async run(given) {
      const { client, traits } = given
      if (!traits.hasChannels) return sends(given, () => client.request('running-sum', numbers(1)), undefined)
      for (const [failure, text] of [
        [
          new RpcError({ code: 'PAPER', message: 'no more paper' }),
          '{"code":"PAPER","message":"no more paper"}'
        ],
        [new Error('secret'), '{"code":"INTERNAL","message":"Internal server error"}']
      ] as const) {
        const answered = new Values<unknown>()
        async function* failing() {
          yield 1
          await answered.take()
          throw failure
        }
        const reading = (async () => {
          for await (const value of client.stream('running-sum', failing())) answered.put(value)
        })()
        await assert.rejects(reading, (error) => error === failure)
        const told = await said.values.take()
        if (!traits.tellsInputFailures) {
          assert.ok(told instanceof CanceledError)
          continue
        }
        assert.ok(told instanceof ProtocolError)
        assert.match(told.message, /^The caller's input failed/)
        assert.ok(told.message.endsWith(`: ${text}`), told.message)
      }
    }
  }
]
