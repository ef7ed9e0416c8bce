/** Records of other producers' transactions over brokers inside the process. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newScenes, type SceneOptions } from '../testing/scene.ts'
import { HEADER } from '../words/headers.ts'

describe('a record of a transaction in Kafka', () => {
  const newScene = newScenes()

  function open(options: SceneOptions = {}) {
    const scene = newScene(options)
    scene.cluster.create({ name: 'p' })
    /** Begins a transaction with one record. */
    const begin = (data: unknown, topic = 'p', own: Readonly<Record<string, string>> = {}) => {
      const producer = scene.cluster.newProducer()
      const log = scene.cluster.log(topic)
      log.appendTo(producer, [scene.record(data, 'k', own)], scene.clock.now())
      return (isCommitted: boolean) => log.endOf(producer, isCommitted, scene.clock.now())
    }
    return { scene, begin }
  }

  it('is handled when it is committed, and never when it is aborted', async () => {
    const { scene, begin } = open()
    const { begun, consumer } = await scene.join()
    const [end, endOther] = [begin('aborted'), begin('committed')]
    await scene.publish('behind')
    assert.equal(typeof consumer.figures.lag, 'number')
    await scene.settled()
    assert.deepEqual([begun, consumer.figures.lag], [[], 3])
    end(false)
    endOther(true)
    await scene.until(() => scene.committed() === '5')
    assert.deepEqual(begun, ['committed', 'behind'])
    assert.equal(consumer.figures.lag, 0)
  })

  it('is handled at once, and also when it is aborted, with `readUncommitted`', async () => {
    const { scene, begin } = open({ readUncommitted: true })
    const { begun } = await scene.join()
    const end = begin('aborted')
    await scene.until(() => begun.length === 1)
    end(false)
    await scene.settled()
    assert.deepEqual(begun, ['aborted'])
  })

  it('that is open when a new group begins is handled when it is committed', async () => {
    const { scene, begin } = open()
    await scene.publish('before')
    const end = begin('open')
    const { begun } = await scene.join({ start: 'new' })
    end(true)
    await scene.until(() => begun.length === 1)
    assert.deepEqual(begun, ['open'])
  })

  it('that is aborted is no retry of a group', async () => {
    const { scene, begin } = open()
    scene.cluster.create({ name: 'p.retry-1' })
    const { begun } = await scene.join()
    const own = { [HEADER.group]: 'g', [HEADER.attempts]: '1', [HEADER.due]: '0' }
    begin('forged', 'p.retry-1', own)(false)
    begin('real', 'p.retry-1', own)(true)
    await scene.until(() => begun.length === 1)
    assert.deepEqual(begun, ['real'])
  })
})
