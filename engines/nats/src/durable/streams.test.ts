import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { JetStreamApiError, type StreamConfig } from '@nats-io/jetstream'
import { durableStorage, type NatsDurableOptions } from '../options/durable-options.ts'
import { OverFake } from '../testing/over-fake.ts'
import { AGAIN_STREAM, DEAD_STREAM } from './names.ts'
import { covers, Streams } from './streams.ts'

const HOUR = 3_600_000

describe('the streams of a NATS server', () => {
  let over: OverFake
  beforeEach(() => {
    over = new OverFake()
  })
  afterEach(() => over.close())

  const open = async (durable: NatsDurableOptions = {}) =>
    Streams.open({ connection: await over.connect(), storage: durableStorage(durable), logger: over.logger })
  const configOf = (name: string) => over.server.streams.find(name).config
  const add = (config: Partial<StreamConfig> & { name: string }) => over.server.streams.add(config)

  it('are created with the options, and refuse new events when they are full', async () => {
    const durable = {
      maxAge: HOUR,
      maxBytes: 1_000,
      duplicateWindow: 5_000,
      storage: 'memory',
      replicas: 3
    } as const
    assert.equal(await (await open(durable)).ensure('a.b'), 'a_b')
    const { subjects, max_age, max_bytes, duplicate_window, storage, num_replicas, discard } = configOf('a_b')
    assert.deepEqual(
      [subjects, max_age, max_bytes, duplicate_window, storage, num_replicas, discard],
      [['a.b'], HOUR * 1e6, 1_000, 5e9, 'memory', 3, 'new']
    )
    assert.equal(await (await open()).ensure('c'), 'c')
    assert.equal(configOf('c').max_bytes, -1)
  })

  it('that exist are used as they are, unless the options are set otherwise', async () => {
    add({ name: 'mine', subjects: ['x.*'], max_age: 5e9, storage: 'memory' })
    assert.equal(await (await open()).ensure('x.y'), 'mine')
    assert.equal(await (await open()).ensure('x.*'), 'mine')
    assert.deepEqual([configOf('mine').subjects, over.lines], [['x.*'], []])
  })

  it('are widened by options, and never narrowed', async () => {
    await (await open({ maxAge: 2 * HOUR, maxBytes: 1_000, duplicateWindow: 60_000 })).ensure('p')
    await (await open({ maxAge: 3 * HOUR, maxBytes: false })).ensure('p')
    assert.deepEqual([configOf('p').max_age, configOf('p').max_bytes], [3 * HOUR * 1e6, -1])
    assert.match(over.lines[0] ?? '', /settings of the stream 'p' are changed/)
    const narrow = await open({
      maxAge: HOUR,
      storage: 'memory',
      replicas: 3,
      maxBytes: 5,
      duplicateWindow: 1_000
    })
    await assert.rejects(narrow.ensure('p'), {
      name: 'OptionError',
      message:
        /storage is 'file', not 'memory'; replicas is 1, not 3; maxAge is 10800000, and 3600000 would be less; maxBytes is Infinity, and 5 would be less; duplicateWindow is 60000, and 1000 would be less/
    })
    assert.equal(configOf('p').max_age, 3 * HOUR * 1e6)
  })

  it('without a limit are wider than any, and are not given one', async () => {
    await (await open({ maxAge: HOUR })).ensure('p')
    await (await open({ maxAge: false })).ensure('p')
    assert.equal(configOf('p').max_age, 0)
    await assert.rejects((await open({ maxAge: HOUR })).ensure('p'), {
      name: 'OptionError',
      message: /maxAge is Infinity, and 3600000 would be less/
    })
  })

  it('for many patterns get the subjects that they lack', async () => {
    add({ name: 'shared', subjects: ['a.*'] })
    const stream = { name: 'shared', subjects: ['a.b', 'c.>'] }
    assert.equal(await (await open({ stream })).ensure('c.d'), 'shared')
    assert.deepEqual(configOf('shared').subjects, ['a.*', 'c.>'])
    assert.equal(await (await open({ stream })).ensure('other'), 'other')
  })

  it('do not store a pattern in parts', async () => {
    for (const name of ['x.a', 'x.b']) await (await open()).ensure(name)
    await assert.rejects((await open()).ensure('x.*'), {
      name: 'OptionError',
      message: /stored by the streams x_a, x_b, each only a part/
    })
  })

  it('of dead letters are kept where the options say', async () => {
    for (const [durable, storage, replicas] of [
      [{}, 'file', 1],
      [{ storage: 'memory', replicas: 3 }, 'memory', 3]
    ] as const) {
      await (await open(durable)).ensureDeadLetters()
      for (const name of [DEAD_STREAM, AGAIN_STREAM]) {
        assert.deepEqual([configOf(name).storage, configOf(name).num_replicas], [storage, replicas])
        over.server.streams.delete(name)
      }
    }
  })

  it('that store a part only are named, also if there is one', async () => {
    add({ name: 'part', subjects: ['x.a'] })
    await assert.rejects((await open()).ensure('x.*'), { message: /stored by the streams part, each only/ })
  })

  it('must confirm what they store', async () => {
    add({ name: 'silent', subjects: ['p'], no_ack: true })
    await assert.rejects((await open()).ensure('p'), { name: 'OptionError', message: /has no_ack/ })
  })

  it('are taken as they are if another process creates them at the same time', async () => {
    const streams = await open()
    await Promise.all([1, 2, 3].map(async () => streams.ensure('p')))
    await Promise.all([1, 2].map(async () => streams.ensureDeadLetters()))
    assert.deepEqual(
      [configOf(DEAD_STREAM), configOf(AGAIN_STREAM)].map(({ subjects, retention }) => [subjects, retention]),
      [
        [['_ELYSIA.DEAD.>'], 'limits'],
        [['_ELYSIA.AGAIN.>'], 'workqueue']
      ]
    )
    assert.deepEqual(over.lines, [])
  })

  it('are refused with the words of the server, and advice', async () => {
    const streams = await open()
    const description = 'insufficient storage resources available'
    over.server.streams.refuses = (asked) =>
      asked === 'addStream' ? new JetStreamApiError({ code: 500, err_code: 10_047, description }) : undefined
    for (const asked of [() => streams.ensure('p'), () => streams.ensureDeadLetters()])
      await assert.rejects(asked(), {
        name: 'NotStoredError',
        message: /raise max_file_store/,
        retryable: true
      })
    await assert.rejects(streams.infoOf('none'), { name: 'NotStoredError', message: /'stream not found'/ })
  })

  it('are off if the server has no JetStream', async () => {
    over.server.hasJetStream = false
    await assert.rejects(open(), {
      name: 'NotStoredError',
      message: /^NATS at 127.0.0.1:4222: JetStream.*-js/
    })
  })

  it('cover a subject if they store all that it matches', () => {
    for (const [wide, narrow, does] of [
      ['a.*', 'a.b', true],
      ['a.>', 'a.b.*', true],
      ['a.>', 'a.>', true],
      ['a.*', 'a.>', false],
      ['a.b', 'a.*', false]
    ] as const)
      assert.equal(covers(wide, narrow), does, `${wide} ${narrow}`)
  })
})
