import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Ends } from './testing/ends.ts'

it('a caller that goes before it knows where its service is told has its handler aborted after its silence', async () => {
  const both = new Ends()
  const seen: string[] = []
  await both.serve({
    hangs: ({ signal }) => {
      seen.push('begun')
      return new Promise(() => signal.addEventListener('abort', () => seen.push('aborted')))
    }
  })
  const has = async (what: string) => {
    for (let tries = 0; !seen.includes(what); tries++) {
      assert.ok(tries < 2_000, `not ${what}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const client = both.client()
  client.request('hangs', 1).catch(() => {})
  await has('begun')
  // The notice that nobody listens is lost, too.
  both.hub.faults = { lost: 1 }
  await client.close()
  await has('aborted')
  await both.close()
})
