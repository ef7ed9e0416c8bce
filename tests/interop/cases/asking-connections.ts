/** Cases of a peer's client's connection to our server. */
import assert from 'node:assert/strict'
import { aborted, Values } from '@elysia-microservices/test-support'
import type { Message } from 'elysia-microservices'
import type { Case, Cases } from '../interop.ts'
import type { PeerConnection } from '../peer.ts'
import { Code } from './error-codes.ts'

export const askingConnections = {
  'has several connections at once': async (given: Case) => {
    const port = await given.serve()
    const connections = await Promise.all([1, 2, 3, 4].map(() => given.dial(port)))
    const answers = connections.map((connection, index) => connection.request('echo', index))
    assert.deepEqual(await Promise.all(answers), [0, 1, 2, 3])
  },

  'is asked by the server, on the connection it has made': async (given: Case) => {
    const port = await given.serve((service) =>
      service.message('who', ({ peer }) => peer?.caller?.request('name', 'please'))
    )
    const connection = await given.dial(port)
    const who = connection.open('response', 'who')
    const { kind, route, bytes, answer } = await connection.requested()
    assert.deepEqual([kind, route, bytes.toString()], ['response', 'name', '"please"'])
    answer.next('Zoë', { complete: true })
    assert.equal(await who.value(), 'Zoë')
  },

  'says who it is when it connects: simple or bearer': async (given: Case) => {
    const seen: unknown[] = []
    const port = await given.serve(() => {}, {
      authenticate: ({ credentials }) => {
        seen.push(credentials)
        return credentials !== undefined && Object.values(credentials).includes('right')
      }
    })
    const all = [
      { type: 'simple', username: 'Zoë', password: 'right' },
      { type: 'bearer', token: 'right' }
    ] as const
    for (const credentials of all) {
      const connection = await given.dial(port, { credentials })
      assert.equal(await connection.request('echo', 1), 1)
    }
    assert.deepEqual(seen, all)
    const refused = given.peer.connecting(port, { credentials: { type: 'bearer', token: 'wrong' } })
    assert.equal((await refused.event('closed')).code, Code.REJECTED_SETUP)
  },

  'is refused a data MIME type nobody knows': async (given: Case) => {
    const connection = given.peer.connecting(await given.serve(), {
      dataMimeType: 'application/x-unheard-of'
    })
    const { code, message } = await connection.event('closed')
    assert.equal(code, Code.UNSUPPORTED_SETUP)
    assert.match(message ?? '', /no codec for data of type application\/x-unheard-of/)
  },

  'keeps a quiet connection alive': async (given: Case) => {
    const tap = await given.tap(await given.serve())
    const connection = await given.dial(tap.port, { keepaliveInterval: 50, keepaliveLifetime: 20_000 })
    await tap.seen({ from: 'client', type: 'KEEPALIVE', flags: 0x80 }, 3)
    await tap.seen({ from: 'server', type: 'KEEPALIVE', flags: 0 }, 3)
    assert.equal(await connection.request('echo', 1), 1)
  },

  'notices a dead server, and is noticed': async (given: Case) => {
    const began = new Values<AbortSignal>()
    const port = await given.serve((service) =>
      service.message('wait', ({ signal }) => {
        began.put(signal)
        return new Promise(() => {})
      })
    )
    const tap = await given.tap(port)
    const connection = await given.dial(tap.port, { keepaliveInterval: 50, keepaliveLifetime: 500 })
    connection.open('response', 'wait')
    const signal = await began.take()
    tap.mute()
    await Promise.all([connection.event('closed'), aborted(signal)])
  },

  'pushes metadata, which changes nothing': async (given: Case) => {
    const tap = await given.tap(await given.serve())
    const connection = await given.dial(tap.port)
    connection.push('{"level":"€"}')
    await tap.seen({ from: 'client', type: 'METADATA_PUSH' })
    assert.equal(await connection.request('echo', 1), 1)
    assert.equal(tap.count({ type: 'ERROR' }), 0)
  },

  'waits for leases, of which there are as many as the server takes at once': async (given: Case) => {
    const began = new Values<() => void>()
    const port = await given.serve(
      (service) =>
        service.message('work', async ({ data }: Message<number>) => {
          await new Promise<void>((resolve) => began.put(resolve))
          return data
        }),
      { limits: { inFlightPerConnection: 2 } }
    )
    const tap = await given.tap(port)
    const connection = await given.dial(tap.port, { lease: true })
    await tap.seen({ from: 'server', type: 'LEASE' })
    const streams = [1, 2, 3, 4, 5].map((n) => connection.open('response', 'work', n))
    const running = [await began.take(), await began.take()]
    for (const count of [2, 3, 4, 5]) {
      assert.equal(tap.count({ type: 'REQUEST_RESPONSE' }), count)
      running.shift()?.()
      if (count < 5) running.push(await began.take())
    }
    running.shift()?.()
    assert.deepEqual(await Promise.all(streams.map((stream) => stream.value())), [1, 2, 3, 4, 5])
    assert.ok(tap.count({ from: 'server', type: 'LEASE' }) >= 3)
  },

  'resumes a lost connection: nothing is lost or doubled': async (given: Case) => {
    const port = await given.serve(
      (service) =>
        service.message('count', async function* ({ data }: Message<number>) {
          for (let n = 0; n < data; n++) yield n
        }),
      { rsocket: { resume: true } }
    )
    const tap = await given.tap(port)
    const connection = await given.dial(tap.port, { resume: true })
    const stream = connection.open('stream', 'count', 20, { n: 5 })
    assert.deepEqual(await stream.values(5), [0, 1, 2, 3, 4])
    tap.cut()
    stream.request(100)
    assert.deepEqual(await stream.values(15), [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
    await stream.event('complete')
    await tap.seen({ from: 'server', type: 'RESUME_OK' })
    assert.equal(await connection.request('echo', 'after'), 'after')
  },

  'gets its answers while the server stops, and REJECTED for what is new': async (given: Case) => {
    const requests = new Values<() => void>()
    const stops = new Values<() => Promise<void>>()
    const port = await given.serve((service) => {
      const slow = (value: string) => new Promise<string>((resolve) => requests.put(() => resolve(value)))
      service.message('slow', () => slow('done'))
      service.message('letters', async function* () {
        yield await slow('a')
        yield await slow('b')
      })
      stops.put(() => service.stop())
    })
    const tap = await given.tap(port)
    const connection = await given.dial(tap.port)
    const slow = connection.open('response', 'slow')
    const answer = await requests.take()
    const letters = connection.open('stream', 'letters')
    ;(await requests.take())()
    assert.equal(await letters.value(), 'a')
    const stopped = (await stops.take())()
    assert.equal(await refusal(connection), Code.REJECTED)
    answer()
    assert.equal(await slow.value(), 'done')
    assert.equal(await refusal(connection), Code.REJECTED)
    assert.equal(tap.count({ from: 'server', type: 'ERROR', streamId: 0 }), 0)
    ;(await requests.take())()
    assert.equal(await letters.value(), 'b')
    await letters.event('complete')
    await tap.seen({ from: 'server', type: 'ERROR', streamId: 0 })
    assert.equal(tap.count({ from: 'server', type: 'METADATA_PUSH' }), 0)
    await connection.leave()
    await stopped
  }
} satisfies Cases

/** The error code of the first request that is refused. */
async function refusal(connection: PeerConnection): Promise<number> {
  while (true) {
    const stream = connection.open('response', 'echo', 1)
    const event = await Promise.race([stream.event('complete'), stream.event('error')])
    if (event.on === 'error') return event.code
  }
}
