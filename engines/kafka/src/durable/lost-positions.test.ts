/** Groups whose positions Kafka has lost, or whose positions no longer fit the topic: no event is skipped in silence. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Code } from '../connection/errors.ts'
import { type JoinOptions, newScenes, type Scene } from '../testing/scene.ts'
import { HEADER } from '../words/headers.ts'

const DAY = 86_400_000

describe('a group of Kafka', () => {
  const newScene = newScenes()

  /** Handles what there is, and stops. */
  async function handleAndStop(scene: Scene, options: JoinOptions = {}, ...data: readonly unknown[]) {
    const { begun, stop } = await scene.join(options)
    for (const one of data) await scene.publish(one)
    await scene.until(() => begun.length >= data.length)
    await stop()
    return begun
  }

  it('whose positions have expired goes on where it stood, and says so: none is skipped, and none runs again', async () => {
    const scene = newScene()
    await handleAndStop(scene, {}, 'a', 'b')
    await scene.publish('while away')
    await scene.advance(7 * DAY - 1)
    await scene.publish('later')
    await scene.advance(1)
    // As all groups are, it was looked at when somebody asked.
    assert.ok(!scene.cluster.groups().includes('g.p'))
    const { begun } = await scene.join({ start: 'new' })
    await scene.until(() => begun.length === 2)
    assert.deepEqual(begun, ['while away', 'later'])
    assert.equal(scene.linesWith("Kafka has lost the positions of the group 'g' for 'p'").length, 1)
  })

  it('whose positions are noted at its stop is not taken for a new one; one of another name is', async () => {
    const scene = newScene()
    await handleAndStop(scene, {}, 'a')
    await scene.publish('while away')
    scene.cluster.forget('g.p')
    const { begun } = await scene.join({ start: 'new' })
    const other = await scene.join({ group: 'new', start: 'new' })
    await scene.publish('later')
    await scene.until(() => begun.length === 2 && other.begun.length === 1)
    assert.deepEqual([begun, other.begun], [['while away', 'later'], ['later']])
    assert.equal(scene.linesWith('has lost the positions').length, 1)
  })

  it('notes its positions every hour, for a process that is killed', async () => {
    const scene = newScene({ sessionTimeout: 2 * 3_600_000 })
    await scene.join()
    await scene.publish('a')
    await scene.until(() => scene.committed() === '1')
    const notes = () => scene.records('_elysia.groups').filter(({ keyText }) => keyText === 'positions/g.p')
    const before = notes().length
    // Nothing moves in the hour, so that the clock has little to do.
    scene.cluster.suspend()
    await scene.clock.advance(3_590_000)
    scene.cluster.resume()
    await scene.until(() => notes().length > before, 500)
    assert.match(notes().at(-1)?.text ?? '', /:\{"0":1\}\}$/)
  })

  it('handles the first event of a topic that was created again while it was away, and says so', async () => {
    for (const positions of ['deleted', 'forgotten', 'kept'] as const) {
      const scene = newScene()
      await handleAndStop(scene, {}, 'old')
      const kept = new Map(scene.cluster.group('g.p').offsets)
      if (positions === 'forgotten') scene.cluster.forget('g.p')
      scene.cluster.delete('p')
      scene.cluster.create({ name: 'p' })
      // Brokers delete the positions in a topic a moment later, and a process may commit one by the name of the topic.
      if (positions === 'kept')
        for (const [key, one] of kept) scene.cluster.group('g.p').offsets.set(key, one)
      await scene.publish('new')
      const { begun } = await scene.join()
      await scene.until(() => begun.length === 1)
      assert.deepEqual(begun, ['new'])
      assert.equal(scene.linesWith("The topic 'p' was deleted and created again").length, 1)
    }
  })

  it('handles the first event of a topic that is created again while it runs, in one process', async () => {
    const scene = newScene({ heartbeatInterval: 1_000 })
    const [one, two] = [await scene.join(), await scene.join()]
    await scene.advance(5_000)
    await scene.publish('old')
    await scene.until(() => one.begun.length + two.begun.length === 1)
    scene.cluster.delete('p')
    scene.cluster.create({ name: 'p' })
    await scene.publish('new')
    await scene.until(() => [...one.begun, ...two.begun].includes('new'))
    await scene.advance(5_000)
    assert.deepEqual([...one.begun, ...two.begun], ['old', 'new'])
    assert.ok(scene.linesWith("the group 'g' goes on with the first event of the new topic").length > 0)
    await scene.publish('further')
    await scene.until(() => [...one.begun, ...two.begun].includes('further'))
  })

  it('that stands behind the end of its partition says so, handles again what is left, and goes on', async () => {
    const scene = newScene()
    const { begun } = await scene.join()
    for (const data of ['a', 'b', 'c']) await scene.publish(data)
    await scene.until(() => scene.committed() === '3')
    scene.cluster.log('p').truncate(1)
    await scene.until(() => begun.length === 4)
    const [line, ...more] = scene.linesWith("Kafka has lost the end of 'p'")
    assert.match(
      line ?? '',
      /'g' stands at position 3 of partition 0 for 'p', and the partition ends at 1; .*position 0/
    )
    assert.deepEqual(more, [])
    await scene.publish('new')
    await scene.until(() => begun.length === 5)
    assert.deepEqual(begun, ['a', 'b', 'c', 'a', 'new'])
    await scene.until(() => scene.committed() === '2')
  })

  it('whose next events Kafka keeps no longer says so, and handles the others', async () => {
    const scene = newScene()
    await handleAndStop(scene, {}, 'done')
    await scene.publish('deleted')
    await scene.publish('kept')
    scene.cluster.log('p').deleteUpTo(2)
    const { begun } = await scene.join()
    await scene.until(() => begun.length === 1)
    assert.deepEqual(begun, ['kept'])
    const lines = scene.linesWith("Events of 'p' that the group 'g' had not handled were deleted by Kafka")
    assert.match(lines.join(), /the group goes on at position 2 of partition 0$/)
  })

  it('begins where `start` says, if it is new', async () => {
    const scene = newScene()
    scene.cluster.create({ name: 'p' })
    const before = scene.clock.now()
    for (const data of [1, 2, 3]) {
      await scene.publish(data)
      await scene.advance(1_000)
    }
    const seen: Record<string, unknown[]> = {}
    const starts = {
      all: 'all',
      new: 'new',
      since: { since: new Date(before + 1_000) },
      future: { since: new Date(before + DAY) },
      after: { after: `0-1-${before + 1_000}` }
    } as const
    for (const [group, start] of Object.entries(starts))
      seen[group] = (await scene.join({ group, start })).begun as unknown[]
    await scene.publish(4)
    await scene.until(() => Object.values(seen).every((all) => all.includes(4)))
    assert.deepEqual(seen, { all: [1, 2, 3, 4], new: [4], since: [2, 3, 4], future: [4], after: [3, 4] })
    await assert.rejects(
      scene.join({ start: { after: 'x' } }),
      /starts after 'x', which is not a position in Kafka/
    )
  })

  it('handles the events of a partition that is added from the first one on', async () => {
    const scene = newScene()
    const { begun } = await scene.join({ start: 'new' })
    scene.cluster.widen('p', 2)
    await scene.publish('early', undefined, { partition: 1 })
    await scene.advance(40_000)
    await scene.until(() => begun.length === 1)
    assert.deepEqual(begun, ['early'])
  })

  it('does not count an event that ends after its topic was deleted as one of the topic created again', async () => {
    const scene = newScene({ heartbeatInterval: 1_000 })
    let end = () => {}
    const { begun } = await scene.join({
      ordered: true,
      handle: ({ data }) => (data === 'last' ? new Promise<void>((resolve) => (end = resolve)) : undefined)
    })
    for (const data of ['first', 'last']) await scene.publish(data, 'k')
    await scene.until(() => begun.length === 2)
    scene.cluster.delete('p')
    scene.cluster.create({ name: 'p' })
    await scene.advance(2_000)
    end()
    await scene.advance(2_000)
    for (const data of [1, 2, 3]) await scene.publish(data, 'k')
    await scene.until(() => begun.length === 5)
    assert.deepEqual(begun, ['first', 'last', 1, 2, 3])
    await scene.until(() => scene.committed() === '3')
  })

  it('or a handler that nobody has any more is in the log at a start, with the events that wait for it', async () => {
    const scene = newScene()
    await handleAndStop(scene, {}, 'done')
    await handleAndStop(scene, { pattern: 'other' })
    for (const topic of ['p', 'p', 'other']) await scene.publish(1, undefined, { topic })
    const beside = await scene.join({ group: 'beside' })
    assert.deepEqual(
      scene.linesWith('wait for the group').map((line) => line.replace(/;.*/, '')),
      ["Up to 2 events 'p' wait for the group 'g', which no process handles at the moment"]
    )
    scene.lines.length = 0
    // A group that has a process is in no line.
    await scene.join()
    assert.deepEqual(
      scene.linesWith('wait for the group').map((line) => line.replace(/, .*/, '')),
      ["Up to 1 events 'other' wait for the group 'g'"]
    )
    await beside.stop()
    scene.lines.length = 0
    // A group that goes on is not new.
    await scene.join({ group: 'beside' })
    assert.deepEqual(scene.linesWith('is new and does not get them'), [])
  })

  it('that cannot be asked about is in the log, except where this user lacks the right to ask', async () => {
    const scene = newScene()
    await handleAndStop(scene, {}, 'done')
    await scene.publish(1)
    for (const [code, lines] of [
      [Code.unknownMember, 1],
      [Code.groupAuthorization, 0]
    ] as const) {
      scene.cluster.refuses = (request, about) =>
        request === 'members' && about === 'g.p' ? code : undefined
      scene.lines.length = 0
      const { stop } = await scene.join({ group: `beside ${code}` })
      assert.equal(
        scene.linesWith("It is not known whether the group 'g.p' still has a process").length,
        lines
      )
      await stop()
    }
  })

  it('says that its positions cannot be noted, as long as brokers answer', async () => {
    const scene = newScene()
    const { stop } = await scene.join()
    scene.cluster.refuses = (request, about) =>
      request === 'committed' && about === 'g.p' ? Code.groupAuthorization : undefined
    await stop()
    assert.equal(scene.linesWith("The positions of the group 'g' for 'p' cannot be noted in Kafka").length, 1)
  })

  it('cannot be joined without rights, and the error says which are missing', async () => {
    const scene = newScene()
    scene.cluster.refuses = (request) => (request === 'heartbeat' ? Code.groupAuthorization : undefined)
    await assert.rejects(
      scene.join(),
      /group 'g.p'.*give the user the rights Read and Describe on the group/s
    )
    scene.cluster.refuses = (request, about) =>
      request === 'createTopics' && about === 'q' ? Code.topicAuthorization : undefined
    await assert.rejects(scene.join({ pattern: 'q' }), /the topic 'q' is missing.*the right to Create/s)
    await scene.publish('paused', 'other', { topic: '_elysia.groups' })
    scene.cluster.refuses = (request, about) =>
      request === 'fetch' && about === '_elysia.groups' ? Code.topicAuthorization : undefined
    await assert.rejects(
      scene.join({ group: 'h' }),
      /the topic '_elysia.groups' cannot be read.*right to Read/s
    )
  })

  it('counts only retries of its own, and passes over those of others', async () => {
    const scene = newScene()
    scene.cluster.create({ name: 'p.retry-1' })
    const { begun, consumer } = await scene.join()
    for (const group of ['other', 'g'])
      await scene.publish(group, undefined, {
        topic: 'p.retry-1',
        [HEADER.group]: group,
        [HEADER.attempts]: '1',
        [HEADER.due]: '0'
      })
    await scene.until(() => begun.length === 1)
    assert.deepEqual(begun, ['g'])
    assert.equal(consumer.figures.redeliveries, 1)
    await scene.until(() => scene.committed(0, 'g.p', 'p.retry-1') === '2')
  })
})
