/** Callers that leave while the code behind their calls does not end, or fails while it ends. */
import assert from 'node:assert/strict'
import { pause, until } from '@elysia-microservices/test-support'
import { TimeoutError } from 'elysia-microservices'
import type { UntypedClient } from 'elysia-microservices/client'
import { alright, type Case, type Ends, TIMEOUT } from './case.ts'
import { ENDLESS, endless, heard, living } from './endless.ts'
import type { Recipe } from './recipes.ts'

const TEARDOWNS: readonly (Recipe | undefined)[] = [
  undefined,
  'an error',
  'a revoked Proxy',
  'an error that cannot be inspected',
  { rejection: 'an error' }
]

/** Reads one value of a stream, and does something while the stream is open. */
async function open(
  client: UntypedClient,
  data: readonly unknown[]
): Promise<AsyncIterableIterator<unknown>> {
  const values = client.stream<unknown>('endless', data, { timeout: TIMEOUT })
  await values.next()
  return values
}

/**
 * How many clean-ups fail, of all kinds of streams: an error that comes later only counts in clean-ups that are
 * awaited.
 */
function failuresOf(teardown: Recipe | undefined): number {
  if (teardown === undefined) return 0
  return typeof teardown === 'object' ? 2 : ENDLESS.length
}

/** Streams that are left in one of several ways, while other calls use the same connection. */
function left(
  way: string,
  on: Case['on'],
  leave: (client: UntypedClient, ends: Ends) => Promise<unknown>
): Case {
  return {
    name: `streams whose clean-up fails are left by ${way}`,
    ...(on && { on }),
    async run(ends, look) {
      for (const teardown of TEARDOWNS) {
        const client = ends.connect()
        ends.logged()
        for (const kind of ENDLESS) await open(client, [kind, teardown])
        await open(client, ['interval'])
        assert.equal(living.size, ENDLESS.length + 1)
        await leave(client, ends)
        await alright(look, `${way}, ${JSON.stringify(teardown)}`)
        assert.equal(living.size, 0, `still at work: ${[...living]}`)
        const failed = ends.logged().filter((line) => line.includes('clean-up of a stream failed'))
        assert.equal(failed.length, failuresOf(teardown), 'lines in the log')
        await client.close()
      }
    }
  }
}

/** All cases of this file. */
export const leaving: readonly Case[] = [
  left('the close of a client', undefined, (client) => client.close()),
  left(
    'a service that cuts the connection',
    (transport) => transport === 'RSocket' || transport === "Nest's wire",
    async (client) => {
      await client.request('cut-me-off', null).catch(() => {})
    }
  ),
  ...ENDLESS.map(
    (kind): Case => ({
      name: `the reader of an endless ${kind} leaves it`,
      async run(ends, look) {
        for (const teardown of TEARDOWNS) {
          const client = ends.connect()
          const values = await open(client, [kind, teardown])
          await values.return?.(undefined)
          if (ends.transport === "Nest's wire") await client.close()
          await alright(look, JSON.stringify(teardown))
          assert.equal(living.size, 0)
          assert.deepEqual(await client.request('echo', 1).catch(() => 1), 1)
          await client.close()
        }
      }
    })
  ),
  {
    name: 'the first value of an endless stream is all that is wanted',
    async run(ends, look) {
      for (const kind of ENDLESS)
        for (const teardown of TEARDOWNS) {
          const client = ends.connect()
          assert.equal(await client.request('endless', [kind, teardown], { timeout: TIMEOUT }), 0)
          if (ends.transport === "Nest's wire") await client.close()
          await alright(look, `${kind}, ${JSON.stringify(teardown)}`)
          assert.equal(living.size, 0)
          await client.close()
        }
    }
  },
  {
    name: 'a deadline passes while a stream has given nothing',
    async run(ends, look) {
      for (const teardown of TEARDOWNS) {
        const client = ends.connect()
        await client.connect()
        const call = client.request('endless', ['silence', teardown], { timeout: 30 })
        await assert.rejects(call, TimeoutError)
        if (ends.transport === "Nest's wire") await client.close()
        await alright(look, JSON.stringify(teardown))
        // The first call of a process may reach its handler long after its caller has given up.
        await until('no stream is at work', () => living.size === 0)
        await client.close()
      }
    }
  },
  {
    name: 'listeners of a signal throw and reject when its caller leaves',
    async run(ends, look) {
      for (const recipe of ['an error', 'a revoked Proxy', 'a Proxy whose traps throw']) {
        const client = ends.connect()
        heard.count = 0
        ends.logged()
        const call = client.request('listen', recipe, { timeout: TIMEOUT })
        while (heard.waiting === 0) await pause(1)
        await Promise.all([client.close(), assert.rejects(call)])
        await alright(look, recipe)
        assert.equal(heard.count, 1, 'the last listener is called, and one that was removed is not')
        assert.equal(ends.logged().filter((line) => line.includes('listener of the signal')).length, 4)
      }
    }
  },
  {
    name: 'an event whose handler never ends keeps nobody',
    async run({ good }) {
      await good.emit('endless-event', 'generator')
      assert.equal(await good.request('echo', 1), 1)
      endless.isOver = true
    }
  }
]
