/** Peers that cause work without use: each is cut after a bounded number of frames, and honest peers are not. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ClientEnd, ServerEnd } from '../testing/ends.ts'
import {
  data,
  frame,
  headers,
  PREFACE_BYTES,
  ping,
  REQUEST,
  reset,
  settings,
  windowUpdate
} from '../testing/frames.ts'
import { FrameType } from './frame-type.ts'

const OPEN = 0
const LIMITS = { resets: 20, idleFrames: 100 }

/** The frames of a peer for the time `at`. */
type Flood = (at: number) => readonly Uint8Array[]

/** A literal of 4,000 bytes for the table. RFC 7541: its length as a number with a prefix of 7 bits. */
const LARGE_FIELD = Buffer.concat([Uint8Array.of(0x40, 1, 0x61, 127, 0xa1, 0x1e), Buffer.alloc(4_000, 'x')])

const opened = (at: number) => headers(2 * at + 1, REQUEST, OPEN)
const FLOODS: Readonly<Record<string, { readonly sends: Flood; readonly most: number }>> = {
  'streams cancelled at once (rapid reset)': { sends: (at) => [opened(at), reset(2 * at + 1, 8)], most: 21 },
  'streams that must be reset': { sends: (at) => [opened(at), windowUpdate(2 * at + 1, 0)], most: 21 },
  'malformed requests': { sends: (at) => [headers(2 * at + 1, [['X', 'y']])], most: 21 },
  PING: { sends: () => [ping(1)], most: 101 },
  'answers to PING': { sends: () => [ping(1, 1)], most: 101 },
  SETTINGS: { sends: () => [settings([1, 0])], most: 101 },
  'answers to SETTINGS': { sends: () => [frame(FrameType.SETTINGS, 1, 0)], most: 101 },
  PRIORITY: { sends: (at) => [frame(FrameType.PRIORITY, 0, 2 * at + 1, [0, 0, 0, 0, 1])], most: 101 },
  'windows of the connection': { sends: () => [windowUpdate(0, 1)], most: 101 },
  'windows of a stream that is gone': {
    sends: (at) => (at === 0 ? [opened(0), reset(1, 8)] : [windowUpdate(1, 1)]),
    most: 110
  },
  'data without content': {
    sends: (at) => (at === 0 ? [opened(0)] : [data(1, '')]),
    most: 110
  },
  'data with nothing but padding': {
    sends: (at) => (at === 0 ? [opened(0)] : [frame(FrameType.DATA, 8, 1, [3, 0, 0, 0])]),
    most: 110
  },
  'frames of unknown types': { sends: () => [frame(0xbe, 0, 0)], most: 101 },
  GOAWAY: { sends: () => [frame(FrameType.GOAWAY, 0, 0, Buffer.alloc(8))], most: 101 }
}

describe('a server cuts a peer that sends nothing but', () => {
  for (const [name, { sends, most }] of Object.entries(FLOODS))
    it(name, () => {
      const end = new ServerEnd(LIMITS)
      let at = 0
      while (end.output.ended === undefined && at < 1_000) end.receives(...sends(at++))
      assert.ok(at <= most, `${at} times`)
      assert.match(end.sent().at(-1) ?? '', /^GOAWAY \d+ ENHANCE_YOUR_CALM$/)
      assert.equal(end.connection.inFlight, 0)
    })

  it('streams that it has said are too many', () => {
    const end = new ServerEnd({ ...LIMITS, streams: 1 })
    let at = 0
    while (end.output.ended === undefined && at < 1_000) end.receives(opened(at++))
    assert.ok(at <= 23, `${at} times`)
  })

  describe('bombs of fields, which name a field of the table thousands of times', () => {
    /** The first block puts a field of 4,000 bytes in the table. Each names it as often as a frame has bytes. */
    const bomb = (at: number, id = 2 * at + 1) => {
      const named = Buffer.alloc(at === 0 ? 12_000 : 16_000, 0x80 | 62)
      const block = at === 0 ? Buffer.concat([LARGE_FIELD, named]) : named
      return frame(FrameType.HEADERS, 4, id, block)
    }
    /** After how many bombs a connection ends. */
    const bombs = (end: ServerEnd | ClientEnd, next: (at: number) => Uint8Array) => {
      let at = 0
      while (end.output.ended === undefined && at < 1_000) end.receives(next(at++))
      assert.match(end.sent().at(-1) ?? '', /^GOAWAY \d+ ENHANCE_YOUR_CALM$/)
      return at
    }

    it('on new streams', () => assert.ok(bombs(new ServerEnd(), (at) => bomb(at)) <= 3))

    it('that are short, but many fields', () => {
      const short = (at: number) => frame(FrameType.HEADERS, 4, 2 * at + 1, Buffer.alloc(16_000, 0x82))
      assert.ok(bombs(new ServerEnd(), short) <= 17)
    })

    it('on a stream that we have reset, whose frames are ignored', () => {
      const end = new ServerEnd()
      end.receives(headers(1, REQUEST, OPEN), windowUpdate(1, 0))
      assert.ok(bombs(end, (at) => bomb(at, 1)) <= 3)
    })

    it('on streams that are too many, before our settings are acknowledged', () => {
      const end = new ServerEnd({ streams: 0 }, false)
      end.receives(PREFACE_BYTES, settings())
      assert.ok(bombs(end, (at) => bomb(at)) <= 3)
    })

    it('while we go away', () => {
      const end = new ServerEnd()
      end.connection.drain()
      const [, pinged] = end.sent()
      const payload = Buffer.from(/^PING (\w+)$/.exec(pinged ?? '')?.[1] ?? '', 'hex')
      end.receives(headers(1, REQUEST, OPEN), frame(FrameType.PING, 1, 0, payload))
      assert.ok(bombs(end, (at) => bomb(at, 2 * at + 3)) <= 3)
      assert.equal(end.requests.length, 1)
    })

    it('to a client', () => {
      const end = new ClientEnd()
      const { stream } = end.request()
      stream.cancel(8)
      end.sent()
      assert.ok(bombs(end, (at) => bomb(at, 1)) <= 3)
    })
  })

  it('windows of a byte for data that waits', () => {
    const end = new ServerEnd(LIMITS)
    end.receives(settings([4, 0]))
    end.onRequest = (stream) => {
      stream.fields([':status', '200'], false)
      stream.data(Buffer.alloc(10_000), true)
    }
    end.receives(headers(1))
    let at = 0
    for (; end.output.ended === undefined && at < 1_000; at++) end.receives(windowUpdate(1, 1))
    assert.ok(at <= 110, `${at} times`)
  })
})

describe('a server does not cut a peer that', () => {
  it('cancels streams after a while, however many', () => {
    const end = new ServerEnd(LIMITS)
    for (let at = 0; at < 500; at++) {
      end.receives(opened(at))
      end.time += 100
      end.receives(reset(2 * at + 1, 8))
    }
    assert.deepEqual([end.output.ended, end.requests.length], [undefined, 500])
  })

  it('now and then sends more fields than the limits allow', () => {
    const end = new ServerEnd(LIMITS)
    const many = [...REQUEST, ...Array.from({ length: 300 }, () => ['a', 'b'] as const)]
    for (let at = 0; at < 500; at++) {
      end.receives(headers(2 * at + 1, many))
      end.time += 20
    }
    assert.deepEqual([end.output.ended, end.requests.length], [undefined, 0])
    assert.equal(end.answers().filter((one) => /^RST_STREAM \d+ ENHANCE_YOUR_CALM$/.test(one)).length, 500)
  })

  it('cancels a call at once now and then', () => {
    const end = new ServerEnd(LIMITS)
    for (let at = 0; at < 500; at++) {
      end.receives(opened(at), reset(2 * at + 1, 8))
      end.time += 10
    }
    assert.equal(end.output.ended, undefined)
  })

  it('cancels every second call, while the others are answered', () => {
    const end = new ServerEnd(LIMITS)
    end.onRequest = (stream, isLast) => {
      if (isLast) stream.fields([':status', '200'], true)
    }
    for (let at = 0; at < 1_000; at += 2) end.receives(opened(at), reset(2 * at + 1, 8), headers(2 * at + 3))
    assert.equal(end.output.ended, undefined)
  })

  it('measures its line with a PING for each frame of data', () => {
    const end = new ServerEnd(LIMITS)
    end.receives(opened(0))
    for (let at = 0; at < 2_000; at++) end.receives(data(1, 'x'), ping(1), windowUpdate(0, 1))
    assert.equal(end.output.ended, undefined)
  })

  it('reads many short answers', () => {
    const end = new ServerEnd(LIMITS)
    end.onRequest = (stream) => stream.fields([':status', '200'], false)
    end.receives(opened(0))
    const { stream } = end.requests[0]!
    for (let at = 0; at < 2_000; at++) {
      stream.data(Uint8Array.of(1), false)
      end.receives(ping(1), windowUpdate(0, 1), windowUpdate(1, 1))
    }
    assert.equal(end.output.ended, undefined)
  })
})

describe('a peer that does not read', () => {
  it('keeps its own frames waiting, up to a limit', () => {
    const end = new ServerEnd({ receiveBuffer: 1_000 })
    end.output.isBlocked = true
    end.receives(...Array.from({ length: 58 }, () => ping(1)))
    assert.deepEqual([end.sent(), end.connection.buffered], [[], 986])
    end.output.isBlocked = false
    end.connection.resume()
    assert.equal(end.answers().length, 58)
    end.output.isBlocked = true
    end.receives(...Array.from({ length: 60 }, () => ping(1)))
    assert.match(String(end.output.ended), /limits\.receiveBuffer/)
  })

  it('is cut when more waits for its windows than the limit allows', () => {
    const end = new ServerEnd({ sendBuffer: 100_000 })
    end.onRequest = (stream) => {
      stream.fields([':status', '200'], false)
      stream.data(Buffer.alloc(40_000), true)
    }
    end.receives(settings([4, 0]), headers(1), headers(3))
    assert.deepEqual([end.output.ended, end.connection.pending], [undefined, 80_000])
    end.receives(headers(5))
    assert.match(String(end.output.ended), /limits\.sendBuffer/)
    assert.equal(end.answers().at(-1), 'GOAWAY 5 ENHANCE_YOUR_CALM')
    assert.deepEqual([end.connection.pending, end.connection.inFlight], [0, 0])
  })

  it('takes nothing of streams that are cancelled', () => {
    const end = new ServerEnd()
    end.onRequest = (stream) => {
      stream.fields([':status', '200'], false)
      stream.data(Buffer.alloc(100_000), true)
    }
    end.receives(settings([4, 10]), headers(1))
    assert.equal(end.connection.pending, 99_990)
    end.receives(reset(1, 8))
    assert.equal(end.connection.pending, 0)
  })
})

describe('a client is not cut by', () => {
  it('its own calls that it cancels', () => {
    const end = new ClientEnd(LIMITS)
    for (let at = 0; at < 200; at++) {
      const { stream } = end.request()
      stream.cancel(8)
      end.receives(headers(stream.id, [[':status', '200']]))
    }
    assert.equal(end.output.ended, undefined)
  })
})
