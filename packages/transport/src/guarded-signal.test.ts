/** Errors of a signal's listeners are logged and do not become uncaught exceptions. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IncomingMessage } from './message.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const no = (): never => {
  throw new Error('no')
}

function made() {
  const message = new IncomingMessage({
    transport: 'memory',
    kind: 'request',
    pattern: 'slow',
    route: 'slow',
    data: 1
  })
  const lines: string[] = []
  const log = (line: string, cause?: unknown) => void lines.push(`${line}: ${String(cause)}`)
  return { message, lines, logger: { error: log, warn: log } }
}

const FAILED = "A listener of the signal of 'slow' failed: Error: no"

describe('the signal of a message', () => {
  it('calls every listener once, whatever the earlier ones do', async () => {
    const { message, lines, logger } = made()
    const { signal } = message
    const heard: unknown[] = []
    const same = function (this: unknown, event: Event) {
      heard.push([this === signal, event.type])
    }
    signal.addEventListener('abort', no)
    signal.addEventListener('abort', async () => no())
    signal.addEventListener('abort', { handleEvent: no })
    signal.onabort = no
    signal.addEventListener('abort', same)
    signal.addEventListener('abort', same)
    message.abort(logger)
    await turn()
    assert.deepEqual(heard, [[true, 'abort']])
    assert.deepEqual(lines, [FAILED, FAILED, FAILED, FAILED])
  })

  it('forgets listeners that are removed, and an onabort that is replaced', () => {
    const { message, lines, logger } = made()
    const { signal } = message
    let heard = 0
    signal.addEventListener('abort', no)
    signal.removeEventListener('abort', no)
    signal.removeEventListener('abort', () => {})
    assert.equal(signal.onabort, null)
    signal.onabort = no
    const listener = () => void heard++
    signal.onabort = listener
    assert.equal(signal.onabort, listener)
    message.abort(logger)
    assert.deepEqual([heard, lines], [1, []])
  })

  it('takes the options of a listener, and what is no listener, as the runtime does', () => {
    const { message, logger } = made()
    const { signal } = message
    let heard = 0
    signal.addEventListener('abort', null as never)
    signal.addEventListener('abort', () => void heard++, { once: true })
    signal.addEventListener('abort', () => void heard++, { signal: AbortSignal.abort() })
    signal.dispatchEvent(new Event('abort'))
    message.abort(logger)
    assert.equal(heard, 1)
    assert.equal(AbortSignal.any([signal]).aborted, true)
  })
})
