import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RecordingLogger } from '@elysia-microservices/rsocket/testing'
import { Refusals } from './refusals.ts'

describe('reports of refusals', () => {
  it('name an address once a minute', () => {
    const logger = new RecordingLogger()
    let now = 0
    const refusals = new Refusals(logger, () => now)
    for (const time of [0, 1, 59_999]) {
      now = time
      refusals.report('10.0.0.1', 'was refused')
      refusals.report(undefined, 'was refused')
    }
    assert.deepEqual(logger.lines, [
      'A connection of 10.0.0.1 was refused',
      'A connection of an unnamed peer was refused'
    ])
    now = 60_000
    refusals.report('10.0.0.1', 'was refused')
    assert.equal(logger.lines.length, 3)
  })

  it('are few, however many addresses there are', () => {
    const logger = new RecordingLogger()
    let now = 0
    const refusals = new Refusals(logger, () => now)
    for (let index = 0; index < 10_000; index++) refusals.report(`2001:db8::${index}`, 'was refused')
    assert.equal(logger.lines.length, 101)
    assert.match(logger.lines[100] as string, /further addresses are not logged/)
    now = 60_000
    refusals.report('2001:db8::1', 'was refused')
    assert.equal(logger.lines.length, 102)
  })
})
