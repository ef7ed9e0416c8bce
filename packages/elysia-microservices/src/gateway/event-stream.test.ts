import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openEventStream } from './event-stream.ts'

describe('an event stream', () => {
  const bodyOf = (error: unknown) => ({ code: 'BROKEN', message: (error as Error).message })
  const open = (values: AsyncIterator<unknown>) =>
    openEventStream({
      start: () => values,
      signal: new AbortController().signal,
      heartbeat: undefined,
      bodyOf
    })

  it('asks for no value before its reader does', async () => {
    let asked = 0
    const values = { next: async () => ({ value: ++asked, done: false as const }) }
    const { response } = await open(values)
    const reader = response.body!.getReader()
    assert.equal(asked, 1)
    await reader.read()
    assert.equal(asked, 1)
    await reader.read()
    assert.equal(asked, 2)
  })

  it('gives the stream up when a value cannot be JSON', async () => {
    let left = false
    async function* values() {
      try {
        yield 1
        yield 2n
      } finally {
        left = true
      }
    }
    const text = await (await open(values())).response.text()
    assert.match(text, /^data: 1\n\nevent: error\ndata: \{"code":"BROKEN"/)
    assert.equal(left, true)
  })

  it('of a request that is over already is given up', async () => {
    const values = (signal: AbortSignal) => ({
      next: () => (signal.aborted ? Promise.reject(new Error('given up')) : new Promise<never>(() => {}))
    })
    const init = { start: values, signal: AbortSignal.abort(), heartbeat: undefined, bodyOf }
    await assert.rejects(openEventStream(init), /given up/)
  })
})
