import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport'
import { durableStorage, type NatsDurableOptions } from './durable-options.ts'

describe('the option durable of nats()', () => {
  it('keeps events in files for 7 days by default', () => {
    const { storage, maxAge, maxBytes, replicas, set } = durableStorage(undefined)
    assert.deepEqual([storage, maxAge, maxBytes, replicas, set.size], ['file', 604_800_000, 0, 1, 0])
  })

  it('takes the least and the most that there is', () => {
    for (const replicas of [1, 5]) assert.equal(durableStorage({ replicas }).replicas, replicas)
    assert.equal(durableStorage({ maxBytes: 1 }).maxBytes, 1)
    const stream = { name: 'Orders_9-b', subjects: ['orders.*', 'b.>'] }
    assert.deepEqual(durableStorage({ stream }).stream, stream)
    assert.equal(durableStorage({ stream: { name: 'a', subjects: ['b'] } }).stream?.name, 'a')
  })

  it('knows what the user has set', () => {
    const { set, ackWait } = durableStorage({ ackWait: 1_000, storage: undefined })
    assert.deepEqual([[...set], ackWait], [['ackWait'], 1_000])
  })

  const refused: readonly (readonly [object, string, RegExp])[] = [
    [{ storrage: 'file' }, 'options.durable.storrage', /did you mean options.durable.storage/],
    [{ storage: 'disk' }, 'options.durable.storage', /'file' or 'memory'/],
    [{ replicas: 0 }, 'options.durable.replicas', /1 to 5/],
    [{ maxAge: 0 }, 'options.durable.maxAge', /1 or more, but is 0; false means no limit/],
    [{ maxAge: 1_000 }, 'options.durable.duplicateWindow', /longer than maxAge/],
    [{ ackWait: 10 }, 'options.durable.ackWait', /from 500/],
    [{ stream: { name: 'a b', subjects: ['a'] } }, 'options.durable.stream.name', /letters/],
    [{ replicas: 6 }, 'options.durable.replicas', /1 to 5/],
    [{ maxBytes: 0 }, 'options.durable.maxBytes', /1 or more/],
    [{ stream: { subjects: ['a'] } }, 'options.durable.stream.name', /letters/],
    [{ stream: { name: 5, subjects: ['a'] } }, 'options.durable.stream.name', /letters/],
    [{ stream: { name: 'a' } }, 'options.durable.stream.subjects', /list of subjects/],
    ...['a', [], [5], ['a', '>'], ['$JS.x'], ['_x'], ['*.a'], ['a b'], ['a.'], ['a..b']].map(
      (subjects) =>
        [{ stream: { name: 'a', subjects } }, 'options.durable.stream.subjects', /list of subjects/] as const
    )
  ]
  for (const [options, path, message] of refused) {
    it(`refuses ${JSON.stringify(options)}`, () => {
      assert.throws(
        () => durableStorage(options as NatsDurableOptions),
        (error: Error) => {
          assert.ok(error instanceof OptionError)
          assert.equal(error.path, path)
          assert.match(error.message, message)
          return true
        }
      )
    })
  }
})
