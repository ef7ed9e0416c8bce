/**
 * A client and a server that talk to each other, whatever they send, wherever chunks end, and whenever someone reads,
 * consumes, cancels or is blocked: everything arrives, in order, and nothing stays behind.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeOutput } from '@elysia-microservices/rsocket/testing'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { Http2Connection } from './connection.ts'
import type { Field } from './hpack/field.ts'
import type { Http2Limits } from './limits.ts'
import type { Http2Stream, StreamEnd, StreamListener } from './stream.ts'

const CANCEL = 8
const FIELDS = [':method', 'POST', ':scheme', 'http', ':path', '/a.B/C', ':authority', 'here']
/** Steps after which a life counts as stuck. */
const MOST_STEPS = 20_000

/** One direction of a call: its pieces of data, whether their writer asks for room, and how many are consumed late. */
interface Sending {
  readonly pieces: readonly number[]
  readonly asks: boolean
  readonly hasTrailers: boolean
}

interface Call {
  readonly up: Sending
  readonly down: Sending
  /** The client cancels after so many steps; -1: never. */
  readonly cancelsAfter: number
  readonly isLazy: boolean
}

/** Sends what a call should send, and notes what it receives. */
class Side implements StreamListener {
  stream!: Http2Stream
  readonly #sending: Sending
  readonly #isLazy: boolean
  readonly #fill: string
  #next = 0
  received = ''
  heads: string[] = []
  isDone = false
  end: StreamEnd | undefined
  unread = 0

  constructor(sending: Sending, fill: string, isLazy: boolean) {
    this.#sending = sending
    this.#fill = fill
    this.#isLazy = isLazy
  }

  /** All that this side sends. */
  get all(): string {
    return this.#sending.pieces.map((size) => this.#fill.repeat(size)).join('')
  }

  send(): void {
    const { pieces, asks, hasTrailers } = this.#sending
    while (this.#next < pieces.length) {
      if (asks && !this.stream.hasRoom) return
      const isLast = this.#next === pieces.length - 1 && !hasTrailers
      this.stream.data(Buffer.alloc(pieces[this.#next++] as number, this.#fill), isLast)
    }
    if (this.#next++ > pieces.length) return
    if (hasTrailers) this.stream.fields(['x-end', this.#fill], true)
    else if (pieces.length === 0) this.stream.data(new Uint8Array(), true)
  }

  consume(): void {
    this.stream.consumed(this.unread)
    this.unread = 0
  }

  head(fields: readonly Field[], isLast: boolean): void {
    this.heads.push(fields.map(({ value }) => value).join())
    if (isLast) this.isDone = true
  }

  data(buffer: Uint8Array, start: number, end: number, isLast: boolean): void {
    assert.equal(this.isDone, false)
    this.received += Buffer.from(buffer.subarray(start, end)).toString('latin1')
    if (this.#isLazy) this.unread += end - start
    else this.stream.consumed(end - start)
    if (isLast) this.isDone = true
  }

  trailers(fields: readonly Field[]): void {
    assert.equal(this.isDone, false)
    assert.equal(fields[0]?.name, 'x-end')
    this.isDone = true
  }

  reset(end: StreamEnd): void {
    assert.equal(this.end, undefined)
    this.end = end
  }

  room(): void {
    this.send()
  }
}

const sending = fc.record({
  pieces: fc.array(fc.oneof(fc.nat(50), fc.nat(40_000)), { maxLength: 4 }),
  asks: fc.boolean(),
  hasTrailers: fc.boolean()
})
const call = fc.record({
  up: sending,
  down: sending,
  cancelsAfter: fc.oneof({ weight: 4, arbitrary: fc.constant(-1) }, { weight: 1, arbitrary: fc.nat(30) }),
  isLazy: fc.boolean()
})
const limits = fc.record({
  streamWindow: fc.constantFrom(65_535, 262_144),
  connectionWindow: fc.constantFrom(65_535, 4_194_304),
  streams: fc.constantFrom(1, 3, 100)
})

/** One life: all calls over one connection. */
class Life {
  readonly #client: Http2Connection
  readonly #server: Http2Connection
  readonly #toServer = new FakeOutput()
  readonly #toClient = new FakeOutput()
  readonly #waiting: { readonly call: Call; readonly side: Side }[]
  readonly calls: { readonly call: Call; readonly side: Side; readonly answer: Side }[] = []
  readonly #pieces: () => number
  #steps = 0
  /** Bytes under way: to the server, to the client. */
  readonly #under: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)]

  constructor(
    calls: readonly Call[],
    ours: Partial<Http2Limits>,
    theirs: Partial<Http2Limits>,
    pieces: () => number
  ) {
    this.#pieces = pieces
    this.#waiting = calls.map((one) => ({ call: one, side: new Side(one.up, 'u', one.isLazy) }))
    this.#client = new Http2Connection({
      role: 'client',
      limits: ours,
      now: () => this.#steps,
      changed: () => this.#open()
    })
    this.#server = new Http2Connection({
      role: 'server',
      limits: theirs,
      now: () => this.#steps,
      request: (stream, fields) => this.#request(stream, fields)
    })
    this.#client.open(this.#toServer)
    this.#server.open(this.#toClient)
  }

  #open(): void {
    while (this.#waiting.length > 0 && this.#client.canOpen) {
      const one = this.#waiting.shift()!
      const { side } = one
      const answer = new Side(one.call.down, 'd', one.call.isLazy)
      this.calls.push({ ...one, answer })
      side.stream = this.#client.request([...FIELDS, 'x-call', String(this.calls.length - 1)], false, side)
      side.send()
    }
  }

  #request(stream: Http2Stream, fields: readonly Field[]): void {
    const { answer } = this.calls[Number(fields.at(-1)?.value)]!
    answer.stream = stream
    stream.listener = answer
  }

  /** Whether a call is answered when its request is complete. */
  #answer(): void {
    for (const { side, answer } of this.calls) {
      if (answer.isDone && side.heads.length === 0 && answer.stream.isSending && answer.heads.length === 0) {
        answer.heads.push('sent')
        answer.stream.fields([':status', '200'], false)
        answer.send()
      }
    }
  }

  /** One step: bytes move, lazy readers consume, calls are cancelled. Returns whether anything moved. */
  step(): boolean {
    this.#steps++
    for (const { call: one, side } of this.calls)
      if (one.cancelsAfter === this.#steps && side.stream.isReceiving) side.stream.cancel(CANCEL)
    const moved = [this.#move(0, this.#toServer, this.#server), this.#move(1, this.#toClient, this.#client)]
    this.#answer()
    for (const { side, answer } of this.calls)
      for (const one of [side, answer]) {
        if (one.unread === 0) continue
        moved.push(true)
        if (this.#steps % 3 === 0) one.consume()
      }
    return moved.includes(true)
  }

  #move(way: 0 | 1, output: FakeOutput, to: Http2Connection): boolean {
    const under = Buffer.concat([this.#under[way], output.sent()])
    const size = Math.min(under.length, this.#pieces())
    this.#under[way] = under.subarray(size)
    // Each chunk has memory of its own, which is overwritten when it was handled.
    const chunk = Uint8Array.from(under.subarray(0, size))
    if (size > 0) to.receive(chunk)
    chunk.fill(0xee)
    return under.length > 0
  }

  check(): void {
    for (const output of [this.#toServer, this.#toClient]) assert.equal(output.ended, undefined)
    assert.equal(this.#waiting.length, 0)
    for (const { call: one, side, answer } of this.calls) {
      if (side.stream.isReceiving || !side.isDone) {
        assert.notEqual(one.cancelsAfter, -1)
        continue
      }
      assert.equal(answer.received, side.all)
      assert.equal(side.received, answer.all)
      assert.deepEqual([side.heads, side.end], [['200'], undefined])
    }
    for (const one of [this.#client, this.#server]) assert.deepEqual([one.inFlight, one.pending], [0, 0])
  }
}

describe('a client and a server', () => {
  it('exchange everything, once and in order, and keep nothing', () => {
    fc.assert(
      fc.property(
        fc.array(call, { minLength: 1, maxLength: 6 }),
        limits,
        limits,
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 10 }),
        (calls, ours, theirs, small) => {
          // Of many small chunks alone a life would have too many.
          const sizes = [...small, 10_000, 30_000]
          let at = 0
          const life = new Life(calls, ours, theirs, () => sizes[at++ % sizes.length] as number)
          let steps = 0
          // Something that was sent in one step moves in the next one.
          for (let still = 0; still < 3; still = life.step() ? 0 : still + 1)
            assert.ok(++steps < MOST_STEPS, 'the life does not end')
          life.check()
        }
      ),
      { numRuns: runs(60) }
    )
  })
})
