/** The store of a client over brokers inside the process: dead letters, pauses of groups. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Code } from '../connection/errors.ts'
import { newScenes, type Scene } from '../testing/scene.ts'
import { HEADER } from '../words/headers.ts'
import { KafkaDeadLetters } from './dead-letters.ts'
import { pauseGroup } from './groups.ts'

async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const list: Value[] = []
  for await (const value of values) list.push(value)
  return list
}

describe('the store of a client over Kafka', () => {
  const newScene = newScenes()

  async function open() {
    const scene = newScene()
    const connection = await scene.connect()
    const letters = new KafkaDeadLetters('g', async () => connection.cluster)
    return { scene, connection, letters }
  }

  /** Lets a group fail at events, which become dead letters. */
  async function fail(scene: Scene, pattern: string, ...data: readonly unknown[]) {
    const handle = () => {
      throw new Error('no')
    }
    const { stop } = await scene.join({ pattern, handle, retry: { attempts: 1 } })
    for (const one of data) {
      const before = scene.records(`${pattern}.dlt`).length
      await scene.publish(one, 'k', { topic: pattern })
      await scene.until(() => scene.records(`${pattern}.dlt`).length > before, 1)
    }
    await stop()
  }

  it('lists the dead letters of all patterns of a group, from the oldest on, and finds each by its position', async () => {
    const { scene, letters } = await open()
    await fail(scene, 'p', 1)
    await new Promise((resolve) => setTimeout(resolve, 2))
    await fail(scene, 'q', 2)
    await new Promise((resolve) => setTimeout(resolve, 2))
    await fail(scene, 'p', 3)
    const found = await all(letters.list())
    assert.deepEqual(
      found.map(({ pattern, data, position }) => [pattern, data, position]),
      [
        ['p', 1, 'p.dlt:0'],
        ['q', 2, 'q.dlt:0'],
        ['p', 3, 'p.dlt:1']
      ]
    )
    assert.equal((await all(letters.list({ limit: 2 }))).length, 2)
    assert.equal((await letters.get('p.dlt:1'))?.data, 3)
    for (const wrong of ['', 'x', 'p.dlt:99', 'p:0', '_elysia.groups.dlt:0', 'none.dlt:0'])
      assert.equal(await letters.get(wrong), undefined)
    const others = new KafkaDeadLetters('other', async () => (await scene.connect()).cluster)
    assert.deepEqual(await all(others.list()), [])
    assert.equal(await others.discard('p.dlt:0'), false)
  })

  it('fails with an error that says what cannot be read, if a user may not', async () => {
    const { scene, letters } = await open()
    await fail(scene, 'p', 1)
    scene.cluster.refuses = (request, about) =>
      request === 'fetch' && about === 'p.dlt' ? Code.topicAuthorization : undefined
    await assert.rejects(
      all(letters.list()),
      /^ConnectionError: The dead letters of the group 'g' cannot be read/
    )
    await assert.rejects(letters.get('p.dlt:0'), /^ConnectionError: The dead letter p\.dlt:0 cannot be read/)
  })

  it('discards a dead letter once, by a record with its key and without a value', async () => {
    const { scene, letters } = await open()
    await fail(scene, 'p', 1)
    assert.equal(await letters.discard('p.dlt:0'), true)
    assert.equal(await letters.discard('p.dlt:0'), false)
    const [letter, end] = scene.records('p.dlt')
    assert.deepEqual([end?.keyText, end?.value], [letter?.keyText, undefined])
    assert.deepEqual(await all(letters.list()), [])
  })

  it('redrives a dead letter once, to its group alone, as an event that was never attempted', async () => {
    const { scene, letters } = await open()
    await fail(scene, 'p', 1)
    assert.equal(await letters.redrive('p.dlt:0'), true)
    assert.equal(await letters.redrive('p.dlt:0'), false)
    const [copy, ...more] = scene.records('p.retry-1')
    assert.deepEqual(more, [])
    const names = [
      HEADER.group,
      HEADER.attempts,
      HEADER.due,
      HEADER.id,
      HEADER.reason,
      HEADER.position
    ] as const
    const said = names.map((name) => copy?.header(name))
    assert.deepEqual(said, ['g', '0', '0', 'e0', undefined, `0-0-${scene.records('p')[0]?.timestamp}`])
    assert.equal(copy?.keyText, 'k')
    const runs: unknown[] = []
    const { begun } = await scene.join({ handle: ({ delivery }) => void runs.push(delivery?.attempt) })
    const other = await scene.join({ group: 'other' })
    await scene.until(() => begun.length > 0)
    await scene.advance(5_000)
    assert.deepEqual([begun, runs, other.begun], [[1], [1], []])
  })

  it('does not redrive a dead letter without its data', async () => {
    const { scene, letters } = await open()
    scene.cluster.create({ name: 'p.dlt' })
    const own = { [HEADER.group]: 'g', [HEADER.leftOut]: 'data', [HEADER.position]: '0-7-1000' }
    await scene.publish('', 'key', { topic: 'p.dlt', ...own })
    await assert.rejects(letters.redrive('p.dlt:0'), /its data were too large to be kept.*position 0-7-1000/)
    assert.deepEqual((await letters.get('p.dlt:0'))?.leftOut, ['data'])
  })

  it('pauses a group when all of its processes have confirmed it, and not one that does not exist', async () => {
    const { scene, connection } = await open()
    const processes = [await scene.join(), await scene.join()]
    await assert.rejects(pauseGroup(connection, 'unknown', true), /unknown/)
    await pauseGroup(connection, 'g', true)
    assert.deepEqual(
      processes.map(({ consumer }) => consumer.figures.isPaused),
      [true, true]
    )
    const late = await scene.join()
    assert.equal(late.consumer.figures.isPaused, true)
    await pauseGroup(connection, 'g', false)
    assert.equal(late.consumer.figures.isPaused, false)
  })

  it('asks for the members of a group again while the group moves to another coordinator', async () => {
    const { scene, connection } = await open()
    const { consumer } = await scene.join()
    let refusals = 2
    scene.cluster.refuses = (request, about) =>
      request === 'members' && about === 'g.p' && refusals-- > 0 ? Code.notCoordinator : undefined
    // Taken for a group without members, it would be confirmed at once.
    await pauseGroup(connection, 'g', true)
    assert.equal(consumer.figures.isPaused, true)
    assert.ok(refusals < 0)
    scene.cluster.refuses = (request, about) =>
      request === 'members' && about === 'g.p' ? Code.groupAuthorization : undefined
    await assert.rejects(pauseGroup(connection, 'g', false))
  })
})
