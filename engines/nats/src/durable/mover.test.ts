import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Publisher } from '@elysia-microservices/engine'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { StoredMsg } from '@nats-io/jetstream'
import { headers as newHeaders } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { JetStream } from '../driver.ts'
import { Mover } from './mover.ts'
import { DUE, HEADER, LATER, WAKE } from './names.ts'
import type { StoredMessage } from './outgoing-event.ts'

/** A mover of a server that keeps some events of the future, and the looks at them. */
function moving(waiting: number) {
  const made = { looks: 0, waiting }
  const connection = { isConnected: true, subscribeIfAllowed: () => ({ unsubscribe() {} }) }
  const jetStream = {
    async stream() {
      made.looks++
      return { state: { messages: made.waiting, subjects: {} } }
    }
  }
  const mover = new Mover({
    publisher: {} as Publisher<StoredMessage>,
    window: 1_000,
    logger: { warn() {}, error() {} }
  })
  mover.add('orders')
  mover.attach(connection as unknown as NatsConnection, jetStream as unknown as JetStream)
  return { mover, made }
}

/** As many times as the mover looks within a minute. */
async function minute(mover: Mover): Promise<void> {
  for (let time = 0; time < 12; time++) {
    mover.lookAgain()
    await Promise.resolve()
    await new Promise(setImmediate)
  }
}

describe('a process with durable handlers over NATS', () => {
  it('looks for events whose time has come twice a minute while none waits, and every 5 seconds while one does', async () => {
    const { mover, made } = moving(0)
    await minute(mover)
    assert.equal(made.looks, 1 + 2)
    made.waiting = 1
    await minute(mover)
    made.looks = 0
    await minute(mover)
    assert.equal(made.looks, 12)
    mover.detach()
  })
})

/** A mover of a server that has these events, whose time has come. */
function coming(ids: readonly string[]) {
  const happened: string[] = []
  const lines: string[] = []
  const data = new TextEncoder().encode('{"data":1}')
  const messages = new Map(
    ids.map((id, at) => {
      const header = newHeaders()
      header.set(HEADER.ownId, id)
      header.set('x', '1')
      const seq = 3 * (at + 1)
      return [seq, { subject: `${DUE}.orders`, seq, header, data, time: new Date(0) } as unknown as StoredMsg]
    })
  )
  const state: { wake: (error: null, message: { subject: string }) => void } = { wake: () => {} }
  const connection = {
    isConnected: true,
    subscribeIfAllowed: (_: string, __: string, told: typeof state.wake) => {
      state.wake = told
      return { unsubscribe: () => void happened.push('unsubscribed') }
    }
  }
  const jetStream = {
    stream: async () => ({ state: { messages: 0, subjects: {} } }),
    message: async (_: string, { seq, next_by_subj }: { seq: number; next_by_subj: string }) => {
      if (next_by_subj !== `${DUE}.orders`) return null
      return [...messages.values()].find((one) => one.seq >= seq) ?? null
    },
    deleteMessage: async (_: string, seq: number) => {
      if (messages.delete(seq)) happened.push(`deletes ${seq}`)
    }
  }
  /** Happens when an event or a mark is published. */
  const publishing = { wait: async (_event: StoredMessage): Promise<void> => {} }
  const publisher = {
    publish: async (event: StoredMessage) => {
      const isMark = event.address.startsWith(LATER)
      happened.push(`${isMark ? 'marks' : 'stores'} ${event.id}`)
      await publishing.wait(event)
    }
  }
  const mover = new Mover({
    publisher: publisher as unknown as Publisher<StoredMessage>,
    window: 10_000,
    logger: { warn: (line) => void lines.push(line), error() {} }
  })
  mover.add('orders')
  mover.attach(connection as unknown as NatsConnection, jetStream as unknown as JetStream)
  const come = async (pattern = 'orders') => {
    state.wake(null, { subject: `${WAKE}.${pattern}` })
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
  }
  return { mover, come, happened, lines, messages, publishing, jetStream }
}

describe('an event whose time has come', () => {
  it('is stored with its id for its groups, behind a mark that keeps its id from others, and deleted then', async () => {
    const { mover, come, happened, publishing } = coming(['a', 'b'])
    const stored: StoredMessage[] = []
    publishing.wait = async (event) => void stored.push(event)
    await come()
    assert.deepEqual(happened, ['marks a', 'marks b', 'stores a', 'stores b', 'deletes 3', 'deletes 6'])
    const [mark, , event] = stored
    assert.deepEqual([mark?.size, event?.address, event?.headers.get('x')], [0, 'orders', '1'])
    mover.detach()
  })

  it('is moved with all behind it, however many there are', async () => {
    const ids = Array.from({ length: 150 }, (_, n) => `id-${n}`)
    const { mover, come, happened, messages } = coming(ids)
    await come()
    for (let turns = 0; turns < 500 && messages.size > 0; turns++) await new Promise(setImmediate)
    const stored = happened.filter((one) => one.startsWith('stores')).map((one) => one.slice(7))
    assert.deepEqual([stored, messages.size], [ids, 0])
    mover.detach()
  })

  it('stays where it is if it cannot be stored, and is tried again; others are moved', async () => {
    const { mover, come, happened, lines, messages, publishing } = coming(['a', 'b'])
    publishing.wait = async ({ id, address }) => {
      if (id === 'a' && address === 'orders') throw new Error('the stream is full')
    }
    await come()
    assert.deepEqual([[...messages.keys()], lines.length], [[3], 1])
    publishing.wait = async () => {}
    await come()
    assert.deepEqual([happened.at(-1), messages.size], ['deletes 3', 0])
    mover.detach()
  })

  for (const [milliseconds, isStored] of [
    [4_000, true],
    [4_001, false]
  ] as const)
    it(`is ${isStored ? 'stored' : 'left to others'} by a process that has stood still for ${milliseconds / 10_000} of the time for which ids are known`, async () => {
      using time = new VirtualTime()
      const { mover, come, happened, publishing } = coming(['a'])
      publishing.wait = ({ address }) =>
        address === 'orders' ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, milliseconds))
      await come()
      await time.pass(milliseconds)
      await come('mails')
      assert.equal(happened.includes('stores a'), isStored)
      mover.detach()
    })

  it('is not stored by a process that may not delete it: it would come again', async () => {
    const { mover, come, happened, lines, jetStream } = coming(['a'])
    jetStream.deleteMessage = () => Promise.reject(new Error('permissions violation'))
    await come()
    assert.deepEqual([happened, lines.length], [[], 1])
    mover.detach()
  })

  it('is left alone by a process that has stopped', async () => {
    const { mover, come, happened } = coming(['a'])
    mover.detach()
    await come()
    assert.deepEqual(happened, ['unsubscribed'])
  })
})
