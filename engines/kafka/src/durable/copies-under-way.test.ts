/** Tests a durable handler whose event has failed, while the copy for its retry is on its way to the brokers. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DurableOptions, type IncomingMessage, RetryLater } from '@elysia-microservices/transport/kit'
import { Code } from '../connection/errors.ts'
import { newScenes, type Scene } from '../testing/scene.ts'
import { put } from './copies.ts'

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

  it('begins few further events behind many, whose data are in memory, and goes on when they are stored', async () => {
    const scene = newScene()
    const handle = () => {
      throw new RetryLater(1_000_000)
    }
    const { begun } = await scene.join({ handle, concurrency: 4 })
    scene.cluster.create({ name: 'p.retry-1' })
    slow(scene)
    const records = Array.from({ length: 600 }, (_, n) => scene.record(n))
    scene.cluster.log('p').append({ records, timestamp: scene.clock.now() })
    await pass(scene, 1)
    assert.ok(begun.length >= 256 && begun.length < 300, `${begun.length} have begun`)
    scene.cluster.delays = () => 0
    await scene.clock.advance(SLOW)
    await scene.until(() => scene.records('p.retry-1').length === 600)
    assert.equal(begun.length, 600)
  })

  /** A process that loses its partition while the first event runs, which fails then; every later run succeeds. */
  async function losing(options: DurableOptions, error: Error) {
    const scene = newScene()
    let fail = () => {}
    const runs: unknown[] = []
    const handle = ({ data, delivery }: IncomingMessage) => {
      runs.push(`${data} ${delivery?.attempt}`)
      if (runs.length > 1) return undefined
      return new Promise<void>((_, reject) => {
        fail = () => reject(error)
      })
    }
    const { connection } = await scene.join({ handle, ...options })
    for (const name of ['p.retry-1', 'p.dlt']) scene.cluster.create({ name })
    await scene.publish('x')
    const lose = async () => {
      scene.cluster.forget('g.p')
      await scene.until(() => scene.linesWith('has removed this process from the group').length > 0)
    }
    return { scene, connection, runs, lose, fail: () => fail() }
  }

  it('stores none, and no dead letter, of an event that belongs to another process by now and runs there', async () => {
    const gone = new Error('never')
    for (const [options, error] of [
      [{}, new RetryLater(1_000)],
      [{ retry: { attempts: 1 } }, gone]
    ] as const) {
      const { scene, runs, lose, fail } = await losing(options, error)
      await lose()
      fail()
      await scene.until(() => runs.length > 1)
      await scene.advance(5_000)
      assert.deepEqual([runs, scene.records('p.retry-1'), scene.records('p.dlt')], [['x 1', 'x 1'], [], []])
    }
  })

  it('sends it no more when another process has the event by now', async () => {
    const { scene, connection, runs, lose, fail } = await losing({}, new RetryLater(1_000))
    const isLost = () => scene.linesWith('has removed this process from the group').length > 0
    let refusals = 0
    let refusalsBehind = 0
    let refused: string | undefined = 'p.retry-1'
    // Brokers that cannot say whether they have stored a record.
    scene.cluster.refuses = (request, about) => {
      if (request !== 'produce' || about !== refused) return undefined
      refusals++
      if (isLost()) refusalsBehind++
      if (refused === 'another') refused = undefined
      return Code.timedOut
    }
    fail()
    await scene.until(() => refusals > 0)
    await lose()
    await scene.until(() => refusalsBehind > 0)
    // A record that is sent twice from now on is stored later than the copy would be.
    refused = 'another'
    await put(
      connection.cluster,
      { name: 'another' },
      { partition: 0, key: undefined, value: Buffer.from('') }
    )
    await scene.until(() => runs.length > 1)
    assert.deepEqual([runs, scene.records('p.retry-1')], [['x 1', 'x 1'], []])
  })
})
