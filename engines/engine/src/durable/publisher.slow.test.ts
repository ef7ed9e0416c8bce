/** Events that nobody confirms, or that are refused for now: they are sent again. */

import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { OutgoingEvent } from './outgoing-event.ts'
import { Publisher } from './publisher.ts'

const LONG = { timeout: 60_000 }
const HEAD = { pattern: 'p', address: 'p', size: 1, isOwnId: true, timeout: 0, signal: undefined }

// The timers of a publisher do not keep a process running, and no engine is connected here.
let alive: ReturnType<typeof setInterval>
before(() => {
  alive = setInterval(() => {}, 1_000)
})
after(() => clearInterval(alive))

/** A publisher to an engine whose way is blocked. @param reopen opens another way; is called with the publisher */
function publishing(reopen: (publisher: Publisher<OutgoingEvent>) => Promise<void>) {
  const sent: string[] = []
  const publisher = new Publisher<OutgoingEvent>({ title: 'test', duplicateWindow: 120_000 })
  publisher.attach({
    isConnected: true,
    maxPayload: 100,
    append: ({ id }) => void sent.push(id),
    reopen: () => reopen(publisher)
  })
  return { sent, published: publisher.publish({ ...HEAD, id: 'a' }) }
}

it('are sent another way, if the engine has one', LONG, async () => {
  const { sent, published } = publishing(async (publisher) => {
    assert.deepEqual(sent, ['a'])
    setTimeout(() => publisher.stored(0, '1', false), 100)
  })
  assert.deepEqual(await published, { id: 'a', position: '1', duplicate: false })
  assert.deepEqual(sent, ['a', 'a'])
})

it('are sent the same way, if no other can be opened', LONG, async () => {
  const { sent, published } = publishing(async (publisher) => {
    setTimeout(() => publisher.stored(0, '1', false), 100)
    throw new NotStoredError('blocked, too', true)
  })
  await published
  assert.deepEqual(sent, ['a', 'a'])
})

it('are sent another way again, if the connection was lost while the first was opened', LONG, async () => {
  let openings = 0
  const { sent, published } = publishing((publisher) => {
    if (++openings === 1) {
      publisher.restored()
      return new Promise(() => {})
    }
    setTimeout(() => publisher.stored(0, '1', false), 100)
    return Promise.resolve()
  })
  await published
  assert.deepEqual([sent, openings], [['a', 'a', 'a'], 2])
})

it('are not sent again if they are confirmed while the other way is opened', LONG, async () => {
  let openings = 0
  const { sent, published } = publishing(async (publisher) => {
    openings++
    // Longer than the time after which the publisher looks again.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    publisher.stored(0, '1', false)
  })
  await published
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([sent, openings], [['a'], 1])
})

it(
  'are sent again when a store that has refused them is connected again, and does not say so',
  LONG,
  async () => {
    const sent: string[] = []
    const publisher = new Publisher<OutgoingEvent>({ title: 'test', duplicateWindow: 120_000 })
    const store = {
      isConnected: true,
      maxPayload: 100,
      append: ({ id }: OutgoingEvent, number: number) => {
        sent.push(id)
        if (sent.length > 1) return publisher.stored(number, '1', false)
        store.isConnected = false
        publisher.refused(number, new NotStoredError('not now', true), true)
        // Longer than the time after which refused events are sent again.
        setTimeout(() => {
          store.isConnected = true
        }, 1_000)
      }
    }
    publisher.attach(store)
    await publisher.publish({ ...HEAD, id: 'a' })
    assert.deepEqual(sent, ['a', 'a'])
  }
)
