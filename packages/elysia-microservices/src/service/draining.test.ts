/** Handlers of endless streams learn that their service is stopping. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { connect } from '../client/index.ts'
import { memory, microservice } from '../index.ts'
import { newService } from '../testing/service.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

/** Resolves when the signal aborts. */
const aborted = (signal: AbortSignal) =>
  new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))

for (const way of WAYS) {
  describe(`a service that stops, over ${way}`, () => {
    const cleanups = new Cleanups()
    after(() => cleanups.run())

    it('tells the handlers of its streams, also those of services it uses and of groups', async () => {
      const ends = newWay(way)
      const own = microservice({ transport: ends.transport, drain: 60_000 })
      const other = newService()
      other.message('other', async function* () {
        yield 'begun'
        await aborted(other.draining)
        yield 'over'
      })
      const service = own
        .message('own', async function* () {
          yield 'begun'
          await aborted(own.draining)
          yield 'over'
        })
        .use(other)
        .group('group', (group) =>
          group.message('live', async function* () {
            yield 'begun'
            await aborted(group.draining)
            yield 'over'
          })
        )
      await service.listen()
      const client = cleanups.add(connect(ends.client()))
      for (let round = 0; round < 2; round++) {
        const streams = ['own', 'other', 'group.live'].map((pattern) => client.stream(pattern))
        for (const stream of streams) assert.equal((await stream.next()).value, 'begun')
        assert.equal(service.draining.aborted, false)
        const stopped = service.stop()
        for (const stream of streams) {
          assert.equal((await stream.next()).value, 'over')
          assert.equal((await stream.next()).done, true)
        }
        await stopped
        assert.equal(service.draining.aborted, true)
        if (round > 0 || way !== 'memory') break
        await service.listen()
      }
    })
  })
}

describe('a service that two services use', () => {
  it('drains when the last of them stops', async () => {
    const prices = newService()
    const [first, second] = ['first', 'second'].map((name) =>
      microservice({ name, transport: memory() }).use(prices)
    )
    await first!.listen()
    await second!.listen()
    await first!.stop()
    assert.equal(prices.draining.aborted, false)
    await second!.stop()
    assert.equal(prices.draining.aborted, true)
    await first!.listen()
    assert.equal(prices.draining.aborted, false)
    await first!.stop()
  })

  it('does not wait for one that could not start', async () => {
    const prices = newService()
    const broken = microservice({ name: 'broken', transport: memory() })
      .use(prices)
      .onStart(() => {
        throw new Error('no database')
      })
    const sound = microservice({ name: 'sound', transport: memory() }).use(prices)
    await assert.rejects(broken.listen(), /no database/)
    await sound.listen()
    await sound.stop()
    assert.equal(prices.draining.aborted, true)
  })
})

describe('a service that stops while an event arrives', () => {
  it('waits for its handler, although the connection is closed', async () => {
    const steps: string[] = []
    const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
      .message('ping', () => 'pong')
      .event('noted', async () => {
        steps.push('begun')
        await new Promise((resolve) => setTimeout(resolve, 100))
        steps.push('ended')
      })
    await service.listen()
    const client = connect({ host: '127.0.0.1', port: service.address!.port, reconnect: false })
    await client.request('ping')
    await client.emit('noted')
    await service.stop()
    await client.close()
    assert.deepEqual(steps, ['begun', 'ended'])
  })
})
