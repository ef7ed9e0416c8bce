import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  createRecordsBatch,
  Reader as DriversReader,
  type KafkaRecord,
  readRecordsBatches
} from '@platformatic/kafka'
import fc from 'fast-check'
import { readBatches, writeBatch } from './batch.ts'
import { type Fetched, putVarint, varintSize, writeRecord } from './record.ts'

const text = fc.string({ unit: 'binary', maxLength: 80, size: 'max' })
const maybe = fc.option(text, { nil: undefined })
const record = fc.record({
  key: maybe,
  value: fc.option(fc.oneof(text, fc.uint8Array({ maxLength: 300, size: 'max' })), { nil: undefined }),
  headers: fc.dictionary(text, text, { maxKeys: 4 })
})
const records = fc.array(record, { minLength: 1, maxLength: 200, size: 'max' })
const bytesOf = (words: string | Uint8Array | undefined) =>
  words === undefined ? null : Buffer.from(words as string)

describe('batches of records', () => {
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
      { numRuns: 30 }
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
      { numRuns: 50 }
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
