/** Tests when the supervisor gives a service up, with processes that are only said to run. */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { marked } from './messages.ts'
import { Supervisor } from './supervisor.ts'

/** A process of a worker: what happens to it is the test's. */
class Launched extends EventEmitter {
  readonly pid = 7
  readonly connected = true
  send(): void {}

  listens(): void {
    this.emit('message', marked({ type: 'ready' }))
  }

  ends(): void {
    this.emit('exit', 1, null)
  }

  kill(): void {
    this.ends()
  }
}

/**
 * Starts a service of one worker, whose first process ends after a minute.
 * @param life what the processes do that follow
 * @param prepare how long the others take to tell a worker what they know
 * @returns the number of processes that were started when the service was given up; `undefined`: it was not in an hour
 */
async function startsUntilGivenUp(
  life: (process: Launched) => void,
  prepare: () => Promise<unknown> = async () => {}
): Promise<number | undefined> {
  using time = new VirtualTime()
  let starts = 0
  let gaveUpAfter: number | undefined
  const supervisor = await time.settled(
    Supervisor.start({
      count: 1,
      shared: [],
      drain: 0,
      logger: { warn() {}, error() {} },
      prepare: () => (starts === 1 ? Promise.resolve() : prepare()),
      gaveUp: () => {
        gaveUpAfter = starts
      },
      leaving: new AbortController().signal,
      launch: () => {
        const process = new Launched()
        if (++starts > 1) life(process)
        else {
          setTimeout(() => process.listens(), 1)
          setTimeout(() => process.ends(), 60_000)
        }
        return process as unknown as ChildProcess
      }
    })
  )
  await time.pass(3_600_000)
  await time.settled(supervisor.stop())
  return gaveUpAfter
}

describe('a supervisor', () => {
  it('gives up workers that load for long, are ready and then end at once', async () => {
    const starts = await startsUntilGivenUp((process) => {
      setTimeout(() => process.listens(), 20_000)
      setTimeout(() => process.ends(), 20_001)
    })
    assert.equal(starts, 6)
  })

  it('gives up workers that end after long without having been ready', async () => {
    const starts = await startsUntilGivenUp((process) => void setTimeout(() => process.ends(), 50_000))
    assert.equal(starts, 6)
  })

  it('gives up workers that never listen, which it ends itself', async () => {
    assert.equal(await startsUntilGivenUp(() => {}), 6)
  })

  it('gives up workers that listen and cannot be told the state of the others', async () => {
    const starts = await startsUntilGivenUp(
      (process) => void setTimeout(() => process.listens(), 1),
      () => new Promise((_, reject) => setTimeout(() => reject(new Error('It does not answer')), 15_000))
    )
    assert.equal(starts, 6)
  })

  it('goes on with workers that end 10 s after they were ready', async () => {
    const starts = await startsUntilGivenUp((process) => {
      setTimeout(() => process.listens(), 1)
      setTimeout(() => process.ends(), 10_002)
    })
    assert.equal(starts, undefined)
  })
})
