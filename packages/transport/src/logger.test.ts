import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pino from 'pino'
import { loggerOf } from './logger.ts'

describe('loggerOf', () => {
  it('gives pino the cause in the field in which pino writes errors', () => {
    const lines: { level: number; msg: string; err?: { message: string; stack: string } }[] = []
    const logger = loggerOf(pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }))
    logger.error('it failed', new TypeError('x is undefined'))
    logger.warn('odd')
    logger.error('it failed with no error', 'text')
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg]),
      [
        [50, 'it failed'],
        [40, 'odd'],
        [50, 'it failed with no error']
      ]
    )
    assert.equal(lines[0]?.err?.message, 'x is undefined')
    assert.match(lines[0]?.err?.stack ?? '', /logger\.test/)
    assert.equal(lines[1]?.err, undefined)
  })

  it('takes any other logger as it is', () => {
    const logger = { error() {}, warn() {} }
    assert.equal(loggerOf(logger), logger)
  })
})
