import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { JetStream } from '../driver.ts'
import { lineAbout, sayWhatIsLeftBehind, sayWhatIsSkipped } from './left-behind.ts'

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

  it('names the consumer of its own group for a wider pattern, and none whose events go to others', () => {
    const own = (filter: string, more: Consumer = {}) => line({ group: 'new', filter, ...more }) ?? ''
    assert.match(
      own('>'),
      /^The group 'new' handled '>' until now.*'new_>' remains with 0 events.*consumer rm s new_>$/
    )
    assert.match(own('*', { pending: 2, handled: 1 }), /with 3 events/)
    assert.equal(own('a'), '')
    assert.match(line({ group: 'old', handled: 1 }) ?? '', /^1 events 'a' wait for the group 'old'; /)
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

  it('says how many events it does not get, of all subjects, and nothing if there are none', async () => {
    const lines: string[] = []
    const log = { error() {}, warn: (said: string) => void lines.push(said) }
    const made = {
      info: consumer({ group: 'new', filter: 'a.*' }),
      group: 'new',
      start: 'new',
      logger: log
    } as const
    const skips = (subjects: Record<string, number> | undefined) =>
      sayWhatIsSkipped({ stream: async () => ({ state: { subjects } }) } as unknown as JetStream, made)
    await skips({ 'a.b': 2, 'a.c': 3 })
    assert.match(lines[0] ?? '', /up to 5 events 'a\.\*' were stored before/)
    await skips({ 'a.b': 1 })
    assert.match(lines[1] ?? '', /up to 1 events/)
    await skips({})
    await skips(undefined)
    assert.equal(lines.length, 2)
  })

  it('names other groups of its stream, and never itself; a list that cannot be had is said', async () => {
    const lines: string[] = []
    const log = { error() {}, warn: (said: string) => void lines.push(said) }
    const info = consumer({ group: 'new', pending: 4 })
    const made = { info, group: 'other name', start: 'new', logger: log } as const
    const consumers = async function* () {
      yield* [info, consumer({ group: 'old', pending: 3 }), consumer({ group: 'idle' })]
    }
    await sayWhatIsLeftBehind({ consumers } as unknown as JetStream, made)
    assert.deepEqual(
      lines.map((said) => said.slice(0, 36)),
      ["3 events 'a' wait for the group 'old'"].map((said) => said.slice(0, 36))
    )
    const fails = async function* () {
      yield info
      throw new Error('no')
    }
    await sayWhatIsLeftBehind({ consumers: fails } as unknown as JetStream, made)
    assert.match(lines[1] ?? '', /^The other consumers of the stream 's' cannot be listed/)
  })
})
