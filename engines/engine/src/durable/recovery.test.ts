import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { Recovery } from './recovery.ts'

describe('the recovery of a consumer', () => {
  /** A consumer whose recovery succeeds or fails as the test says. */
  class Setting {
    readonly lines: string[] = []
    readonly attempts: { resolve(where: string): void; reject(error: Error): void }[] = []
    readonly recovery = new Recovery({
      what: 'The event',
      logger: {
        error: (line) => void this.lines.push(`error ${line}`),
        warn: (line) => void this.lines.push(`warn ${line}`)
      },
      recover: () => new Promise<string>((resolve, reject) => this.attempts.push({ resolve, reject }))
    })

    async attempt(number: number): Promise<void> {
      while (this.attempts.length <= number) await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  const turn = () => new Promise((resolve) => setTimeout(resolve, 0))

  it('is one at a time, and one line', async () => {
    const { recovery, attempts, lines } = new Setting()
    assert.equal(recovery.unavailable, undefined)
    recovery.begin('it is gone')
    recovery.begin('its stream is gone')
    assert.equal(attempts.length, 1)
    assert.equal(recovery.unavailable, 'The event is not received: it is gone')
    attempts[0]?.resolve('behind 7')
    await turn()
    assert.equal(recovery.unavailable, undefined)
    assert.deepEqual(lines, ['error The event: it is gone; it is received again, behind 7'])
    recovery.begin('it is gone')
    assert.equal(attempts.length, 2)
  })

  it('is tried until it succeeds, and says why it does not', async () => {
    const setting = new Setting()
    const { recovery, attempts, lines } = setting
    recovery.begin('it is gone')
    for (let number = 0; number < 3; number++) {
      await setting.attempt(number)
      attempts[number]?.reject(new Error(`no ${number}`))
      await turn()
      assert.match(recovery.unavailable ?? '', new RegExp(`it is gone.*no ${number}$`))
    }
    await setting.attempt(3)
    attempts[3]?.resolve('behind 7')
    await turn()
    assert.equal(recovery.unavailable, undefined)
    assert.deepEqual(lines, [
      'error The event: it is gone, and cannot be restored yet; trying again',
      'warn The event is received again, behind 7'
    ])
  })

  it('ends when it is told to', async () => {
    const setting = new Setting()
    const { recovery, attempts, lines } = setting
    recovery.begin('it is gone')
    recovery.end()
    attempts[0]?.resolve('behind 7')
    await turn()
    assert.deepEqual([recovery.unavailable, lines], [undefined, []])
    recovery.begin('it is gone')
    attempts[1]?.reject(new Error('no'))
    await turn()
    recovery.end()
    assert.equal(recovery.unavailable, undefined)
  })

  it('is tried after pauses that grow up to 5 s', async (t) => {
    using time = new VirtualTime()
    t.mock.method(Math, 'random', () => 0.5)
    const { recovery, attempts } = new Setting()
    const began = time.now
    const at: number[] = []
    recovery.begin('it is gone')
    for (let number = 0; number < 8; number++) {
      await time.until('it is tried', () => attempts.length > number)
      at.push(time.now - began)
      attempts[number]?.reject(new Error('no'))
    }
    const pauses = at.slice(1).map((one, number) => one - (at[number] ?? 0))
    assert.deepEqual(pauses, [125, 250, 500, 1_000, 2_000, 2_500, 2_500])
    await time.pass(0)
    recovery.end()
    assert.equal(time.timers, 0)
  })
})
