import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { A, AT_ONCE, B, connectedBroker, NO_ID } from '../testing/broker-on-port.ts'
import { bool, fields, int8, int16, int32, list, structs, tags, text, uuid } from '../testing/wire.ts'

describe('a request about topics', () => {
  const { broker, connection } = connectedBroker()

  it('asks for the brokers and topics, and creates none by it', async () => {
    const partition = [0, 1, 3, 0, [3], [3], []]
    broker.expect({
      key: 3,
      version: 12,
      request: fields(structs(uuid, text), bool, bool),
      answer: fields(
        int32,
        structs(int32, text, int32, text),
        text,
        int32,
        structs(
          ...[int16, text, uuid, bool],
          structs(int16, int32, int32, int32, list(int32), list(int32), list(int32)),
          int32
        )
      ),
      answered: [AT_ONCE, [[3, 'kafka-3', 9092, null]], 'c', 3, [[0, 'a', A, false, [partition], 0]]]
    })
    const { brokers, topics } = await connection().metadata(['a'])
    assert.deepEqual(broker.asked, [[[NO_ID, 'a']], false, false])
    const [one] = brokers.values()
    assert.deepEqual([one?.host, one?.port], ['kafka-3', 9092])
    const { name, topicId, errorCode, partitions } = topics[0] ?? assert.fail()
    assert.deepEqual([name, topicId, errorCode], ['a', A, 0])
    assert.deepEqual(
      partitions.map(({ partitionIndex, leaderId }) => [partitionIndex, leaderId]),
      [[1, 3]]
    )
    await connection().metadata(null)
    assert.deepEqual(broker.asked, [null, false, false])
  })

  it('creates topics, and reads the answer to a user who may not see their settings', async () => {
    const setting = ['retention.ms', '5', false, 1, false]
    broker.expect({
      key: 19,
      version: 7,
      request: fields(
        structs(text, int32, int16, structs(int32, list(int32)), structs(text, text)),
        int32,
        bool
      ),
      answer: fields(
        int32,
        structs(text, uuid, int16, text, int32, int16, structs(text, text, bool, int8, bool), tags)
      ),
      answered: [
        AT_ONCE,
        [
          ['a', A, 0, null, 4, 2, [setting, setting], []],
          // The field that the driver does not expect, and one that does not exist yet.
          [
            'b',
            B,
            29,
            'no',
            -1,
            -1,
            [],
            [
              [0, Buffer.from([0, 29])],
              [1, Buffer.alloc(300)]
            ]
          ],
          ['c', NO_ID, 36, 'exists', -1, -1, [], []]
        ]
      ]
    })
    const settings = { 'retention.ms': '5' }
    const topics = [
      { name: 'a', partitions: 4, replicas: 2, configs: settings },
      { name: 'b', partitions: 1, replicas: -1, configs: {} }
    ]
    assert.deepEqual(await connection().createTopics(topics, 7_000), [
      { name: 'a', errorCode: 0, errorMessage: null },
      { name: 'b', errorCode: 29, errorMessage: 'no' },
      { name: 'c', errorCode: 36, errorMessage: 'exists' }
    ])
    const created = [
      ['a', 4, 2, [], [['retention.ms', '5']]],
      ['b', 1, -1, [], []]
    ]
    assert.deepEqual(broker.asked, [created, 7_000, false])
  })

  it('deletes topics by their names', async () => {
    broker.expect({
      key: 20,
      version: 6,
      request: fields(structs(text, uuid), int32),
      answer: fields(int32, structs(text, uuid, int16, text)),
      answered: [AT_ONCE, []]
    })
    await connection().deleteTopics(['a', 'b'], 7_000)
    assert.deepEqual(broker.asked, [
      [
        ['a', NO_ID],
        ['b', NO_ID]
      ],
      7_000
    ])
  })
})
