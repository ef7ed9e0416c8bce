import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from './virtual-time.ts'

describe('the time of a test', () => {
  it('passes when the test says so, and all that is due happens in its order', async () => {
    using time = new VirtualTime()
    const happened: string[] = []
    const began = time.now
    const note = (what: string) => happened.push(`${what} ${performance.now() - began}`)
    setTimeout(note, 20, 'late')
    const beat = setInterval(() => note('beat'), 8)
    setTimeout(async () => {
      note('early')
      await undefined
      setImmediate(note, 'at once')
      setTimeout(note, 0, 'soon')
      await new Promise((resolve) => setTimeout(resolve, 2))
      note('then')
    }, 5)
    clearTimeout(setTimeout(note, 1, 'never'))
    await time.pass(20)
    clearInterval(beat)
    assert.deepEqual(happened, ['early 5', 'at once 5', 'soon 6', 'then 7', 'beat 8', 'beat 16', 'late 20'])
    assert.deepEqual([time.timers, performance.now() - began], [0, 20])
  })

  it('passes as far as something needs, and is that of the runtime again behind the test', async () => {
    const { setTimeout: real, performance: clock } = globalThis
    const { now } = clock
    {
      using time = new VirtualTime()
      let isSo = false
      setTimeout(() => (isSo = true), 60_000)
      const began = Date.now()
      await time.until('it is so', () => isSo)
      assert.equal(Date.now() - began, 60_000)
      assert.equal(await time.settled(new Promise((resolve) => setTimeout(resolve, 5_000, 'value'))), 'value')
      await assert.rejects(
        time.until('it is otherwise', () => !isSo),
        /it is otherwise: it has not become so/
      )
    }
    assert.deepEqual([globalThis.setTimeout, performance.now], [real, now])
  })
})
