import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Msg, type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import type { NatsConnection } from '../connection/nats-connection.ts'
import { Pull } from './pull.ts'

interface Request {
  readonly batch: number
  readonly max_bytes: number
  readonly expires: number
  readonly idle_heartbeat: number
  readonly id?: string
}

/** A pull over a connection whose server answers as the test says. */
function setting({ room = 2_000, isPinned = false, maxPayload = 1024 } = {}) {
  const requests: Request[] = []
  let hear: (error: null, message: Msg) => void = () => {}
  let inbox = ''
  const connection = {
    isConnected: true,
    maxPayload,
    newStoreInbox: () => 'inbox.',
    subscribe: (_: string, __: undefined, listener: typeof hear) => {
      hear = listener
      return { unsubscribe() {}, drain: async () => {} }
    },
    publish: (_: string, request: string, reply: string) => {
      inbox = reply
      requests.push(JSON.parse(request) as Request)
    }
  } as unknown as NatsConnection
  const said: string[] = []
  const owner = {
    room,
    receive() {},
    gone: (why: string) => void said.push(`gone ${why}`),
    doubtful: () => void said.push('doubtful'),
    unpinned: () => void said.push('unpinned')
  }
  const logger = { error() {}, warn: (line: string) => void said.push(line) }
  const pull = new Pull(connection, { stream: 's', consumer: 'c' }, owner, logger, isPinned)
  pull.start()
  const answer = (data: string, reply: string, headers?: MsgHdrs) =>
    hear(null, { subject: inbox, data: new TextEncoder().encode(data), reply, headers } as unknown as Msg)
  return {
    pull,
    requests,
    said,
    /** The server's own message for the last request. */
    status: (code: number, description: string) => answer('', '', newHeaders(code, description)),
    event: () => answer('{}', '$JS.ACK.s.c.1.1.1.1.0')
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
})
