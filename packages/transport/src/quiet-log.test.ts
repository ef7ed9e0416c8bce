import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { QuietLog, quietLog, shown } from './quiet-log.ts'

class Lines {
  readonly lines: string[] = []
  readonly warn = (message: string) => void this.lines.push(message)
  readonly error = this.warn
}

describe('a quiet log', () => {
  it('says the first of a kind at once, and the next after 10 s with the number left out', () => {
    let now = 0
    const logger = new Lines()
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
      'a happened (and 100 more since the last such line)',
      'b happened'
    ])
  })

  it('says as many of a kind as it is told, of all that share a logger', () => {
    const logger = new Lines()
    for (let n = 1; n <= 5; n++) quietLog(logger).error('a', `a ${n}`, undefined, 3)
    assert.deepEqual(logger.lines, ['a 1', 'a 2', 'a 3'])
  })
})

describe('a text from a peer', () => {
  it('is shown on one line, without anything that a terminal or a reader of logs obeys', () => {
    assert.equal(shown('a\n\u001b[2J\u202eb\u2028'), 'a\\u{a}\\u{1b}[2J\\u{202e}b\\u{2028}')
    assert.equal(shown('größe 😀'), 'größe 😀')
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER }), (text) => {
        assert.doesNotMatch(shown(text), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      })
    )
  })

  it('is shown in short, with its length', () => {
    const line = shown('x'.repeat(5_000_000))
    assert.equal(line, `${'x'.repeat(200)}… (5000000 characters)`)
  })
})
