/** A durable handler that starts: when events are stored for it, and from when on it receives them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newScenes, QUEUE, settled } from '../testing/scene.ts'
import { GROUPS, queueOfPaused } from '../words/names.ts'

describe('a durable handler that starts', () => {
  const newScene = newScenes()

  it('has its events stored before it begins, and receives none of them', async () => {
    const scene = newScene()
    const consumer = await scene.start()
    await scene.publish('x')
    assert.deepEqual([scene.data, scene.count(QUEUE)], [[], 1])
    consumer.begin()
    await settled(scene.server)
    assert.deepEqual([scene.data, scene.count(QUEUE)], [['x'], 0])
  })

  it('begins with nothing if its group is paused, until it is resumed', async () => {
    const scene = newScene()
    const first = await scene.join()
    scene.server.publish(GROUPS, queueOfPaused('g'), Buffer.from('paused'), { persistent: true })
    await first.look()
    const consumer = await scene.start()
    consumer.begin()
    await scene.publish('x')
    assert.deepEqual([scene.data, consumer.isPaused, consumer.figures.isPaused], [[], true, true])
    scene.server.queues.get(queueOfPaused('g'))?.messages.splice(0)
    await consumer.look()
    await settled(scene.server)
    assert.deepEqual([scene.data, consumer.isPaused], [['x'], false])
  })

  it('whose server is lost as it begins begins over the next connection, and fails nowhere', async () => {
    const scene = newScene()
    const failures: unknown[] = []
    const failed = (error: unknown) => void failures.push(error)
    process.on('unhandledRejection', failed)
    const consumer = await scene.start()
    consumer.begin()
    scene.server.cut()
    while (scene.server.queues.get(QUEUE)?.consumers.length !== 1) await new Promise(setImmediate)
    await scene.publish('x')
    process.off('unhandledRejection', failed)
    assert.deepEqual([scene.data, failures], [['x'], []])
  })
})
