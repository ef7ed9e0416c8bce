/** A durable handler, its queues and its link over a server inside the process, with a clock that the test moves. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RetryLater } from '@elysia-microservices/transport/kit'
import { LONG, newScenes, QUEUE, SHORT, settled } from '../testing/scene.ts'
import { exchangeOf, GROUPS, keyOf, queueOfDead, queueOfPaused, STORED } from '../words/names.ts'
import { HEADER } from './stored.ts'

describe('a durable handler', () => {
  const newScene = newScenes()

  it('acknowledges what is done, and nothing before', async () => {
    const scene = newScene()
    let done!: () => void
    scene.handle = () =>
      new Promise<void>((resolve) => {
        done = resolve
      })
    await scene.join()
    await scene.publish(1)
    const [connection] = scene.connections
    assert.equal(scene.data.length, 1)
    scene.handle = () => {}
    done()
    await settled(scene.server)
    await connection?.link.close()
    await settled(scene.server)
    assert.equal(scene.count(QUEUE), 0)
  })

  it('with wildcards receives what they match, and nothing else', async () => {
    const scene = newScene()
    await scene.join({}, 'p.>')
    for (const pattern of ['p', 'p.a', 'p.a.b', 'q.a']) await scene.publish(pattern, {}, pattern)
    assert.deepEqual(scene.data, ['p.a', 'p.a.b'])
  })

  it('gives an event back that was not done when its connection ended, and counts its runs', async () => {
    const scene = newScene()
    scene.handle = () => new Promise(() => {})
    await scene.join()
    await scene.publish(1)
    await scene.connections[0]?.link.close()
    await settled(scene.server)
    assert.equal(scene.count(QUEUE), 1)
    scene.handle = () => {}
    await scene.join()
    assert.deepEqual(
      scene.begun.map(({ delivery }) => delivery?.attempt),
      [1, 2]
    )
    assert.equal(scene.count(QUEUE), 0)
  })

  it('that fails runs again after its pause and not before, as the next attempt', async () => {
    const scene = newScene()
    scene.handle = ({ delivery }) => {
      if (delivery?.attempt === 1) throw new RetryLater(5_000)
    }
    await scene.join()
    await scene.publish('x')
    await scene.advance(4_999)
    assert.deepEqual(scene.data, ['x'])
    await scene.advance(1)
    assert.deepEqual(
      scene.begun.map(({ delivery }) => [delivery?.attempt, delivery?.id]),
      [
        [1, 'e0'],
        [2, 'e0']
      ]
    )
    for (const queue of [QUEUE, SHORT, LONG]) assert.equal(scene.count(queue), 0)
  })

  it('keeps long pauses apart from short ones, and each runs when it is due', async () => {
    const scene = newScene()
    scene.handle = ({ data, delivery }) => {
      if (delivery?.attempt === 1) throw new RetryLater(data as number)
    }
    await scene.join()
    const kept: string[] = []
    const put = scene.server.publish.bind(scene.server)
    scene.server.publish = (exchange, key, ...more) => {
      if (exchange === exchangeOf('g')) kept.push(key)
      return put(exchange, key, ...more)
    }
    await scene.publish(150_000)
    await scene.publish(30_000)
    assert.deepEqual(kept, [LONG, SHORT])
    await scene.advance(30_000)
    assert.deepEqual(scene.data, [150_000, 30_000, 30_000])
    await scene.advance(119_999)
    assert.equal(scene.data.length, 3)
    await scene.advance(1)
    assert.deepEqual(scene.data, [150_000, 30_000, 30_000, 150_000])
  })

  it('makes a dead letter after its last attempt, with its reason and its attempts', async () => {
    const scene = newScene()
    scene.handle = () => {
      throw new Error('never')
    }
    await scene.join({ retry: { attempts: 2, minDelay: 10 } })
    await scene.publish('x', { own: 'kept', [HEADER.key]: 'k' })
    await scene.advance(60_000)
    assert.equal(scene.data.length, 2)
    const letters = scene.server.queues.get(queueOfDead('g'))?.messages ?? []
    assert.equal(letters.length, 1)
    const headers = letters[0]?.properties.headers as Record<string, unknown>
    assert.match(String(headers[HEADER.reason]), /never/)
    assert.equal(headers[HEADER.attempts], 2)
    assert.equal(headers[HEADER.id], 'e0')
    assert.equal(headers[HEADER.pattern], 'p')
    assert.equal(headers[HEADER.key], 'k')
    assert.equal(headers['own'], 'kept')
    // The event comes back to no queue when its connection ends: it is acknowledged.
    await scene.connections[0]?.link.close()
    await settled(scene.server)
    for (const queue of [QUEUE, SHORT, LONG]) assert.equal(scene.count(queue), 0)
  })

  it('runs a dead letter that is moved back as a new event, whose attempts count from 1', async () => {
    const scene = newScene()
    scene.handle = () => {
      throw new Error('not yet')
    }
    await scene.join({ retry: { attempts: 2, minDelay: 10 } })
    await scene.publish('x')
    await scene.advance(10)
    const dead = scene.server.queues.get(queueOfDead('g'))
    const letter = dead?.messages.shift()
    assert.ok(letter)
    scene.handle = () => {}
    scene.server.publish(exchangeOf('g'), QUEUE, letter.content, letter.properties as object)
    await settled(scene.server)
    assert.deepEqual(
      scene.begun.map(({ delivery }) => [delivery?.attempt, delivery?.id]),
      [
        [1, 'e0'],
        [2, 'e0'],
        [1, 'e0']
      ]
    )
    assert.equal(scene.count(queueOfDead('g')), 0)
  })

  it('runs an event again at once if its copy for a retry is refused, and says so', async () => {
    const scene = newScene()
    let fails = 2
    scene.handle = () => {
      if (fails-- > 0) throw new RetryLater(5_000)
    }
    await scene.join()
    scene.server.full.add(SHORT)
    await scene.publish('x')
    await scene.advance(0)
    assert.equal(scene.data.length, 3)
    assert.match(scene.lines.join('\n'), /cannot be stored for a retry; it is delivered again at once/)
    assert.equal(scene.count(QUEUE), 0)
  })

  it('keeps a retry that cannot be moved, and moves it later', async () => {
    const scene = newScene()
    scene.handle = ({ delivery }) => {
      if (delivery?.attempt === 1) throw new RetryLater(1_000)
    }
    await scene.join()
    await scene.publish('x')
    scene.server.full.add(QUEUE)
    await scene.advance(1_000)
    assert.match(scene.lines.join('\n'), /a retry cannot be moved to the queue of the group; trying again/)
    scene.server.full.clear()
    await scene.advance(1_000)
    assert.deepEqual(scene.data, ['x', 'x'])
    assert.equal(scene.count(SHORT), 0)
    // It says so again when that happens another time.
    scene.lines.length = 0
    await scene.publish('y')
    scene.server.full.add(QUEUE)
    await scene.advance(1_000)
    assert.match(scene.lines.join('\n'), /a retry cannot be moved/)
  })

  it('handles an event once that its publisher has sent twice', async () => {
    const scene = newScene()
    await scene.join()
    await scene.publish('x', { [HEADER.unique]: 'same' })
    await scene.publish('x', { [HEADER.unique]: 'same' })
    assert.deepEqual(scene.data, ['x'])
    await scene.connections[0]?.link.close()
    await settled(scene.server)
    assert.equal(scene.count(QUEUE), 0, 'both are acknowledged')
  })

  it('runs no more events at a time than its concurrency, and leaves the others to other processes', async () => {
    const scene = newScene()
    scene.handle = () => new Promise(() => {})
    await scene.join({ concurrency: 2 })
    for (let n = 0; n < 5; n++) await scene.publish(n)
    assert.deepEqual(scene.data, [0, 1])
    assert.equal(scene.count(QUEUE), 3)
    await scene.join({ concurrency: 2 })
    assert.deepEqual(scene.data, [0, 1, 2, 3])
  })

  it('gives an ordered group to one process, and the events in order to the next one', async () => {
    const scene = newScene()
    scene.handle = () => new Promise(() => {})
    const first = await scene.join({ ordered: true, concurrency: 1 })
    await scene.join({ ordered: true, concurrency: 1 })
    for (let n = 0; n < 3; n++) await scene.publish(n, { [HEADER.key]: 'k' })
    assert.deepEqual(scene.data, [0])
    assert.equal(scene.server.queues.get(QUEUE)?.isSingle, true)
    scene.handle = () => {}
    first.cut()
    await scene.connections[0]?.link.close()
    await settled(scene.server)
    assert.deepEqual(scene.data, [0, 0, 1, 2])
  })

  it('is refused a group whose queue has other settings', async () => {
    const scene = newScene()
    await scene.join({ ordered: true })
    await assert.rejects(scene.join(), {
      name: 'OptionError',
      message: /a handler that becomes 'ordered', or ceases to be, needs another group/
    })
  })

  it('begins with no event from before its group, which no queue has', async () => {
    for (const start of ['all', { since: new Date() }, { after: '1' }] as const)
      await assert.rejects(newScene().join({ start }), {
        name: 'OptionError',
        message: /leave out durable\.start/
      })
  })

  it('declares its queue again when somebody has deleted it, and consumes it once', async () => {
    const scene = newScene()
    await scene.join()
    scene.server.deleteQueue(QUEUE)
    while (scene.server.queues.get(QUEUE)?.consumers.length !== 1) await new Promise(setImmediate)
    await settled(scene.server)
    assert.match(scene.lines.join('\n'), /is not received: RabbitMQ has deleted the queue '_elysia.d.g:p'/)
    await scene.publish('x')
    assert.deepEqual(scene.data, ['x'])
    assert.equal(scene.server.queues.get(QUEUE)?.consumers.length, 1)
  })

  it('runs what was on its way when it was stopped: given back, it would count as an attempt', async () => {
    const scene = newScene()
    const consumer = await scene.join({ concurrency: 2 })
    const content = Buffer.from(JSON.stringify({ pattern: 'p', data: 'late' }))
    scene.server.publish(STORED, keyOf('p'), content, { headers: { [HEADER.unique]: 'late' } })
    const stopping = consumer.stop()
    await settled(scene.server)
    await scene.advance(100)
    await stopping
    assert.deepEqual(scene.data, ['late'])
    assert.equal(scene.count(QUEUE), 0)
  })

  it('counts events that run, that wait in its queue, and that pause', async () => {
    const scene = newScene()
    scene.handle = ({ data }) => {
      if (data === 'fails') throw new RetryLater(5_000)
      return new Promise(() => {})
    }
    const consumer = await scene.join({ concurrency: 2 })
    for (const data of ['fails', 1, 2, 3]) await scene.publish(data)
    await consumer.look()
    assert.equal(consumer.figures.lag, 4)
  })

  it('asks for its figures again although the clock was set back', async () => {
    const scene = newScene()
    let passed = 0
    Object.assign(scene.clock, { passed: () => passed })
    const consumer = await scene.join()
    let looks = 0
    consumer.look = async () => void looks++
    for (let reading = 0; reading < 3; reading++) {
      void consumer.figures
      passed += 5_001
    }
    assert.equal(looks, 3)
  })

  it('goes on when the server has closed only the channel on which its service publishes', async () => {
    const scene = newScene()
    const consumer = await scene.join()
    consumer.lost()
    await scene.publish('x')
    assert.deepEqual(scene.data, ['x'])
  })

  it('that is paused gives its turn to others when the server has passed its acknowledgements on', async () => {
    const scene = newScene()
    const consumer = await scene.join({ ordered: true })
    await scene.publish('x', { [HEADER.key]: 'k' })
    scene.server.publish(GROUPS, queueOfPaused('g'), Buffer.from('paused'), {})
    const consuming = () => scene.server.queues.get(QUEUE)?.consumers.length
    await consumer.look()
    await scene.advance(99)
    assert.equal(consuming(), 1)
    await scene.advance(1)
    assert.equal(consuming(), 0)
  })

  it('that fails while it stops is stored for its retry alone', async () => {
    const scene = newScene()
    let fail!: () => void
    scene.handle = () =>
      new Promise((_, reject) => {
        fail = () => reject(new RetryLater(5_000))
      })
    const consumer = await scene.join()
    await scene.publish('x')
    const stopping = consumer.stop()
    await settled(scene.server)
    fail()
    await scene.advance(100)
    await stopping
    assert.deepEqual([scene.count(QUEUE), scene.count(SHORT)], [0, 1])
  })

  it('gives an event back when it stops whose dead letter could not be stored', async () => {
    const scene = newScene()
    scene.handle = () => {
      throw new Error('never')
    }
    const consumer = await scene.join({ retry: { attempts: 1 } })
    scene.server.full.add(queueOfDead('g'))
    await scene.publish('x')
    assert.match(scene.lines.join('\n'), /could not be stored as a dead letter/)
    const stopping = consumer.stop()
    await scene.advance(100)
    await stopping
    assert.deepEqual([scene.count(QUEUE), scene.count(queueOfDead('g'))], [1, 0])
  })

  it('that stops while a retry is moved leaves it in one queue alone', async () => {
    const scene = newScene()
    scene.handle = () => {
      throw new RetryLater(1_000)
    }
    const consumer = await scene.join()
    await scene.publish('x')
    let stopping: Promise<void> | undefined
    scene.clock.after(1_000, () => {
      stopping = consumer.stop()
    })
    await scene.advance(1_000)
    // Acknowledgements are passed on over the channel of retries, and then over that of events.
    for (let n = 0; n < 2; n++) await scene.advance(100)
    await stopping
    assert.equal((scene.count(QUEUE) ?? 0) + (scene.count(SHORT) ?? 0), 1)
  })

  it('stops when its running events have ended, and receives nothing meanwhile', async () => {
    const scene = newScene()
    let done!: () => void
    scene.handle = () =>
      new Promise<void>((resolve) => {
        done = resolve
      })
    const consumer = await scene.join({ concurrency: 1 })
    await scene.publish(0)
    const stopping = consumer.stop()
    await settled(scene.server)
    await scene.publish(1)
    done()
    let hasStopped = false
    void stopping.then(() => {
      hasStopped = true
    })
    // The server passes the acknowledgements on to the queue, and would forget them with the channel.
    await scene.advance(99)
    assert.equal(hasStopped, false)
    await scene.advance(1)
    await stopping
    assert.deepEqual(scene.data, [0])
    assert.equal(scene.count(QUEUE), 1)
    assert.equal(scene.server.queues.get(QUEUE)?.consumers.length, 0)
  })
})
