/** A connection whose messages nobody has, whose server refuses, or is lost. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type Carried, type CarrierListener, type Subject, textOf } from '@elysia-microservices/engine'
import { OverFake } from '../testing/over-fake.ts'
import { CHANGES, EVERYONE, NEST_ANSWER } from '../words/channels.ts'

const EVENT = '{"pattern":"p","data":1}'
const SUBJECT = { address: 'p', queue: 'q', answers: true, isExact: true } as Subject

describe('a connection to Redis', () => {
  let over: OverFake
  beforeEach(() => {
    over = new OverFake()
  })
  afterEach(() => over.close())

  /** A client, with what it gets at its inbox. */
  async function client(told: Partial<CarrierListener> = {}) {
    const connection = await over.connect(undefined, told)
    const inbox = connection.newInbox()
    const heard: Carried[] = []
    connection.listen(inbox, (message) => heard.push(message))
    await over.settle()
    return { connection, inbox, heard }
  }
  const refuse = (...commands: readonly string[]) => {
    over.server.refuses = (asked) => (commands.includes(asked) ? 'NOPERM no permissions' : undefined)
  }

  it('answers a NestJS client on its channel, and learns that it is gone', async () => {
    const { connection, inbox, heard } = await client()
    const nest = await over.connect()
    const answers: string[] = []
    await nest.hearNest('p.answers', (_, text) => answers.push(text))
    for (const channel of ['p.answers', 'gone'])
      connection.publish(NEST_ANSWER + channel, 'answer', `${inbox}1-r-`)
    await over.settle()
    assert.deepEqual(answers, ['answer'])
    assert.deepEqual(
      heard.map(({ address, isNobody }) => [address, isNobody]),
      [[`${inbox}1-r-`, true]]
    )
    // Without an address for it, nobody is told.
    connection.publish(`${NEST_ANSWER}gone`, 'answer')
    await over.settle()
    assert.equal(heard.length, 1)
  })

  it('tells everybody, and only services of this library what only they can read', async () => {
    const { connection, inbox } = await client()
    const other = await over.connect()
    const heard: unknown[] = []
    other.listen(EVERYONE, ({ words, reply }) => heard.push([textOf(words), reply]))
    const nest: string[] = []
    await (await over.connect()).hearNest('p', (_, text) => nest.push(text))
    await over.settle()
    connection.publish(EVERYONE, 'question', `${inbox}1-r-`)
    connection.publish('p', 'a value', `${inbox}2-r-`)
    connection.publish('p', Buffer.from([1, 2]), `${inbox}3-r-`)
    connection.publish(connection.togetherAt('p'), EVENT, `${inbox}4-r-`)
    await over.settle()
    assert.deepEqual([heard, nest], [[['question', `${inbox}1-r-`]], []])
    connection.publish('p', Buffer.from(EVENT))
    await over.settle()
    assert.deepEqual(nest, [EVENT])
  })

  it('keeps what is emitted while the server is lost', async () => {
    const service = await over.connect()
    const taken: string[] = []
    await service.take([SUBJECT], (_, { words }) => taken.push(textOf(words)))
    const { connection } = await client()
    over.server.stop()
    await over.settle()
    connection.emit('p', EVENT)
    await assert.rejects(connection.flush(), {
      name: 'ConnectionError',
      message: /The connection to Redis at .* was lost/,
      mayHaveRun: true
    })
    over.server.start()
    await over.settle()
    assert.deepEqual(taken, [EVENT])
    await connection.flush()
  })

  it('fails what it waits for when the server is lost meanwhile, also if it is back by then', async () => {
    const { connection, inbox } = await client()
    connection.publish(`${inbox}1-r-`, 'answer')
    const flushed = connection.flush()
    over.server.stop()
    over.server.start()
    await assert.rejects(flushed, { name: 'ConnectionError' })
    await over.settle()
    await connection.flush()
  })

  it('says that it may not listen, for its inbox and for its handlers', async () => {
    refuse('subscribe')
    const connection = await over.connect()
    const refusals: string[] = []
    connection.listen(
      connection.newInbox(),
      () => {},
      ({ message }) => refusals.push(message)
    )
    await over.settle()
    assert.deepEqual(refusals, ['NOPERM no permissions'])
    await assert.rejects(
      connection.take([SUBJECT], () => {}),
      { name: 'ListenError', message: /NOPERM/ }
    )
    refuse('publish')
    connection.publish(`${connection.newInbox()}1-r-`, 'answer')
    await over.settle()
    assert.match(over.lines.join(), /^publish _elysia:i:[a-z2-7]+: NOPERM no permissions$/)
  })

  it('says that an event was not published, if that is not because of the store', async () => {
    const { connection } = await client()
    refuse('publish')
    connection.emit('p', EVENT)
    await connection.flush()
    assert.deepEqual(new Set(over.lines), new Set(['publish p: NOPERM no permissions']))
  })

  it('is not restored without its inbox, or without hearing which processes there are, and says why', async () => {
    const { connection, inbox } = await client()
    connection.publish('p', EVENT, `${inbox}1-r-`)
    await over.settle()
    for (const channel of [inbox.slice(0, -1), CHANGES]) {
      over.lines.length = 0
      over.server.refuses = (asked, about) =>
        asked === 'subscribe' && about === channel ? 'NOPERM no permissions' : undefined
      over.server.stop()
      over.server.start()
      await over.settle()
      assert.equal(connection.isConnected, false)
      assert.match(over.lines[0] ?? '', /^failed: ReplyError: NOPERM no permissions$/)
      refuse()
      over.server.stop()
      over.server.start()
      await over.settle()
      assert.equal(connection.isConnected, true)
    }
  })

  it('that is closed sends what it has, tells nobody of its loss, and is closed once', async () => {
    const losses: string[] = []
    const { connection, inbox } = await client({ lost: () => losses.push('lost') })
    const other = await over.connect()
    const heard: string[] = []
    const channel = inbox.slice(0, -1)
    await other.hear(channel, () => heard.push('heard'))
    connection.publish(`${inbox}1-r-`, 'answer')
    await Promise.all([connection.close(), connection.close()])
    await over.settle()
    assert.deepEqual([heard, losses, over.lines, connection.isConnected], [['heard'], [], [], false])
    over.server.stop()
    await over.settle()
    assert.deepEqual(losses, [])
  })
})
