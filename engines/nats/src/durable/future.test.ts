import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { IncomingMessage, WaitingEvent } from '@elysia-microservices/transport/kit'
import type { NatsDurableOptions } from '../options/durable-options.ts'
import { refusal } from '../testing/fake-streams.ts'
import { OverFake } from '../testing/over-fake.ts'
import type { NatsClientStore } from './client-store.ts'
import { DUE, LATER_STREAM, WAKE } from './names.ts'

const HOUR = 3_600_000

describe('events that wait for their time in NATS', () => {
  let over = new OverFake()
  afterEach(async () => {
    await over.close()
    over = new OverFake()
  })

  /** A handler, and what it has seen. */
  async function serving(pattern = 'orders.late', group = 'g', storage: NatsDurableOptions = {}) {
    const seen: string[] = []
    const note = ({ delivery }: IncomingMessage) => void seen.push(delivery?.id as string)
    await over.serve(pattern, note, { group, storage })
    return seen
  }

  async function waitingIn(client: NatsClientStore): Promise<WaitingEvent[]> {
    const all: WaitingEvent[] = []
    for await (const one of client.future.list()) all.push(one)
    return all
  }

  const left = () => over.server.streams.find(LATER_STREAM).infoOn(`${DUE}.>`).state.subjects

  it('come by the clock of the server, whatever the clock of the publisher says', async () => {
    // The server is an hour ahead.
    await over.clock.advance(HOUR)
    const seen = await serving()
    const client = await over.open()
    assert.ok(Math.abs((await client.future.now()) - over.clock.now()) < 1_000)
    await client.publish('orders.late', 1, { id: 'delay', delay: 5_000 })
    const at = new Date(over.clock.now() + 5_000)
    await client.publish('orders.late', 1, { id: 'at', at })
    for (const { id, at: due } of await waitingIn(client)) {
      const late = due.getTime() - at.getTime()
      assert.ok(late >= (id === 'at' ? 0 : -1_000) && late < 1_000, `${id}: ${late}`)
    }
    await over.pass(4_000)
    assert.deepEqual(seen, [])
    await over.pass(2_000)
    await over.until(() => seen.length === 2)
    assert.deepEqual(await waitingIn(client), [])
  })

  it('are stored at once if their time has come at the server', async () => {
    await over.clock.advance(HOUR)
    const seen = await serving()
    const client = await over.open()
    const at = new Date(over.clock.now() - 1_000)
    const { position, duplicate } = await client.publish('orders.late', 1, { id: 'passed', at })
    assert.deepEqual([typeof position, duplicate], ['string', false])
    await over.until(() => seen.length === 1)
    assert.deepEqual(seen, ['passed'])
  })

  it('are refused for times that the server would take for passed ones', async () => {
    const client = await over.open()
    const options = { at: new Date('2262-05-01') }
    await assert.rejects(client.publish('orders.late', 1, options), {
      name: 'OptionError',
      path: 'options.at'
    })
  })

  it('are refused by a server that is too old, with the way out; others are stored, and after an update all', async () => {
    over.server.streams.hasSchedules = false
    const seen = await serving()
    const client = await over.open()
    await assert.rejects(client.publish('orders.late', 1, { delay: HOUR }), {
      name: 'OptionError',
      message: /update nats-server to 2\.12 or later, or give .*options\.store/
    })
    await client.publish('orders.late', 1, { id: 'now' })
    await over.until(() => seen.length === 1)
    over.server.streams.hasSchedules = true
    assert.equal((await client.publish('orders.late', 1, { delay: HOUR })).position, undefined)
  })

  it('are kept as other events are, and processes are told of them without their data', async () => {
    for (const [storage, replicas] of [
      ['file', 1],
      ['memory', 3]
    ] as const) {
      await (await over.open({ storage, replicas })).future.now()
      const { name, subjects, ...config } = over.server.streams.find(LATER_STREAM).config
      assert.deepEqual([name, subjects], [LATER_STREAM, ['_ELYSIA.LATER.>', '_ELYSIA.DUE.>']])
      assert.deepEqual(
        [config.storage, config.num_replicas, config.allow_msg_schedules, config.allow_msg_ttl],
        [storage, replicas, true, true]
      )
      const republish = { src: '_ELYSIA.DUE.>', dest: '_ELYSIA.WAKE.>', headers_only: true }
      assert.deepEqual(config.republish, republish)
      over.server.streams.delete(LATER_STREAM)
    }
  })

  it('are refused in the words of a server that does not keep their stream', async () => {
    const client = await over.open()
    over.server.streams.refuses = (asked) =>
      asked === 'addStream' ? refusal(503, 10_047, 'insufficient storage resources available') : undefined
    await assert.rejects(client.future.now(), {
      name: 'NotStoredError',
      message: /The stream 'elysia-later': NATS says 'insufficient storage/
    })
    // Another process has made the stream meanwhile.
    over.server.streams.refuses = (asked, stream) => {
      if (asked !== 'addStream' || stream !== LATER_STREAM) return undefined
      over.server.streams.add({
        name: LATER_STREAM,
        subjects: ['_ELYSIA.LATER.>'],
        allow_msg_schedules: true
      })
      return refusal(400, 10_058, 'stream name already in use')
    }
    assert.ok((await client.future.now()) > 0)
    over.server.streams.delete(LATER_STREAM)
    over.server.streams.refuses = (asked) =>
      asked === 'updateStream' ? refusal(400, 10_052, 'cannot be changed') : undefined
    over.server.streams.add({ name: LATER_STREAM, subjects: ['_ELYSIA.LATER.>'] })
    await assert.rejects(client.future.now(), (error: Error) => {
      assert.match(error.message, /update nats-server to 2\.12/)
      assert.match((error.cause as Error).message, /cannot be changed/)
      return true
    })
  })

  it('that have come while no process ran go to all groups of the process that starts', async () => {
    const client = await over.open()
    await client.publish('orders.late', 1, { id: 'a', delay: 1_000 })
    await over.pass(2_000)
    assert.deepEqual(left(), { [`${DUE}.orders.late`]: 1 })
    const seen = await serving()
    await over.until(() => seen.length === 1)
    await over.until(() => Object.keys(left() ?? {}).length === 0)
  })

  it('are moved by a handler with wildcards, and not by one of another pattern', async () => {
    const others = await serving('mails.late', 'others')
    const storage = { stream: { name: 'orders', subjects: ['orders.*'] } }
    const client = await over.open(storage)
    await client.publish('orders.late', 1, { id: 'a', delay: 1_000 })
    await over.pass(2_000)
    assert.deepEqual(left(), { [`${DUE}.orders.late`]: 1 })
    const seen = await serving('orders.*', 'g', storage)
    await over.until(() => seen.length === 1)
    assert.deepEqual([seen, others], [['a'], []])
  })

  it('are stored once and in order if processes move them together, and do not say so, or end before', async () => {
    const seen = await serving()
    const also = await serving('orders.late', 'also')
    const client = await over.open()
    const ids = Array.from({ length: 150 }, (_, n) => `id-${100 + n}`)
    let refused = 0
    over.server.streams.refuses = (asked, stream) =>
      asked === 'deleteMessage' && stream === LATER_STREAM && refused++ < 200
        ? refusal(503, 10_008, 'The process has ended')
        : undefined
    for (const [n, id] of ids.entries()) await client.publish('orders.late', 1, { id, delay: 1_000 + 10 * n })
    // Each process is told of all of them, as if others had gone before they had moved any.
    const wake = await over.connect()
    await over.pass(10_000)
    for (let n = 0; n < 20; n++) wake.publish(`${WAKE}.orders.late`, '')
    await over.until(() => seen.length >= 150 && also.length >= 150)
    while (Object.keys(left() ?? {}).length > 0) {
      wake.publish(`${WAKE}.orders.late`, '')
      await over.settle()
    }
    assert.deepEqual([seen, also], [ids, ids])
  })

  it('are looked for where a process has no right to be told', async () => {
    over.server.forbidden.add(`${WAKE}.orders.late`)
    const client = await over.open()
    await client.publish('orders.late', 1, { id: 'a', delay: 1_000 })
    await over.pass(2_000)
    const seen = await serving()
    await over.until(() => seen.length === 1)
    assert.deepEqual(over.lines, [])
  })

  it('keep their id for the window after they have come, and not longer', async () => {
    const seen = await serving()
    const client = await over.open()
    const publish = (delay: number) => client.publish('orders.late', 1, { id: 'a', delay })
    await publish(1_000)
    assert.equal((await publish(1_000)).duplicate, true)
    await over.pass(2_000)
    await over.until(() => seen.length === 1)
    assert.equal((await publish(1_000)).duplicate, true)
    await over.pass(130_000)
    assert.equal((await publish(1_000)).duplicate, false)
  })

  it('that were changed by others meanwhile are changed as they are now', async () => {
    const client = await over.open()
    await client.publish('orders.late', { n: 1 }, { id: 'ä b', key: 'k', headers: { x: 'ü' }, delay: HOUR })
    const both = await Promise.all([
      client.future.cancel('orders.late', 'ä b'),
      client.future.cancel('orders.late', 'ä b'),
      client.future.cancel('orders.*', 'ä b')
    ])
    assert.deepEqual(both.toSorted(), [false, false, true])
    await client.publish('orders.late', { n: 1 }, { id: 'ä b', key: 'k', headers: { x: 'ü' }, delay: HOUR })
    const [one] = await waitingIn(client)
    assert.deepEqual([one?.id, one?.key, one?.headers, one?.data], ['ä b', 'k', { x: 'ü' }, { n: 1 }])
    const fired = await Promise.all([
      client.future.fire('orders.late', 'ä b'),
      client.future.fire('orders.late', 'ä b')
    ])
    assert.ok(fired.includes(true))
    await over.pass(10)
    assert.deepEqual(left(), { [`${DUE}.orders.late`]: 1 })
    assert.equal(await client.future.cancel('orders.late', 'ä b'), false)
  })

  it('are listed the soonest first, those of one time by their ids, of one pattern, and up to a limit', async () => {
    const client = await over.open()
    const now = over.clock.now()
    for (const [pattern, id, delay] of [
      ['a', 'late', 9_000],
      ['a', 'y', 5_000],
      ['b', 'x', 5_000],
      ['a', 'soon', 1_000]
    ] as const)
      await client.publish(pattern, 1, { id, at: new Date(now + HOUR + delay) })
    const list = async (options: Parameters<typeof client.future.list>[0]) => {
      const ids: string[] = []
      for await (const { id } of client.future.list(options)) ids.push(id)
      return ids
    }
    assert.deepEqual(await list({}), ['soon', 'x', 'y', 'late'])
    assert.deepEqual(await list({ limit: 2 }), ['soon', 'x'])
    assert.deepEqual(await list({ pattern: 'a' }), ['soon', 'y', 'late'])
    assert.deepEqual([await list({ pattern: '*' }), await list({ limit: 0 })], [[], []])
    // One of them comes while they are listed.
    const rest: string[] = []
    for await (const { id } of client.future.list({ limit: 2 })) {
      rest.push(id)
      if (id === 'soon') await client.future.cancel('b', 'x')
    }
    assert.deepEqual(rest, ['soon', 'y'])
  })

  it('are changed in five attempts, while others change them, or not at all', async () => {
    const client = await over.open()
    await client.publish('orders.late', 1, { id: 'a', delay: HOUR })
    let asked = 0
    const refusing = (times: number, error: Error) => {
      asked = 0
      over.server.streams.refuses = (what) =>
        what === 'deleteMessage' && asked++ < times ? error : undefined
    }
    const gone = refusal(400, 10_043, 'no message found')
    refusing(9, gone)
    assert.deepEqual([await client.future.cancel('orders.late', 'a'), asked], [false, 5])
    refusing(1, refusal(503, 1, 'not now'))
    await assert.rejects(client.future.cancel('orders.late', 'a'), {
      message: /^The event 'a': NATS says 'not now'/
    })
    refusing(4, refusal(404, 10_037, 'no message found'))
    assert.deepEqual([await client.future.cancel('orders.late', 'a'), asked], [true, 5])
    over.server.streams.refuses = (what) => (what === 'message' ? refusal(503, 1, 'not now') : undefined)
    await assert.rejects(client.future.cancel('orders.late', 'a'), {
      message: /^The events that wait: NATS says 'not now'/
    })
  })
})
