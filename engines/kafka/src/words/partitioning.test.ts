import assert from 'node:assert/strict'
import { it } from 'node:test'
import { choosePartition, partitionOf } from './partitioning.ts'
import { writeRecord } from './record.ts'

it("events with a key go to the partition of Kafka's own clients", () => {
  // The hashes are those of the tests of Kafka's Java client.
  const hashes = {
    '21': -973_932_308,
    foobar: -790_332_482,
    'a-little-bit-long-string': -985_981_536,
    'a-little-bit-longer-string': -1_486_304_829,
    abc: 479_470_107
  }
  for (const count of [1, 3, 10, 4_096])
    for (const [key, hash] of Object.entries(hashes))
      assert.equal(partitionOf(key, count), (hash < 0 ? hash + 2 ** 31 : hash) % count)
})

const record = (key: string | undefined, value = 'a', headers = {}) => ({
  topic: 't',
  key,
  bytes: writeRecord(key, value, {}, headers)
})

it('a partitioner of the user sees the record, and must choose a partition that there is', () => {
  let seen: unknown
  const choose = (chosen: number) =>
    choosePartition(() => (given) => {
      seen = given
      return chosen
    })
  assert.equal(choosePartition(undefined)(record(undefined), [1, 1]), undefined)
  assert.equal(choose(1)(record('k', 'v', { tenant: 'a' }), [3, -1]), 1)
  const of = (partitionId: number, leader: number) => ({
    partitionErrorCode: 0,
    partitionId,
    leader,
    replicas: [],
    isr: []
  })
  assert.deepEqual(seen, {
    topic: 't',
    partitionMetadata: [of(0, 3), of(1, -1)],
    message: { key: 'k', value: 'v', headers: { tenant: 'a' } }
  })
  for (const wrong of [2, -1, 0.5, Number.NaN])
    assert.throws(() => choose(wrong)(record('k'), [1, 1]), /has given .* for a record of 't', which has 2/)
})
