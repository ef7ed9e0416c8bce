/** Tests a durable handler whose event has failed, while the copy for its retry is on its way to the brokers. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type IncomingMessage, RetryLater } from '@elysia-microservices/transport/kit'
import { newScenes, type Scene } from '../testing/scene.ts'

/** Milliseconds that a broker needs to store a record. */
const SLOW = 3_000

describe('a durable handler over Kafka whose copy for a retry is being stored', () => {
  const newScene = newScenes()

  /** A handler whose runs fail when a test says so. */
  function failing() {
    const fails: (() => void)[] = []
    const handle = (_: IncomingMessage) =>
      new Promise<void>((_resolve, reject) => fails.push(() => reject(new RetryLater(1_000_000))))
    const fail = () => {
      for (const one of fails.splice(0)) one()
    }
    return { handle, fail }
  }

  /** From now on, brokers are slow to store records. */
  function slow({ cluster }: Scene): void {
    cluster.delays = (request) => (request === 'produce' ? SLOW : 0)
  }

  /** Lets time pass while brokers are busy. */
  async function pass({ clock }: Scene, seconds: number, isOver = () => false): Promise<void> {
    for (let second = 0; second < seconds && !isOver(); second++) {
      for (let turns = 0; turns < 40; turns++) await new Promise(setImmediate)
      await clock.advance(1_000)
    }
  }

  it('stops behind it: the event is left to nobody', async () => {
    const scene = newScene()
    const { handle, fail } = failing()
    const { stop } = await scene.join({ handle })
    scene.cluster.create({ name: 'p.retry-1' })
    await scene.publish('x')
    slow(scene)
    fail()
    await pass(scene, 1)
    let isStopped = false
    const stopping = stop().then(() => {
      isStopped = true
    })
    await pass(scene, 60, () => isStopped)
    await stopping
    assert.equal(scene.records('p.retry-1').length, 1)
    assert.equal(scene.committed(), '1')
  })

  it('gives its partition away behind it: the next process does not run the event as well', async () => {
    const scene = newScene({ partitions: 2, heartbeatInterval: 1_000 })
    const { handle, fail } = failing()
    const one = await scene.join({ handle, concurrency: 4 })
    for (const partition of [0, 1]) await scene.publish(partition, undefined, { partition })
    await scene.until(() => one.begun.length === 2)
    const two = await scene.join()
    await scene.advance(5_000)
    scene.cluster.create({ name: 'p.retry-1', partitions: 2 })
    slow(scene)
    fail()
    await pass(scene, 30)
    assert.deepEqual(two.begun, [])
    scene.cluster.delays = () => 0
    await scene.advance(10_000)
    for (const partition of [0, 1]) await scene.publish(`${partition}`, undefined, { partition })
    await scene.until(() => one.begun.length + two.begun.length === 4)
    assert.equal(two.begun.length, 1, 'The other process has no partition')
  })
})
