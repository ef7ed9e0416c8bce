import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock } from '@elysia-microservices/transport/kit'
import type { DriverConnection, Heartbeat, HeartbeatAnswer } from '../driver.ts'
import type { Cluster } from './cluster.ts'
import { Code } from './errors.ts'
import type { Committed, Group } from './group.ts'
import { BEAT, Member } from './member.ts'

const refused = (apiCode: number) => Object.assign(new Error(`code ${apiCode}`), { apiCode })
const position: Committed = { topic: 'a', topicId: 'id', partition: 0, next: 5n, metadata: '' }

/**
 * A group whose coordinator gives its only partition to each member that joins, and answers one commit with the error
 * `fencedMember` if `fence` is set.
 */
class FakeGroup {
  readonly name = 'g'
  readonly cluster = {
    isConnected: true,
    topic: () => ({ id: this.known }),
    topicById: (id: string) => (id === this.known ? { name: 'a' } : undefined),
    refresh: async () => {
      this.known = this.id
    },
    ask: (_node: number, _purpose: string, request: (broker: DriverConnection) => unknown) =>
      request({ heartbeat: (said: Heartbeat) => this.#beat(said) } as unknown as DriverConnection)
  } as unknown as Cluster
  /** The id of the topic, and the id that the client knows. */
  id = 'id'
  known = 'id'
  /** The partitions that the member has named in its last heartbeat. */
  owned: unknown
  /** The member epoch of each commit. */
  readonly commits: number[] = []
  fence = false
  beats = 0
  /** The milliseconds between heartbeats that the coordinator wants. */
  heartbeat = 5
  /** The partitions that the coordinator gives the member. */
  partitions: readonly number[] = [0]
  /** The error of the next request for positions. */
  noPositions: Error | undefined
  #joined = 0

  ask<Result>(task: (node: number) => Promise<Result>): Promise<Result> {
    return task(1)
  }

  refusal(cause: unknown): unknown {
    return cause
  }

  async committed(): Promise<Committed[]> {
    const error = this.noPositions
    this.noPositions = undefined
    if (error !== undefined) throw error
    return [{ ...position, topicId: this.id, next: 0n }]
  }

  /** Refuses the first member epoch as out of date, as a coordinator does right after the epoch has changed. */
  async commit(_positions: readonly Committed[], _id: string, epoch: () => number): Promise<void> {
    this.commits.push(epoch())
    if (this.#joined === 1) {
      this.fence = true
      throw refused(Code.staleMember)
    }
  }

  async #beat({ memberEpoch: epoch, owned }: Heartbeat): Promise<HeartbeatAnswer> {
    this.owned = owned
    this.beats++
    if (this.fence && epoch > 0) {
      this.fence = false
      throw refused(Code.fencedMember)
    }
    if (epoch === 0) this.#joined++
    const memberEpoch = epoch === 0 ? 10 * this.#joined : epoch
    const assignment = { topicPartitions: [{ topicId: this.id, partitions: this.partitions }] }
    return { memberEpoch, heartbeatIntervalMs: this.heartbeat, assignment }
  }
}

describe('a member of a group', () => {
  it('that was removed from the group, and joins again, commits no position from before', async () => {
    const group = new FakeGroup()
    const lost: unknown[] = []
    const listener = {
      assigned() {},
      revoked: async () => {},
      deleted() {},
      lost: (partitions: unknown) => void lost.push(partitions),
      failed: (error: unknown) => assert.fail(String(error))
    }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map())
    // The timers of a member do not keep the process alive, and this test has no connection that would.
    const awake = setInterval(() => {}, 1_000)
    try {
      await member.join()
      await assert.rejects(member.commit([position]), { apiCode: Code.fencedMember })
      assert.deepEqual(lost, [[{ topic: 'a', topicId: 'id', partition: 0 }]])
      assert.deepEqual(group.commits, [10])
      await new Promise<void>((known) => member.beat(known))
      await member.commit([position])
      assert.deepEqual(group.commits, [10, 20])
    } finally {
      await member.leave()
      clearInterval(awake)
    }
  })

  it('whose epoch is out of date at a commit asks for the present one at once, not with the next heartbeat', async () => {
    const clock = new ManualClock()
    const group = new FakeGroup()
    group.heartbeat = 5_000
    const listener = { assigned() {}, revoked: async () => {}, lost() {}, deleted() {}, failed() {} }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map(), { clock })
    await member.join()
    await clock.advance(20_000)
    const before = group.beats
    const committed = assert.rejects(member.commit([position]), { apiCode: Code.fencedMember })
    // No time passes.
    for (let turns = 0; group.commits.length === 0 || (group.beats === before && turns < 20); turns++)
      await clock.advance(0)
    assert.ok(group.beats > before, 'It waits for the next heartbeat')
    await clock.advance(0)
    await committed
    await member.leave()
  })

  it('lets a partition go once, and owns it until what runs of it has ended', async () => {
    const clock = new ManualClock()
    const group = new FakeGroup()
    const revoked: unknown[] = []
    let free = () => {}
    const listener = {
      assigned() {},
      revoked: (partitions: unknown) => {
        revoked.push(partitions)
        return new Promise<void>((resolve) => (free = resolve))
      },
      lost() {},
      deleted() {},
      failed: (error: unknown) => assert.fail(String(error))
    }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map(), { clock })
    await member.join()
    group.partitions = []
    await clock.advance(50)
    assert.deepEqual(revoked, [[{ topic: 'a', topicId: 'id', partition: 0 }]])
    assert.deepEqual(group.owned, [{ topicId: 'id', partitions: [0] }])
    free()
    await clock.advance(50)
    assert.deepEqual([revoked.length, group.owned], [1, []])
    await member.leave()
  })

  it('joins although the coordinator does not tell its positions, and asks again', async () => {
    const group = new FakeGroup()
    group.noPositions = refused(Code.unknownMember)
    const failures: unknown[] = []
    let assigned: (partitions: readonly Committed[]) => void = () => {}
    const first = new Promise<readonly Committed[]>((resolve) => (assigned = resolve))
    const listener = {
      assigned: (partitions: readonly Committed[]) => assigned(partitions),
      revoked: async () => {},
      deleted() {},
      lost: (partitions: readonly unknown[]) => assert.deepEqual(partitions, []),
      failed: (error: unknown) => void failures.push(error)
    }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map())
    const awake = setInterval(() => {}, 1_000)
    try {
      await member.join()
      assert.deepEqual(await first, [{ ...position, next: 0n }])
      assert.deepEqual(failures, [])
    } finally {
      await member.leave()
      clearInterval(awake)
    }
  })

  it('releases a partition whose topic was created again, and takes the partition of the new topic', async () => {
    const group = new FakeGroup()
    const seen: unknown[] = []
    let isNew = () => {}
    const again = new Promise<void>((resolve) => (isNew = resolve))
    const listener = {
      assigned: ([one]: readonly Committed[]) => {
        seen.push(`assigned ${one?.topicId}`)
        if (one?.topicId === 'new id') isNew()
      },
      revoked: async () => assert.fail('nobody waits for events of a topic that does not exist any more'),
      deleted: ([one]: readonly unknown[]) => void seen.push(one),
      lost() {},
      failed: (error: unknown) => assert.fail(String(error))
    }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map())
    const awake = setInterval(() => {}, 1_000)
    try {
      await member.join()
      group.id = 'new id'
      await again
      assert.deepEqual(seen, ['assigned id', { topic: 'a', topicId: 'id', partition: 0 }, 'assigned new id'])
      // The first of these heartbeats may be the one that has told the new partition.
      for (let beats = 0; beats < 2; beats++) await new Promise<void>((known) => member.beat(known))
      assert.deepEqual(group.owned, [{ topicId: 'new id', partitions: [0] }])
    } finally {
      await member.leave()
      clearInterval(awake)
    }
  })

  it('asks at once for the partition of a topic that was created again, when it hears of it from its reader', async () => {
    const clock = new ManualClock()
    const group = new FakeGroup()
    group.heartbeat = 5_000
    const seen: unknown[] = []
    const listener = {
      assigned: ([one]: readonly Committed[]) => void seen.push(one?.topicId),
      revoked: async () => assert.fail('nobody waits for events of a topic that does not exist any more'),
      ...{ lost() {}, deleted() {}, failed: (error: unknown) => assert.fail(String(error)) }
    }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map(), { clock })
    await member.join()
    await clock.advance(20_000)
    // Partitions of other topics, and others of this one, stay.
    member.giveUp({ topic: 'b', partition: 0 })
    member.giveUp({ topic: 'a', partition: 1 })
    await clock.advance(0)
    assert.deepEqual(group.owned, [{ topicId: 'id', partitions: [0] }])
    group.id = 'new id'
    member.giveUp({ topic: 'a', partition: 0 })
    // No time passes.
    for (let turns = 0; seen.length < 2 && turns < 20; turns++) await clock.advance(0)
    assert.deepEqual(seen, ['id', 'new id'])
    await member.leave()
  })

  it('sends a heartbeat at once behind the one that is under way, if somebody wants one meanwhile', async () => {
    const clock = new ManualClock()
    const group = new FakeGroup()
    group.heartbeat = 5_000
    const listener = { assigned() {}, revoked: async () => {}, lost() {}, deleted() {}, failed() {} }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map(), { clock })
    await member.join()
    await clock.advance(20_000)
    let heard = 0
    member.beat(() => member.beat(() => void heard++))
    // No time passes.
    for (let turns = 0; heard === 0 && turns < 20; turns++) await clock.advance(0)
    assert.equal(heard, 1)
    await member.leave()
  })

  it('does not join without the rights to read the positions', async () => {
    const group = new FakeGroup()
    group.noPositions = refused(Code.topicAuthorization)
    const listener = { assigned() {}, revoked: async () => {}, lost() {}, deleted() {}, failed() {} }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map())
    await assert.rejects(member.join(), { apiCode: Code.topicAuthorization })
    await member.leave()
  })

  it('sends heartbeats as seldom as the broker wants, unless the group has just changed', async () => {
    const clock = new ManualClock()
    const group = new FakeGroup()
    group.heartbeat = 5_000
    const listener = { assigned() {}, revoked: async () => {}, lost() {}, deleted() {}, failed() {} }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map(), { clock })
    const beatsIn = async (seconds: number) => {
      const before = group.beats
      await clock.advance(seconds * 1_000)
      return group.beats - before
    }
    await member.join()
    // Ten of them a second apart, and then every five seconds.
    assert.deepEqual([await beatsIn(60), await beatsIn(60)], [20, 12])
    group.id = 'new id'
    assert.ok((await beatsIn(60)) > 15)
    assert.equal(await beatsIn(60), 12)
    group.heartbeat = 200
    await beatsIn(5)
    assert.equal(await beatsIn(2), 10)
    await member.leave()
    assert.equal(clock.waiting, 0)
  })

  it('of which callers wait sends a heartbeat every second', async () => {
    const clock = new ManualClock()
    const group = new FakeGroup()
    group.heartbeat = 5_000
    const listener = { assigned() {}, revoked: async () => {}, lost() {}, deleted() {}, failed() {} }
    const options = { clock, longest: BEAT }
    const member = new Member(group as unknown as Group, ['a'], listener, async () => new Map(), options)
    await member.join()
    await clock.advance(15_000)
    const before = group.beats
    await clock.advance(10_000)
    assert.equal(group.beats - before, 10)
    await member.leave()
  })
})
