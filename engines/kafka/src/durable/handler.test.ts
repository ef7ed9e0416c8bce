/** A durable handler over brokers inside the process, with a clock that the test moves. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type IncomingMessage, RetryLater } from '@elysia-microservices/transport/kit'
import { Code } from '../connection/errors.ts'
import { newScenes } from '../testing/scene.ts'
import { HEADER } from '../words/headers.ts'

describe('a durable handler over Kafka', () => {
  const newScene = newScenes()

  /** A handler whose runs a test ends, by the data of the event. */
  function held() {
    const ends = new Map<unknown, (error?: Error) => void>()
    const handle = ({ data }: IncomingMessage) =>
      new Promise<void>((resolve, reject) =>
        ends.set(data, (error) => (error === undefined ? resolve() : reject(error)))
      )
    return { handle, end: (data: unknown, error?: Error) => ends.get(data)?.(error) }
  }

  it('commits the first event that is not done, and beside it which later ones are', async () => {
    const scene = newScene()
    const { handle, end } = held()
    await scene.join({ handle })
    for (const data of ['a', 'b', 'c']) await scene.publish(data)
    end('b')
    await scene.settled()
    assert.equal(scene.committed(), '0')
    await scene.advance(50)
    // Of the three events that have come, the first and the third are not done.
    assert.equal(scene.committed(), '0 1 3,2')
    end('a')
    await scene.settled()
    await scene.advance(50)
    assert.equal(scene.committed(), '2 1 1')
    end('c')
    await scene.settled()
    await scene.advance(50)
    assert.equal(scene.committed(), '3')
  })

  it('leaves the events to the next process that the last one had not done, and no others', async () => {
    const scene = newScene()
    const { handle, end } = held()
    const first = await scene.join({ handle })
    for (const data of ['a', 'b', 'c']) await scene.publish(data)
    end('b')
    await scene.settled()
    await scene.advance(50)
    first.consumer.cut()
    await scene.settled()
    const second = await scene.join()
    await scene.until(() => second.begun.length === 2)
    assert.deepEqual(second.begun, ['a', 'c'])
  })

  it('that fails gets the event again when it is due and not before, from a topic that is for its group alone', async () => {
    const scene = newScene()
    const attempts: unknown[] = []
    const handle = ({ data, delivery }: IncomingMessage) => {
      attempts.push([data, delivery?.attempt, delivery?.id, delivery?.key, delivery?.position])
      if (delivery?.attempt === 1) throw new RetryLater(5_000)
    }
    await scene.join({ handle })
    const other = await scene.join({ group: 'other' })
    await scene.publish('x', 'k')
    await scene.stored('p.retry-1')
    const [copy] = scene.records('p.retry-1')
    assert.deepEqual(
      [copy?.header(HEADER.group), copy?.header(HEADER.attempts), copy?.header(HEADER.due)],
      ['g', '1', String(scene.clock.now() + 5_000)]
    )
    // Kafka gives the partitions of the new topic with an answer to a heartbeat.
    await scene.advance(4_999)
    assert.equal(attempts.length, 1)
    await scene.advance(1)
    const position = `0-0-${scene.clock.now() - 5_000}`
    assert.deepEqual(attempts, [
      ['x', 1, 'e0', 'k', position],
      ['x', 2, 'e0', 'k', position]
    ])
    await scene.advance(10_000)
    assert.deepEqual(other.begun, ['x'])
    assert.equal(scene.committed(), '1')
    assert.equal(scene.committed(0, 'g.p', 'p.retry-1'), '1')
    assert.equal(scene.committed(0, 'other.p', 'p.retry-1'), '1')
  })

  it('counts the attempts of an event that fails again and again', async () => {
    const scene = newScene()
    const attempts: unknown[] = []
    const handle = ({ delivery }: IncomingMessage) => {
      attempts.push(delivery?.attempt)
      throw new RetryLater(1_000)
    }
    await scene.join({ handle })
    await scene.publish('x')
    for (const n of [1, 2]) {
      await scene.stored(`p.retry-${n}`)
      await scene.advance(10_000)
    }
    assert.deepEqual(attempts.slice(0, 3), [1, 2, 3])
  })

  it('that cannot store a retry runs the event again in its process, after a second at least', async () => {
    const scene = newScene()
    const runs: number[] = []
    const handle = ({ delivery }: IncomingMessage) => {
      runs.push(delivery?.attempt as number)
      if (delivery?.attempt === 1) throw new RetryLater(1)
    }
    await scene.join({ handle })
    scene.cluster.refuses = (request, about) =>
      request === 'createTopics' && about === 'p.retry-1' ? Code.topicAuthorization : undefined
    await scene.publish('x')
    await scene.until(() => scene.lines.length > 0, 0)
    assert.equal(
      scene.linesWith('cannot be stored for a retry; this process retries the event itself').length,
      1
    )
    await scene.advance(999)
    assert.deepEqual(runs, [1])
    // The event has failed once.
    assert.equal(scene.committed(), '0 1 1*1')
    await scene.advance(1)
    assert.deepEqual(runs, [1, 2])
    await scene.advance(50)
    assert.equal(scene.committed(), '1')
  })

  it('keeps an event as a dead letter of its group, with its reason, attempts and place', async () => {
    const scene = newScene()
    const handle = () => {
      throw new Error('never')
    }
    await scene.join({ handle, retry: { attempts: 1 } })
    await scene.publish('x', 'k')
    await scene.stored('p.dlt')
    const [letter, ...more] = scene.records('p.dlt')
    assert.deepEqual(more, [])
    const said = [
      HEADER.group,
      HEADER.reason,
      HEADER.attempts,
      HEADER.id,
      HEADER.key,
      HEADER.position,
      HEADER.leftOut
    ]
    assert.deepEqual(
      said.map((name) => letter?.header(name)),
      ['g', 'Error: never', '1', 'e0', 'k', `0-0-${scene.clock.now()}`, undefined]
    )
    assert.equal(letter?.text, 'x')
    // Each dead letter has a key of its own: Kafka keeps the last record of each key.
    assert.notEqual(letter?.keyText, 'k')
    await scene.advance(50)
    assert.equal(scene.committed(), '1')
  })

  it('keeps the data out of a dead letter that would be too large with them', async () => {
    const scene = newScene()
    const handle = () => {
      throw new Error('x'.repeat(2_000))
    }
    await scene.join({ handle, retry: { attempts: 1 } })
    scene.cluster.create({ name: 'p.dlt' })
    scene.cluster.log('p.dlt').mostBytes = 5_000
    await scene.publish('y'.repeat(4_000))
    await scene.stored('p.dlt')
    const [letter] = scene.records('p.dlt')
    assert.deepEqual([letter?.header(HEADER.leftOut), letter?.value?.length], ['data', 0])
  })

  it('that is ordered waits with the key of an event that failed, and goes on with the others', async () => {
    const scene = newScene()
    const runs: string[] = []
    const handle = ({ data, delivery }: IncomingMessage) => {
      runs.push(`${data} ${delivery?.attempt}`)
      if (data === 'a1' && delivery?.attempt === 1) throw new RetryLater(5_000)
    }
    await scene.join({ handle, ordered: true })
    for (const data of ['a1', 'a2', 'b1', 'b2']) await scene.publish(data, data[0])
    assert.deepEqual(runs, ['a1 1', 'b1 1', 'b2 1'])
    await scene.advance(4_999)
    assert.equal(runs.length, 3)
    await scene.advance(1)
    assert.deepEqual(runs.slice(3), ['a1 2', 'a2 1'])
    assert.deepEqual(scene.records('p.retry-1'), [])
  })

  it('runs no more events at once than it may, and reads on when there is room', async () => {
    const scene = newScene()
    const { handle, end } = held()
    const { begun, consumer } = await scene.join({ handle, concurrency: 2 })
    for (let n = 0; n < 5; n++) await scene.publish(n)
    assert.deepEqual(begun, [0, 1])
    assert.equal(consumer.running, 2)
    assert.equal(typeof consumer.figures.lag, 'number')
    await scene.settled()
    // Those that run are not done.
    assert.equal(consumer.figures.lag, 5)
    for (let n = 0; n < 5; n++) {
      end(n)
      await scene.settled()
    }
    assert.deepEqual(begun, [0, 1, 2, 3, 4])
  })

  it('gives a partition to another process when its running events have ended, with what is done', async () => {
    const scene = newScene({ partitions: 2, heartbeatInterval: 1_000 })
    const { handle, end } = held()
    const one = await scene.join({ handle, concurrency: 4 })
    for (const partition of [0, 1])
      for (const n of [0, 1]) await scene.publish(`${partition}${n}`, undefined, { partition })
    await scene.until(() => one.begun.length === 4)
    const two = await scene.join({ handle: () => {} })
    end('01')
    end('11')
    await scene.advance(10_000)
    // Neither partition is given away while an event of it runs, and of the one that goes, no other event begins.
    assert.deepEqual(two.begun, [])
    for (const partition of [0, 1]) await scene.publish(`${partition}x`, undefined, { partition })
    await scene.advance(2_000)
    assert.equal(one.begun.length, 5)
    for (const data of ['00', '10', '0x', '1x']) end(data)
    await scene.settled()
    await scene.advance(10_000)
    for (const partition of [0, 1]) await scene.publish(`${partition}2`, undefined, { partition })
    await scene.advance(2_000)
    assert.deepEqual([one.begun.slice(4).length, two.begun.length], [2, 2])
    assert.deepEqual([...one.begun.slice(4), ...two.begun].sort(), ['02', '0x', '12', '1x'])
    assert.deepEqual(scene.lines, [])
  })

  it('passes on an event that fails while its partition goes, instead of waiting for its pause', async () => {
    const scene = newScene({ partitions: 2, heartbeatInterval: 1_000 })
    const { handle, end } = held()
    const one = await scene.join({ handle, ordered: true, concurrency: 4 })
    for (const partition of [0, 1]) await scene.publish(String(partition), undefined, { partition })
    await scene.until(() => one.begun.length === 2)
    const two = await scene.join({ ordered: true })
    await scene.advance(5_000)
    end('0', new RetryLater(1_000_000))
    end('1', new RetryLater(1_000_000))
    await scene.advance(5_000)
    assert.equal(two.begun.length, 1)
  })

  it('says that its process was removed from the group, and commits nothing of before', async () => {
    const scene = newScene()
    const { handle, end } = held()
    const { begun } = await scene.join({ handle })
    await scene.publish('x')
    scene.cluster.forget('g.p')
    await scene.advance(1_500)
    assert.equal(scene.linesWith("Kafka has removed this process from the group 'g' for 'p'").length, 1)
    end('x')
    await scene.until(() => begun.length === 2)
    // The event runs again: its end in between does not count.
    assert.deepEqual(begun, ['x', 'x'])
    assert.equal(scene.committed(), undefined)
  })

  it('joins its group when it is started again, after a start that has failed', async () => {
    const scene = newScene()
    let refusals = 1
    scene.cluster.refuses = (request) =>
      request === 'heartbeat' && refusals-- > 0 ? Code.groupAuthorization : undefined
    const { begun } = await scene.join({ starts: 2 })
    await scene.publish('x')
    await scene.until(() => begun.length === 1)
  })

  it('waits while its group is paused, and then goes on in order with what had not begun', async () => {
    const scene = newScene()
    const { handle, end } = held()
    const { begun, consumer } = await scene.join({ handle, concurrency: 1 })
    const pauses = (value: string | undefined) => scene.publish(value, 'g', { topic: '_elysia.groups' })
    for (const data of ['a', 'b', 'c']) await scene.publish(data)
    await pauses('paused')
    assert.equal(consumer.figures.isPaused, true)
    end('a')
    await scene.settled()
    await scene.publish('d')
    assert.deepEqual(begun, ['a'])
    await pauses(undefined)
    assert.equal(consumer.figures.isPaused, false)
    for (const data of ['b', 'c', 'd']) {
      end(data)
      await scene.settled()
    }
    assert.deepEqual(begun, ['a', 'b', 'c', 'd'])
  })

  it('begins nothing while the brokers are lost, and goes on when they are back', async () => {
    const scene = newScene()
    const { handle, end } = held()
    const { begun, connection } = await scene.join({ handle, concurrency: 1 })
    for (const data of ['a', 'b']) await scene.publish(data)
    scene.cluster.stop()
    await scene.settled()
    assert.equal(connection.isConnected, false)
    end('a')
    await scene.settled()
    assert.deepEqual(begun, ['a'])
    scene.cluster.start()
    await scene.until(() => begun.length === 2)
    end('b')
    await scene.until(() => scene.committed() === '2')
  })

  it('stores a retry once whose confirmation is lost', async () => {
    const scene = newScene()
    const runs: unknown[] = []
    const handle = ({ data, delivery }: IncomingMessage) => {
      runs.push([data, delivery?.attempt])
      if (delivery?.attempt === 1) throw new RetryLater(5_000)
    }
    await scene.join({ handle })
    scene.cluster.create({ name: 'p.retry-1' })
    let isLost = false
    scene.cluster.losesAnswerTo = (request) => {
      const loses = request === 'produce' && !isLost
      isLost ||= loses
      return loses
    }
    await scene.publish('x')
    await scene.until(() => runs.length >= 2)
    await scene.advance(20_000)
    assert.deepEqual(runs, [
      ['x', 1],
      ['x', 2]
    ])
    assert.equal(scene.records('p.retry-1').length, 1)
  })

  it('says what it may not do, and no more when it may', async () => {
    const scene = newScene()
    const { consumer, begun } = await scene.join()
    scene.cluster.refuses = (request, about) =>
      request === 'fetch' && about === 'p' ? Code.topicAuthorization : undefined
    await scene.publish('x')
    const unavailable = () => consumer.figures.unavailable ?? ''
    await scene.until(() => /'p' of the group 'g' is not received: .* read the topic$/.test(unavailable()))
    scene.cluster.refuses = (request) => (request === 'heartbeat' ? Code.groupAuthorization : undefined)
    await scene.until(() => /read the topic or join the group$/.test(unavailable()))
    scene.cluster.refuses = () => undefined
    await scene.until(() => begun.length > 0)
    scene.cluster.forget('g.p')
    await scene.until(() => unavailable() === '')
  })

  it('commits, notes and leaves when it stops, and waits for what runs', async () => {
    const scene = newScene()
    const { handle, end } = held()
    const { stop, begun } = await scene.join({ handle, concurrency: 1 })
    for (const data of ['a', 'b']) await scene.publish(data)
    let isStopped = false
    const stopping = stop().then(() => {
      isStopped = true
    })
    await scene.settled()
    assert.equal(isStopped, false)
    end('a')
    await stopping
    assert.deepEqual(begun, ['a'])
    assert.match(scene.committed() ?? '', /^1/)
    assert.deepEqual(scene.cluster.group('g.p').members, [])
    const notes = scene.records('_elysia.groups').filter(({ keyText }) => keyText === 'positions/g.p')
    const { id } = scene.cluster.topic('p')
    assert.equal(notes.at(-1)?.text, JSON.stringify({ [id]: { 0: 1 } }))
    assert.equal(scene.clock.waiting, 0)
  })

  it('asks for figures only while somebody reads them, and otherwise sends one heartbeat in five seconds', async () => {
    const scene = newScene()
    const { consumer } = await scene.join()
    const counted = async (seconds: number) => {
      const before = new Map(scene.cluster.asked)
      await scene.advance(seconds * 1_000)
      const all = [...scene.cluster.asked].map(
        ([name, count]) => [name, count - (before.get(name) ?? 0)] as const
      )
      return Object.fromEntries(all.filter(([, count]) => count > 0))
    }
    await counted(15)
    const { heartbeat, listOffsets } = await counted(60)
    assert.deepEqual([heartbeat, listOffsets], [12, undefined])
    assert.equal(consumer.figures.lag, 0)
    assert.equal((await counted(60))['listOffsets'], 13)
    await counted(120)
    assert.equal((await counted(60))['listOffsets'], undefined)
  })
})
