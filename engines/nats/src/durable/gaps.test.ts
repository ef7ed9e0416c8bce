import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { ConsumerInfo, StreamConfig, StreamInfo } from '@nats-io/jetstream'
import { OverFake } from '../testing/over-fake.ts'
import { sayWhatWasDeleted } from './gaps.ts'

const HOUR = 3_600_000

describe('events that are deleted while their group is away', () => {
  let over: OverFake
  beforeEach(() => {
    over = new OverFake()
  })
  afterEach(() => over.close())

  /** A stream, and a group that has handled the first event of `p.a`, and is away. */
  async function away(config: Partial<StreamConfig>, pattern = 'p.a') {
    over.server.streams.add({ name: 'p', discard: 'old', ...config })
    const client = await over.open()
    const serve = async () => {
      let handled = 0
      const service = await over.serve(pattern, () => void handled++)
      return { service, handled: () => handled }
    }
    const { service, handled } = await serve()
    await client.publish('p.a', 0)
    await over.until(() => handled() === 1)
    await over.settle()
    await service.stop()
    const publish = async (subject: string, count: number) => {
      for (let n = 0; n < count; n++) await client.publish(subject, n)
    }
    const lines = async () => {
      over.lines.length = 0
      await (await serve()).service.stop()
      return [...over.lines]
    }
    return { publish, lines }
  }

  it('are counted in a stream of their own, by whichever limit', async () => {
    for (const limit of [{ max_msgs: 3 }, { max_msgs_per_subject: 3 }]) {
      const { publish, lines } = await away({ subjects: ['p.a'], ...limit })
      assert.deepEqual(await lines(), [])
      await publish('p.a', 5)
      const [line = '', ...more] = await lines()
      assert.match(line, /^2 events 'p\.a' that the group 'g' had not handled were deleted.*position 4$/)
      assert.deepEqual(more, [])
      over.server.streams.delete('p')
    }
  })

  it('are counted among others of a wildcard, where each subject keeps its last ones', async () => {
    const { publish, lines } = await away({ subjects: ['p.*'], max_msgs_per_subject: 1 }, 'p.*')
    assert.deepEqual(await lines(), [])
    await publish('p.b', 1)
    await publish('p.a', 3)
    assert.match((await lines())[0] ?? '', /^2 events 'p\.\*'/)
  })

  it('are counted once if they were delivered, and not done', async () => {
    const { publish, lines } = await away({ subjects: ['p.a'], max_age: HOUR * 1e6, duplicate_window: 1e9 })
    await publish('p.a', 4)
    await over.clock.advance(HOUR + 1)
    assert.match((await lines())[0] ?? '', /^4 events/)
  })

  it('may be among those that a stream of several subjects has deleted', async () => {
    const { publish, lines } = await away({ subjects: ['p.*'], max_msgs: 3 })
    await publish('p.a', 1)
    await publish('p.b', 5)
    const [line = '', ...more] = await lines()
    assert.match(
      line,
      /^The stream 'p' has deleted messages since the group 'g' was last there.*perhaps events 'p\.a'/
    )
    assert.deepEqual(more, [])
  })

  it('may be gone where each subject keeps its last ones, if so many wait', async () => {
    const { publish, lines } = await away({ subjects: ['p.*'], max_msgs_per_subject: 2 })
    await publish('p.b', 9)
    await publish('p.a', 1)
    assert.deepEqual(await lines(), [])
    await publish('p.a', 3)
    assert.match((await lines())[0] ?? '', /perhaps events 'p\.a'/)
  })

  it('are not suspected if only others were deleted while the group was there, or nothing was', async () => {
    const { publish, lines } = await away({ subjects: ['p.*'], max_msgs: 3 })
    const service = await over.serve('p.a', () => {})
    await publish('p.b', 10)
    await over.settle()
    await service.stop()
    assert.deepEqual(await lines(), [])
    await publish('p.b', 3)
    assert.deepEqual(await lines(), [])
  })

  it('are not suspected while another process of the group is there, or in a work queue', async () => {
    const { publish, lines } = await away({ subjects: ['p.*'], max_msgs: 3 })
    await publish('p.b', 5)
    await over.serve('p.a', () => {})
    assert.deepEqual(await lines(), [])
    const queue = new OverFake()
    queue.server.streams.add({
      name: 'q',
      subjects: ['q'],
      retention: 'workqueue',
      max_msgs: 1,
      discard: 'old'
    })
    const client = await queue.open()
    await (await queue.serve('q', () => {}, { start: 'all' })).stop()
    for (let n = 0; n < 3; n++) await client.publish('q', n)
    await (await queue.serve('q', () => {}, { start: 'all' })).stop()
    assert.deepEqual(queue.lines, [])
    await queue.close()
  })
})

describe('the number of events that are neither done nor there', () => {
  /** Of a stream of one subject, with the positions of its messages and of its group. */
  function deleted(
    first_seq: number,
    last_seq: number,
    delivered: number,
    done: number,
    num_pending: number
  ) {
    const lines: string[] = []
    const error = (line: string) => void lines.push(line)
    sayWhatWasDeleted(
      {
        config: { name: 's', subjects: ['a'], retention: 'limits' },
        state: { first_seq, last_seq }
      } as unknown as StreamInfo,
      {
        config: { filter_subject: 'a' },
        delivered: { stream_seq: delivered },
        ack_floor: { stream_seq: done },
        num_pending
      } as unknown as ConsumerInfo,
      'g',
      { error, warn: error }
    )
    return lines.length === 0 ? 0 : Number(/^\d+/.exec(lines[0] ?? ''))
  }

  it('has those that were delivered, up to the first that the stream still has', () => {
    assert.equal(deleted(5, 7, 5, 3, 2), 1)
    assert.equal(deleted(9, 9, 5, 3, 1), 2 + 3)
    assert.equal(deleted(4, 7, 5, 3, 2), 0)
    assert.equal(deleted(1, 7, 5, 3, 2), 0)
  })

  it('has those that were not delivered, also if more are done than were delivered', () => {
    assert.equal(deleted(8, 9, 5, 5, 2), 2)
    assert.equal(deleted(1, 9, 5, 5, 3), 1)
    assert.equal(deleted(1, 9, 5, 5, 4), 0)
    assert.equal(deleted(1, 9, 3, 5, 4), 0)
  })

  it('is not known in a stream of several subjects: one that keeps as many as wait may have deleted some', () => {
    const suspects = (most: number, num_pending: number, first_seq = 1, more: object = {}) => {
      const lines: string[] = []
      const warn = (line: string) => void lines.push(line)
      sayWhatWasDeleted(
        {
          config: { name: 's', subjects: ['a', 'b'], retention: 'limits', max_msgs_per_subject: most },
          state: { first_seq, last_seq: 9 }
        } as unknown as StreamInfo,
        {
          config: { filter_subject: 'a', metadata: { 'elysia-seen': '4' } },
          delivered: { stream_seq: 3 },
          num_pending,
          num_waiting: 0,
          ...more
        } as unknown as ConsumerInfo,
        'g',
        { error: warn, warn }
      )
      return lines.length > 0
    }
    assert.deepEqual([suspects(1, 1), suspects(2, 1), suspects(2, 2)], [true, false, true])
    assert.deepEqual([suspects(-1, 5), suspects(0, 5)], [false, false])
    // The group was there, or had nothing to do, up to position 4.
    assert.deepEqual([suspects(-1, 1, 5), suspects(-1, 1, 6)], [false, true])
    assert.equal(suspects(-1, 1, 6, { delivered: { stream_seq: 5 } }), false)
    assert.equal(suspects(1, 1, 6, { num_waiting: 1 }), false)
  })
})
