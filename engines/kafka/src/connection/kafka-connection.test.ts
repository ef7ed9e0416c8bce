/** The connection of a client or service over brokers inside the process. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { Subject } from '@elysia-microservices/engine'
import { newScenes, type Scene, type SceneOptions } from '../testing/scene.ts'
import { HEADER } from '../words/headers.ts'
import { EVERYONE } from '../words/names.ts'
import { writeRecord } from '../words/record.ts'
import { Departures } from './departures.ts'
import { Code } from './errors.ts'

describe('a connection to Kafka', () => {
  const newScene = newScenes()
  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp()
  })

  async function open(options?: SceneOptions) {
    const scene = newScene(options)
    return { scene, connection: await connect(scene) }
  }

  async function connect(scene: Scene) {
    const connection = await scene.connect()
    cleanUps.push(() => connection.close())
    return connection
  }

  /** Listens at a new inbox of a connection. */
  async function inboxOf(connection: Awaited<ReturnType<typeof connect>>) {
    const heard: string[] = []
    const inbox = connection.newInbox()
    connection.listen(inbox, ({ words }) => void heard.push(String(words)))
    await connection.flush()
    return { address: `${inbox}1`, heard }
  }

  it('sends records where createPartitioner says, and by their keys where it fails, which is told', async () => {
    const createPartitioner = () => (given: { readonly message: { readonly key: string | null } }) =>
      given.message.key === 'abc' ? 9 : 2
    const { scene, connection } = await open({ createPartitioner })
    scene.cluster.create({ name: 'p', partitions: 3 })
    for (const key of ['foobar', 'abc', undefined])
      connection.emit(
        'p',
        '{"pattern":"p","data":1}',
        undefined,
        key === undefined ? {} : { 'kafka-key': key }
      )
    await connection.flush()
    // Kafka's own clients send both keys to partition 0.
    const keys = [0, 1, 2].map((partition) => scene.records('p', partition).map(({ keyText }) => keyText))
    assert.deepEqual(keys, [['abc'], [], ['foobar', undefined]])
    assert.match(
      scene.lines.join(),
      /createPartitioner has given 9 for a record of 'p', which has 3 partitions/
    )
  })

  it('hears answers again after it was away for longer than answers are kept', async () => {
    const { scene, connection } = await open()
    const { address, heard } = await inboxOf(connection)
    const [topic = '', partition] = address.split('/')
    scene.cluster.stop()
    const log = scene.cluster.log(topic, Number(partition))
    for (const text of ['a', 'b']) log.append({ records: [scene.record(text)], timestamp: scene.clock.now() })
    log.deleteUpTo(2)
    scene.cluster.start()
    await scene.until(() => connection.isConnected)
    const other = await connect(scene)
    other.publish(address, 'answer')
    await scene.until(() => heard.length === 1)
    assert.deepEqual(heard, ['answer'])
  })

  it('hears answers also if it was lost when it began to listen', async () => {
    const { scene, connection } = await open()
    let losses = 1
    scene.cluster.losesAnswerTo = (request) => request === 'listOffsets' && losses-- > 0
    const heard: string[] = []
    const inbox = connection.newInbox()
    connection.listen(inbox, ({ words }) => void heard.push(String(words)))
    await connection.flush().catch(() => {})
    await scene.until(() => losses < 0 && connection.isConnected)
    const other = await connect(scene)
    other.publish(`${inbox}1`, 'answer')
    await scene.until(() => heard.length === 1)
    assert.deepEqual(heard, ['answer'])
  })

  it('leads a reply nowhere that is asked for anywhere else than at an inbox', async () => {
    const { scene, connection } = await open()
    const replies: string[] = []
    connection.listen(EVERYONE, ({ reply }) => void replies.push(reply))
    await connection.flush()
    const inbox = connection.newInbox()
    for (const reply of ['payments', `${inbox}1`]) {
      const record = writeRecord(undefined, Buffer.from('1'), { [HEADER.reply]: reply })
      scene.cluster.log(EVERYONE, 0).append({ records: [record], timestamp: scene.clock.now() })
    }
    await scene.until(() => replies.length === 2)
    assert.deepEqual(replies, ['?', `${inbox}1`])
  })

  it('that is lost while it is opened is told by an error of this library', async () => {
    const scene = newScene()
    let asked = 0
    scene.cluster.losesAnswerTo = () => ++asked > 1
    await assert.rejects(scene.connect(), { name: 'ConnectionError', mayHaveRun: false })
    scene.cluster.losesAnswerTo = () => false
  })

  it('sends what was published while the brokers were lost, in order', async () => {
    const { scene, connection } = await open()
    const other = await connect(scene)
    const { address, heard } = await inboxOf(other)
    // A connection on which nothing is asked does not notice that it is lost.
    await inboxOf(connection)
    scene.cluster.stop()
    await scene.until(() => !connection.isConnected && !other.isConnected)
    for (const text of ['a', 'b', 'c']) connection.publish(address, text)
    await assert.rejects(connection.flush(), /lost/)
    scene.cluster.start()
    await scene.until(() => heard.length === 3)
    assert.deepEqual(heard, ['a', 'b', 'c'])
  })

  it('tells the sender of a request that there is no topic for it, and of what is refused', async () => {
    const { scene, connection } = await open()
    const inbox = connection.newInbox()
    const heard: unknown[] = []
    connection.listen(inbox, (message) => void heard.push(message))
    await connection.flush()
    connection.publish('missing', '{"pattern":"missing","data":1,"id":"1"}', `${inbox}1`)
    await scene.until(() => heard.length === 1)
    scene.cluster.create({ name: 'forbidden' })
    scene.cluster.refuses = (request, about) =>
      request === 'produce' && about === 'forbidden' ? Code.topicAuthorization : undefined
    connection.publish('forbidden', '{"pattern":"forbidden","data":1,"id":"1"}', `${inbox}1`)
    await scene.until(() => scene.lines.includes('refused publish forbidden'))
    // A message that is too large is no matter of rights.
    scene.lines.length = 0
    scene.cluster.create({ name: 'small' })
    scene.cluster.log('small').mostBytes = 50
    connection.publish(
      'small',
      JSON.stringify({ pattern: 'small', data: 'x'.repeat(100), id: '1' }),
      `${inbox}1`
    )
    await scene.until(() => scene.lines.length > 0)
    assert.deepEqual(scene.linesWith('refused'), [])
    assert.equal(heard.length, 1, 'somebody may handle it')
  })

  it('resolves a flush when everything is stored, also while the leader of a partition moves', async () => {
    const { scene, connection } = await open({ brokers: 2 })
    scene.cluster.create({ name: 'p' })
    connection.emit('p', '{"pattern":"p","data":1}')
    await connection.flush()
    scene.cluster.topic('p').leaders[0] = 2
    for (const data of [2, 3]) {
      connection.emit('p', `{"pattern":"p","data":${data}}`)
      // The next one waits behind it, and must not overtake it on the way to the new leader.
      await new Promise(setImmediate)
    }
    await connection.flush()
    assert.deepEqual(
      scene.records('p').map(({ text }) => text),
      ['1', '2', '3']
    )
  })

  it('that is lost while a service begins to listen does not leave the service without its topics', async () => {
    const { scene, connection } = await open({ heartbeatInterval: 20 })
    let isLost = false
    scene.cluster.losesAnswerTo = (request) => {
      const loses = request === 'createTopics' && !isLost
      isLost ||= loses
      return loses
    }
    const taken: string[] = []
    const subjects = ['p', 'q'].map((address) => ({ address, queue: 's' }) as unknown as Subject)
    await connection.take(subjects, ({ address }) => void taken.push(address))
    assert.equal(isLost, true)
    await scene.until(() => scene.cluster.group('s-server').members.length > 0)
    for (const topic of ['p', 'q']) await scene.publish(1, undefined, { topic })
    await scene.until(() => taken.length === 2)
    assert.deepEqual(taken.sort(), ['p', 'q'])
  })

  it('goes to another broker of the cluster when the one is lost that the options name', async () => {
    const { scene, connection } = await open({ brokers: 2 })
    scene.cluster.create({ name: 'p' })
    await inboxOf(connection)
    await connection.cluster.lookUp('p')
    scene.cluster.stop(1)
    await scene.settled()
    assert.equal(connection.isConnected, false)
    scene.cluster.topic('p').leaders[0] = 2
    await scene.until(() => connection.isConnected)
    connection.emit('p', '{"pattern":"p","data":1}')
    await scene.until(() => scene.records('p').length === 1)
    // The topic that tells of a closing connection is at the first broker.
    scene.cluster.start()
  })

  it('lets senders wait for brokers that have much to take, or are lost, and go on then', async () => {
    const { scene, connection } = await open()
    scene.cluster.create({ name: 'p' })
    await inboxOf(connection)
    let resumed = 0
    const sender = { resume: () => void resumed++ }
    assert.equal(connection.hasRoomFor(sender), true)
    const data = 'x'.repeat(600_000)
    for (let n = 0; n < 2; n++) connection.emit('p', JSON.stringify({ pattern: 'p', data }))
    assert.equal(connection.hasRoomFor(sender), false)
    await scene.until(() => resumed === 1)
    assert.equal(connection.hasRoomFor(sender), true)
    scene.cluster.stop()
    await scene.until(() => !connection.isConnected)
    assert.equal(connection.hasRoomFor(sender), false)
    scene.cluster.start()
    await scene.until(() => resumed === 2)
  })

  it('opens a connection again that its broker has closed because it was idle', async () => {
    const { scene, connection } = await open()
    const { address, heard } = await inboxOf(connection)
    let connects = 0
    const { connect: again } = scene.cluster.driver
    scene.cluster.driver.connect = (...args) => {
      connects++
      return again(...args)
    }
    connection.publish(address, 'a')
    await scene.until(() => heard.length === 1)
    connects = 0
    scene.cluster.dropIdle()
    await scene.settled()
    assert.equal(connection.isConnected, true)
    connection.publish(address, 'b')
    await scene.until(() => heard.length === 2)
    assert.deepEqual([heard, connects], [['a', 'b'], 1])
    assert.deepEqual(scene.lines, [])
  })

  it('tells services that it closes, and each ends the answers to it', async () => {
    const { scene, connection } = await open()
    const service = await connect(scene)
    const ended: string[] = []
    service.listen(EVERYONE, () => {})
    const { address } = await inboxOf(connection)
    const control = service.newInbox()
    service.listen(control, ({ address }) => void ended.push(address))
    await service.flush()
    service.publish(address, 'first', `${control}1`)
    await service.flush()
    await connection.close()
    await scene.until(() => ended.length === 1)
    // A further answer is not sent.
    service.publish(address, 'second', `${control}2`)
    await scene.until(() => ended.length === 2)
    assert.deepEqual(ended, [`${control}1`, `${control}2`])
  })

  it('remembers the callers that have closed, and ends their answers only', () => {
    const told: string[] = []
    const departures = new Departures((reply) => void told.push(reply))
    assert.equal(departures.expect('t/0/one.1', 'a'), true)
    assert.equal(departures.expect('t/0/other.1', 'b'), true)
    departures.gone('t/0/one.')
    assert.deepEqual(told, ['a'])
    assert.equal(departures.expect('t/0/one.2', 'c'), false)
    departures.gone('t/0/one.')
    assert.deepEqual(told, ['a'])
  })
})
