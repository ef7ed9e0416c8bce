/** Pauses of groups by a client, which waits for all of their processes. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { ClientStoreInit } from '@elysia-microservices/engine'
import { Timeouts } from '@elysia-microservices/test-support'
import { RabbitConnection } from '../connection/rabbit-connection.ts'
import type { DriverChannel } from '../driver.ts'
import { rabbitmqOptions } from '../options/options.ts'
import { FakeRabbitServer } from '../testing/fake-server.ts'
import { GROUPS, NEWS, queueOfMembers, queueOfPaused } from '../words/names.ts'
import { RabbitClientStore } from './client-store.ts'

/** Milliseconds within which all members of a group must confirm. */
const MEMBERS_KNOW = 5_000
/** Milliseconds until the channel for events is opened again. */
const ATTACH_AGAIN = 2_000

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

function storeOver(connection: RabbitConnection): RabbitClientStore {
  const engine = { title: 'RabbitMQ' }
  const init = { engine, context: {}, connect: async () => connection, halted: () => undefined }
  return new RabbitClientStore(init as unknown as ClientStoreInit<RabbitConnection>)
}

/** A client and a group with some processes, each of which answers when the test says so. */
async function group(members: number) {
  const server = new FakeRabbitServer()
  const open = async () => {
    const listener = { lost() {}, restored() {}, refused() {}, unpublished() {}, failed() {}, ended() {} }
    const options = rabbitmqOptions({ url: 'amqp://127.0.0.1' })
    const connection = await RabbitConnection.open(server.driver, options, undefined, listener)
    cleanUps.push(() => connection.close())
    return connection
  }
  const connection = await open()
  const process = await open()
  const answers: (() => void)[] = []
  const told: string[] = []
  await process.link.open(async (channel) => {
    for (const queue of [queueOfMembers('g'), queueOfPaused('g')])
      await channel.declareQueue(queue, { durable: true })
    await channel.bindQueue(queueOfPaused('g'), GROUPS, queueOfPaused('g'))
    for (let member = 0; member < members; member++) {
      await channel.consume(queueOfMembers('g'), () => {}, true)
      await channel.declareQueue(`news ${member}`, { exclusive: true })
      await channel.bindQueue(`news ${member}`, GROUPS, NEWS)
      const receive: Parameters<DriverChannel['consume']>[1] = (message) => {
        told.push(String(message?.content))
        const reply = String(message?.properties.messageId)
        answers.push(() => process.publish(reply, 'done'))
      }
      await channel.consume(`news ${member}`, receive, true)
    }
  })
  const isPaused = () => server.queues.get(queueOfPaused('g'))?.messages.length
  return { store: storeOver(connection), answers, told, isPaused }
}

const turns = async () => {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
}

describe('a client of RabbitMQ', () => {
  it('pauses and resumes a group, and waits until each of its processes has said that it knows', async () => {
    const { store, answers, told, isPaused } = await group(2)
    for (const paused of [true, false]) {
      let isOver = false
      const changing = store.pauseGroup('g', paused).then(() => {
        isOver = true
      })
      await turns()
      assert.deepEqual([told.splice(0), isPaused(), isOver], [['g', 'g'], paused ? 1 : 0, false])
      answers.shift()?.()
      await turns()
      assert.equal(isOver, false, 'One of them does not know it yet')
      answers.shift()?.()
      await changing
    }
  })

  it('keeps one marker of a group that is paused twice', async () => {
    const { store, isPaused } = await group(0)
    for (let times = 0; times < 2; times++) await store.pauseGroup('g', true)
    assert.equal(isPaused(), 1)
  })

  it('says that not all processes know it, when one does not answer', async () => {
    const { store, answers } = await group(2)
    using timeouts = new Timeouts((milliseconds) => (milliseconds === MEMBERS_KNOW ? 'held' : milliseconds))
    const changing = assert.rejects(store.pauseGroup('g', true), {
      name: 'ConnectionError',
      mayHaveRun: true,
      message: /Not all processes of the group 'g' have confirmed/
    })
    while (answers.length === 0) await new Promise(setImmediate)
    answers[0]?.()
    await turns()
    timeouts.pass()
    await changing
  })

  it('knows which groups there are', async () => {
    const { store } = await group(0)
    assert.deepEqual([await store.hasGroup('g'), await store.hasGroup('h')], [true, false])
    await assert.rejects(store.pauseGroup('h', true), { name: 'OptionError', message: /'h'/ })
  })

  it('tells the processes of a group only when the server has stored that it is paused', async () => {
    const happened: string[] = []
    let confirm = () => {}
    const channel = {
      purgeQueue: async () => happened.push('purged'),
      publish: () => happened.push('published'),
      confirmed: () =>
        new Promise<void>((resolve) => {
          confirm = resolve
        }),
      checkQueue: async () => {
        happened.push('asked for processes')
        return { messageCount: 0, consumerCount: 0 }
      }
    }
    const link = { aside: (task: (channel: unknown) => unknown) => task(channel) }
    const pausing = storeOver({ hasQueue: async () => true, link } as never).pauseGroup('g', true)
    await turns()
    assert.deepEqual(happened, ['purged', 'published'])
    confirm()
    await pausing
    assert.equal(happened.length, 3)
  })

  it('opens the channel for events again when the server did not open it', async () => {
    using _ = new Timeouts((milliseconds) => (milliseconds === ATTACH_AGAIN ? 0 : milliseconds))
    let opened = 0
    const link = {
      open: async () => {
        if (++opened < 3) throw new Error('not now')
        return { channel: undefined }
      }
    }
    storeOver({ link, maxPayload: 1 } as never).attach({ link, maxPayload: 1 } as never)
    for (let turn = 0; opened < 3 && turn < 1_000; turn++)
      await new Promise((resolve) => setTimeout(resolve, 0))
    assert.equal(opened, 3)
  })
})
