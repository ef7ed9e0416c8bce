import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { type Msg, type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { Pull } from './pull.ts'

interface Request {
  readonly batch: number
  readonly max_bytes: number
  readonly expires: number
  readonly idle_heartbeat: number
  readonly id?: string
  readonly group?: string
}

type Hear = (error: Error | null, message: Msg) => void

/** A pull over a connection whose server answers as the test says. */
function setting({ room = 2_000, isPinned = false, maxPayload = 1024 } = {}) {
  const requests: Request[] = []
  let hear: Hear = () => {}
  let inbox = ''
  const ends: string[] = []
  /** Resolves when all that the server has sent has arrived. */
  let drained = Promise.resolve()
  const connection = {
    isConnected: true,
    maxPayload,
    newStoreInbox: () => 'inbox.',
    subscribe: (_: string, __: undefined, listener: Hear) => {
      hear = listener
      const drain = () => {
        ends.push('drained')
        return drained
      }
      return { unsubscribe: () => void ends.push('unsubscribed'), drain }
    },
    publish: (subject: string, request: string, reply: string) => {
      assert.equal(subject, '$JS.API.CONSUMER.MSG.NEXT.s.c')
      inbox = reply
      requests.push(JSON.parse(request) as Request)
    }
  }
  const said: string[] = []
  const received: string[] = []
  const owner = {
    room,
    receive: ({ reply }: { readonly reply?: string | undefined }, { length }: Uint8Array) =>
      void received.push(`${length} ${reply}`),
    gone: (why: string) => void said.push(`gone ${why}`),
    doubtful: () => void said.push('doubtful'),
    unpinned: () => void said.push('unpinned')
  }
  const logger = {
    error: (line: string) => void said.push(line),
    warn: (line: string) => void said.push(line)
  }
  const pull = new Pull(
    connection as unknown as NatsConnection,
    { stream: 's', consumer: 'c' },
    owner,
    logger,
    isPinned
  )
  pull.start()
  const answer = (data: string, reply: string, headers?: MsgHdrs, subject = inbox) =>
    hear(null, { subject, data: new TextEncoder().encode(data), reply, headers } as unknown as Msg)
  return {
    pull,
    owner,
    connection,
    requests,
    said,
    received,
    ends,
    answer,
    /** The server's own message for a request, by default the last. */
    status: (code: number, description: string, number?: number) =>
      answer('', '', newHeaders(code, description), number === undefined ? inbox : `inbox.${number}`),
    event: () => answer('{}', '$JS.ACK.s.c.1.1.1.1.0'),
    refuse: () => hear(new Error('no right'), {} as Msg),
    drainsWith: (promise: Promise<void>) => {
      drained = promise
    }
  }
}

const SECOND = 1_000_000_000

describe('a pull without events', () => {
  it('has one request at the server, however much room there is and however often it is filled', async () => {
    for (const isPinned of [false, true]) {
      const { pull, requests, event } = setting({ isPinned })
      for (let time = 0; time < 5; time++) pull.fill()
      assert.equal(requests.length, 1)
      event()
      assert.equal(requests.length, 2, 'the first event makes it request more')
      await pull.stop()
    }
  })

  it('requests for a longer time each time, with fewer heartbeats, until an event comes', async () => {
    const { pull, requests, status, event } = setting()
    for (let time = 0; time < 8; time++) status(408, 'Request Timeout')
    assert.deepEqual(
      requests.map(({ expires }) => expires / SECOND),
      [30, 60, 120, 240, 480, 960, 960, 960, 960]
    )
    for (const { expires, idle_heartbeat } of requests) assert.ok(idle_heartbeat < expires / 2)
    event()
    assert.equal((requests.at(-1)?.expires ?? 0) / SECOND, 30)
    await pull.stop()
  })

  it('of an ordered handler that is not served requests one event for a long time, and then more', async () => {
    const { pull, requests, status, event } = setting({ isPinned: true })
    assert.equal((requests[0]?.expires ?? 0) / SECOND, 5)
    status(408, 'Request Timeout')
    assert.deepEqual([requests[1]?.batch, (requests[1]?.expires ?? 0) / SECOND], [1, 60])
    pull.pin = 'pin'
    event()
    const { batch, expires = 0, id } = requests.at(-1) ?? {}
    assert.deepEqual([requests.length, batch, expires / SECOND, id], [3, 256, 5, 'pin'])
    await pull.stop()
  })

  it('of an ordered handler that is served keeps its pin', async () => {
    const { pull, requests, status } = setting({ isPinned: true })
    pull.pin = 'pin'
    for (let time = 0; time < 3; time++) status(408, 'Request Timeout')
    for (const { expires } of requests) assert.equal(expires / SECOND, 5)
    await pull.stop()
  })

  it('goes on within a limit that somebody has given its consumer', async () => {
    const { pull, requests, status } = setting()
    status(408, 'Request Timeout')
    status(409, 'Exceeded MaxRequestExpires of 45s')
    status(408, 'Request Timeout')
    assert.deepEqual(
      requests.map(({ expires }) => expires / SECOND),
      [30, 60, 30, 30]
    )
    await pull.stop()
  })
})

describe('a pull', () => {
  it('requests again when it has heard nothing for several heartbeats', async () => {
    const { pull, requests, status } = setting()
    const now = performance.now()
    pull.checkSilence(now + 5_000)
    assert.equal(requests.length, 1)
    pull.checkSilence(now + 7_000)
    assert.equal(requests.length, 2)
    status(100, 'Idle Heartbeat')
    pull.checkSilence(performance.now() + 5_000)
    assert.equal(requests.length, 2)
    await pull.stop()
  })

  it('of an ordered handler gives up its pin when the server serves another process', async () => {
    const { pull, requests, status, said } = setting({ isPinned: true })
    pull.pin = 'new'
    // An answer to the first request, which had no pin yet.
    status(423, 'Nats-Wrong-Pin-Id')
    assert.deepEqual([said, pull.pin, requests.at(-1)?.id], [[], 'new', 'new'])
    status(423, 'Nats-Wrong-Pin-Id')
    assert.deepEqual([said, pull.pin, requests.at(-1)?.id], [['unpinned'], undefined, undefined])
    await pull.stop()
  })

  it('of an ordered handler keeps a pin that it got while a request without it was on its way', async () => {
    const { pull, said, status } = setting({ isPinned: true })
    pull.pin = 'old'
    pull.restored()
    pull.pin = 'new'
    status(423, 'Nats-Wrong-Pin-Id')
    assert.deepEqual([pull.pin, said], ['new', []])
    await pull.stop()
  })

  it('has room for the largest event, whatever the server takes', async () => {
    const MEGABYTE = 1024 * 1024
    for (const [maxPayload, most] of [
      [1_024, 8 * MEGABYTE],
      [64 * MEGABYTE, 64 * MEGABYTE + 64 * 1024]
    ] as const) {
      const { pull, requests } = setting({ maxPayload })
      assert.equal(requests[0]?.max_bytes, most)
      await pull.stop()
    }
  })

  it('tells that its consumer is gone, or may be, and waits before it requests again', async () => {
    const { pull, requests, status, said } = setting()
    status(409, 'Consumer Deleted')
    assert.deepEqual([said, requests.length], [['gone Consumer Deleted'], 1])
    await pull.stop()
    for (const [code, description, expected] of [
      [503, 'No Responders', 'doubtful'],
      [409, 'Leadership Change', undefined],
      [409, 'Something New', /^NATS has ended a request for 'c' of the stream 's': 409 Something New/]
    ] as const) {
      const other = setting()
      other.status(code, description)
      if (expected === undefined) assert.deepEqual(other.said, [])
      else assert.match(other.said[0] ?? '', new RegExp(expected))
      await other.pull.stop()
    }
  })

  it('requests at once when a batch is complete, or had too few bytes', async () => {
    for (const description of ['Batch Completed', 'Message Size Exceeds MaxBytes']) {
      const { pull, requests, status } = setting()
      status(409, description)
      assert.equal(requests.length, 2)
      await pull.stop()
    }
  })

  it('requests as much as there is room for besides what is on its way, if that is an eighth of the room', async () => {
    const { pull, owner, requests, event } = setting({ room: 16 })
    const batches = () => requests.map(({ batch }) => batch)
    event()
    pull.fill()
    assert.deepEqual(batches(), [16], 'room for one more')
    event()
    pull.fill()
    assert.deepEqual(batches(), [16, 2], 'room for two more')
    owner.room = 0
    pull.restored()
    assert.deepEqual(batches(), [16, 2])
    owner.room = 1
    pull.fill()
    assert.deepEqual(batches(), [16, 2, 1], 'all before it is forgotten')
    owner.room = 1_000
    event()
    assert.deepEqual(batches(), [16, 2, 1, 256])
    await pull.stop()
  })

  it('requests more when the first event of each request has come, and not with each event', async () => {
    const { pull, requests, event } = setting({ room: 600 })
    event()
    assert.equal(requests.length, 2)
    event()
    assert.equal(requests.length, 2)
    for (let n = 2; n < 256; n++) event()
    const { length } = requests
    event()
    assert.equal(requests.length, length + 1, 'the first event of the second request')
    await pull.stop()
  })

  it('has the events back that a request did not get, and only those', async () => {
    const { pull, owner, requests, event, status } = setting({ room: 10 })
    event()
    event()
    event()
    owner.room = 7
    status(408, 'Request Timeout')
    assert.deepEqual(
      requests.map(({ batch }) => batch),
      [10, 7]
    )
    await pull.stop()
  })

  it('ignores what the server says of requests that it has forgotten', async () => {
    const { pull, requests, status, said } = setting()
    pull.restored()
    status(409, 'Something New', 1)
    status(408, 'Request Timeout', 9)
    assert.deepEqual([requests.length, said], [2, []])
    await pull.stop()
  })

  it('of an ordered handler is for the group that is served one at a time, any other for none', async () => {
    for (const isPinned of [false, true]) {
      const { pull, requests } = setting({ isPinned })
      pull.pin = 'pin'
      pull.restored()
      assert.deepEqual(
        requests.map(({ group, id }) => [group, id]),
        isPinned
          ? [
              ['one', undefined],
              ['one', 'pin']
            ]
          : [
              [undefined, undefined],
              [undefined, undefined]
            ]
      )
      await pull.stop()
    }
  })

  it('tells events without data, with whatever headers, from words of the server', async () => {
    const { pull, answer, received, requests, said } = setting()
    answer('', '$JS.ACK.s.c.1.1.1.1.0', newHeaders(409, 'Something New'))
    answer('', '', newHeaders())
    answer('x', '', newHeaders(409, 'Something New'))
    assert.deepEqual(received, ['0 $JS.ACK.s.c.1.1.1.1.0', '0 ', '1 '])
    assert.deepEqual([said, requests.length], [[], 2])
    await pull.stop()
  })

  it('says that it may not receive, with the right that it needs', async () => {
    const { pull, refuse, said } = setting()
    refuse()
    assert.match(said[0] ?? '', /receive 'c' of the stream 's'; .*right to subscribe to inbox\.\*$/)
    await pull.stop()
  })

  it('asks again a quarter of a second after the server has ended a request, once, and never when it has stopped', async () => {
    using time = new VirtualTime()
    const { pull, requests, status } = setting()
    status(503, 'No Responders')
    pull.fill()
    await time.pass(249)
    assert.equal(requests.length, 1)
    await time.pass(1)
    assert.equal(requests.length, 2)
    status(503, 'No Responders')
    const { timers } = time
    const stopped = pull.stop()
    // Its own two have ended, and there is one for what may still arrive.
    assert.equal(time.timers, timers - 1)
    status(503, 'No Responders')
    pull.fill()
    await time.settled(stopped)
    await time.pass(1_000)
    assert.equal(requests.length, 2)
  })

  it('looks every two seconds whether it is heard of, as long as there is a server', async () => {
    using time = new VirtualTime()
    const { pull, requests, connection, event, status } = setting({ room: 256 })
    await time.pass(6_000)
    assert.equal(requests.length, 1, 'three heartbeats may be missing')
    await time.pass(2_000)
    assert.equal(requests.length, 2)
    await time.pass(6_000)
    event()
    await time.pass(6_000)
    assert.equal(requests.length, 2, 'an event is as good as a heartbeat')
    connection.isConnected = false
    await time.pass(60_000)
    pull.restored()
    assert.equal(requests.length, 2)
    connection.isConnected = true
    pull.restored()
    status(408, 'Request Timeout')
    assert.equal(requests.length, 4)
    await time.pass(14_000)
    assert.equal(requests.length, 4, 'heartbeats come less often')
    await time.pass(2_000)
    assert.equal(requests.length, 5)
    await time.settled(pull.stop())
  })

  it('stops when all that was on its way has arrived, or does not arrive within two seconds, and once', async () => {
    using time = new VirtualTime()
    const { pull, ends, drainsWith } = setting()
    drainsWith(new Promise(() => {}))
    let hasStopped = false
    const stopped = pull.stop().then(() => {
      hasStopped = true
    })
    await time.pass(1_999)
    assert.equal(hasStopped, false)
    await time.settled(stopped)
    await pull.stop()
    assert.deepEqual(ends, ['drained'])
    const { timers } = time
    const other = setting()
    other.drainsWith(Promise.reject(new Error('closed')))
    await other.pull.stop()
    const lost = setting()
    lost.connection.isConnected = false
    await lost.pull.stop()
    assert.deepEqual([lost.ends, time.timers], [['unsubscribed'], timers])
  })

  it('of a consumer with the usual time says what ends a request for a reason that it does not know', async () => {
    const { pull, requests, said, status } = setting()
    status(409, 'Exceeded MaxRequestExpires of 5s')
    assert.deepEqual([requests.length, said.length], [1, 1])
    await pull.stop()
  })
})
