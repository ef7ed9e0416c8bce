import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RecordingLogger } from '../testing/service.ts'
import { QuietLog } from './quiet-log.ts'

describe('a quiet log', () => {
  it('says the first of a kind at once, and the next after 10 s with the number left out', () => {
    let now = 0
    const logger = new RecordingLogger()
    const log = new QuietLog(logger, () => now)
    log.warn('a', 'a happened')
    log.warn('b', 'b happened')
    for (now = 1; now < 10_000; now += 100) log.warn('a', 'a happened')
    assert.deepEqual(logger.lines, ['a happened', 'b happened'])
    now = 10_000
    log.warn('a', 'a happened')
    log.warn('b', 'b happened')
    log.warn('b', 'b happened')
    assert.deepEqual(logger.lines.slice(2), [
      'a happened (and 100 more since this was last said)',
      'b happened'
    ])
  })
})
