/** Hostile code that runs while its value is encoded: `toJSON` sends, cancels or ends the call of the value. */
import type { UntypedClient } from 'elysia-microservices/client'
import { from, of } from 'rxjs'
import { alright, type Case, checkAnswer, TIMEOUT } from './case.ts'
import { doing } from './meanwhile.ts'

function same(got: unknown, expected: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(expected))
    throw new Error(`got ${JSON.stringify(got)}, not ${JSON.stringify(expected)}`)
}

async function all(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const list: unknown[] = []
  for await (const value of values) list.push(value)
  return list
}

const options = { timeout: TIMEOUT }

/** Calls that are made while the data of another request is encoded, and their outcomes. */
const INNER: Readonly<Record<string, (client: UntypedClient) => Promise<unknown>>> = {
  'a request': async (client) => same(await client.request('echo', 'inner', options), 'inner'),
  'a stream': async (client) => same(await all(client.stream('echo', 'inner', options)), ['inner']),
  'an event': (client) => client.emit('nothing', 'inner').catch(checkAnswer),
  'a request that is canceled': async (client) => {
    const leaving = new AbortController()
    const asked = client.request('echo', 'inner', { ...options, signal: leaving.signal })
    leaving.abort()
    same(await asked.catch(() => 'canceled'), 'canceled')
  }
}

const sending: readonly Case[] = Object.entries(INNER).map(([what, send]) => ({
  name: `data sends ${what} while it is encoded`,
  async run({ good }, look) {
    // Once while no other call is under way, and once behind another call.
    for (const before of [0, 1]) {
      const others = Array.from({ length: before }, (_, n) => good.request('echo', n, options))
      let inner: Promise<unknown> | undefined
      const outer = good.request(
        'echo',
        doing('outer', () => {
          inner = send(good)
        }),
        options
      )
      same(await outer, 'outer')
      await inner
      await Promise.all(others)
      await alright(look, `behind ${before}`)
    }
  }
}))

/** All cases of this file. */
export const encoding: readonly Case[] = [
  ...sending,
  {
    name: 'data cancels its own request while it is encoded',
    async run({ good }, look) {
      const leaving = new AbortController()
      const data = doing('outer', () => leaving.abort())
      const asked = good.request('echo', data, { ...options, signal: leaving.signal })
      same(await asked.catch(() => 'canceled'), 'canceled')
      await alright(look, 'canceled')
    }
  },
  {
    name: 'data closes its client while it is encoded',
    async run(ends, look) {
      const client = ends.connect()
      await client.request('echo', 1, options)
      let closed: Promise<void> | undefined
      const asked = client.request(
        'echo',
        doing('outer', () => {
          closed = client.close()
        }),
        options
      )
      await asked.catch(() => {})
      await closed
      await alright(look, 'closed')
    }
  },
  {
    name: 'values emit others of their stream while they are encoded',
    async run({ good }, look) {
      for (const count of [1, 600]) {
        const values = await all(good.stream('emit-others', count, options))
        const expected = Array.from({ length: count }, (_, n) => [`inner ${n}`, `outer ${n}`]).flat()
        same(values, expected)
        await alright(look, `${count} values`)
      }
    }
  },
  {
    name: 'a value ends its stream while it is encoded',
    async run({ good }, look) {
      const values = await all(good.stream('end-meanwhile', undefined, options))
      // The second one is sent if it was encoded after it had waited for the reader: its stream ends behind it then.
      same(values, ['first', 'second'].slice(0, Math.max(1, values.length)))
      await alright(look, 'ended')
    }
  },
  {
    name: 'a value of a channel sends a request while it is encoded',
    on: (transport) => transport !== "Nest's wire",
    async run({ good, transport }, look) {
      const inner: Promise<unknown>[] = []
      const send = () => inner.push(good.request('echo', 'inner', options))
      const inputs = () => Array.from({ length: 300 }, (_, n) => doing(n, send))
      // A list is one value, and a method of gRPC whose caller streams gets a stream of that value.
      const list = transport === 'gRPC' ? [] : [inputs()]
      for (const input of [from(inputs()), ...list, of(doing(0, send))]) {
        const values = await all(good.stream('give-back', input, options))
        same(
          values,
          values.map((_, n) => n)
        )
        same(
          await Promise.all(inner.splice(0)),
          values.map(() => 'inner')
        )
        await alright(look, 'sent')
      }
    }
  }
]
