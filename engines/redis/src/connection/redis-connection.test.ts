import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type Carried, type CarrierListener, type Subject, textOf } from '@elysia-microservices/engine'
import type { Driver, DriverConnection, DriverListener } from '../driver.ts'
import { OverFake } from '../testing/over-fake.ts'
import { CHANGES } from '../words/channels.ts'
import { RedisConnection } from './redis-connection.ts'

const WORDS = '{"pattern":"p","data":1,"id":"7"}'
const EVENT = '{"pattern":"p","data":1}'

/** @param queue empty: none */
function subjectOf(address: string, { queue = 'q', answers = true } = {}): Subject {
  return {
    address,
    queue: queue === '' ? undefined : queue,
    answers,
    isExact: !address.includes('*')
  } as Subject
}

describe('a connection to Redis', () => {
  let over: OverFake
  let taken: string[]
  beforeEach(() => {
    over = new OverFake()
    taken = []
  })
  afterEach(() => over.close())

  /** A process of a service, which notes what it gets. */
  async function serve(name: string, ...subjects: readonly Subject[]): Promise<RedisConnection> {
    const connection = await over.connect()
    await connection.take(subjects, (_, { address, words }) =>
      taken.push(`${name} ${address} ${textOf(words)}`)
    )
    return connection
  }

  /** A client, with the answers that it gets at its inbox. */
  async function call(told: Partial<CarrierListener> = {}) {
    const connection = await over.connect(undefined, told)
    const inbox = connection.newInbox()
    const answers: Carried[] = []
    connection.listen(inbox, (message) => answers.push(message))
    await over.settle()
    let calls = 0
    const ask = async (pattern = 'p') => {
      connection.publish(pattern, WORDS, `${inbox}${++calls}-r-`)
      await over.settle()
    }
    return { connection, inbox, answers, ask }
  }

  it('sends a request to one process of a pattern, in turn', async () => {
    await serve('a', subjectOf('p'))
    await serve('b', subjectOf('p'))
    const { ask, answers } = await call()
    for (let n = 0; n < 4; n++) await ask()
    assert.deepEqual(
      taken.toSorted(),
      ['a', 'a', 'b', 'b'].map((name) => `${name} p ${WORDS}`)
    )
    assert.deepEqual(answers, [])
  })

  it('sends a request to the most specific pattern, and an answer to the inbox', async () => {
    const exact = await serve('exact', subjectOf('p.q'))
    await serve('wide', subjectOf('p.*'))
    const { ask, answers, inbox } = await call()
    await ask('p.q')
    await ask('p.r')
    assert.deepEqual(
      taken.map((one) => one.split(' ').slice(0, 2)),
      [
        ['exact', 'p.q'],
        ['wide', 'p.r']
      ]
    )
    exact.publish(`${inbox}1-r-`, 'answer')
    await over.settle()
    assert.deepEqual(
      answers.map(({ address, words }) => [address, textOf(words)]),
      [[`${inbox}1-r-`, 'answer']]
    )
  })

  it('tells a caller at once that nobody has received its request, and of a stopped process, too', async () => {
    // A handler of all events answers no request.
    await serve('listener', subjectOf('*', { answers: false }))
    const { ask, answers, inbox } = await call()
    await ask()
    assert.deepEqual(
      answers.map(({ address, isNobody }) => [address, isNobody]),
      [[`${inbox}1-r-`, true]]
    )
    const service = await serve('a', subjectOf('p'))
    await ask()
    assert.equal(answers.length, 1)
    await service.leave()
    await ask()
    assert.deepEqual([taken.length, answers.length], [1, 2])
  })

  it('sends nothing to a process that has said that it stops', async () => {
    const stopping = await serve('a', subjectOf('p'))
    const [gone = ''] = over.server.heard.filter((channel) => channel.startsWith('_elysia:s:'))
    await serve('b', subjectOf('p'))
    const { ask } = await call()
    await ask()
    await stopping.leave()
    const channels: unknown[] = []
    over.server.refuses = (asked, about) => {
      if (asked === 'publish') channels.push(about)
      return undefined
    }
    for (let n = 0; n < 2; n++) await ask()
    assert.deepEqual([channels.length, channels.includes(gone)], [2, false])
  })

  it('hears of processes that start and stop, and lists all of them only once', async () => {
    let lists = 0
    over.server.refuses = (asked) => {
      if (asked === 'services') lists++
      return undefined
    }
    await serve('a', subjectOf('p'))
    const { ask } = await call()
    await ask()
    const before = lists
    const second = await serve('b', subjectOf('p'))
    for (let n = 0; n < 2; n++) await ask()
    await second.leave()
    for (let n = 0; n < 2; n++) await ask()
    assert.deepEqual(
      [taken.map((one) => one.charAt(0)).toSorted(), lists],
      [['a', 'a', 'a', 'a', 'b'], before]
    )
  })

  it('that is closed sends what it was given before, also what waits for the list of processes', async () => {
    await serve('a', subjectOf('p'))
    const client = await over.connect()
    client.publish('p', WORDS, `${client.newInbox()}1-r-`)
    await client.close()
    await over.settle()
    assert.deepEqual(taken, [`a p ${WORDS}`])
  })

  it('asks another process when the first has gone without a word', async () => {
    const gone = await serve('a', subjectOf('p'))
    const { ask } = await call()
    await ask()
    await serve('b', subjectOf('p'))
    taken = []
    over.server.refuses = (asked, about) => (asked === 'publish' && about === CHANGES ? 'NOPERM' : undefined)
    await gone.close()
    await ask()
    await ask()
    assert.deepEqual(
      taken.map((one) => one.charAt(0)),
      ['b', 'b']
    )
  })

  it('in a cluster says that nobody has a request only if the node still has its part of the cluster', async () => {
    over.server.isCluster = true
    const losses: string[] = []
    const { ask, answers } = await call({ lost: () => losses.push('lost') })
    await ask()
    assert.deepEqual([answers.length, losses], [1, []])
    // The part moves to another node: the connection is given up, which fails the request.
    over.server.hasMoved = true
    await ask()
    assert.deepEqual([answers.length, losses.length > 0], [1, true])
    over.server.hasMoved = false
  })

  it('sends an event to one process of each queue, to all without one, and to NestJS', async () => {
    await serve('a', subjectOf('p', { answers: false }))
    await serve('a', subjectOf('p', { answers: false }))
    await serve('b', subjectOf('p', { answers: false, queue: 'other' }))
    for (const name of ['c', 'd']) await serve(name, subjectOf('p', { answers: false, queue: '' }))
    const nest: string[] = []
    const listener = await over.connect()
    await listener.hearNest('p', (_, text) => nest.push(text))
    const { connection } = await call()
    connection.emit('p', EVENT, undefined, { h: '1' })
    await connection.flush()
    await over.settle()
    assert.deepEqual(taken.map((one) => one.charAt(0)).toSorted(), ['a', 'b', 'c', 'd'])
    const { metadata, _elysia: reached } = JSON.parse(nest[0] ?? '') as Record<string, unknown>
    assert.deepEqual([metadata, (reached as unknown[]).length, nest.length], [{ h: '1' }, 4, 1])
  })

  it('sends each event to one process of a queue, also before it knows the processes', async () => {
    for (const name of ['a', 'b']) await serve(name, subjectOf('p', { answers: false }))
    const { connection } = await call()
    // In one of these turns the list of processes has been asked for, and has not come.
    for (let turn = 0; turn < 8; turn++) {
      connection.emit('p', EVENT)
      await new Promise(setImmediate)
    }
    await connection.flush()
    await over.settle()
    assert.equal(taken.length, 8)
  })

  it('gets what NestJS publishes once for each queue of a process', async () => {
    await serve('a', subjectOf('p'), subjectOf('*'))
    over.server.deliver('p', Buffer.from(EVENT))
    over.server.deliver('other', Buffer.from(EVENT))
    await over.settle()
    assert.deepEqual(
      taken.map((one) => one.split(' ').slice(0, 2).join(' ')),
      ['a p', 'a other']
    )
  })

  it('asks NestJS services if no process has the pattern, and stops hearing their answers when no call needs them', async () => {
    const { connection, ask, answers } = await call()
    const nest = await over.connect()
    const asked: string[] = []
    await nest.hearNest('p', (_, text) => asked.push(text))
    await ask()
    const { id } = JSON.parse(asked[0] ?? '') as { id: string }
    assert.ok(over.server.heard.includes('p.reply'))
    over.server.deliver('p.reply', Buffer.from(JSON.stringify({ id, response: 1 })))
    over.server.deliver('p.reply', Buffer.from(JSON.stringify({ id: 'of another client', response: 2 })))
    await over.settle()
    assert.deepEqual(
      answers.map(({ address }) => address),
      [id]
    )
    connection.over?.(id.slice(0, id.indexOf('-', id.indexOf('-') + 1) + 1))
    assert.equal(connection.over, undefined)
  })

  it('keeps what is sent while the server is lost, and its subscriptions', async () => {
    await serve('a', subjectOf('p'))
    const states: string[] = []
    const { connection, ask } = await call({
      lost: () => states.push('lost'),
      restored: () => states.push('restored')
    })
    await ask()
    over.server.stop()
    await over.settle()
    assert.equal(connection.isConnected, false)
    await ask()
    assert.equal(taken.length, 1)
    over.server.start()
    await over.settle()
    assert.deepEqual([states, taken.length], [['lost', 'restored'], 2])
  })

  it('does without a channel that is refused to it, and says so; without its inbox it is not restored', async () => {
    const service = await serve('a', subjectOf('p'))
    const { connection, inbox } = await call()
    const forbidden = { channel: 'p' }
    over.server.refuses = (asked, about) =>
      asked === 'subscribe' && about === forbidden.channel ? 'NOPERM no permissions' : undefined
    over.server.stop()
    over.server.start()
    await over.settle()
    assert.deepEqual([service.isConnected, over.lines], [true, ['listen p: NOPERM no permissions']])
    forbidden.channel = inbox.slice(0, -1)
    over.server.stop()
    over.server.start()
    await over.settle()
    assert.deepEqual([service.isConnected, connection.isConnected], [true, false])
  })

  it('tells callers again that it is there when the server is', async () => {
    await serve('a', subjectOf('p'))
    await over.connect()
    const told: unknown[] = []
    over.server.refuses = (asked, about) => {
      if (asked === 'publish') told.push(about)
      return undefined
    }
    over.server.stop()
    over.server.start()
    await over.settle()
    assert.deepEqual(told, [CHANGES])
  })

  it('reconnects if a message was not sent, unless the driver says in the same turn that the server is lost', async () => {
    const happened: string[] = []
    let listener: DriverListener | undefined
    const opened: Partial<DriverConnection> = {
      isConnected: true,
      isCluster: false,
      publish: () => Promise.reject(new Error('Command timed out')),
      renew: () => void happened.push('renew'),
      ping: async () => {},
      close: () => {}
    }
    const driver: Driver = {
      open: async (_options, _name, told) => {
        listener = told
        return opened as DriverConnection
      }
    }
    const connection = await RedisConnection.open(driver, over.optionsOf(), undefined, {
      lost: () => void happened.push('lost'),
      failed: (error) => void happened.push((error as Error).message)
    } as CarrierListener)
    const reply = `${connection.newInbox()}1-r-`
    connection.publish(reply, 'answer')
    await over.settle()
    assert.deepEqual(happened.splice(0), ['Command timed out', 'renew'])
    connection.publish(reply, 'answer')
    await Promise.resolve()
    listener?.lost()
    await over.settle()
    assert.deepEqual(happened, ['lost'])
    await connection.close()
  })

  it('says that an event could not be stored when all that was emitted is waited for', async () => {
    const { connection } = await call()
    over.server.refuses = (asked) => (asked === 'append' ? 'OOM command not allowed' : undefined)
    over.server.streams.keepHandler('g p', '{}', true)
    connection.emit('p', EVENT)
    await assert.rejects(connection.flush(), {
      name: 'NotStoredError',
      message: /does not store the event 'p' now: OOM/
    })
    await connection.flush()
    assert.deepEqual(over.lines, [])
  })

  it('reports a message that cannot be read, and goes on', async () => {
    await serve('a', subjectOf('p'))
    const [channel = ''] = over.server.heard.filter((one) => one.startsWith('_elysia:s:'))
    over.server.deliver(channel, Buffer.from('no frame'))
    over.server.deliver(channel, Buffer.from(`p\n\n\n${WORDS}`))
    await over.settle()
    assert.equal(taken.length, 1)
    assert.match(over.lines[0] ?? '', /ProtocolError/)
  })

  it('hears a channel until the last one has stopped to hear it', async () => {
    const connection = await over.connect()
    const heard: string[] = []
    const listeners = ['a', 'b'].map((name) => () => void heard.push(name))
    for (const said of listeners) await connection.hear('c', said)
    const say = async () => {
      const receivers = over.server.deliver('c', Buffer.from(''))
      await over.settle()
      return receivers
    }
    await say()
    const [first, second] = listeners as [() => void, () => void]
    connection.unhear('c', first)
    await over.settle()
    await say()
    connection.unhear('c', second)
    await over.settle()
    assert.equal(await say(), 0)
    assert.deepEqual(heard, ['a', 'b', 'b'])
  })
})
