import assert from 'node:assert/strict'
import { it } from 'node:test'
import { partitionOf } from './partitioning.ts'

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
