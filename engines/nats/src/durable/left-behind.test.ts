import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsumerInfo } from '@nats-io/jetstream'
import { lineAbout } from './left-behind.ts'

interface Consumer {
  readonly group?: string
  readonly filter?: string
  readonly waiting?: number
  readonly pending?: number
  readonly handled?: number
}

const consumer = ({ group, filter = 'a', waiting = 0, pending = 0, handled = 0 }: Consumer) =>
  ({
    name: `${group}_${filter}`,
    stream_name: 's',
    config: { filter_subject: filter, metadata: group === undefined ? {} : { 'elysia-group': group } },
    num_waiting: waiting,
    num_pending: pending,
    num_ack_pending: handled
  }) as unknown as ConsumerInfo

const logger = { error() {}, warn() {} }
const line = (other: Consumer, start: 'new' | 'all' = 'new') =>
  lineAbout(consumer(other), { info: consumer({ group: 'new' }), group: 'new', start, logger })

describe('the log of a new group', () => {
  it('names a group whose events nobody handles, with the command that deletes it', () => {
    const said = line({ group: 'old', pending: 7 }) ?? ''
    assert.match(said, /^7 events 'a' wait for the group 'old', which no process handles at the moment/)
    assert.match(said, /durable.group 'old'.*nats consumer rm s old_a$/)
  })

  it('has no command that would delete a group whose handlers may all be busy', () => {
    const said = line({ group: 'busy', pending: 7, handled: 16 }) ?? ''
    assert.match(said, /^23 events 'a' wait for the group 'busy'; .*may be busy/)
    assert.doesNotMatch(said, /no process|consumer rm/)
    const wider = line({ group: 'new', filter: '>', handled: 1 }) ?? ''
    assert.match(wider, /handled '>' until now/)
    assert.doesNotMatch(wider, /consumer rm/)
  })

  it('names no group that has a process, that lacks nothing, whose events the new group gets too, or of others', () => {
    for (const other of [
      { group: 'old', waiting: 1, pending: 7 },
      { group: 'old' },
      { pending: 7 },
      { group: 'old', filter: 'b', pending: 7 },
      { group: 'new', filter: 'b', pending: 7 }
    ])
      assert.equal(line(other), undefined)
    assert.equal(line({ group: 'old', pending: 7 }, 'all'), undefined)
  })
})
