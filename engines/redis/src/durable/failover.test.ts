/** A server takes over in a failover, without the last events. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { busy } from '@elysia-microservices/test-support'
import type { IncomingMessage } from '@elysia-microservices/transport/kit'
import { OverFake } from '../testing/over-fake.ts'
import { streamOf } from '../words/keys.ts'

describe('a durable handler over Redis, in a failover,', () => {
  let over: OverFake
  let seen: string[]
  beforeEach(() => {
    over = new OverFake()
    seen = []
  })
  afterEach(() => over.close())

  const note = ({ data, delivery }: IncomingMessage) => void seen.push(`${data} ${delivery?.attempt}`)
  const pendingOf = (pattern: string, group = 'g') =>
    over.server.streams.groups(streamOf(pattern)).find(({ name }) => name === group)?.pending

  /** Stores an event while nobody is connected. */
  const write = (data: number) =>
    over.server.streams.write(streamOf('p'), ['packet', `{"pattern":"p","data":${data}}`, 'id', `id-${data}`])

  it('says that the server has lost events, and goes on', async () => {
    await over.serve('p', note)
    await over.publish('p', [1])
    await over.settle()
    const rewind = over.server.streams.remember()
    await over.pass(1)
    await over.publish('p', [2])
    await over.settle()
    over.server.stop()
    rewind()
    over.server.start()
    await over.settle()
    assert.ok(over.lines.some((line) => /now ends at position .* Redis has lost the events up to/.test(line)))
    await over.pass(1)
    await over.publish('p', [3])
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1', '3 1'])
  })

  it('gets events that have the positions of those that a failover has lost, done or not', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', (message) => (message.data === 2 ? handler(message) : note(message)))
    await over.publish('p', [1])
    await over.settle()
    const rewind = over.server.streams.remember()
    // The server that takes over has a clock that is behind: it stands still here.
    await over.publish('p', [2, 3])
    await over.settle()
    over.server.stop()
    rewind()
    for (const data of [4, 5]) write(data)
    over.server.start()
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1', '3 1', '4 1', '5 1'])
    go()
    await over.settle()
    assert.equal(pendingOf('p'), 0)
  })

  it('acknowledges no event that has the position of one that a failover has lost', async () => {
    for (const isLooked of [true, false]) {
      const group = `looked ${isLooked}`.replace(' ', '-')
      const [old, fresh] = [busy(note), busy(note)]
      const handlers: Record<string, (message: IncomingMessage) => unknown> = {
        '2': old.handler,
        '3': fresh.handler
      }
      const consumer = await over.serve(
        'p',
        async (message) => void (await (handlers[String(message.data)] ?? note)(message)),
        { group, start: 'new' }
      )
      const rewind = over.server.streams.remember()
      await over.publish('p', [2])
      await over.settle()
      over.server.stop()
      old.go()
      await over.settle()
      rewind()
      // If it stands there before this process looks, nothing tells that events are lost.
      if (!isLooked) write(3)
      over.server.start()
      await over.settle()
      if (isLooked) await over.publish('p', [3])
      await over.settle()
      await over.publish('p', [4])
      await over.settle()
      assert.deepEqual(seen.splice(0), ['2 1', '3 1', '4 1'])
      assert.equal(pendingOf('p', group), 1, 'the acknowledgement of 2 is not one of 3')
      fresh.go()
      await over.settle()
      assert.equal(pendingOf('p', group), 0)
      await consumer.stop()
      // Ids are no longer remembered.
      await over.pass(3_600_000)
    }
  })
})
