/** A server that refuses a command: the error tells the user of this library about it. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import { OverFake } from '../testing/over-fake.ts'
import { streamOf } from '../words/keys.ts'
import { RedisDeadLetters } from './dead-letters.ts'
import { EventStore } from './event-store.ts'
import { RedisFuture } from './future.ts'
import { Groups } from './groups.ts'

let over: OverFake
beforeEach(() => {
  over = new OverFake()
})
afterEach(() => over.close())

it('what Redis refuses is an error with the way out, whatever was asked', async () => {
  const connection = await over.connect()
  const { durable } = over.optionsOf()
  const store = async () => connection.store
  const [letters, future] = [new RedisDeadLetters('g', store), new RedisFuture(store)]
  const [events, groups] = [new EventStore(connection, durable), new Groups(connection, durable, over.logger)]
  over.server.refuses = () => 'NOPERM this user has no permissions'
  const asked = {
    letter: () => letters.get('1-0'),
    letters: () => letters.list().next(),
    redrive: () => letters.redrive('1-0'),
    discard: () => letters.discard('1-0'),
    now: () => future.now(),
    cancel: () => future.cancel('p', 'id'),
    waiting: () => future.list({ pattern: 'p' }).next(),
    stream: () => events.ensure('p'),
    group: () => groups.join(streamOf('p'), 'g', '0-0'),
    pause: () => groups.pause('g', true)
  }
  for (const [what, ask] of Object.entries(asked))
    await assert.rejects(
      ask,
      { name: 'NotStoredError', message: /it says 'NOPERM .*give its user the rights of docs\/redis\.md/ },
      what
    )
})
