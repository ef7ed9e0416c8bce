import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Isolation } from '../driver.ts'
import { A, AT_ONCE, B, connectedBroker } from '../testing/broker-on-port.ts'
import { bytes, fields, int8, int16, int32, int64, list, structs, text, uuid } from '../testing/wire.ts'
import { readBatches } from '../words/batch.ts'
import { writeRecord } from '../words/record.ts'
import { codesIn, responseOf } from './errors.ts'

describe('a request about records', () => {
  const { broker, connection } = connectedBroker()

  const produce = {
    key: 0,
    version: 11,
    request: fields(text, int16, int32, structs(text, structs(int32, bytes))),
    answer: fields(
      structs(text, structs(int32, int16, int64, int64, int64, structs(int32, text), text)),
      int32
    )
  }

  it('stores a batch in each of some partitions of several topics', async () => {
    const stored = [1, 0, 70n, -1n, 0n, [], null]
    broker.expect({ ...produce, answered: [[['a', [stored]]], AT_ONCE] })
    const batch = (topic: string, partition: number, data: string) => ({
      topic,
      partition,
      timestamp: 5,
      records: [writeRecord(undefined, Buffer.from(data), {})]
    })
    const by = { producerId: 9n, producerEpoch: 2, sequence: 30 }
    const { responses } = await connection().produce(-1, 7_000, [
      batch('a', 1, 'one'),
      batch('b', 0, 'two'),
      { ...batch('a', 2, 'three'), by }
    ])
    const [transaction, acks, within, topics] = broker.asked as [
      null,
      number,
      number,
      [string, [number, Buffer][]][]
    ]
    assert.deepEqual([transaction, acks, within], [null, -1, 7_000])
    assert.deepEqual(
      topics.map(([name, partitions]) => [
        name,
        partitions.map(([partition, of]) => [
          partition,
          readBatches(of, 0).records.map(({ text: data, timestamp }) => [data, timestamp]),
          // The id of the producer that has numbered the records.
          of.readBigInt64BE(43)
        ])
      ]),
      [
        [
          'a',
          [
            [1, [['one', 5]], -1n],
            [2, [['three', 5]], 9n]
          ]
        ],
        ['b', [[0, [['two', 5]], -1n]]]
      ]
    )
    const { index, errorCode, baseOffset } = responses[0]?.partitionResponses[0] ?? assert.fail()
    assert.deepEqual([responses[0]?.name, index, errorCode, baseOffset], ['a', 1, 0, 70n])
  })

  const fetch = {
    key: 1,
    version: 17,
    request: fields(
      ...[int32, int32, int32, int8, int32, int32],
      structs(uuid, structs(int32, int32, int64, int32, int64, int32)),
      structs(uuid, list(int32)),
      text
    ),
    answer: fields(
      int32,
      int16,
      int32,
      structs(uuid, structs(int32, int16, int64, int64, int64, structs(int64, int64), int32, bytes))
    )
  }

  it('reads partitions of several topics, each with its bytes and aborted transactions', async () => {
    const aborted = [
      [9n, 60n],
      [8n, 61n]
    ]
    broker.expect({
      ...fetch,
      answered: [
        AT_ONCE,
        0,
        0,
        [
          [
            A,
            [
              [0, 0, 70n, 65n, 3n, aborted, -1, Buffer.from('abc')],
              [2, 0, 80n, 80n, 0n, null, -1, Buffer.from('d')],
              [3, 0, 90n, 90n, 0n, [], -1, null]
            ]
          ],
          [B, [[1, 0, 5n, 5n, 0n, [], -1, Buffer.alloc(300, 'e')]]]
        ]
      ]
    })
    const wanted = [
      {
        topicId: A,
        partitions: [0, 2, 3].map((partition) => ({ partition, next: 60n + BigInt(partition) }))
      },
      { topicId: B, partitions: [{ partition: 1, next: 4n }] }
    ]
    const fetched = await connection().fetch(wanted, Isolation.committed, 500)
    assert.deepEqual(
      fetched.map((one) => ({ ...one, bytes: one.bytes.toString() })),
      [
        {
          ...{ topicId: A, partition: 0, errorCode: 0, end: 70n, bytes: 'abc' },
          aborted: [
            { producerId: 9n, first: 60 },
            { producerId: 8n, first: 61 }
          ]
        },
        { topicId: A, partition: 2, errorCode: 0, end: 80n, aborted: [], bytes: 'd' },
        { topicId: A, partition: 3, errorCode: 0, end: 90n, aborted: [], bytes: '' },
        { topicId: B, partition: 1, errorCode: 0, end: 5n, aborted: [], bytes: 'e'.repeat(300) }
      ]
    )
    const from = (partition: number, next: bigint) => [partition, -1, next, -1, -1n, 1024 * 1024]
    assert.deepEqual(broker.asked, [
      // It waits 500 ms for one byte, and answers with 4 MB at most, of no session.
      ...[500, 1, 4 * 1024 * 1024, Isolation.committed, 0, -1],
      [
        [A, [from(0, 60n), from(2, 62n), from(3, 63n)]],
        [B, [from(1, 4n)]]
      ],
      [],
      ''
    ])
  })

  it('says which partitions could not be read, and what the others have', async () => {
    const nothing = [-1n, -1n, -1n, [], -1, null]
    broker.expect({
      ...fetch,
      answered: [
        AT_ONCE,
        0,
        0,
        [
          [
            A,
            [
              [0, 6, ...nothing],
              [1, 0, 5n, 5n, 0n, [], -1, Buffer.from('x')],
              [2, 1, ...nothing]
            ]
          ]
        ]
      ]
    })
    const reading = connection().fetch([], Isolation.uncommitted, 0)
    await assert.rejects(reading, (error) => {
      assert.deepEqual(codesIn(error), [6, 1])
      return true
    })
    const answer = await responseOf(reading)
    assert.deepEqual(
      answer.map(({ partition, errorCode, bytes: of }) => [partition, errorCode, of.toString()]),
      [
        [0, 6, ''],
        [1, 0, 'x'],
        [2, 1, '']
      ]
    )
  })

  it('fails when the broker refuses to read at all', async () => {
    broker.expect({ ...fetch, answered: [AT_ONCE, 70, 0, []] })
    await assert.rejects(connection().fetch([], Isolation.uncommitted, 0), (error) => {
      assert.deepEqual(codesIn(error), [70])
      return true
    })
  })

  it('asks for the positions of a time', async () => {
    broker.expect({
      key: 2,
      version: 9,
      request: fields(int32, int8, structs(text, structs(int32, int32, int64))),
      answer: fields(int32, structs(text, structs(int32, int16, int64, int64, int32))),
      answered: [
        AT_ONCE,
        [
          [
            'a',
            [
              [0, 0, 5n, 70n, 0],
              [2, 0, -1n, -1n, -1]
            ]
          ]
        ]
      ]
    })
    const positions = await connection().listOffsets('a', [0, 2], 5n, Isolation.committed)
    assert.deepEqual(
      [...positions],
      [
        [0, 70n],
        [2, -1n]
      ]
    )
    // Asked by no other broker, about whatever leader the partition has.
    assert.deepEqual(broker.asked, [
      -1,
      Isolation.committed,
      [
        [
          'a',
          [
            [0, -1, 5n],
            [2, -1, 5n]
          ]
        ]
      ]
    ])
  })

  it('asks for a producer id, without a transaction', async () => {
    broker.expect({
      key: 22,
      version: 5,
      request: fields(text, int32, int64, int16),
      answer: fields(int32, int16, int64, int16),
      answered: [AT_ONCE, 0, 9n, 2]
    })
    const { producerId, producerEpoch } = await connection().newProducerId()
    assert.deepEqual([producerId, producerEpoch], [9n, 2])
    assert.deepEqual(broker.asked, [null, 0, -1n, -1])
  })
})
