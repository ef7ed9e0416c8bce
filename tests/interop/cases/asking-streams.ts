/** Cases of streams and channels between a peer's client and our server. */
import assert from 'node:assert/strict'
import { aborted, Values } from '@elysia-microservices/test-support'
import type { Message } from 'elysia-microservices'
import type { Case, Cases } from '../interop.ts'

type Input = Message<AsyncIterable<number>>

export const askingStreams = {
  'gets a stream as it asks for it': async (given: Case) => {
    let made = 0
    const port = await given.serve((service) =>
      service.message('count', async function* ({ data }: Message<number>) {
        for (let n = 0; n < data; n++) {
          made++
          yield n
        }
      })
    )
    const connection = await given.dial(port)
    const stream = connection.open('stream', 'count', 5, { n: 2 })
    assert.deepEqual(await stream.values(2), [0, 1])
    // Values of the stream would have arrived before this answer.
    await connection.request('echo', 1)
    assert.deepEqual([made, stream.count('next')], [2, 0])
    stream.request(2)
    assert.deepEqual(await stream.values(2), [2, 3])
    stream.request(10)
    assert.equal(await stream.value(), 4)
    await stream.event('complete')
  },

  'gets a long stream': async (given: Case) => {
    const port = await given.serve((service) =>
      service.message('count', function* ({ data }: Message<number>) {
        for (let n = 0; n < data; n++) yield n
      })
    )
    const stream = (await given.dial(port)).open('stream', 'count', 2_000)
    assert.deepEqual(await stream.values(2_000), [...Array(2_000).keys()])
    await stream.event('complete')
  },

  'cancels: the signal of the handler aborts': async (given: Case) => {
    const began = new Values<AbortSignal>()
    const port = await given.serve((service) =>
      service
        .message('wait', ({ signal }) => {
          began.put(signal)
          return new Promise(() => {})
        })
        .message('ticks', async function* ({ signal }) {
          began.put(signal)
          yield 1
          await aborted(signal)
        })
    )
    const connection = await given.dial(port)
    const request = connection.open('response', 'wait')
    const first = await began.take()
    request.cancel()
    await aborted(first)
    const stream = connection.open('stream', 'ticks')
    assert.equal(await stream.value(), 1)
    stream.cancel()
    await aborted(await began.take())
    assert.equal(await connection.request('echo', 'still here'), 'still here')
  },

  'has a channel, with values both ways': async (given: Case) => {
    const port = await given.serve((service) =>
      service.message('running sum', async function* ({ data }: Input) {
        let total = 0
        for await (const n of data) {
          total += n
          yield total
        }
      })
    )
    const channel = (await given.dial(port)).open('channel', 'running sum', 1, { n: 2 })
    await channel.event('request')
    for (const n of [2, 3]) channel.next(n)
    assert.deepEqual(await channel.values(2), [1, 3])
    channel.request(5)
    assert.equal(await channel.value(), 6)
    channel.next(4)
    assert.equal(await channel.value(), 10)
    channel.complete()
    await channel.event('complete')
  },

  'is asked for so many values of a channel as the handler reads': async (given: Case) => {
    const readers = new Values<() => void>()
    const port = await given.serve((service) =>
      service.message('sum', async ({ data }: Input) => {
        await new Promise<void>((resolve) => readers.put(resolve))
        let total = 0
        for await (const n of data) total += n
        return total
      })
    )
    const tap = await given.tap(port)
    const connection = await given.dial(tap.port)
    const channel = connection.open('channel', 'sum', 1)
    const read = await readers.take()
    await tap.seen({ from: 'server', type: 'REQUEST_N' })
    for (let n = 0; n < 50; n++) channel.next(1)
    await tap.seen({ from: 'client', type: 'PAYLOAD' }, 50)
    await connection.request('echo', 1)
    // Our server has requested some values in advance, and requests no more while the handler reads nothing.
    const ahead = tap.count({ from: 'server', type: 'REQUEST_N' })
    await connection.request('echo', 1)
    assert.equal(tap.count({ from: 'server', type: 'REQUEST_N' }), ahead)
    read()
    await tap.seen({ from: 'server', type: 'REQUEST_N' }, ahead + 1)
    channel.next(1, { complete: true })
    assert.equal(await channel.value(), 52)
  },

  'ends its side of a channel and gets more values': async (given: Case) => {
    const port = await given.serve((service) =>
      service.message('twice', async function* ({ data }: Input) {
        const seen: number[] = []
        for await (const n of data) seen.push(n)
        for (const n of seen) yield n * 2
      })
    )
    const channel = (await given.dial(port)).open('channel', 'twice', 1)
    await channel.event('request')
    channel.next(2)
    channel.complete()
    assert.deepEqual(await channel.values(2), [2, 4])
    await channel.event('complete')
  },

  'is told when the handler has read enough of a channel': async (given: Case) => {
    const port = await given.serve((service) =>
      service.message('first', async function* ({ data }: Input) {
        for await (const n of data) {
          yield n
          break
        }
        yield 'more'
      })
    )
    const channel = (await given.dial(port)).open('channel', 'first', 7)
    assert.equal(await channel.value(), 7)
    await channel.event('cancel')
    assert.equal(await channel.value(), 'more')
    await channel.event('complete')
  },

  'is told when the answer of a channel ends first': async (given: Case) => {
    const port = await given.serve((service) => service.message('deaf', () => 'done'))
    const channel = (await given.dial(port)).open('channel', 'deaf', 1)
    assert.equal(await channel.value(), 'done')
    await channel.event('complete')
    await channel.event('cancel')
  },

  'cancels a channel: the signal aborts and the input ends': async (given: Case) => {
    const told = new Values<string>()
    const port = await given.serve((service) =>
      service.message('count', async function* ({ data, signal }: Input) {
        void aborted(signal).then(() => told.put('aborted'))
        try {
          for await (const n of data) yield n
        } finally {
          told.put('ended')
        }
      })
    )
    const channel = (await given.dial(port)).open('channel', 'count', 1)
    assert.equal(await channel.value(), 1)
    channel.cancel()
    assert.deepEqual([await told.take(), await told.take()].sort(), ['aborted', 'ended'])
  },

  'fails in a channel: the input of the handler throws': async (given: Case) => {
    const told = new Values<unknown>()
    const port = await given.serve((service) =>
      service.message('count', async function* ({ data }: Input) {
        try {
          for await (const n of data) yield n
        } catch (error) {
          told.put(error)
        }
      })
    )
    const channel = (await given.dial(port)).open('channel', 'count', 1)
    assert.equal(await channel.value(), 1)
    channel.error(0x201, 'the disk is full')
    assert.match(String(await told.take()), /the disk is full/)
  }
} satisfies Cases
