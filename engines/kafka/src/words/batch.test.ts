import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER, runs } from '@elysia-microservices/test-support'
import {
  createRecordsBatch,
  Reader as DriversReader,
  type KafkaRecord,
  readRecordsBatches
} from '@platformatic/kafka'
import fc from 'fast-check'
import { type Aborted, readBatches, writeBatch } from './batch.ts'
import { type Fetched, putVarint, varintSize, writeRecord } from './record.ts'

const text = fc.string({ unit: ANY_CHARACTER, maxLength: 80, size: 'max' })
const maybe = fc.option(text, { nil: undefined })
const record = fc.record({
  key: maybe,
  value: fc.option(fc.oneof(text, fc.uint8Array({ maxLength: 300, size: 'max' })), { nil: undefined }),
  headers: fc.dictionary(text, text, { maxKeys: 4 })
})
const records = fc.array(record, { minLength: 1, maxLength: 200, size: 'max' })
const bytesOf = (words: string | Uint8Array | undefined) =>
  words === undefined ? null : Buffer.from(words as string)

const TRANSACTIONAL = 0x10
const CONTROL = 0x20

/** The next step of a producer: it stores records (in its transaction, if there is one), or begins or ends a transaction. */
const step = fc.record({
  producer: fc.nat(3),
  does: fc.constantFrom('store', 'store', 'store', 'begin', 'commit', 'abort'),
  count: fc.integer({ min: 1, max: 3 })
})

/** A partition that several producers have written to. All transactions end. */
function partitionOf(steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[]) {
  const batches: { readonly first: number; readonly next: number; readonly bytes: Buffer }[] = []
  const open = new Map<number, number[]>()
  const aborted: { producerId: bigint; first: number; last: number }[] = []
  const counting = new Set<number>()
  let next = 0
  const write = (producer: number, count: number, attributes: number) => {
    const records = Array.from({ length: count }, () => writeRecord('key', 'value'))
    const bytes = writeBatch(records, 0, { producerId: BigInt(producer), producerEpoch: 0, sequence: 0 })
    bytes.writeBigInt64BE(BigInt(next), 0)
    bytes.writeInt16BE(attributes, 21)
    batches.push({ first: next, next: next + count, bytes })
    const offsets = records.map((_, index) => next + index)
    next += count
    return offsets
  }
  const end = (producer: number, isAborted: boolean) => {
    const offsets = open.get(producer)
    open.delete(producer)
    // Kafka writes a marker only into partitions that the transaction has written to.
    if (offsets === undefined || offsets.length === 0) return
    const [last = 0] = write(producer, 1, TRANSACTIONAL | CONTROL)
    if (isAborted) aborted.push({ producerId: BigInt(producer), first: offsets[0] ?? 0, last })
    else for (const offset of offsets) counting.add(offset)
  }
  for (const { producer, does, count } of steps) {
    const its = open.get(producer)
    if (does === 'begin' && its === undefined) open.set(producer, [])
    else if (does === 'commit' || does === 'abort') end(producer, does === 'abort')
    else if (its !== undefined) its.push(...write(producer, count, TRANSACTIONAL))
    else for (const offset of write(producer, count, 0)) counting.add(offset)
  }
  for (const producer of [...open.keys()]) end(producer, true)
  return { batches, aborted, counting: [...counting].sort((one, other) => one - other), next }
}

describe('batches of records', () => {
  it('of aborted transactions are left out, from any record on, with any transactions beside them', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(80), fc.boolean(), (steps, from, isTurned) => {
        const { batches, aborted, counting, next } = partitionOf(steps)
        const sent = batches.filter((batch) => batch.next > from)
        // A broker lists the aborted transactions that reach into what it sends.
        const listed: Aborted[] = aborted.filter(({ last }) => last >= from)
        if (isTurned) listed.reverse()
        const read = readBatches(Buffer.concat(sent.map(({ bytes }) => bytes)), from, listed)
        assert.deepEqual(
          read.records.map(({ offset }) => offset),
          counting.filter((offset) => offset >= from)
        )
        assert.equal(read.next, Math.max(from, next))
      })
    )
  })

  it('that this package writes are read correctly by the driver', () => {
    const numbering = { producerId: 12n, producerEpoch: 3, sequence: 7 }
    fc.assert(
      fc.property(records, fc.nat(4_000_000_000_000), (all, timestamp) => {
        const written = all.map(({ key, value, headers }) => writeRecord(key, value, {}, headers))
        const [batch, more] = readRecordsBatches(
          DriversReader.from(writeBatch(written, timestamp, numbering))
        )
        assert.ok(batch !== undefined && more === undefined)
        assert.deepEqual(
          [batch.producerId, batch.producerEpoch, batch.firstSequence, batch.lastOffsetDelta],
          [12n, 3, 7, all.length - 1]
        )
        assert.deepEqual([batch.firstTimestamp, batch.maxTimestamp], [BigInt(timestamp), BigInt(timestamp)])
        for (const [index, { key, value, headers }] of all.entries()) {
          const read: KafkaRecord | undefined = batch.records[index]
          assert.equal(read?.offsetDelta, index)
          assert.deepEqual([read?.key, read?.value], [bytesOf(key), bytesOf(value)])
          assert.deepEqual(
            read?.headers.map(([name, one]) => [String(name), String(one)]),
            Object.entries(headers)
          )
        }
      }),
      { numRuns: runs(30) }
    )
  })

  it('have the checksum that the driver calculates', () => {
    const message = { topic: 'a', partition: 0, value: Buffer.from('value'), key: Buffer.from('key') }
    const drivers = createRecordsBatch([{ ...message, timestamp: 5n }], {
      producerId: 1n,
      producerEpoch: 2
    } as Parameters<typeof createRecordsBatch>[1])
    const ours = writeBatch([writeRecord('key', 'value')], 5, {
      producerId: 1n,
      producerEpoch: 2,
      sequence: 0
    })
    assert.deepEqual(ours, drivers.buffer)
  })

  it('that the driver writes are read correctly, compressed or not, from any record on', () => {
    const compression = fc.constantFrom('none', 'gzip', 'snappy', 'lz4')
    fc.assert(
      fc.property(records, compression, fc.nat(250), (all, how, from) => {
        const messages = all.map(({ key, value, headers }, index) => ({
          topic: 'a',
          partition: 0,
          timestamp: BigInt(1_000_000 + ((index * 7_919) % 1_000)),
          key: bytesOf(key) as Buffer,
          value: bytesOf(value) as Buffer,
          headers: new Map(
            Object.entries(headers).map(([name, one]) => [Buffer.from(name), Buffer.from(one)])
          )
        }))
        const bytes = createRecordsBatch(messages, { compression: how } as Parameters<
          typeof createRecordsBatch
        >[1]).buffer
        const { records: read, next } = readBatches(bytes, from)
        assert.equal(next, all.length)
        assert.deepEqual(
          read.map(({ offset }) => offset),
          [...all.keys()].filter((index) => index >= from)
        )
        for (const { offset, timestamp, key, value, text: words, headers } of read) {
          const was = all[offset]
          assert.equal(BigInt(timestamp), messages[offset]?.timestamp)
          assert.deepEqual([key ?? null, value ?? null], [bytesOf(was?.key), bytesOf(was?.value)])
          assert.equal(words, bytesOf(was?.value)?.toString())
          assert.deepEqual({ ...headers }, { ...was?.headers })
        }
      }),
      { numRuns: runs(50) }
    )
  })

  it('are read one after the other, and the last one may be cut off', () => {
    const one = writeBatch([writeRecord('a', '1'), writeRecord('b', '2')], 0)
    const two = writeBatch([writeRecord('c', '3')], 0)
    two.writeBigInt64BE(2n, 0)
    const both = Buffer.concat([one, two])
    for (let length = 0; length <= both.length; length++) {
      const { records: read, next } = readBatches(both.subarray(0, length), 0)
      const whole = length < one.length ? 0 : length < both.length ? 2 : 3
      assert.deepEqual([read.length, next], [whole, whole])
    }
  })

  it('in other formats, or with an unknown compression, are errors', () => {
    const bytes = writeBatch([writeRecord('a', '1')], 0)
    const old = Buffer.from(bytes)
    old[16] = 1
    assert.throws(() => readBatches(old, 0), /in format 1; only format 2/)
    bytes.writeInt16BE(7, 21)
    assert.throws(() => readBatches(bytes, 0), /with compression \d, which this runtime cannot read/)
  })

  it('with random bytes in them are read to their end or refused, and reading never hangs', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400, size: 'max' }), fc.nat(50), (noise, count) => {
        const bytes = Buffer.concat([writeBatch([], 0), noise])
        bytes.writeInt32BE(bytes.length - 12, 8)
        bytes.writeInt32BE(count, 57)
        let read: readonly Fetched[] = []
        try {
          read = readBatches(bytes, 0).records
        } catch (error) {
          assert.match(String(error), /malformed/)
        }
        for (const fetched of read) {
          assert.equal(typeof fetched.headers, 'object')
          assert.ok(fetched.text === undefined || fetched.text.length <= noise.length)
        }
      })
    )
  })

  it('have integers of the length that varintSize() returns', () => {
    const bytes = Buffer.alloc(10)
    for (const value of [0, 1, 63, 64, 8_191, 8_192, 2 ** 30, 2 ** 31, 2 ** 40])
      assert.equal(putVarint(bytes, value, 0), varintSize(value))
  })
})
