import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Publisher } from '@elysia-microservices/engine'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { StoredMsg } from '@nats-io/jetstream'
import { headers as newHeaders } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import type { JetStream } from '../driver.ts'
import { refusal } from '../testing/fake-streams.ts'
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

/** A mover of a server that has these events, whose time has come. @param size bytes of each */
function coming(ids: readonly string[], size = 10) {
  const happened: string[] = []
  const lines: string[] = []
  const data = new Uint8Array(size)
  const messages = new Map(
    ids.map((id, at) => {
      const header = newHeaders()
      header.set(HEADER.ownId, id)
      header.set('x', '1')
      const seq = 3 * (at + 1)
      return [seq, { subject: `${DUE}.orders`, seq, header, data, time: new Date(0) } as unknown as StoredMsg]
    })
  )
  const state: { wake: (error: Error | null, message: { subject: string }) => void } = { wake: () => {} }
  const connection = {
    isConnected: true,
    subscribeIfAllowed: (_: string, __: string, told: typeof state.wake) => {
      state.wake = told
      return { unsubscribe: () => void happened.push('unsubscribed') }
    }
  }
  const asked = new Set<string>()
  const jetStream = {
    stream: async (): Promise<object> => ({ state: { messages: 0, subjects: {} } }),
    message: async (_: string, { seq, next_by_subj }: { seq: number; next_by_subj: string }) => {
      asked.add(next_by_subj)
      if (next_by_subj !== `${DUE}.orders`) return null
      return [...messages.values()].find((one) => one.seq >= seq) ?? null
    },
    deleteMessage: async (_: string, seq: number): Promise<void> => {
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
  const tell = (error: Error) => state.wake(error, { subject: '' })
  /** The patterns of which events were looked for. */
  const patterns = () => [...asked].map((subject) => subject.slice(DUE.length + 1))
  return { mover, come, happened, lines, messages, publishing, jetStream, connection, patterns, tell }
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

  it('is looked for in the next seconds after one has come: others may come with it', async () => {
    const { mover, come, jetStream } = coming(['a'])
    let looks = 0
    jetStream.stream = async () => {
      looks++
      return { state: { messages: 0, subjects: {} } }
    }
    // The look at the start has found nothing.
    await new Promise(setImmediate)
    looks = 0
    mover.lookAgain()
    assert.equal(looks, 0)
    await come()
    mover.lookAgain()
    assert.equal(looks, 1)
    mover.detach()
  })

  it('is left alone by a process that has stopped', async () => {
    const { mover, come, happened } = coming(['a'])
    mover.detach()
    await come()
    assert.deepEqual(happened, ['unsubscribed'])
  })

  it('is moved with at most 64 others, and with at most 4 MiB and what goes beyond by one', async () => {
    const MIB = 1024 * 1024
    for (const [count, size, batches] of [
      [130, 1, [64, 64, 2]],
      [5, 2 * MIB, [2, 2, 1]],
      [5, 1.5 * MIB, [3, 2]]
    ] as const) {
      const ids = Array.from({ length: count }, (_, n) => `id-${n}`)
      const { mover, come, happened, messages } = coming(ids, size)
      await come()
      for (let turns = 0; turns < 500 && messages.size > 0; turns++) await new Promise(setImmediate)
      const marked = happened
        .join('\n')
        .split(/^(?:stores|deletes).*\n?/m)
        .map((lines) => lines.split('\n').filter((line) => line.startsWith('marks')).length)
        .filter((marks) => marks > 0)
      assert.deepEqual(marked, batches)
      mover.detach()
    }
  })

  it('is stored within a share of the time for which ids are known, counted from when it was read', async () => {
    for (const passed of [0, 1_000, 4_000]) {
      using time = new VirtualTime()
      const { mover, come, publishing } = coming(['a'])
      const timeouts: number[] = []
      publishing.wait = async ({ address, timeout }) => {
        timeouts.push(timeout)
        if (address !== 'orders' && passed > 0) await new Promise((resolve) => setTimeout(resolve, passed))
      }
      await come()
      await time.pass(passed)
      await come('mails')
      assert.deepEqual(timeouts, [4_000, Math.max(1, 4_000 - passed)])
      mover.detach()
    }
  })

  it('without an id of its publisher has its number and time as its id', async () => {
    const { mover, come, happened } = coming([''])
    await come()
    assert.equal(happened[1], 'stores elysia-later:3:0')
    mover.detach()
  })

  it('is left where it is while its server is lost, without a line; other failures are logged', async () => {
    const { mover, come, lines, connection, jetStream } = coming(['a'])
    jetStream.message = () => Promise.reject(new Error('lost'))
    connection.isConnected = false
    await come()
    assert.deepEqual(lines, [])
    connection.isConnected = true
    await come()
    assert.equal(lines.length, 1)
    // The answer of a server that has no further event.
    jetStream.message = () => Promise.reject(refusal(404, 10_037, 'no message found'))
    await come()
    assert.equal(lines.length, 1)
    mover.detach()
  })

  it('is looked for every 5 seconds, by one look at a time, until the connection is another or over', async () => {
    using time = new VirtualTime()
    const { mover, happened, connection, jetStream, patterns } = coming(['a', 'b'])
    let looks = 0
    jetStream.stream = async () => {
      looks++
      return { state: { messages: 2, subjects: { [`${DUE}.mails`]: 1, [`${DUE}.orders`]: 2 } } }
    }
    // The look at the start has found nothing.
    await time.pass(29_999)
    assert.deepEqual([looks, happened], [0, []])
    await time.pass(1)
    assert.deepEqual(
      [looks, happened.filter((one) => one.startsWith('deletes'))],
      [1, ['deletes 3', 'deletes 6']]
    )
    assert.deepEqual(patterns(), ['orders'])
    mover.attach(connection as unknown as NatsConnection, jetStream as unknown as JetStream)
    assert.ok(!happened.includes('unsubscribed'), 'it is there already')
    connection.isConnected = false
    await time.pass(10_000)
    assert.equal(looks, 1)
    connection.isConnected = true
    const other = { ...connection }
    mover.attach(other as unknown as NatsConnection, jetStream as unknown as JetStream)
    await time.pass(5_000)
    assert.deepEqual([looks, happened.at(-1)], [3, 'unsubscribed'])
    mover.detach()
    await time.pass(60_000)
    assert.equal(looks, 3)
  })

  it('is looked for again where a look had no answer', async () => {
    using time = new VirtualTime()
    const { mover, happened, jetStream } = coming(['a'])
    jetStream.stream = async () => ({ state: { messages: 0, subjects: {} } })
    await time.pass(30_000)
    jetStream.stream = () => Promise.reject(new Error('no answer'))
    await time.pass(30_000)
    jetStream.stream = async () => ({ state: { messages: 1, subjects: { [`${DUE}.orders`]: 1 } } })
    await time.pass(5_000)
    assert.equal(happened.at(-1), 'deletes 3')
    mover.detach()
  })

  it('that another process has deleted counts as moved; what the server refuses otherwise is tried again', async () => {
    const { mover, come, lines, jetStream } = coming(['a'])
    const refusals = [
      refusal(404, 10_037, 'no message found'),
      refusal(400, 10_043, 'no message found'),
      refusal(503, 10_008, 'no leader')
    ]
    for (const [n, one] of refusals.entries()) {
      let isAsked = false
      jetStream.deleteMessage = async (_, seq) => {
        if (seq > 1_000_000) return
        isAsked = true
        throw one
      }
      await come()
      assert.deepEqual([isAsked, lines.length], [true, n === 2 ? 1 : 0])
    }
    mover.detach()
  })

  it('is deleted only by a process that has found once that it may, on each connection', async () => {
    const { mover, come, messages, jetStream, connection } = coming(['a'])
    const { deleteMessage } = jetStream
    let asked = 0
    jetStream.deleteMessage = (stream, seq) => {
      if (!messages.has(seq)) asked++
      return deleteMessage(stream, seq)
    }
    await come()
    await come()
    assert.equal(asked, 1)
    mover.attach({ ...connection } as unknown as NatsConnection, jetStream as unknown as JetStream)
    await come()
    assert.equal(asked, 2)
    // It is the answer of a server that knows of no such message.
    mover.attach({ ...connection } as unknown as NatsConnection, jetStream as unknown as JetStream)
    jetStream.deleteMessage = () => Promise.reject(refusal(400, 10_043, 'no message found'))
    messages.clear()
    await come()
    assert.equal(asked, 2)
    mover.detach()
  })

  it('is left to others by a process that has stopped while it looked for it, or between two batches', async () => {
    using time = new VirtualTime()
    const { mover, happened, jetStream } = coming(['a'])
    await time.pass(25_000)
    jetStream.stream = async () => {
      mover.detach()
      return { state: { messages: 1, subjects: { [`${DUE}.orders`]: 1 } } }
    }
    await time.pass(5_000)
    assert.deepEqual(happened, ['unsubscribed'])
    const many = coming(Array.from({ length: 65 }, (_, n) => `id-${n}`))
    many.publishing.wait = async () => many.mover.detach()
    await many.come()
    assert.equal(many.happened.filter((one) => one.startsWith('stores')).length, 64)
  })

  it('is not looked for while events are moved', async () => {
    const { mover, come, publishing, jetStream } = coming(['a'])
    let looks = 0
    jetStream.stream = async () => {
      looks++
      return { state: { messages: 1, subjects: {} } }
    }
    let go = () => {}
    publishing.wait = () =>
      new Promise((resolve) => {
        go = resolve
      })
    await come()
    await mover.look()
    assert.equal(looks, 0)
    publishing.wait = async () => {}
    go()
    await come('mails')
    await mover.look()
    assert.equal(looks, 1)
    mover.detach()
  })

  it('is not looked for by a process that may not be told, beside its looks from time to time', async () => {
    const { mover, happened, tell } = coming(['a'])
    tell(new Error('no right'))
    await new Promise(setImmediate)
    assert.deepEqual(happened, [])
    mover.detach()
  })

  it('belongs to a process whose handler has its pattern, or a wider one', async () => {
    using time = new VirtualTime()
    const { mover, jetStream, patterns } = coming([])
    mover.add('wide.*')
    const subjects = {
      [`${DUE}.wide.a`]: 1,
      [`${DUE}.wide`]: 1,
      [`${DUE}.orders`]: 1,
      [`${DUE}.orders.a`]: 1
    }
    await time.pass(25_000)
    jetStream.stream = async () => ({ state: { messages: 4, subjects } })
    await time.pass(5_000)
    assert.deepEqual(patterns(), ['wide.a', 'orders'])
    mover.detach()
  })
})
