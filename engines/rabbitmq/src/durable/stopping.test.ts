/** A durable handler that stops while the server is slow, or while something is on its way. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Timeouts } from '@elysia-microservices/test-support'
import { RetryLater } from '@elysia-microservices/transport/kit'
import { newScenes, QUEUE, SHORT, settled } from '../testing/scene.ts'
import { exchangeOf } from '../words/names.ts'
import { HEADER } from './stored.ts'

/** Milliseconds within which the server confirms that it delivers nothing more. */
const CANCELED_WITHIN = 2_000

describe('a durable handler that stops', () => {
  const newScene = newScenes()

  it('gives back what arrives when it waits no longer for the server: others run that meanwhile', async () => {
    const scene = newScene()
    let done = () => {}
    scene.handle = () =>
      new Promise<void>((resolve) => {
        done = resolve
      })
    const consumer = await scene.join({ concurrency: 2 })
    await scene.publish('first')
    using _ = new Timeouts((milliseconds) => (milliseconds === CANCELED_WITHIN ? 0 : milliseconds))
    scene.server.suspend()
    const stopping = consumer.stop()
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setTimeout(resolve, 0))
    // It is on its way before the server hears that it is to deliver nothing more.
    const sent = scene.publish('late')
    scene.server.resume()
    await sent
    await settled(scene.server)
    assert.deepEqual([scene.data, scene.count(QUEUE)], [['first'], 1])
    done()
    await scene.advance(100)
    await stopping
  })

  it('at once gives back all that it has, whether it runs or not: nothing of it is done', async () => {
    const scene = newScene()
    scene.handle = () => new Promise(() => {})
    const consumer = await scene.join({ concurrency: 2 })
    for (const data of ['a', 'b']) await scene.publish(data)
    consumer.cut()
    await scene.connections[0]?.link.close()
    await settled(scene.server)
    assert.deepEqual([scene.data, scene.count(QUEUE)], [['a', 'b'], 2])
  })

  it('at once gives back what it has before its connection ends, too: others need not wait for that', async () => {
    const scene = newScene()
    scene.handle = () => new Promise(() => {})
    const consumer = await scene.join({ concurrency: 2 })
    for (const data of ['a', 'b']) await scene.publish(data)
    await scene.join({ concurrency: 2 })
    consumer.cut()
    await settled(scene.server)
    assert.ok(scene.begun.length > 2, 'Another process runs what is there')
    for (const { link } of scene.connections) await link.close()
    await settled(scene.server)
    assert.equal(scene.count(QUEUE), 2)
  })

  it('while the copy of a retry is not confirmed waits for that: the event is in one queue alone', async () => {
    const scene = newScene()
    scene.handle = () => {
      throw new RetryLater(1_000)
    }
    const consumer = await scene.join()
    await scene.publish('x')
    let stopping: Promise<void> | undefined
    scene.clock.after(1_000, () => {
      scene.server.suspend()
      stopping = consumer.stop()
    })
    await scene.clock.advance(1_000)
    scene.server.resume()
    await settled(scene.server)
    // Acknowledgements are passed on over the channel of retries, and then over that of events.
    for (let n = 0; n < 2; n++) await scene.advance(100)
    await stopping
    assert.equal((scene.count(QUEUE) ?? 0) + (scene.count(SHORT) ?? 0), 1)
  })
})

describe('a durable handler that stops, and a retry', () => {
  const newScene = newScenes()

  it('waits until the copy of an event that fails meanwhile is stored: the event is in one queue alone', async () => {
    const scene = newScene()
    let fail = () => {}
    scene.handle = () =>
      new Promise((_, reject) => {
        fail = () => reject(new RetryLater(5_000))
      })
    const consumer = await scene.join()
    await scene.publish('x')
    const stopping = consumer.stop()
    await settled(scene.server)
    scene.server.suspend()
    fail()
    await scene.clock.advance(100)
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    scene.server.resume()
    await settled(scene.server)
    await scene.advance(100)
    await stopping
    assert.deepEqual([scene.count(QUEUE), scene.count(SHORT)], [0, 1])
  })

  it('leaves a retry that arrives now to other processes, and does not move it when it is due', async () => {
    const scene = newScene()
    scene.handle = ({ delivery }) => {
      if (delivery?.attempt === 1) throw new RetryLater(1_000)
    }
    const consumer = await scene.join()
    await scene.publish('x')
    await scene.advance(1_000)
    // The server passes the acknowledgement of the retry on for 100 ms, and events still arrive.
    const stopping = consumer.stop()
    await settled(scene.server)
    const content = Buffer.from(JSON.stringify({ pattern: 'p', data: 'late' }))
    const headers = { [HEADER.unique]: 'late', [HEADER.due]: scene.clock.now() + 50 }
    scene.server.publish(exchangeOf('g'), SHORT, content, { headers })
    await settled(scene.server)
    for (let n = 0; n < 2; n++) await scene.advance(100)
    await stopping
    assert.deepEqual([scene.data, scene.count(QUEUE), scene.count(SHORT)], [['x', 'x'], 0, 1])
  })
})

describe('a retry that is moved to the queue of its group', () => {
  const newScene = newScenes()

  it('while its channel is lost comes again by itself: nobody tries to move it another time', async () => {
    const scene = newScene()
    scene.handle = ({ delivery }) => {
      if (delivery?.attempt === 1) throw new RetryLater(1_000)
    }
    await scene.join()
    await scene.publish('x')
    scene.clock.after(1_000, () => scene.server.cut())
    await scene.advance(1_000)
    while (scene.begun.length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      await scene.advance(0)
    }
    await scene.advance(5_000)
    assert.equal(scene.begun.length, 2)
    assert.deepEqual(
      scene.lines.filter((line) => line.includes('cannot be moved')),
      []
    )
  })
})
