import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pino from 'pino'
import { loggerOf, serviceLoggerOf } from './logger.ts'

describe('a logger of the user', () => {
  it('takes lines at debug where the logger does, and pino only at that level', () => {
    const lines: { level: number; msg: string }[] = []
    const at = (level: string) =>
      pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    assert.equal(serviceLoggerOf(at('info')).debug, undefined)
    assert.equal(serviceLoggerOf({ error() {}, warn() {} }).debug, undefined)
    serviceLoggerOf(at('debug')).debug?.('handled')
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg]),
      [[20, 'handled']]
    )
  })

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

  it('gives any other logger text and cause, and survives what it does', async () => {
    const lines: unknown[] = []
    const record = (...given: unknown[]) => {
      lines.push(given)
      if (lines.length === 3) throw new Error('the disk is full')
      return Promise.reject(new Error('later'))
    }
    const logger = loggerOf({ error: record, warn: record })
    logger.error('failed', 'cause')
    logger.warn('odd')
    logger.error('lost')
    await null
    assert.deepEqual(lines, [['failed', 'cause'], ['odd'], ['lost']])
  })
})
