import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { durableSettings } from '@elysia-microservices/transport/kit'
import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'
import { durableStorage, type NatsDurableOptions } from '../options/durable-options.ts'
import { OverFake } from '../testing/over-fake.ts'
import { consumersOf, Groups, MAX_PENDING_IN_ORDER } from './groups.ts'
import { AGAIN_STREAM } from './names.ts'
import { Streams } from './streams.ts'

const SECOND = 1e9

describe('the groups of a NATS server', () => {
  let over: OverFake
  beforeEach(() => {
    over = new OverFake()
  })
  afterEach(() => over.close())

  async function groups(durable: NatsDurableOptions = {}) {
    const settings = { storage: durableStorage(durable), logger: over.logger }
    const streams = await Streams.open({ connection: await over.connect(), ...settings })
    return new Groups(streams, settings)
  }
  const plain = durableSettings({})
  const ordered = durableSettings({ ordered: true })
  const refused = (code: number, description: string) =>
    new JetStreamApiError({ code, err_code: 1, description })

  it('have a consumer that delivers until an event is done, and one for redriven events', async () => {
    const { main, again, standpoint, maxAge } = await (await groups({ ackWait: 5_000 })).ensure(
      'p.a',
      'g',
      plain
    )
    assert.deepEqual(
      [main, again],
      [
        { stream: 'p_a', consumer: 'g_p_a' },
        { stream: AGAIN_STREAM, consumer: 'g_p_a' }
      ]
    )
    assert.deepEqual([standpoint.stream, standpoint.done, maxAge], ['p_a', 0, 7 * 24 * 3_600_000])
    const { config } = over.infoOf('p.a')
    const { metadata, ...rest } = config
    assert.deepEqual(rest, {
      ack_wait: 5 * SECOND,
      max_ack_pending: 20_000,
      durable_name: 'g_p_a',
      filter_subject: 'p.a',
      ack_policy: 'explicit',
      max_deliver: -1,
      deliver_policy: 'new'
    })
    assert.equal(metadata?.['elysia-group'], 'g')
    const { config: redriven } = over.server.streams.find(AGAIN_STREAM).consumer('g_p_a').info
    assert.deepEqual(
      [redriven.filter_subject, redriven.deliver_policy, redriven.ack_wait, redriven.max_deliver],
      ['_ELYSIA.AGAIN.g_p_a', 'all', 5 * SECOND, -1]
    )
    over.server.streams.asked.length = 0
    await (await groups({ ackWait: 5_000 })).ensure('p.a', 'g', plain)
    assert.ok(
      !over.server.streams.asked.some((asked) => /^(add|update)/.test(asked)),
      'nothing is to be changed'
    )
  })

  it('serve one process at a time if they are ordered', async () => {
    await (await groups()).ensure('p', 'g', ordered)
    const config: object = over.infoOf('p').config
    const { priority_groups, priority_policy, priority_timeout, max_ack_pending } = config as Record<
      string,
      unknown
    >
    assert.deepEqual(
      [priority_groups, priority_policy, priority_timeout, max_ack_pending],
      [['one'], 'pinned_client', 10 * SECOND, MAX_PENDING_IN_ORDER]
    )
  })

  it('begin where they are told to', async () => {
    const all = await groups()
    await over.publish('p', [1, 2, 3])
    const since = new Date(Date.now() - 60_000)
    const starts = { all: 'all', fresh: 'new', behind: { after: '2' }, since: { since } } as const
    const pending: number[] = []
    for (const [group, start] of Object.entries(starts)) {
      await all.ensure('p', group, durableSettings({ start }))
      pending.push(over.infoOf('p', group).num_pending)
    }
    assert.deepEqual(pending, [3, 0, 1, 3])
    for (const after of ['x', '-1', '1.5'])
      await assert.rejects(all.ensure('p', 'wrong', durableSettings({ start: { after } })), {
        path: 'options.durable.start.after'
      })
  })

  it('refuse to be ordered for one process and not for another', async () => {
    const all = await groups()
    await all.ensure('p', 'g', ordered)
    await assert.rejects(all.ensure('p', 'g', plain), {
      name: 'OptionError',
      message: /already with ordered: true, and this service wants ordered: false/
    })
  })

  it('take over other settings, and say that processes disagree', async () => {
    await (await groups()).ensure('p', 'g', plain)
    assert.deepEqual(over.lines, [])
    await (await groups({ ackWait: 1_000 })).ensure('p', 'g', durableSettings({ retry: { attempts: 9 } }))
    assert.match(over.lines[0] ?? '', /all processes of a group should have the same settings/)
    assert.equal(over.infoOf('p').config.ack_wait, SECOND)
    assert.equal(over.server.streams.find(AGAIN_STREAM).consumer('g_p').info.config.ack_wait, SECOND)
    assert.match(over.infoOf('p').config.metadata?.['elysia-settings'] ?? '', /"attempts":9/)
  })

  it('are taken as they are if another process creates them at the same time', async () => {
    const all = await groups()
    const made = await Promise.all([1, 2, 3].map(() => all.ensure('p', 'g', plain)))
    assert.equal(new Set(made.map(({ standpoint }) => standpoint.consumerMadeAt)).size, 1)
    assert.deepEqual(over.lines, [])
  })

  it('that are new say what they do not get, and those that are there already say it no more', async () => {
    const all = await groups()
    await over.publish('p', [1, 2, 3])
    const lines = async (group: string, start: 'new' | 'all') => {
      over.lines.length = 0
      await all.ensure('p', group, durableSettings({ start }))
      return over.lines.map((line) => line.split(';')[0] ?? '')
    }
    assert.match((await lines('g', 'new')).join(), /^The group 'g' is new .* up to 3 events 'p'/)
    assert.deepEqual([await lines('g', 'new'), await lines('all', 'all')], [[], []])
    const [skipped, left] = await lines('newer', 'new')
    assert.match(skipped ?? '', /^The group 'newer' is new/)
    assert.match(left ?? '', /^3 events 'p' wait for the group 'all'/)
    // The group has received an event since: it is not new any more.
    over.server.streams.find('p').leave('all_p')
    await all.ensure('p', 'idle', durableSettings({ start: 'all' }))
    await (await over.serve('p', () => new Promise(() => {}), { group: 'g2', start: 'all' })).cut()
    await over.until(() => over.infoOf('p', 'g2').delivered.consumer_seq > 0)
    assert.deepEqual(await lines('g2', 'all'), [])
  })

  it('begin at the very first event behind none', async () => {
    const all = await groups()
    await over.publish('p', [1, 2])
    await all.ensure('p', 'g', durableSettings({ start: { after: '0' } }))
    assert.deepEqual([over.infoOf('p').num_pending, over.infoOf('p').config.opt_start_seq], [2, 1])
  })

  it('that nobody but others knows are refused in the words of the server, with what they were for', async () => {
    const all = await groups()
    for (const [asked, stream, message] of [
      ['consumer', 'p', /^The stream 'p': NATS says 'not now'/],
      ['addConsumer', AGAIN_STREAM, /^The redriven dead letters of the group 'g': NATS says 'not now'/]
    ] as const) {
      over.server.streams.refuses = (what, of) =>
        what === asked && of === stream ? refused(503, 'not now') : undefined
      await assert.rejects(all.ensure('p', 'g', plain), { name: 'NotStoredError', message, retryable: true })
    }
    over.server.streams.refuses = () => undefined
    await all.ensure('p', 'g', plain)
    const other = await groups({ ackWait: 1_000 })
    for (const [stream, message] of [
      ['p', /^The group 'g' for 'p': NATS says 'not now'/],
      [AGAIN_STREAM, /^The redriven dead letters of the group 'g': NATS says 'not now'/]
    ] as const) {
      over.server.streams.refuses = (what, of) =>
        what === 'updateConsumer' && of === stream ? refused(503, 'not now') : undefined
      await assert.rejects(other.ensure('p', 'g', plain), { message })
    }
  })

  it('are found by their name in all streams, and the server may refuse to list them', async () => {
    const all = await groups()
    for (const pattern of ['p', 'q']) await all.ensure(pattern, 'g', plain)
    await all.ensure('p', 'other', plain)
    const { jetStream } = await Streams.open({
      connection: await over.connect(),
      storage: durableStorage({}),
      logger: over.logger
    })
    const found = (await consumersOf(jetStream, 'g')).map((one) => `${one.stream_name} ${one.name}`)
    assert.deepEqual(found.toSorted(), [`${AGAIN_STREAM} g_p`, `${AGAIN_STREAM} g_q`, 'p g_p', 'q g_q'])
    over.server.streams.refuses = (asked) => (asked === 'consumers' ? refused(503, 'not now') : undefined)
    await assert.rejects(consumersOf(jetStream, 'g'), { message: /^The group 'g': NATS says 'not now'/ })
  })

  it('say in their own words why a consumer cannot be created', async () => {
    const all = await groups()
    over.server.streams.refuses = (asked) =>
      asked === 'addConsumer' ? refused(400, 'maximum consumers limit reached') : undefined
    await assert.rejects(all.ensure('p', 'g', plain), {
      name: 'NotStoredError',
      message: /^The group 'g' for 'p': NATS says 'maximum consumers limit reached'/
    })
  })

  describe('that have to be created again', () => {
    /** A group that has done the first of three events, and whose consumer is deleted. */
    async function lost(more: { readonly pausedUntil?: string } = {}) {
      const all = await groups()
      const before = await all.ensure('p', 'g', plain)
      await over.publish('p', [1, 2, 3])
      over.server.streams.find('p').leave('g_p')
      return { all, last: { ...before.standpoint, done: 1, ...more } }
    }

    it('go on behind the last event that is done, with their pause', async () => {
      const pausedUntil = new Date(Date.now() + 1e8).toISOString()
      const { all, last } = await lost({ pausedUntil })
      await all.ensure('p', 'g', plain, last)
      const { num_pending, config } = over.infoOf('p')
      assert.deepEqual([num_pending, config.opt_start_seq, config.pause_until], [2, 2, pausedUntil])
    })

    it('begin at the first event of a stream that is new', async () => {
      const { all, last } = await lost()
      over.server.streams.delete('p')
      await all.ensure('p', 'other', plain)
      await over.publish('p', [4])
      await all.ensure('p', 'g', plain, last)
      assert.equal(over.infoOf('p').num_pending, 1)
    })

    it('replace a consumer that a process has created which did not know their position', async () => {
      const { all, last } = await lost()
      const { standpoint } = await all.ensure('p', 'g', plain)
      assert.equal(over.infoOf('p').num_pending, 0)
      const again = await all.ensure('p', 'g', plain, last)
      assert.notEqual(again.standpoint.consumerMadeAt, standpoint.consumerMadeAt)
      assert.equal(over.infoOf('p').num_pending, 2)
    })

    it('keep such a consumer if no event was missed', async () => {
      const { all, last } = await lost()
      const { standpoint } = await all.ensure('p', 'g', plain)
      const again = await all.ensure('p', 'g', plain, { ...last, done: 3 })
      assert.equal(again.standpoint.consumerMadeAt, standpoint.consumerMadeAt)
    })

    it('keep a consumer that begins where they have to go on, and do not ask for it', async () => {
      const { all, last } = await lost()
      const made = await all.ensure('p', 'g', durableSettings({ start: 'all' }))
      over.server.streams.asked.length = 0
      const again = await all.ensure('p', 'g', plain, last)
      assert.equal(again.standpoint.consumerMadeAt, made.standpoint.consumerMadeAt)
      assert.ok(!over.server.streams.asked.some((asked) => /^(message|deleteConsumer)/.test(asked)))
      const known = await all.ensure('p', 'g', plain, again.standpoint)
      assert.equal(known.standpoint.consumerMadeAt, again.standpoint.consumerMadeAt)
    })

    it('replace one that begins with a time, if an event before it was missed, and at the first event of a new stream', async () => {
      const { all, last } = await lost()
      const since = durableSettings({ start: { since: new Date(over.clock.now() + 60_000) } })
      await all.ensure('p', 'g', since)
      await all.ensure('p', 'g', plain, last)
      assert.equal(over.infoOf('p').num_pending, 2)
      over.server.streams.delete('p')
      await all.ensure('p', 'other', plain)
      await over.publish('p', [1])
      await all.ensure('p', 'g', plain)
      await all.ensure('p', 'g', plain, last)
      assert.equal(over.infoOf('p').num_pending, 1)
    })

    it('are told why it cannot be known what they have missed, and go on if somebody else has deleted the consumer', async () => {
      const { all, last } = await lost()
      await all.ensure('p', 'g', plain)
      over.server.streams.refuses = (asked) => (asked === 'message' ? refused(503, 'not now') : undefined)
      await assert.rejects(all.ensure('p', 'g', plain, last), {
        message: /^The group 'g' for 'p': NATS says 'not now'/
      })
      over.server.streams.refuses = (asked) => {
        if (asked !== 'deleteConsumer') return undefined
        over.server.streams.find('p').leave('g_p')
        return refused(404, 'consumer not found')
      }
      await all.ensure('p', 'g', plain, last)
      assert.equal(over.infoOf('p').num_pending, 2)
    })

    it('of a work queue go on with what is left in it', async () => {
      over.server.streams.add({ name: 'q', subjects: ['q'], retention: 'workqueue' })
      const all = await groups()
      const { standpoint } = await all.ensure('q', 'g', durableSettings({ start: 'all' }))
      await over.publish('q', [1, 2])
      over.server.streams.find('q').leave('g_q')
      await all.ensure('q', 'g', plain, { ...standpoint, done: 1 })
      const { config, num_pending } = over.infoOf('q')
      assert.deepEqual([config.deliver_policy, config.opt_start_seq, num_pending], ['all', undefined, 2])
    })

    it('say which rights they need to miss nothing', async () => {
      const { all, last } = await lost()
      await all.ensure('p', 'g', plain)
      over.server.streams.refuses = (asked) =>
        asked === 'message' ? new errors.PermissionViolationError('no', 'publish', 'x') : undefined
      await all.ensure('p', 'g', plain, last)
      assert.match(
        over.lines.at(-1) ?? '',
        /may have missed events 'p'.*MSG\.GET\.p and \$JS\.API\.CONSUMER\.DELETE\.p\.g_p/
      )
    })
  })

  it('keep a note with their consumer, beside its other metadata', async () => {
    const all = await groups()
    const { main } = await all.ensure('p', 'g', plain)
    await all.noteRuns(main, '1:2,')
    const { runs } = await all.ensure('p', 'g', plain)
    assert.equal(runs, '1:2,')
    assert.equal(over.infoOf('p').config.metadata?.['elysia-group'], 'g')
  })
})
