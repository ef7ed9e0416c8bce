import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { DriverConnection, GroupOffset } from '../driver.ts'
import type { Cluster } from './cluster.ts'
import { Code } from './errors.ts'
import { type Committed, Group, readMetadata } from './group.ts'

const OLD = '0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f'
const NEW = 'ffffffff-0a1b-0a1b-0a1b-0a1b2c3d4e5f'

/** A cluster with the topic 'a', which may be deleted, and its coordinator, which keeps the commits. */
class FakeCluster {
  id: string | undefined = OLD
  /** The topic id that the client knows: it changes with `refresh`. */
  known: string | undefined = OLD
  readonly stored: GroupOffset[] = []
  refusals = 0
  refused: () => void = () => {}

  topic() {
    return this.known === undefined ? undefined : { name: 'a', id: this.known, leaders: [1] }
  }

  async refresh(): Promise<void> {
    this.known = this.id
  }

  async lookUp(): Promise<void> {
    this.known ??= this.id
  }

  async askAny(): Promise<number> {
    return 1
  }

  /** Repeats ten times at most. */
  async persist<Result>(_stale: unknown, task: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++)
      try {
        return await task()
      } catch (error) {
        if (attempt === 10) throw error
      }
  }

  ask<Answer>(
    _node: number,
    _purpose: string,
    request: (broker: DriverConnection) => Promise<Answer>
  ): Promise<Answer> {
    const committed = async () => this.stored
    const commit: DriverConnection['commit'] = async (_group, _member, _epoch, positions) => {
      if (this.id === undefined) {
        this.refusals++
        this.refused()
        throw Object.assign(new Error('no such topic'), { apiCode: Code.unknownTopic })
      }
      this.stored.push(...positions)
    }
    return request({ committed, commit } as unknown as DriverConnection)
  }
}

function newGroup() {
  const cluster = new FakeCluster()
  return { cluster, group: new Group(cluster as unknown as Cluster, 'g') }
}

const position: Committed = { topic: 'a', topicId: OLD, partition: 0, next: 5n, metadata: 'what is done' }

describe('a consumer group', () => {
  it('gives back the id of the topic and the metadata of each position', async () => {
    const { cluster, group } = newGroup()
    await group.commit([position])
    cluster.stored.push({ topic: 'a', partition: 0, next: 7n, metadata: 'of a tool' })
    assert.deepEqual(await group.committed([{ topic: 'a', topicId: OLD, partition: 0 }]), [
      position,
      { ...position, next: 7n, metadata: 'of a tool' }
    ])
  })

  it('does not commit a position of a topic that was deleted and created again, also while it repeats the commit', async () => {
    const { cluster, group } = newGroup()
    cluster.id = undefined
    cluster.refused = () => {
      if (cluster.refusals === 3) cluster.id = NEW
    }
    await group.commit([position])
    assert.equal(cluster.refusals, 3)
    assert.deepEqual(cluster.stored, [])
    await group.commit([position])
    assert.deepEqual(cluster.stored, [])
    await group.commit([{ ...position, topicId: NEW }])
    assert.equal(cluster.stored.length, 1)
  })

  it('does not commit such a position either when it had forgotten the topic', async () => {
    const { cluster, group } = newGroup()
    cluster.id = NEW
    cluster.known = undefined
    await group.commit([position])
    assert.deepEqual(cluster.stored, [])
  })

  it('gives up the positions of a topic that stays deleted', async () => {
    const { cluster, group } = newGroup()
    cluster.id = undefined
    await group.commit([position])
    assert.equal(cluster.refusals, 10)
  })

  it('takes metadata of any kind', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.string(), (topicId, metadata) => {
        assert.deepEqual(readMetadata(`${topicId} ${metadata}`), { topicId, metadata })
        assert.deepEqual(readMetadata(metadata), { metadata })
      })
    )
  })
})
