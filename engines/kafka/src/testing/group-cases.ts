/** The promises of a broker about groups; see `driver-cases.ts`. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { Code } from '../connection/errors.ts'
import type { DriverConnection, HeartbeatAnswer, PartitionsOfTopic } from '../driver.ts'
import { codesOf, type Opened } from './driver-cases.ts'

/** A member that does what a client must do. */
class CaseMember {
  readonly id = randomUUID()
  readonly #connection: DriverConnection
  readonly #group: string
  readonly #topics: readonly string[]
  epoch = 0
  owned: readonly PartitionsOfTopic[] = []

  constructor(connection: DriverConnection, group: string, topics: readonly string[]) {
    this.#connection = connection
    this.#group = group
    this.#topics = topics
  }

  /** The partitions of the only topic that it has. */
  get partitions(): readonly number[] {
    return this.owned[0]?.partitions ?? []
  }

  beat(memberEpoch = this.epoch, owned = this.owned): Promise<HeartbeatAnswer> {
    const [group, memberId, topics] = [this.#group, this.id, this.#topics]
    return this.#connection.heartbeat({ group, memberId, memberEpoch, releasedWithin: 60_000, topics, owned })
  }

  /** Sends a heartbeat, and releases and takes partitions as the answer says. */
  async follow(): Promise<void> {
    const { memberEpoch, assignment } = await this.beat()
    this.epoch = memberEpoch
    if (assignment !== null) this.owned = assignment.topicPartitions
  }
}

/** Declares the cases. */
export function groupCases(opened: Opened): void {
  async function start(partitions = 2) {
    const connection = await opened.connect()
    const { name, id } = await opened.topic(connection, partitions)
    const group = `cases.${randomUUID()}`
    // The coordinator may still be loading its groups.
    while ((await codesOf(connection.coordinator(group))).length > 0);
    while (
      (await codesOf(connection.committed(group, null, -1, [{ topic: name, partition: 0 }]))).length > 0
    );
    const join = () => new CaseMember(connection, group, [name])
    const position = (next: bigint, metadata = '') => ({ topic: name, partition: 0, next, metadata })
    const committed = (memberId: string | null = null, epoch = -1) =>
      connection.committed(group, memberId, epoch, [{ topic: name, partition: 0 }])
    return { connection, name, id, group, join, position, committed }
  }

  /** Sends the heartbeats of members until something holds. */
  async function until(members: readonly CaseMember[], holds: () => boolean): Promise<void> {
    while (!holds()) for (const member of members) await member.follow()
  }

  it('shares partitions among members, and gives one to another member only when it was released', async () => {
    const { join, id } = await start(2)
    const [one, two] = [join(), join()]
    await until([one], () => one.partitions.length === 2)
    assert.equal(one.owned[0]?.topicId, id)
    const had = one.owned
    await two.follow()
    // The first one is told to release one of its partitions, and says that it has not.
    let told: readonly PartitionsOfTopic[] = []
    while (told.length === 0 || told[0]?.partitions.length === 2) {
      const { memberEpoch, assignment } = await one.beat(one.epoch, had)
      one.epoch = memberEpoch
      told = assignment?.topicPartitions ?? told
    }
    for (let turn = 0; turn < 3; turn++) await two.follow()
    assert.deepEqual(two.partitions, [])
    one.owned = told
    await until([one, two], () => two.partitions.length === 1)
    assert.deepEqual([...one.partitions, ...two.partitions].sort(), [0, 1])
    await one.beat(-1)
    await until([two], () => two.partitions.length === 2)
  })

  it('names the assignment in each answer to a member that says what it has', async () => {
    const { join } = await start(1)
    const member = join()
    await until([member], () => member.partitions.length === 1)
    for (let turn = 0; turn < 3; turn++) {
      const { assignment, memberEpoch } = await member.beat()
      assert.deepEqual([assignment?.topicPartitions, memberEpoch], [member.owned, member.epoch])
    }
  })

  it('keeps positions with their metadata, and takes them from anybody only while there are no members', async () => {
    const { connection, group, join, position, committed, name } = await start(1)
    assert.deepEqual(await committed(), [])
    await connection.commit(group, '', -1, [position(5n, 'what is done')])
    assert.deepEqual(await committed(), [position(5n, 'what is done')])
    assert.ok((await connection.groups()).includes(group))
    const member = join()
    await until([member], () => member.partitions.length === 1)
    assert.deepEqual(await connection.members(group), [member.id])
    assert.deepEqual(await codesOf(connection.commit(group, '', -1, [position(6n)])), [Code.unknownMember])
    const { id, epoch } = member
    await connection.commit(group, id, epoch, [position(7n)])
    assert.deepEqual(await committed(id, epoch), [position(7n)])
    assert.deepEqual(await codesOf(connection.commit(group, id, epoch - 1, [position(8n)])), [
      Code.staleMember
    ])
    assert.deepEqual(await codesOf(committed(id, epoch - 1)), [Code.staleMember])
    assert.deepEqual(await codesOf(connection.commit(group, randomUUID(), epoch, [position(8n)])), [
      Code.unknownMember
    ])
    const elsewhere = { ...position(1n), topic: `${name}.missing` }
    assert.deepEqual(await codesOf(connection.commit(group, id, epoch, [elsewhere])), [Code.unknownTopic])
    await member.beat(-1)
    await connection.commit(group, '', -1, [position(9n)])
    assert.deepEqual(await committed(), [position(9n)])
    assert.deepEqual(await connection.members(group), [])
  })

  it('removes a member that is silent, or names an epoch that it does not have', async () => {
    const { pass } = await opened.server()
    const { join, connection, group } = await start(1)
    const [silent, other] = [join(), join()]
    await until([silent], () => silent.partitions.length === 1)
    await pass(4_500)
    await until([other], () => other.partitions.length === 1)
    assert.deepEqual(await codesOf(silent.beat()), [Code.unknownMember])
    assert.deepEqual(await connection.members(group), [other.id])
    assert.deepEqual(await codesOf(other.beat(other.epoch + 7)), [Code.fencedMember])
  })

  it('moves the partitions of a topic that was created again, without the positions of the old one', async () => {
    const { connection, name, id, group, join, position, committed } = await start(1)
    const member = join()
    await until([member], () => member.partitions.length === 1)
    await connection.commit(group, member.id, member.epoch, [position(5n)])
    await connection.deleteTopics([name], 10_000)
    while ((await codesOf(connection.metadata([name]))).length === 0);
    await connection.createTopics([{ name, partitions: 1, replicas: 1, configs: {} }], 10_000)
    await until([member], () => member.owned.length === 1 && member.owned[0]?.topicId !== id)
    while ((await committed(member.id, member.epoch)).length > 0);
  })
}
