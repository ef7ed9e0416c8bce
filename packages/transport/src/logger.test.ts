import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loggerOf } from './logger.ts'

/** What of pino counts here: fields first, then the text; what stands behind the text is for its format. */
function fakePino() {
  const lines: object[] = []
  const line = (first: string | object, text?: string) =>
    void lines.push(typeof first === 'string' ? { msg: first } : { ...first, msg: text })
  const methods = { error: line, warn: line, bindings() {}, setBindings() {}, child() {} }
  return { lines, logger: methods as never }
}

describe('a logger', () => {
  const cause = new Error('why')

  it('of the order of pino gets the error as the field that it writes', () => {
    const { lines, logger } = fakePino()
    const { error, warn } = loggerOf(logger)
    error('failed', cause)
    warn('odd', cause)
    error('bare')
    assert.deepEqual(lines, [{ err: cause, msg: 'failed' }, { err: cause, msg: 'odd' }, { msg: 'bare' }])
  })

  it('of the console’s order is used as it is', () => {
    const given = { error() {}, warn() {} }
    assert.equal(loggerOf(given), given)
  })
})
