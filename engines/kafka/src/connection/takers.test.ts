/** The messages of a service over brokers inside the process. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { Subject } from '@elysia-microservices/engine'
import { newScenes, type Scene } from '../testing/scene.ts'
import { HEADER } from '../words/headers.ts'
import { Code } from './errors.ts'

describe('the messages of a service over Kafka', () => {
  const newScene = newScenes()
  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp()
  })

  function open(start: 'new' | 'all' = 'new') {
    const scene = newScene({ heartbeatInterval: 20, start })
    scene.cluster.create({ name: 'p' })
    return scene
  }

  /** Takes the messages of `p` for a service `s`, in a process of its own. */
  async function take(scene: Scene, queue = 's') {
    const taken: string[] = []
    const connection = await scene.connect()
    cleanUps.push(() => connection.close())
    const subject = { address: 'p', queue: queue === '' ? undefined : queue } as unknown as Subject
    const receive = (_: Subject, { words, reply }: { words: unknown; reply?: string | undefined }) =>
      void taken.push(
        `${String(words).replace(/^.*"data":(.*?)(,"id.*)?\}$/, '$1')}${reply ? ' with reply' : ''}`
      )
    await connection.take([subject], receive)
    return { taken, connection }
  }

  it('are committed before they are handled, and go on where the service has stopped', async () => {
    const scene = open()
    await scene.publish('before')
    const first = await take(scene)
    await scene.publish('a')
    await scene.until(() => first.taken.length === 1)
    assert.equal(scene.committed(0, 's-server'), '2')
    await first.connection.leave()
    await scene.publish('b')
    const second = await take(scene)
    await scene.until(() => second.taken.length === 1)
    assert.deepEqual([first.taken, second.taken], [['"a"'], ['"b"']])
  })

  it('begin with all that Kafka has, if the group is new and told so', async () => {
    const scene = open('all')
    await scene.publish('before')
    const first = await take(scene)
    await scene.until(() => first.taken.length === 1)
    await first.connection.leave()
    const second = await take(scene)
    await scene.publish('a')
    await scene.until(() => second.taken.length === 1)
    assert.deepEqual([first.taken, second.taken], [['"before"'], ['"a"']])
  })

  it('are read again if they cannot be committed, and not if they belong to another process', async () => {
    const scene = open()
    const { taken } = await take(scene)
    let refusals = 1
    scene.cluster.refuses = (request) =>
      request === 'commit' && refusals-- > 0 ? Code.groupAuthorization : undefined
    await scene.publish('a')
    await scene.until(() => taken.length === 1)
    assert.deepEqual(taken, ['"a"'])
    refusals = 1
    scene.cluster.refuses = (request) =>
      request === 'commit' && refusals-- > 0 ? Code.fencedMember : undefined
    await scene.publish('of another process')
    await scene.publish('b')
    await scene.until(() => taken.length === 2)
    assert.deepEqual(taken, ['"a"', '"b"'])
  })

  it('of every process begin at the end of the topic, without a group', async () => {
    const scene = open()
    await scene.publish('before')
    const [one, two] = [await take(scene, ''), await take(scene, '')]
    await scene.publish('a')
    await scene.until(() => one.taken.length + two.taken.length === 2)
    assert.deepEqual([one.taken, two.taken], [['"a"'], ['"a"']])
    assert.deepEqual(scene.cluster.groups(), [])
  })

  it('that are left when the end of the topic is lost are not handled twice, and a line says so', async () => {
    const scene = open()
    const { taken } = await take(scene)
    for (const data of ['a', 'b', 'c']) await scene.publish(data)
    await scene.until(() => taken.length === 3)
    scene.cluster.log('p').truncate(1)
    await scene.until(() => scene.lines.length > 0)
    assert.match(
      scene.lines.join(),
      /lost the end of 'p': messages were taken up to position 3 of partition 0, which ends at 1/
    )
    await scene.publish('new')
    await scene.until(() => taken.length === 4)
    assert.deepEqual(taken, ['"a"', '"b"', '"c"', '"new"'])
  })

  it('that Kafka keeps no longer are told, and the others are handled', async () => {
    const scene = open()
    const first = await take(scene)
    await first.connection.leave()
    for (const data of ['deleted', 'kept']) await scene.publish(data)
    scene.cluster.log('p').deleteUpTo(1)
    const { taken } = await take(scene)
    await scene.until(() => taken.length === 1)
    assert.deepEqual(taken, ['"kept"'])
    assert.equal(scene.linesWith("Kafka does not have the messages of 'p'").length, 1)
  })

  for (const queue of ['s', ''])
    it(`of a topic that was created again are handled once, ${queue ? 'in a group' : 'in every process'}`, async () => {
      const scene = open()
      const { taken } = await take(scene, queue)
      for (const data of ['a', 'b']) await scene.publish(data)
      await scene.until(() => taken.length === 2)
      scene.cluster.delete('p')
      scene.cluster.create({ name: 'p' })
      await scene.publish('first')
      await scene.until(() => taken.length === 3)
      await scene.publish('second')
      await scene.until(() => taken.length === 4)
      assert.deepEqual(taken.slice(2), ['"first"', '"second"'])
      assert.deepEqual(scene.linesWith('keeps them no longer'), [])
    })

  it('of a partition that is added are handled from the first one on', async () => {
    const scene = open()
    const { taken } = await take(scene)
    scene.cluster.widen('p', 2)
    await scene.publish('new', undefined, { partition: 1 })
    await scene.until(() => taken.length === 1)
    assert.deepEqual(taken, ['"new"'])
  })

  it('that had expired before the service could read them are not handled', async () => {
    const scene = open()
    const first = await take(scene)
    await first.connection.leave()
    const asking = (expires: string) => ({
      [HEADER.correlation]: '1',
      [HEADER.replyTopic]: 'p.reply',
      [HEADER.replyPartition]: '0',
      [HEADER.expires]: expires
    })
    // The clock of the scene is behind the clock of the system.
    await scene.publish('expired', undefined, asking('1000'))
    await scene.publish('event')
    const { taken } = await take(scene)
    await scene.until(() => taken.length === 1)
    assert.deepEqual(taken, ['"event"'])
    await scene.publish('in time', undefined, asking('1000'))
    await scene.until(() => taken.length === 2)
    assert.deepEqual(taken[1], '"in time" with reply')
  })
})
