/** The promises of any driver and broker on which the package relies. The same cases run over the fake and over Kafka. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, it } from 'node:test'
import { Code, codesIn } from '../connection/errors.ts'
import {
  type Batch,
  type Driver,
  type DriverConnection,
  EARLIEST,
  Isolation,
  LATEST,
  type Produced
} from '../driver.ts'
import { kafkaOptions } from '../options/options.ts'
import { readBatches } from '../words/batch.ts'
import { writeRecord } from '../words/record.ts'
import { groupCases } from './group-cases.ts'

/** Milliseconds that a broker may take. */
const WITHIN = 10_000

/** A transaction of another producer. */
export interface Transaction {
  send(text: string): Promise<unknown>
  commit(): Promise<unknown>
  abort(): Promise<unknown>
}

/** A server for the cases: one broker, whose groups remove members that are silent for 3 seconds. */
export interface ServerForCases {
  readonly driver: Driver
  readonly port: number
  /** The port for users, and one who has no rights. */
  readonly stranger: { readonly port: number; readonly username: string; readonly password: string }
  /** Ends the server at once, and starts it again. */
  restart(): Promise<void>
  begin(topic: string): Promise<Transaction>
  /** Deletes the records of a partition in front of a position. */
  deleteUpTo(topic: string, position: number): Promise<unknown>
  /** Lets time pass at the server. */
  pass(milliseconds: number): Promise<unknown>
}

/** A server and what a case needs of it. */
export class Opened {
  readonly #open: () => Promise<ServerForCases>
  readonly #connections: DriverConnection[] = []

  constructor(open: () => Promise<ServerForCases>) {
    this.#open = open
  }

  server(): Promise<ServerForCases> {
    return this.#open()
  }

  async connect(closed: () => void = () => {}): Promise<DriverConnection> {
    const { driver, port } = await this.#open()
    const broker = { host: '127.0.0.1', port }
    return this.keep(await driver.connect(broker, kafkaOptions({}), 'cases', closed))
  }

  keep(connection: DriverConnection): DriverConnection {
    this.#connections.push(connection)
    return connection
  }

  /** A new topic. */
  async topic(connection: DriverConnection, partitions = 1): Promise<{ name: string; id: string }> {
    const name = `cases.${randomUUID()}`
    await connection.createTopics([{ name, partitions, replicas: 1, configs: {} }], WITHIN)
    for (;;) {
      const [topic] = (await connection.metadata([name]).catch(() => ({ topics: [] }))).topics
      const wanted = Array.from({ length: partitions }, (_, partition) => ({ partition, next: 0n }))
      // A broker may be told later than others that it leads a partition.
      const reading = () =>
        connection.fetch([{ topicId: topic?.topicId as string, partitions: wanted }], Isolation.committed, 0)
      if (topic !== undefined && (await codesOf(reading())).length === 0) return { name, id: topic.topicId }
    }
  }

  readonly close = async (): Promise<void> => {
    for (const connection of this.#connections.splice(0)) await connection.close().catch(() => {})
  }
}

/** The codes with which a request is refused; none: it is not refused. */
export async function codesOf(asked: Promise<unknown>): Promise<number[]> {
  return asked.then(
    () => [],
    (error) => codesIn(error)
  )
}

/** A batch with one record for each text. */
export function batchOf(topic: string, texts: readonly string[], by?: Batch['by']): Batch {
  const records = texts.map((text) => writeRecord(undefined, text))
  return { topic, partition: 0, records, timestamp: 1_000, by }
}

/** Declares the cases. @param title the server's name @param open starts a server, or returns one that runs */
export function driverCases(title: string, open: () => Promise<ServerForCases>): void {
  describe(`a driver of Kafka over ${title}`, () => {
    const opened = new Opened(open)
    afterEach(opened.close)

    const produce = (connection: DriverConnection, ...batches: readonly Batch[]) =>
      connection.produce(-1, WITHIN, batches)

    const placeOf = ({ responses }: Produced) => responses[0]?.partitionResponses[0]

    /** The texts in a partition, with their positions. */
    async function textsIn(
      connection: DriverConnection,
      topicId: string,
      { next = 0n, isolation = Isolation.committed as Isolation, patience = 0 } = {}
    ): Promise<string[]> {
      const wanted = [{ topicId, partitions: [{ partition: 0, next }] }]
      const [answer] = await connection.fetch(wanted, isolation, patience)
      const { records } = readBatches(answer?.bytes as Buffer, Number(next), answer?.aborted)
      return records.map(({ offset, text }) => `${offset} ${text}`)
    }

    it('creates a topic once, describes it, and says what cannot be created', async () => {
      const connection = await opened.connect()
      const { name } = await opened.topic(connection, 3)
      const { brokers, topics } = await connection.metadata([name])
      assert.equal(topics[0]?.partitions.length, 3)
      assert.equal(brokers.length, 1)
      const missing = `cases.${randomUUID()}`
      const topic = { partitions: 1, replicas: 1, configs: {} }
      const made = await connection.createTopics(
        [
          { ...topic, name },
          { ...topic, name: missing, replicas: 9 }
        ],
        WITHIN
      )
      assert.deepEqual(
        made.map(({ errorCode }) => errorCode),
        [Code.topicExists, Code.invalidReplicas]
      )
      assert.deepEqual(await codesOf(connection.metadata([missing])), [Code.unknownTopic])
      assert.ok((await connection.metadata(null)).topics.some((one) => one.name === name))
      await connection.deleteTopics([name], WITHIN)
      while ((await codesOf(connection.metadata([name]))).length === 0);
    })

    it('stores a batch whole, and gives it whole, with the position of each record', async () => {
      const connection = await opened.connect()
      const { name, id } = await opened.topic(connection)
      assert.equal(placeOf(await produce(connection, batchOf(name, ['a', 'b', 'c'])))?.baseOffset, 0n)
      assert.equal(placeOf(await produce(connection, batchOf(name, ['d'])))?.baseOffset, 3n)
      assert.deepEqual(await textsIn(connection, id), ['0 a', '1 b', '2 c', '3 d'])
      assert.deepEqual(await textsIn(connection, id, { next: 2n }), ['2 c', '3 d'])
      assert.deepEqual(await textsIn(connection, id, { next: 4n }), [])
    })

    it('waits with the answer until there is a record, and other connections do not wait', async () => {
      const connection = await opened.connect()
      const other = await opened.connect()
      const { name, id } = await opened.topic(connection)
      const reading = textsIn(connection, id, { patience: WITHIN })
      await produce(other, batchOf(name, ['a']))
      assert.deepEqual(await reading, ['0 a'])
    })

    it('knows positions by time, and those of the beginning and the end', async () => {
      const connection = await opened.connect()
      const { name } = await opened.topic(connection)
      for (const timestamp of [1_000, 2_000])
        await produce(connection, { ...batchOf(name, ['a', 'b']), timestamp })
      const at = async (time: bigint) =>
        (await connection.listOffsets(name, [0], time, Isolation.committed)).get(0)
      assert.deepEqual(await Promise.all([EARLIEST, LATEST, 0n, 1_001n, 2_001n].map(at)), [
        0n,
        4n,
        0n,
        2n,
        -1n
      ])
      assert.deepEqual(await codesOf(connection.listOffsets(name, [7], LATEST, Isolation.committed)), [
        Code.unknownTopic
      ])
    })

    it('has no record behind the end, and none that was deleted', async () => {
      const { deleteUpTo } = await opened.server()
      const connection = await opened.connect()
      const { name, id } = await opened.topic(connection)
      for (const text of ['a', 'b', 'c']) await produce(connection, batchOf(name, [text]))
      await deleteUpTo(name, 2)
      const outcomes: number[][] = []
      for (const next of [0n, 1n, 4n]) outcomes.push(await codesOf(textsIn(connection, id, { next })))
      assert.deepEqual(outcomes, Array(3).fill([Code.offsetOutOfRange]))
      assert.deepEqual(await textsIn(connection, id, { next: 2n }), ['2 c'])
      assert.equal((await connection.listOffsets(name, [0], EARLIEST, Isolation.committed)).get(0), 2n)
    })

    it('stores a batch once that comes again, and none that is ahead of its turn', async () => {
      const connection = await opened.connect()
      const { name, id } = await opened.topic(connection)
      // The broker may still be loading what it knows of producers.
      while ((await codesOf(connection.newProducerId())).length > 0);
      const producer = await connection.newProducerId()
      assert.notEqual((await connection.newProducerId()).producerId, producer.producerId)
      const numbered = (sequence: number, ...texts: string[]) =>
        batchOf(name, texts, { ...producer, sequence })
      await produce(connection, batchOf(name, ['x']))
      // The broker takes any number of a producer that it does not know.
      assert.equal(placeOf(await produce(connection, numbered(7, 'a', 'b')))?.baseOffset, 1n)
      for (let again = 0; again < 2; again++)
        assert.equal(placeOf(await produce(connection, numbered(7, 'a', 'b')))?.baseOffset, 1n)
      assert.deepEqual(await codesOf(produce(connection, numbered(10, 'd'))), [Code.outOfOrderSequence])
      await produce(connection, numbered(9, 'c'))
      assert.deepEqual(await textsIn(connection, id), ['0 x', '1 a', '2 b', '3 c'])
    })

    it('refuses the batches that are too large, or for no topic, and stores the others of the request', async () => {
      const connection = await opened.connect()
      const [{ name, id }, other] = [await opened.topic(connection), await opened.topic(connection)]
      const batches = [
        batchOf(name, ['a']),
        batchOf(other.name, ['x'.repeat(1_100_000)]),
        batchOf('cases.missing', ['b'])
      ]
      const error = await produce(connection, ...batches).then(
        () => assert.fail('not refused'),
        (error) => error
      )
      assert.deepEqual(codesIn(error).sort(), [Code.messageTooLarge, Code.unknownTopic].sort())
      const { responses } = error.response as Produced
      const codes = responses.map(({ name, partitionResponses }) => [name, partitionResponses[0]?.errorCode])
      assert.deepEqual(Object.fromEntries(codes), {
        [name]: 0,
        [other.name]: Code.messageTooLarge,
        'cases.missing': Code.unknownTopic
      })
      assert.deepEqual(await textsIn(connection, id), ['0 a'])
    })

    it('does not read a topic by the id of one that was deleted', async () => {
      const connection = await opened.connect()
      const { name, id } = await opened.topic(connection)
      await produce(connection, batchOf(name, ['a']))
      await connection.deleteTopics([name], WITHIN)
      while ((await codesOf(connection.metadata([name]))).length === 0);
      const codes = await codesOf(textsIn(connection, id))
      assert.deepEqual(codes, [Code.unknownTopicId])
    })

    it('shows records of a transaction when it is committed, and those behind it when it has ended', async () => {
      const { begin } = await opened.server()
      const connection = await opened.connect()
      const { name, id } = await opened.topic(connection)
      const latest = async (isolation: Isolation) =>
        (await connection.listOffsets(name, [0], LATEST, isolation)).get(0)
      const aborted = await begin(name)
      await aborted.send('aborted')
      await produce(connection, batchOf(name, ['behind']))
      assert.deepEqual(await textsIn(connection, id), [])
      assert.deepEqual(await textsIn(connection, id, { isolation: Isolation.uncommitted }), [
        '0 aborted',
        '1 behind'
      ])
      assert.deepEqual([await latest(Isolation.committed), await latest(Isolation.uncommitted)], [0n, 2n])
      await aborted.abort()
      // The markers take positions, too; they may come a moment after the answer.
      while ((await latest(Isolation.committed)) !== 3n);
      const committed = await begin(name)
      await committed.send('committed')
      await committed.commit()
      while ((await latest(Isolation.committed)) !== 5n);
      assert.deepEqual(await textsIn(connection, id), ['1 behind', '3 committed'])
    })

    it('answers a user without rights with the codes for topics and groups', async () => {
      const { driver, stranger } = await opened.server()
      const { port, username, password } = stranger
      const { name, id } = await opened.topic(await opened.connect())
      const broker = { host: '127.0.0.1', port }
      const options = kafkaOptions({ sasl: { mechanism: 'PLAIN', username, password } })
      const connection = opened.keep(await driver.connect(broker, options, 'cases', () => {}))
      const of = [{ topic: name, partition: 0 }]
      for (const asked of [
        connection.metadata([name]),
        produce(connection, batchOf(name, ['a'])),
        textsIn(connection, id),
        connection.listOffsets(name, [0], LATEST, Isolation.committed)
      ])
        assert.deepEqual(await codesOf(asked), [Code.topicAuthorization])
      const group = `cases.${randomUUID()}`
      const position = { topic: name, partition: 0, next: 0n, metadata: '' }
      const beat = {
        group,
        memberId: randomUUID(),
        memberEpoch: 0,
        releasedWithin: 1_000,
        topics: [name],
        owned: []
      }
      const ofGroup = {
        coordinator: connection.coordinator(group),
        heartbeat: connection.heartbeat(beat),
        commit: connection.commit(group, '', -1, [position]),
        committed: connection.committed(group, null, -1, of),
        members: connection.members(group)
      }
      for (const [request, asked] of Object.entries(ofGroup))
        assert.deepEqual([request, await codesOf(asked)], [request, [Code.groupAuthorization]])
      const wrong = kafkaOptions({ sasl: { mechanism: 'PLAIN', username, password: 'guessed' } })
      await assert.rejects(driver.connect(broker, wrong, 'cases', () => {}))
    })

    it('says when a connection has ended, and fails what waits for an answer on it', async () => {
      const { driver, port, restart } = await opened.server()
      for (const end of ['destroy', 'close', 'restart'] as const) {
        let closed!: () => void
        const ended = new Promise<void>((resolve) => (closed = resolve))
        const connection = await opened.connect(closed)
        const { id } = await opened.topic(connection)
        const waiting = assert.rejects(textsIn(connection, id, { patience: WITHIN }))
        if (end === 'restart') await restart()
        else connection[end]()
        await ended
        await waiting
        await assert.rejects(connection.metadata([]))
      }
      const nobody = { host: '127.0.0.1', port: port + 7 }
      await assert.rejects(driver.connect(nobody, kafkaOptions({ connectTimeout: 2_000 }), 'cases', () => {}))
    })

    groupCases(opened)
  })
}
