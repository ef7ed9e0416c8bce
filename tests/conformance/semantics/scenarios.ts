/** Scenarios of several calls: events, headers, callers that leave or reach their deadline; then those of headers of answers, and of streams. */
import assert from 'node:assert/strict'
import { collected, until, Values } from '@elysia-microservices/test-support'
import { CanceledError, ConnectionError, TimeoutError, type UntypedClient } from 'elysia-microservices/client'
import { firstValueFrom, lastValueFrom } from 'rxjs'
import { seen } from '../controller.ts'
import { answerHeaders } from './answer-headers.ts'
import type { Given, Scenario, ServiceName } from './case.ts'
import { inLevels, made, said } from './live-controller.ts'
import { streams } from './streams.ts'

const WITH_WILDCARDS: readonly ServiceName[] = ['handlers', 'controllers']

/** Waits until a handler is told that nobody waits, as soon as the transport can tell it. */
async function isTold({ traits }: Given, client: UntypedClient, word: string): Promise<void> {
  if (traits.cancels === 'with the connection') {
    await client.request('echo', 1)
    said.values.put('not told')
    await client.close()
    assert.equal(await toldNext(), 'not told')
  }
  assert.equal(await toldNext(), word)
}

/** The next word of a handler. On a busy machine, the handler of an earlier attempt may begin only now. */
async function toldNext(): Promise<unknown> {
  for (;;) {
    const word = await said.values.take()
    if (word !== 'begun') return word
  }
}

/**
 * Sends an event that fails. Over gRPC its sender hears what was answered on purpose, and Nest's filters answer any failure.
 */
async function emitFailing({ client, service, traits }: Given, pattern: string): Promise<void> {
  const sent = client.emit(pattern, 1)
  if (traits.tellsRefusedEvents && service === 'a Nest application')
    await assert.rejects(sent, { code: 'UNKNOWN', message: 'Internal server error' })
  else await sent
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'answers a thousand calls at once, before the client is connected',
    async run(given) {
      const client = given.connect()
      const all = [...Array(1_000).keys()]
      assert.deepEqual(await Promise.all(all.map((n) => client.request('promise', n))), all)
    }
  },
  {
    name: 'carries a mebibyte',
    async run({ client }) {
      const data = 'é'.repeat(512 * 1024)
      assert.equal(await client.request('echo', data), data)
    }
  },
  {
    name: 'sends a request for each subscription',
    async run({ client }) {
      const cold = client.send('echo', 1)
      assert.deepEqual([await lastValueFrom(cold), await lastValueFrom(cold)], [1, 1])
    }
  },
  {
    name: 'refuses data that cannot be carried, and sends nothing',
    async run({ client, transport }) {
      await assert.rejects(client.request('echo', { value: 1n }), { name: 'OptionError', mayHaveRun: false })
      await assert.rejects(client.emit('note', 1n), { name: 'OptionError', mayHaveRun: false })
      for (const lost of [Number.NaN, new Map([[1, 2]]), new Set([1]), new Uint8Array(2)]) {
        if (transport === "Nest's wire") continue
        await assert.rejects(client.request('echo', { lost }), { path: 'data.lost', mayHaveRun: false })
      }
      assert.equal(await client.request('echo', 1), 1)
      assert.deepEqual(seen, [])
    }
  },
  {
    name: 'refuses options of a call that are not what they must be',
    async run({ client }) {
      await assert.rejects(client.request('echo', 1, { timeout: -1 }), { name: 'OptionError' })
      const headers = { count: 1 } as unknown as Record<string, string>
      await assert.rejects(client.request('echo', 1, { headers }), { name: 'OptionError' })
    }
  },

  // ── events ─────────────────────────────────────────────────────────────────────────────────────────
  {
    name: 'hands events on in the order of sending',
    async run({ client, traits }) {
      for (let index = 0; index < 50; index++) void client.emit('note', index)
      await client.request('echo', 'end')
      if (!traits.keepsOrderOfPatterns) await until('all events are there', () => seen.length === 50)
      assert.deepEqual(await client.request('seen'), [...Array(50).keys()])
    }
  },
  {
    name: 'does not wait for one event before the next',
    async run({ client, traits }) {
      void client.emit('slow-note', 1)
      void client.emit('slow-note', 2)
      await client.request('promise', 'end')
      if (!traits.keepsOrderOfPatterns) await until('both events are handled', () => seen.length === 4)
      assert.deepEqual(seen, [
        ['begin', 1],
        ['begin', 2],
        ['end', 1],
        ['end', 2]
      ])
    }
  },
  {
    name: 'hands an event to all its handlers, although one fails, and says so in the log',
    async run(given) {
      const { client, logged } = given
      await emitFailing(given, 'shared')
      await logged('b failed')
      await client.request('echo', 'end')
      assert.deepEqual(seen, [
        ['a', 1],
        ['c', 1]
      ])
    }
  },
  {
    name: 'logs the failure of an event, subscribes to an Observable of another, and misses a third',
    async run(given) {
      const { client, logged, traits } = given
      await emitFailing(given, 'failing-event')
      await logged('event failed')
      await client.emit('observable', 2)
      const missed = client.emit(traits.carriesObjects ? { type: 'unknown' } : 'unknown', 3)
      if (traits.tellsRefusedEvents) await assert.rejects(missed, { code: 'PATTERN_NOT_FOUND' })
      else await missed
      if (traits.hearsUnknownEvents)
        await logged(
          'There is no matching event handler defined in the remote service. Event pattern: {"type":"unknown"}'
        )
      await client.request('echo', 'end')
      assert.deepEqual(seen, [['subscribed', 2]])
    }
  },
  {
    name: 'tells the handler of an event what travels beside it',
    async run({ client }) {
      await client.emit('told', { a: 1 }, { headers: { trace: '1' } })
      assert.deepEqual(await said.values.take(), { data: { a: 1 }, kind: 'event', headers: { trace: '1' } })
    }
  },

  // ── what handlers can see ──────────────────────────────────────────────────────────────────────────────
  {
    name: 'tells handlers of headers, of the time their caller waits, and who it is',
    async run({ client, connect, traits }) {
      const { peerAddress: address = null, tellsTimeout } = traits
      const known = { kind: 'request', headers: {}, timeout: null, address }
      /** A caller tells what is left when the call leaves, which on a busy machine is less than was given. */
      const told = (answer: unknown, timeout: number) => {
        const { timeout: left } = answer as { timeout: number }
        return tellsTimeout && left > 0 && left <= timeout ? { ...Object(answer), timeout } : answer
      }
      const byDefault = { ...known, timeout: tellsTimeout ? 30_000 : null }
      assert.deepEqual(told(await client.request('who'), 30_000), byDefault)
      const headers = { tenant: 'a' }
      const own = await client.request('who', 0, { headers, timeout: 5_000 })
      assert.deepEqual(told(own, 5_000), { ...known, headers, timeout: tellsTimeout ? 5_000 : null })
      const patient = connect({ timeout: 7_000 })
      await patient.connect()
      const usual = await patient.request('who')
      assert.deepEqual(told(usual, 7_000), { ...known, timeout: tellsTimeout ? 7_000 : null })
    }
  },
  {
    name: 'reaches handlers by wildcards, the most specific one, and events all of them',
    of: WITH_WILDCARDS,
    pattern: 'audit.*',
    async run({ client, traits: { hasLevels } }) {
      const at = (pattern: string) => (hasLevels ? inLevels(pattern) : pattern)
      assert.equal(await client.request(at('orders.new.items')), 'exact')
      assert.equal(await client.request(at('orders.7.items')), `items by ${at('orders.7.items')}`)
      assert.equal(await client.request(at('orders.7')), `rest by ${at('orders.7')}`)
      // `#` also matches the level above it.
      if (hasLevels) assert.equal(await client.request('orders'), 'rest by orders')
      else await assert.rejects(client.request('orders'), { code: 'PATTERN_NOT_FOUND' })
      await client.emit(at('audit.login'), 'Ada')
      const heard = [await said.values.take(), await said.values.take()]
      assert.deepEqual(new Set(heard.map(String)), new Set(['one,Ada', 'all,Ada']))
    }
  },

  // ── callers that leave, or reach their deadline ────────────────────────────────────────────────────────
  {
    name: 'gives a call up when its signal aborts, and tells the handler',
    async run(given) {
      const client = given.connect()
      const controller = new AbortController()
      const call = client.request('wait', 0, { signal: controller.signal })
      assert.equal(await said.values.take(), 'begun')
      controller.abort()
      await assert.rejects(call, (error: CanceledError) => {
        assert.ok(error instanceof CanceledError)
        assert.equal(error.mayHaveRun, true)
        return true
      })
      await isTold(given, client, 'aborted')
    }
  },
  {
    name: 'makes no call whose signal has aborted before',
    async run({ client }) {
      await assert.rejects(client.request('wait', 0, { signal: AbortSignal.abort() }), {
        name: 'CanceledError',
        mayHaveRun: false
      })
      assert.equal(await client.request('echo', 1), 1)
      said.values.put('nothing')
      assert.equal(await said.values.take(), 'nothing')
    }
  },
  {
    name: 'gives a call up when its time has passed, and tells the handler',
    async run(given) {
      const client = given.connect()
      // Connects first, so that connecting does not count against the deadline.
      assert.equal(await client.request('echo', 1), 1)
      // On a busy machine, a short timeout may be over before the handler begins.
      for (let timeout = 200, begun: unknown; begun === undefined; timeout *= 3) {
        said.values = new Values()
        const refused = assert.rejects(client.request('wait', 0, { timeout }), (error: TimeoutError) => {
          assert.ok(error instanceof TimeoutError)
          assert.equal(error.timeout, timeout)
          assert.equal(error.mayHaveRun, true)
          return true
        })
        begun = await Promise.race([said.values.take(), refused.then(() => undefined)])
        await refused
      }
      await isTold(given, client, 'aborted')
    }
  },
  {
    name: 'gives a stream up at the end of its lifetime, though its first value has come, and tells the handler',
    async run(given) {
      const client = given.connect()
      assert.equal(await client.request('echo', 1), 1)
      // On a busy machine, a short lifetime may be over before the first value.
      for (let lifetime = 40, values = 0; values === 0; lifetime *= 3) {
        said.values = new Values()
        const reading = async () => {
          for await (const _ of client.stream('subscription', 0, { lifetime })) values++
        }
        await assert.rejects(reading(), { name: 'TimeoutError', timeout: lifetime, mayHaveRun: true })
      }
      await isTold(given, client, 'unsubscribed')
    }
  },
  {
    name: 'unsubscribes from a stream whose subscriber has left',
    async run(given) {
      const client = given.connect()
      assert.equal(await firstValueFrom(client.send('subscription')), 1)
      await isTold(given, client, 'unsubscribed')
    }
  },
  {
    name: 'unsubscribes from a stream whose loop is left, and goes on',
    async run(given) {
      const client = given.connect()
      for await (const value of client.stream('subscription')) {
        assert.equal(value, 1)
        break
      }
      assert.equal(await client.request('echo', 2), 2)
      await isTold(given, client, 'unsubscribed')
    }
  },
  {
    name: 'asks a stream for its first value only, where that is all that is wanted',
    async run({ client, traits }) {
      assert.equal(await client.request('count', 1_000), 0)
      assert.equal(await said.values.take(), 'returned')
      if (traits.demand !== 'bytes') assert.equal(made.count, traits.demand === 'values' ? 1 : 1_000)
    }
  },
  {
    name: 'fails what is pending when the client closes, and all that is asked later',
    async run(given) {
      const client = given.connect()
      const failed = assert.rejects(client.request('wait'), { name: 'ConnectionError', mayHaveRun: true })
      assert.equal(await said.values.take(), 'begun')
      await client.close()
      await failed
      assert.equal(await said.values.take(), 'aborted')
      const late = { name: 'ConnectionError', mayHaveRun: false }
      await assert.rejects(client.request('echo', 1), late)
      await assert.rejects(client.emit('note', 1), late)
      await assert.rejects(collected(client.stream('from')), late)
      await assert.rejects(client.connect(), ConnectionError)
      assert.equal(client.status, 'closed')
    }
  },
  ...answerHeaders,
  ...streams
]
