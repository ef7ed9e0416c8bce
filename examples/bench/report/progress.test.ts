import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Meter } from '../load/meter.ts'
import { showProgress } from './progress.ts'

function terminal(isTTY: boolean) {
  const written: string[] = []
  const first = Promise.withResolvers<void>()
  const write = (text: string) => {
    written.push(text)
    first.resolve()
  }
  return { stream: { isTTY, write }, written, first: first.promise }
}

describe('progress', () => {
  it('is one line that is overwritten and cleared', async () => {
    const { stream, written, first } = terminal(true)
    const meter = new Meter()
    meter.answered = 5
    const hide = showProgress('elysia', meter, 31, stream)
    await first
    hide()
    assert.match(written[0]!, /^\r.*elysia {2}[█░]{12} {2}\d+ req\/s {2}\d+ of 31 s$/)
    assert.ok(written.every((text) => !text.includes('\n')))
    assert.match(written.at(-1)!, /^\r[^a-z]*K$/)
  })

  it('shows the recent p99', async () => {
    const { stream, written, first } = terminal(true)
    const meter = new Meter()
    meter.start()
    meter.answers(7, 100)
    const hide = showProgress('elysia', meter, 31, stream)
    await first
    hide()
    assert.match(written[0]!, /req\/s {2}p99 7\.00 ms {2}/)
  })

  it('shows errors as soon as there are any', async () => {
    const { stream, written, first } = terminal(true)
    const meter = new Meter()
    meter.failed('x', 3)
    const hide = showProgress('elysia', meter, 31, stream)
    await first
    hide()
    assert.match(written[0]!, /3 errors$/)
  })

  it('writes nothing without a terminal', () => {
    const { stream, written } = terminal(false)
    showProgress('elysia', new Meter(), 31, stream)()
    assert.deepEqual(written, [])
  })
})
