/** Brokers that cannot answer yet are asked again and again, and not all the time. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Timeouts } from '@elysia-microservices/test-support'
import { LATEST } from '../driver.ts'
import { newScenes } from '../testing/scene.ts'
import { Code } from './errors.ts'
import { positionOf } from './positions.ts'

describe('a cluster whose partitions move to other brokers', () => {
  const newScene = newScenes()
  /** Holds pauses of some milliseconds. */
  const holding = (pause: number) =>
    new Timeouts((milliseconds) => (milliseconds === pause ? 'held' : milliseconds))

  it('is asked again after a pause each time, until it can answer', async () => {
    const scene = newScene()
    const { cluster } = await scene.connect()
    scene.cluster.create({ name: 'p' })
    await scene.publish(1)
    let refusals = 3
    scene.cluster.refuses = (request) =>
      request === 'listOffsets' && refusals-- > 0 ? Code.notLeader : undefined
    using pauses = holding(25)
    const position = positionOf(cluster, 'p', 0, LATEST)
    for (let asked = 1; asked <= 3; asked++) {
      await scene.settled()
      assert.deepEqual([scene.cluster.asked.get('listOffsets'), pauses.held], [asked, 1])
      pauses.pass()
    }
    assert.equal(await position, 1n)
  })

  it('is asked for a leader after a pause each time, while there is none', async () => {
    const scene = newScene()
    const { cluster } = await scene.connect()
    scene.cluster.create({ name: 'p' })
    scene.cluster.topic('p').leaders[0] = -1
    await cluster.lookUp('p')
    using pauses = holding(100)
    const leader = cluster.leaderOf('p', 0)
    const before = scene.cluster.asked.get('metadata') ?? 0
    for (let asked = 1; asked <= 3; asked++) {
      await scene.settled()
      assert.deepEqual([(scene.cluster.asked.get('metadata') ?? 0) - before, pauses.held], [asked, 1])
      if (asked === 3) scene.cluster.topic('p').leaders[0] = 1
      pauses.pass()
    }
    await scene.settled()
    pauses.pass()
    assert.equal(await leader, 1)
  })

  it('that holds too few brokers for the replicas yet is asked again to create a topic', async () => {
    const scene = newScene()
    const { cluster } = await scene.connect()
    let refusals = 2
    scene.cluster.refuses = (request, about) =>
      request === 'createTopics' && about === 'p' && refusals-- > 0 ? Code.invalidReplicas : undefined
    using pauses = holding(100)
    const before = scene.cluster.asked.get('createTopics') ?? 0
    const made = cluster.ensure([{ name: 'p' }])
    for (let asked = 1; asked <= 2; asked++) {
      await scene.settled()
      assert.deepEqual([(scene.cluster.asked.get('createTopics') ?? 0) - before, pauses.held], [asked, 1])
      pauses.pass()
    }
    assert.deepEqual(
      (await made).map(({ name, leaders }) => [name, leaders]),
      [['p', [1]]]
    )
  })

  it('says which topic it lacks and may not create, or may not see', async () => {
    const scene = newScene()
    const { cluster } = await scene.connect()
    scene.cluster.refuses = (request, about) =>
      request === 'createTopics' && about === 'p' ? Code.topicAuthorization : undefined
    await assert.rejects(
      cluster.ensure([{ name: 'p' }]),
      /the topic 'p' is missing.*it cannot be created \(refused with 29\); create the topic, or give this user/s
    )
    scene.cluster.refuses = (request, about) =>
      request === 'metadata' && about === 'q' ? Code.topicAuthorization : undefined
    await assert.rejects(cluster.lookUp('q'), {
      message: "Kafka does not let this user see the topic 'q'; give the user the right to Describe",
      retryable: false,
      mayHaveRun: false
    })
  })
})
