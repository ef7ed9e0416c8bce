import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { A, AT_ONCE, B, connectedBroker } from '../testing/broker-on-port.ts'
import {
  bool,
  fields,
  int8,
  int16,
  int32,
  int64,
  list,
  nullable,
  structs,
  text,
  uuid
} from '../testing/wire.ts'
import { codesIn } from './errors.ts'

describe('a request about groups', () => {
  const { broker, connection } = connectedBroker()

  const coordinator = {
    key: 10,
    version: 6,
    request: fields(int8, list(text)),
    answer: fields(int32, structs(text, int32, text, int32, int16, text))
  }

  it('names the client', async () => {
    broker.expect({ ...coordinator, answered: [AT_ONCE, []] })
    // No broker coordinates the group.
    assert.equal(await connection().coordinator('g'), -1)
    assert.equal(broker.clientName, 'the client')
  })

  it('asks which broker coordinates a group', async () => {
    broker.expect({ ...coordinator, answered: [AT_ONCE, [['g', 3, 'kafka-3', 9092, 0, null]]] })
    assert.equal(await connection().coordinator('g'), 3)
    // The keys are names of groups.
    assert.deepEqual(broker.asked, [0, ['g']])
  })

  it('is the heartbeat of a member', async () => {
    const heartbeat = {
      key: 68,
      version: 1,
      request: fields(
        ...[text, text, int32, text, text, int32],
        list(text),
        ...[text, text],
        structs(uuid, list(int32))
      ),
      answer: fields(int32, int16, text, text, int32, int32, nullable(fields(structs(uuid, list(int32)))))
    }
    broker.expect({ ...heartbeat, answered: [AT_ONCE, 0, null, 'm', 5, 3_000, [[[A, [0, 1]]]]] })
    const beat = {
      ...{ group: 'g', memberId: 'm', memberEpoch: 4, releasedWithin: 300_000, topics: ['a', 'b'] },
      owned: [{ topicId: A, partitions: [1] }]
    }
    const answer = await connection().heartbeat(beat)
    assert.deepEqual(
      [answer.memberEpoch, answer.heartbeatIntervalMs, answer.assignment],
      [5, 3_000, { topicPartitions: [{ topicId: A, partitions: [0, 1] }] }]
    )
    assert.deepEqual(broker.asked, [
      ...['g', 'm', 4, null, null, 300_000],
      ['a', 'b'],
      ...[null, null],
      [[A, [1]]]
    ])
    broker.expect({ ...heartbeat, answered: [AT_ONCE, 0, null, 'm', 5, 3_000, null] })
    assert.equal((await connection().heartbeat(beat)).assignment, null)
  })

  it('commits positions with their metadata', async () => {
    broker.expect({
      key: 8,
      version: 9,
      request: fields(text, int32, text, text, structs(text, structs(int32, int64, int32, text))),
      answer: fields(int32, structs(text, structs(int32, int16))),
      answered: [AT_ONCE, []]
    })
    await connection().commit('g', 'm', 4, [
      { topic: 'a', partition: 0, next: 70n, metadata: 'x' },
      { topic: 'b', partition: 1, next: 5n, metadata: '' },
      { topic: 'a', partition: 2, next: 80n, metadata: 'y' }
    ])
    assert.deepEqual(broker.asked, [
      ...['g', 4, 'm', null],
      [
        [
          'a',
          [
            [0, 70n, -1, 'x'],
            [2, 80n, -1, 'y']
          ]
        ],
        ['b', [[1, 5n, -1, '']]]
      ]
    ])
  })

  it('asks for committed positions, and leaves out partitions that have none', async () => {
    const exchange = {
      key: 9,
      version: 9,
      request: fields(structs(text, text, int32, structs(text, list(int32))), bool),
      answer: fields(int32, structs(text, structs(text, structs(int32, int64, int32, text, int16)), int16))
    }
    const of = [
      [0, 0n, -1, 'x', 0],
      [1, -1n, -1, null, 0],
      [2, 80n, -1, null, 0]
    ]
    broker.expect({ ...exchange, answered: [AT_ONCE, [['g', [['a', of]], 0]]] })
    const partitions = [
      { topic: 'a', partition: 0 },
      { topic: 'b', partition: 0 },
      { topic: 'a', partition: 2 }
    ]
    assert.deepEqual(await connection().committed('g', 'm', 4, partitions), [
      { topic: 'a', partition: 0, next: 0n, metadata: 'x' },
      { topic: 'a', partition: 2, next: 80n, metadata: '' }
    ])
    assert.deepEqual(broker.asked, [
      [
        [
          'g',
          'm',
          4,
          [
            ['a', [0, 2]],
            ['b', [0]]
          ]
        ]
      ],
      false
    ])
    broker.expect({ ...exchange, answered: [AT_ONCE, []] })
    assert.deepEqual(await connection().committed('g', null, -1, []), [])
    assert.deepEqual(broker.asked, [[['g', null, -1, []]], false])
  })

  describe('for the members of a group', () => {
    const assignment = fields(structs(uuid, text, list(int32)))
    const members = {
      key: 69,
      version: 0,
      request: fields(list(text), bool),
      answer: fields(
        int32,
        structs(
          ...[int16, text, text, text, int32, int32, text],
          structs(...[text, text, text, int32, text, text], list(text), ...[text, assignment, assignment]),
          int32
        )
      )
    }
    const group = (code: number, ...of: unknown[]) => [
      AT_ONCE,
      [[code, null, 'g', 'Stable', 3, 3, 'uniform', of, 0]]
    ]

    it('reads their ids', async () => {
      const member = (id: string) => [
        ...[id, null, null, 3, 'client', '/127.0.0.1'],
        ['a', 'b'],
        ...[
          null,
          [[[A, 'a', [0, 1]]]],
          [
            [
              [A, 'a', [0]],
              [B, 'b', [1]]
            ]
          ]
        ]
      ]
      broker.expect({ ...members, answered: group(0, member('m1'), member('m2')) })
      assert.deepEqual(await connection().members('g'), ['m1', 'm2'])
      assert.deepEqual(broker.asked, [['g'], false])
      // Each group is read to its end.
      const [, one] = group(0, member('m1'))
      const [, other] = group(0, member('m2'))
      broker.expect({ ...members, answered: [AT_ONCE, [one, other].flat()] })
      assert.deepEqual(await connection().members('g'), ['m1', 'm2'])
    })

    it('finds none if there is no such group, and fails with any other refusal', async () => {
      broker.expect({ ...members, answered: group(69) })
      assert.deepEqual(await connection().members('g'), [])
      broker.expect({ ...members, answered: [AT_ONCE, []] })
      assert.deepEqual(await connection().members('g'), [])
      broker.expect({ ...members, answered: group(30) })
      await assert.rejects(connection().members('g'), (error) => {
        assert.deepEqual(codesIn(error), [30])
        return true
      })
    })
  })

  it('asks for the groups of the broker, in whatever state and of whatever kind', async () => {
    broker.expect({
      key: 16,
      version: 5,
      request: fields(list(text), list(text)),
      answer: fields(int32, int16, structs(text, text, text, text)),
      answered: [
        AT_ONCE,
        0,
        [
          ['g', 'consumer', 'Stable', 'consumer'],
          ['h', 'consumer', 'Empty', 'classic']
        ]
      ]
    })
    assert.deepEqual(await connection().groups(), ['g', 'h'])
    assert.deepEqual(broker.asked, [[], []])
  })
})
