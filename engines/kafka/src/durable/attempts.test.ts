/** How often an event has failed is known in the next process, too: it is committed beside the position. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type IncomingMessage, RetryLater } from '@elysia-microservices/transport/kit'
import { Code } from '../connection/errors.ts'
import { newScenes } from '../testing/scene.ts'
import { HEADER } from '../words/headers.ts'

describe('the attempts of an ordered event', () => {
  const newScene = newScenes()

  /** A handler whose runs fail; the next attempt is in 5 s. */
  function failing() {
    const runs: string[] = []
    const handle = ({ data, delivery }: IncomingMessage) => {
      runs.push(`${data} ${delivery?.attempt}`)
      throw new RetryLater(5_000)
    }
    return { runs, handle, ordered: true }
  }

  it('are counted on by the process that goes on after one that was killed', async () => {
    const scene = newScene()
    const { runs, ...options } = failing()
    const first = await scene.join(options)
    // The second one waits for the first one, and has not been attempted.
    for (const data of ['a', 'b']) await scene.publish(data, 'k')
    await scene.advance(5_000)
    await scene.advance(50)
    assert.equal(scene.committed(), '0 1 2*2,1')
    first.consumer.cut()
    await scene.settled()
    const next: unknown[] = []
    const second = await scene.join({
      ordered: true,
      handle: ({ data, delivery }) => void next.push([data, delivery?.attempt])
    })
    await scene.until(() => next.length === 2)
    assert.deepEqual(runs, ['a 1', 'a 2'])
    assert.deepEqual(next, [
      ['a', 3],
      ['b', 1]
    ])
    assert.equal(second.consumer.figures.redeliveries, 1)
    await scene.advance(50)
    assert.equal(scene.committed(), '2')
  })

  it('are counted on when the event fails while its process stops', async () => {
    const scene = newScene()
    let fail = (_error: Error) => {}
    const first = await scene.join({
      ordered: true,
      handle: () => new Promise<void>((_, reject) => (fail = reject))
    })
    await scene.publish('a', 'k')
    const stopping = first.stop()
    await scene.settled()
    fail(new RetryLater(5_000))
    await stopping
    const { runs, ...options } = failing()
    await scene.join(options)
    await scene.until(() => runs.length > 0)
    assert.deepEqual(runs, ['a 2'])
  })

  it('end with a dead letter although each of them is in another process', async () => {
    const scene = newScene()
    const runs: string[] = []
    for (let process = 1; process <= 3; process++) {
      const handle = (message: IncomingMessage) => {
        runs.push(`${process}: ${message.data} ${message.delivery?.attempt}`)
        throw new Error('no')
      }
      const { stop } = await scene.join({ ordered: true, handle, retry: { attempts: 3, minDelay: 60_000 } })
      if (process === 1) await scene.publish('a', 'k')
      await scene.until(() => runs.length === process)
      if (process < 3) await stop()
    }
    await scene.stored('p.dlt')
    assert.deepEqual(runs, ['1: a 1', '2: a 2', '3: a 3'])
    assert.equal(scene.records('p.dlt')[0]?.header(HEADER.attempts), '3')
  })

  it('are counted on when its group was paused and goes on', async () => {
    const scene = newScene()
    const { runs, ...options } = failing()
    await scene.join(options)
    await scene.publish('a', 'k')
    const pauses = (value: string | undefined) => scene.publish(value, 'g', { topic: '_elysia.groups' })
    await pauses('paused')
    await pauses(undefined)
    await scene.settled()
    assert.deepEqual(runs, ['a 1', 'a 2'])
  })

  it('are counted on, too, if the event is not ordered and no copy of it can be stored', async () => {
    const scene = newScene()
    const { runs, handle } = failing()
    scene.cluster.refuses = (request, about) =>
      request === 'createTopics' && about === 'p.retry-1' ? Code.topicAuthorization : undefined
    const first = await scene.join({ handle })
    await scene.publish('a')
    await scene.until(() => scene.linesWith('cannot be stored for a retry').length > 0, 0)
    await scene.advance(50)
    first.consumer.cut()
    await scene.settled()
    await scene.join({ handle })
    await scene.until(() => runs.length === 2)
    assert.deepEqual(runs, ['a 1', 'a 2'])
  })
})

it('a handler that ends at once gets ten thousand events one after the other, and in order', async () => {
  const scene = newScenes()()
  const seen: unknown[] = []
  scene.cluster.create({ name: 'p' })
  const records = Array.from({ length: 10_000 }, (_, n) => scene.record(n))
  await scene.join({ start: 'all', concurrency: 1, handle: ({ data }) => void seen.push(data) })
  scene.cluster.log('p').append({ records, timestamp: scene.clock.now() })
  await scene.until(() => seen.length === records.length)
  assert.deepEqual(seen, [...records.keys()])
})
