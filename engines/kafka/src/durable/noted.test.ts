import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import type { Cluster } from '../connection/cluster.ts'
import type { Before, Committed, Group } from '../connection/group.ts'
import { type DriverConnection, EARLIEST } from '../driver.ts'
import { readBatches, writeBatch } from '../words/batch.ts'
import { type Fetched, writeRecord } from '../words/record.ts'
import { GroupPositions } from './group-positions.ts'
import { NotedPositions, readNote } from './noted.ts'

const ID = '0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f'
const TOPICS: Readonly<Record<string, { name: string; id: string; leaders: number[] }>> = {
  a: { name: 'a', id: ID, leaders: [1, 1] },
  'a.retry-1': { name: 'a.retry-1', id: `${ID}1`, leaders: [1, 1] }
}

const recordOf = (key: string, value: string | undefined): Fetched =>
  readBatches(writeBatch([writeRecord(key, value, {})], 5_000), 0).records[0] as Fetched

/** A group with these positions, at a cluster whose partitions begin at 10 and end at 100. */
function fake(committed: readonly Committed[] = []): Group {
  const cluster = {
    isConnected: true,
    isolation: 1,
    topic: (name: string) => TOPICS[name],
    lookUp: async (name: string) => ({ name }),
    leaderOf: async () => 1,
    persist: (_: unknown, task: () => Promise<unknown>) => task(),
    ask: (_node: number, _purpose: string, request: (broker: DriverConnection) => unknown) => {
      const listOffsets: DriverConnection['listOffsets'] = async (_topic, partitions, timestamp) =>
        new Map(partitions.map((partition) => [partition, timestamp === EARLIEST ? 10n : 100n]))
      return request({ listOffsets } as unknown as DriverConnection)
    }
  }
  const group = { name: 'g.a', cluster: cluster as unknown as Cluster, committed: async () => committed }
  return group as unknown as Group
}

function positionsOf(noted: NotedPositions, group = fake()) {
  const lines: string[] = []
  const logger = {
    error: (line: string) => void lines.push(line),
    warn: (line: string) => void lines.push(line)
  }
  const positions = new GroupPositions(group, {
    group: 'g',
    pattern: 'a',
    start: 'new',
    noted,
    logger,
    clock: systemClock
  })
  const begun = async (topic: string, before?: Before) =>
    Object.fromEntries(await positions.beginnings(topic, [0, 1], before))
  return { begun, lines }
}

const noted = (text: string) => {
  const known = new NotedPositions()
  assert.equal(known.take(recordOf('positions/g.a', text)), true)
  return known
}

describe('the noted positions of a group', () => {
  it('are taken from the records of the topic of groups, which also has paused groups', () => {
    const known = new NotedPositions()
    assert.equal(known.take(recordOf('g', 'paused')), false)
    assert.equal(known.of('g.a'), undefined)
    known.take(recordOf('positions/g.a', `{"${ID}":{"0":5}}`))
    assert.deepEqual(known.of('g.a')?.at, new Date(5_000))
    assert.equal(known.of('g.a')?.positions[ID]?.[0], 5)
    assert.deepEqual(known.names, ['g.a'])
    known.take(recordOf('positions/g.a', undefined))
    assert.equal(known.of('g.a'), undefined)
  })

  it('may be any text, and no reading of them fails', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        for (const of of Object.values(readNote(text)))
          for (const position of Object.values(of)) assert.ok(Number.isSafeInteger(position) && position >= 0)
      })
    )
    assert.deepEqual({ ...readNote('{"__proto__":{"0":1}}') }['0'], undefined)
  })

  it('do not count while Kafka has positions: partitions without one are new', async () => {
    const { begun, lines } = positionsOf(noted('{}'))
    assert.deepEqual([await begun('a', 'some'), lines], [{ 0: 10n, 1: 10n }, []])
  })

  it('are where a group goes on that has lost its positions, and the log says so', async () => {
    const { begun, lines } = positionsOf(noted(`{"${ID}":{"0":50},"${ID}1":{"1":70}}`))
    assert.deepEqual(await begun('a', 'none'), { 0: 50n, 1: 10n })
    assert.deepEqual(await begun('a.retry-1'), { 0: 10n, 1: 70n })
    assert.equal(lines.length, 1)
    assert.match(lines[0] ?? '', /lost the positions of the group 'g' for 'a'.*1970-01-01T00:00:05/)
  })

  it('of a topic that was created again let the group begin at its first event, and the log says so', async () => {
    for (const before of ['none', 'of a deleted topic'] as const) {
      const { begun, lines } = positionsOf(noted('{"another":{"0":50}}'))
      assert.deepEqual(await begun('a', before), { 0: 10n, 1: 10n })
      assert.match(lines[0] ?? '', /deleted and created again/)
    }
  })

  it('are missing for a new group, which begins where its `start` says', async () => {
    const { begun, lines } = positionsOf(new NotedPositions())
    const said =
      "The group 'g' is new and begins with the next event: up to 180 events 'a' were stored before, and it does not get them. With durable.start 'all' a new group gets them"
    assert.deepEqual([await begun('a', 'none'), lines], [{ 0: 100n, 1: 100n }, [said]])
  })
})
