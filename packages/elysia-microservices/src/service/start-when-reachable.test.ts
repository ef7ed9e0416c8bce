/** Services that start while their engine is down. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock, memory } from '@elysia-microservices/transport'
import { ConnectionError, OptionError } from '@elysia-microservices/transport/kit'
import { microservice } from './microservice.ts'
import { startWhenReachable } from './start-when-reachable.ts'

const DOWN = new ConnectionError('Cannot reach NATS at localhost:4222', false)

/** A start that fails a number of times, and what was logged. */
function starting(failures: number, wait: number, error: Error = DOWN) {
  const clock = new ManualClock()
  const over = new AbortController()
  const logged: string[] = []
  const state = { attempts: 0 }
  const started = startWhenReachable(
    async () => {
      if (++state.attempts <= failures) throw error
    },
    {
      title: "The service 'orders'",
      wait,
      signal: over.signal,
      logger: { error() {}, warn: (line) => void logged.push(line) },
      clock
    }
  )
  // A test looks at the failure later.
  started.catch(() => {})
  return { clock, over, logged, state, started }
}

describe('a start that waits for its engine', () => {
  it('is tried again with growing pauses until the engine is there, and one line says so', async () => {
    const { clock, logged, state, started } = starting(3, 60_000)
    await clock.advance(250 + 500 + 999)
    assert.equal(state.attempts, 3)
    await clock.advance(1)
    await started
    assert.equal(state.attempts, 4)
    assert.deepEqual(logged, [
      "The service 'orders' waits up to 60000 ms for its start: Cannot reach NATS at localhost:4222"
    ])
  })

  it('fails with the reason when its time is over, and at once without any', async () => {
    const { clock, state, started } = starting(100, 1_000)
    await clock.advance(1_000)
    await assert.rejects(started, DOWN)
    assert.equal(state.attempts, 4)
    const other = starting(1, 0)
    await assert.rejects(other.started, DOWN)
    assert.deepEqual([other.state.attempts, other.logged], [1, []])
  })

  it('is tried no longer when the clock of the system is set back', async () => {
    const { now } = Date
    let attempts = 0
    const start = async () => {
      attempts++
      Date.now = () => now() - 3_600_000
      throw DOWN
    }
    const patience = {
      title: '',
      wait: 0,
      signal: AbortSignal.timeout(1_000),
      logger: { error() {}, warn() {} }
    }
    try {
      await assert.rejects(startWhenReachable(start, patience), DOWN)
    } finally {
      Date.now = now
    }
    assert.equal(attempts, 1)
  })

  it('fails at once for any other reason, such as missing rights', async () => {
    for (const error of [
      new OptionError('options.url', 'options.url must be an address'),
      new ConnectionError('The user may not connect', false, undefined, false)
    ]) {
      const { state, started } = starting(1, 60_000, error)
      await assert.rejects(started, error)
      assert.equal(state.attempts, 1)
    }
  })

  it('is given up when the service stops', async () => {
    const { over, started } = starting(100, 60_000)
    over.abort()
    await assert.rejects(started, DOWN)
  })

  it('is that of a service with the option, which then listens; a service without fails at once', async () => {
    for (const [wait, starts] of [
      [0, 1],
      [60_000, 2]
    ] as const) {
      const inside = memory()
      let attempts = 0
      const transport = {
        ...inside,
        server(context: Parameters<typeof inside.server>[0]) {
          const server = inside.server(context)
          const { start } = server
          return Object.assign(server, {
            async start(...args: Parameters<typeof start>) {
              if (++attempts === 1) throw DOWN
              return start.apply(server, args)
            }
          })
        }
      }
      const logger = { error() {}, warn() {} }
      const service = microservice({ transport, waitForConnection: wait, logger }).message('a', () => 1)
      if (wait === 0) await assert.rejects(service.listen(), DOWN)
      else await service.listen()
      assert.equal(attempts, starts)
      await service.stop()
    }
  })
})
