/** Cases of streams and channels between our client and a peer's server. */
import assert from 'node:assert/strict'
import { Values } from '@elysia-microservices/test-support'
import { RpcError } from 'elysia-microservices/client'
import { lastValueFrom, toArray } from 'rxjs'
import type { Case, Cases } from '../interop.ts'
import type { PeerStream } from '../peer.ts'
import { Code } from './error-codes.ts'

/** Sends as many values as are requested, like a well-behaved producer. */
async function produce(answer: PeerStream, count: number): Promise<void> {
  for (let sent = 0, demand = 0; sent < count; sent++) {
    if (demand === 0) demand = (await answer.event('request')).n
    demand--
    answer.next(sent)
  }
  answer.complete()
}

export const answeringStreams = {
  'is asked for values ahead of their reader, and for no more while it has enough': async (given: Case) => {
    const { client, connection, tap } = await given.connected()
    const values = client.stream<number>('count')
    const first = values.next()
    const { answer, kind } = await connection.requested()
    assert.equal(kind, 'stream')
    assert.equal((await answer.event('request')).n, 256)
    for (let n = 0; n < 256; n++) answer.next(n)
    // Requested when half of the values had arrived: from now on, twice as many values may be in flight.
    assert.equal((await answer.event('request')).n, 384)
    for (let n = 256; n < 640; n++) answer.next(n)
    assert.deepEqual(await first, { value: 0, done: false })
    await tap.seen({ from: 'server', type: 'PAYLOAD' }, 640)
    await given.ping(client, connection)
    assert.equal(tap.count({ type: 'REQUEST_N' }), 1)
    // The reader goes on: more values are requested when 64 are left.
    for (let n = 1; n < 576; n++) assert.deepEqual(await values.next(), { value: n, done: false })
    assert.equal((await answer.event('request')).n, 512)
    answer.complete()
    for (let n = 576; n < 640; n++) assert.deepEqual(await values.next(), { value: n, done: false })
    assert.equal((await values.next()).done, true)
  },

  'gives a long stream, as it is asked for': async (given: Case) => {
    const { client, connection } = await given.connected()
    const values = lastValueFrom(client.send<number>('count').pipe(toArray()))
    await produce((await connection.requested()).answer, 1_000)
    assert.deepEqual(await values, [...Array(1_000).keys()])
  },

  'is told that nobody reads: a loop is left, a subscription ends': async (given: Case) => {
    const { client, connection } = await given.connected()
    const values = client.stream('ticks')
    const first = values.next()
    const loop = (await connection.requested()).answer
    loop.next(1)
    assert.deepEqual(await first, { value: 1, done: false })
    await values.return?.()
    await loop.event('cancel')
    const subscription = client.send('ticks').subscribe()
    const { answer } = await connection.requested()
    subscription.unsubscribe()
    await answer.event('cancel')
  },

  'fails in a stream': async (given: Case) => {
    const { client, connection } = await given.connected()
    const values = client.stream('count')
    const first = values.next()
    const { answer } = await connection.requested()
    answer.next(1)
    assert.deepEqual(await first, { value: 1, done: false })
    answer.error(Code.APPLICATION_ERROR, '{"code":"E","message":"m"}')
    await assert.rejects(values.next(), { name: 'RpcError', code: 'E', message: 'm' })
  },

  'has a channel, with values both ways as they are asked for': async (given: Case) => {
    const { client, connection, tap } = await given.connected()
    const input = new Values(1, 2, 3, 4, 5)
    const values = client.stream<number>('running sum', input)
    const first = values.next()
    const { answer, kind, bytes } = await connection.requested()
    assert.deepEqual([kind, bytes.toString()], ['channel', '1'])
    answer.next(1)
    assert.deepEqual(await first, { value: 1, done: false })
    // If the client had sent values without demand, they would have arrived before its next request.
    await given.ping(client, connection)
    assert.equal(answer.count('next'), 0)
    answer.request(2)
    assert.deepEqual(await answer.values(2), [2, 3])
    await given.ping(client, connection)
    assert.equal(tap.count({ from: 'client', type: 'PAYLOAD' }), 2)
    assert.equal(input.taken, 3)
    answer.request(10)
    assert.deepEqual(await answer.values(2), [4, 5])
    input.end()
    await answer.event('complete')
    answer.complete()
    assert.equal((await values.next()).done, true)
  },

  'answers in a channel after our input has ended': async (given: Case) => {
    const { client, connection } = await given.connected()
    const input = new Values(1, 2)
    input.end()
    const values = client.stream<number>('sum', input)
    const first = values.next()
    const { answer } = await connection.requested()
    answer.request(10)
    assert.equal(await answer.value(), 2)
    await answer.event('complete')
    for (const [n, at] of [3, 4].entries()) {
      answer.next(at)
      assert.deepEqual(n === 0 ? await first : await values.next(), { value: at, done: false })
    }
    answer.complete()
    assert.equal((await values.next()).done, true)
  },

  'reads enough of a channel and answers on': async (given: Case) => {
    const { client, connection } = await given.connected()
    const input = new Values(1, 2, 3)
    const values = client.stream<number>('first', input)
    const first = values.next()
    const { answer } = await connection.requested()
    answer.cancel()
    await input.left
    answer.next('more')
    assert.deepEqual(await first, { value: 'more', done: false })
    answer.complete()
    assert.equal((await values.next()).done, true)
  },

  'ends its side of a channel first: our input is given up': async (given: Case) => {
    const { client, connection, tap } = await given.connected()
    const input = new Values(1)
    const end = client.stream('deaf', input).next()
    const { answer } = await connection.requested()
    answer.complete()
    assert.equal((await end).done, true)
    await input.left
    await tap.seen({ from: 'client', type: 'CANCEL' })
  },

  'is told that a channel is given up': async (given: Case) => {
    const { client, connection } = await given.connected()
    const input = new Values(1)
    const values = client.stream('count', input)
    const first = values.next()
    const { answer } = await connection.requested()
    answer.next(1)
    await first
    await values.return?.()
    await Promise.all([answer.event('cancel'), input.left])
  },

  'learns that our side of a channel has failed': async (given: Case) => {
    const { client, connection } = await given.connected()
    const input = new Values(1)
    const failed = assert.rejects(client.request('sum', input), { message: 'no more paper' })
    const { answer } = await connection.requested()
    answer.request(1)
    input.end(new RpcError('no more paper'))
    await failed
    assert.match((await answer.event('error')).message, /no more paper/)
  },

  'fails in a channel: our input is given up': async (given: Case) => {
    const { client, connection } = await given.connected()
    const input = new Values(1)
    const failed = assert.rejects(client.request('sum', input), { name: 'RpcError', message: 'no' })
    ;(await connection.requested()).answer.error(Code.APPLICATION_ERROR, 'no')
    await Promise.all([failed, input.left])
  }
} satisfies Cases
