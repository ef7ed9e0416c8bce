import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { Ends, valuesOf } from './testing/ends.ts'

/** Milliseconds within which a client has asked all services about a call of which it heard nothing. */
const ASKED = 12_000

let time: VirtualTime
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => time[Symbol.dispose]())

it('a caller that goes before it knows where its service is told has its handler aborted after its silence', async () => {
  const both = new Ends()
  const seen: string[] = []
  await both.serve({
    hangs: ({ signal }) => {
      seen.push('begun')
      return new Promise(() => signal.addEventListener('abort', () => seen.push('aborted')))
    }
  })
  const has = (what: string) => time.until(what, () => seen.includes(what), 60_000)
  const client = both.client()
  client.request('hangs', 1).catch(() => {})
  await has('begun')
  // The notice that nobody listens is lost, too.
  both.hub.faults = { lost: 1 }
  await time.settled(client.close())
  await has('aborted')
  await time.settled(both.close())
})

it('a call to a service that uses Nest may take long, though none of our services answers questions about it', async () => {
  const both = new Ends()
  const client = both.client({ timeout: 60_000 })
  await time.settled(client.connect())
  const nest = both.lastCarrier
  const answer = (id: string, reply: string, packet: object) =>
    nest.publish(reply, JSON.stringify({ ...packet, id }))
  nest.listen('slow', ({ words, reply }) => {
    const { id } = JSON.parse(String(words)) as { id: string }
    setTimeout(() => answer(id, reply, { response: 'done', isDisposed: true }), ASKED)
  })
  nest.listen('flows', ({ words, reply }) => {
    const { id } = JSON.parse(String(words)) as { id: string }
    let count = 0
    const timer = setInterval(() => {
      answer(id, reply, ++count < 6 ? { response: count } : { isDisposed: true })
      if (count === 6) clearInterval(timer)
    }, ASKED / 6)
  })
  const flow = valuesOf(client, 'flows')
  assert.equal(await time.settled(client.request('slow', 1)), 'done')
  await time.settled(flow.ended)
  assert.deepEqual(flow.values, [1, 2, 3, 4, 5])
  // The questions were asked: without them this test shows nothing.
  assert.ok(both.hub.published.some(({ address }) => address === nest.everyone))
  await time.settled(both.close())
})

it('a channel whose source is quiet at first is not taken for lost', async () => {
  const both = new Ends()
  const client = both.client({ timeout: 60_000 })
  async function* quiet() {
    await new Promise((resolve) => setTimeout(resolve, ASKED))
    await both.serve({
      echo: async function* ({ data }) {
        yield* data as AsyncIterable<unknown>
      }
    })
    yield* [1, 2]
  }
  const { values, ended } = valuesOf(client, 'echo', quiet())
  await time.settled(ended)
  assert.deepEqual(values, [1, 2])
  await time.settled(both.close())
})
