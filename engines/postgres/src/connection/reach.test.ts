import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock } from '@elysia-microservices/transport/kit'
import { Reach } from './reach.ts'

/** A server that answers signs of life until a test says that it is away. */
function reaching() {
  const told: string[] = []
  const clock = new ManualClock(0)
  const server = { isAway: false, probes: 0, answered: Promise.resolve() }
  const reach = new Reach(
    async () => {
      server.probes++
      await server.answered
      if (server.isAway) throw new Error('gone')
    },
    { lost: (why) => told.push(`lost: ${why}`), restored: () => told.push('restored') },
    clock,
    () => 0.5
  )
  return { told, clock, server, reach }
}

describe('whether PostgreSQL answers', () => {
  it('is looked for every two seconds, if nothing else is said to it', async () => {
    const { told, clock, server, reach } = reaching()
    await clock.advance(10_000)
    assert.equal(server.probes, 0)
    reach.watch()
    await clock.advance(10_000)
    assert.deepEqual([server.probes, told], [5, []])
  })

  it('is told once when it is lost, and again when it is back, and is looked for further on', async () => {
    const { told, clock, server, reach } = reaching()
    reach.watch()
    for (let times = 0; times < 3; times++) {
      server.isAway = true
      await clock.advance(60_000)
      assert.deepEqual([told.splice(0), reach.isConnected], [['lost: gone'], false])
      server.isAway = false
      await clock.advance(10_000)
      assert.deepEqual([told.splice(0), reach.isConnected], [['restored'], true])
    }
  })

  it('is asked at growing intervals of five seconds at most while it is away', async () => {
    const { clock, server, reach } = reaching()
    server.isAway = true
    reach.failed(new Error('gone'))
    await clock.advance(1_000)
    const soon = server.probes
    await clock.advance(59_000)
    assert.deepEqual([soon, server.probes - soon], [4, 24])
  })

  it('is told by a failed statement, once, and then only what was watched is watched', async () => {
    const { told, clock, server, reach } = reaching()
    server.isAway = true
    reach.failed(new Error('first'))
    reach.failed(new Error('second'))
    server.isAway = false
    await clock.advance(10_000)
    assert.deepEqual(told, ['lost: first', 'restored'])
    const { probes } = server
    await clock.advance(60_000)
    assert.equal(server.probes, probes)
  })

  it('is told to nobody after the end', async () => {
    const { told, clock, server, reach } = reaching()
    reach.watch()
    reach.close()
    server.isAway = true
    reach.failed(new Error('gone'))
    await clock.advance(60_000)
    assert.deepEqual([told, server.probes, clock.waiting], [[], 0, 0])
  })

  it('is told by no answer that comes after the end', async () => {
    for (const isAway of [true, false]) {
      const { told, clock, server, reach } = reaching()
      let answer = () => {}
      server.answered = new Promise<void>((resolve) => {
        answer = resolve
      })
      reach.failed(new Error('gone'))
      await clock.advance(1_000)
      server.isAway = isAway
      reach.close()
      answer()
      await clock.advance(60_000)
      assert.deepEqual([told, server.probes, clock.waiting], [['lost: gone'], 1, 0])
    }
  })
})
