/** Tests the calling end of Nest's wire, without a socket. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  FakeClock,
  FakeOutput,
  outcomeOf,
  RecordingReceiver,
  turn
} from '@elysia-microservices/rsocket/testing'
import { PendingCaller, type Recover } from '@elysia-microservices/transport/kit'
import { NEVER } from 'rxjs'
import { encodeFrame } from './frame.ts'
import { NestRequester, type NestRequesterOptions } from './requester.ts'

const LIMITS = { maxBufferSize: 10_000, maxUnsent: 10_000, timeout: 0 }

function newRequester(given: Partial<NestRequesterOptions> = {}) {
  const clock = new FakeClock()
  const { newTimer } = clock
  const requester = new NestRequester({ ...LIMITS, where: 'tcp://test:4000', newTimer, ...given })
  const output = new FakeOutput()
  const caller = new PendingCaller((call) => requester.calls.start(call), 0)
  const answer = (packet: unknown) => requester.receive(Buffer.from(encodeFrame(JSON.stringify(packet))))
  return { requester, output, clock, caller, answer }
}

function connected(given: Partial<NestRequesterOptions> = {}) {
  const parts = newRequester(given)
  parts.requester.open(parts.output)
  return parts
}

/** Makes a call for a stream, and records its values. */
function streamOf(caller: PendingCaller) {
  const receiver = new RecordingReceiver()
  caller.stream('values', 1, receiver)
  return receiver.seen
}

/** Makes an array with this number of levels. */
function nested(levels: number): unknown {
  let value: unknown = []
  for (let level = 1; level < levels; level++) value = [value]
  return value
}

describe("a connection on Nest's wire that says nothing", () => {
  const silent = () => {
    let left = 0
    const parts = connected({ goingAway: () => left++ })
    const callOf = (timeout: number) => outcomeOf(parts.caller.request('a', 1, { timeout }))
    return { ...parts, callOf, left: () => left }
  }

  it('gets no new calls after three have timed out; calls in flight go on', async () => {
    const { callOf, clock, left, answer } = silent()
    const slow = callOf(10_000)
    for (const expected of [0, 0, 1, 1]) {
      callOf(100)
      clock.pass(100)
      assert.equal(left(), expected)
    }
    answer({ response: 5, isDisposed: true, id: '1' })
    await turn()
    assert.deepEqual(slow, ['5'])
  })

  it('is only slow if it says something meanwhile', () => {
    const { callOf, clock, left, answer } = silent()
    for (let id = 1; id < 10; id++) {
      callOf(100)
      clock.pass(100)
      // The answer is late, and nobody waits for it.
      if (id % 2 === 0) answer({ response: 5, isDisposed: true, id: String(id) })
    }
    assert.equal(left(), 0)
  })
})

describe("a call on Nest's wire", () => {
  for (const part of ['response', 'err'])
    it(`whose answer is nested too deeply, under ${part}, fails alone`, async () => {
      const { requester, output, caller, answer } = connected()
      const other = caller.request('other', 1)
      const deep = caller.request('deep', 1)
      const values = streamOf(caller)
      const ids = [...output.text.matchAll(/"id":"(\d+)"/g)].map(([, id]) => id)
      answer({ [part]: nested(1_001), isDisposed: true, id: ids[1] })
      await assert.rejects(deep, { name: 'ProtocolError', message: /more than 1000 levels/ })
      answer({ response: 1, id: ids[2] })
      answer({ response: nested(1_001), id: ids[2] })
      answer({ response: 2, id: ids[2] })
      assert.deepEqual(values, ['1', 'ProtocolError'])
      answer({ response: nested(1_000), isDisposed: true, id: ids[0] })
      assert.deepEqual(await other, nested(1_000))
      assert.equal(requester.inFlight, 0)
    })

  it('is forgotten when its reader leaves', () => {
    const { requester, output, caller } = connected()
    const receiver = new RecordingReceiver()
    const call = caller.stream('values', 1, receiver)
    assert.equal(requester.inFlight, 1)
    call.cancel()
    assert.equal(requester.inFlight, 0)
    const packet = JSON.stringify({ response: 1, id: JSON.parse(output.text.replace(/^\d+#/, '')).id })
    requester.receive(Buffer.from(`${packet.length}#${packet}`))
    assert.deepEqual(receiver.seen, [])
  })

  it('is not sent if its reader leaves before there is a connection, and takes no room then', () => {
    const { requester, output, caller } = newRequester()
    const large = 'x'.repeat(4_000)
    const calls = Array.from({ length: 2 }, () => caller.stream('large', large, new RecordingReceiver()))
    const refused = new RecordingReceiver()
    caller.stream('large', large, refused)
    assert.deepEqual(refused.seen, ['OverloadedError'])
    for (const call of calls) call.cancel()
    const receiver = new RecordingReceiver()
    caller.stream('third', large, receiver)
    caller.stream('fourth', 1, receiver)
    assert.deepEqual(receiver.seen, [])
    requester.open(output)
    assert.deepEqual(output.text.match(/"pattern":"\w+"/g), ['"pattern":"third"', '"pattern":"fourth"'])
  })

  it('gives the room back that it took while it waited, whichever call leaves', () => {
    const { requester, output, caller } = newRequester()
    const frame = encodeFrame('{"pattern":"p","data":"","id":"1"}')
    const data = 'x'.repeat(LIMITS.maxUnsent - frame.length - 2)
    const receiver = new RecordingReceiver()
    for (let round = 0; round < 3; round++) caller.stream('p', data, receiver).cancel()
    caller.stream('p', data, receiver)
    assert.deepEqual(receiver.seen, [])
    requester.open(output)
    assert.equal(output.text.length, LIMITS.maxUnsent)
  })

  it('waits for room only if it fits at all', async () => {
    const { output, caller } = connected({ maxUnsent: 100 })
    const whole = encodeFrame('{"pattern":"p","data":"","id":"1"}').length
    const fitting = 'x'.repeat(100 - whole)
    await assert.rejects(caller.request('p', `${fitting}x`), {
      name: 'PayloadTooLargeError',
      option: 'limits.sendBuffer',
      limit: 100,
      mayHaveRun: false
    })
    output.left = 1
    await assert.rejects(caller.request('p', fitting), {
      name: 'OverloadedError',
      message: /^1 bytes of calls wait to be sent; 100 more would exceed .*\(100\)/
    })
    assert.equal(output.text, '')
    output.left = 0
    void caller.request('p', fitting)
    assert.equal(output.text.length, 100)
  })

  it('is sent when there is a connection, in the order of the calls, and an event has then left', async () => {
    const { requester, output, caller, answer } = newRequester()
    const first = caller.request('first', 1)
    const event = caller.emit('second', 2, { headers: { tenant: 'a' } })
    const third = caller.request({ cmd: 'third' }, undefined, { headers: { tenant: 'b' } })
    assert.equal(requester.calls.started, 2)
    assert.equal(output.text, '')
    requester.open(output)
    const frames = [
      '{"pattern":"first","data":1,"id":"1"}',
      '{"pattern":"second","data":2,"metadata":{"tenant":"a"}}',
      '{"pattern":{"cmd":"third"},"metadata":{"tenant":"b"},"id":"2"}'
    ]
    assert.equal(output.text, frames.map(encodeFrame).join(''))
    assert.equal(await event, undefined)
    assert.equal(requester.inFlight, 2)
    answer({ response: 'b', isDisposed: true, id: '2' })
    answer({ response: 'a', isDisposed: true, id: '1' })
    assert.deepEqual(await Promise.all([first, third]), ['a', 'b'])
    assert.equal(requester.inFlight, 0)
  })

  it('has the pattern that was given, even if an object is changed for the next call', () => {
    const { output, caller } = connected()
    const pattern = { cmd: 'a' }
    void caller.request(pattern, 1)
    pattern.cmd = 'b'
    void caller.request(pattern, 1)
    for (const given of [5, 'text', 5, 'text']) void caller.request(given, 1)
    assert.deepEqual(output.text.match(/"pattern":(?:{.*?}|\w+|"\w+")/g), [
      '"pattern":{"cmd":"a"}',
      '"pattern":{"cmd":"b"}',
      ...['"pattern":5', '"pattern":"text"', '"pattern":5', '"pattern":"text"']
    ])
  })

  it('is refused where it is made if the wire cannot carry it', async () => {
    const { requester, output, caller } = connected()
    const refused = { name: 'OptionError', path: 'data', mayHaveRun: false }
    await assert.rejects(caller.request('p', 5n), { ...refused, message: /JSON: it .*BigInt/i })
    await assert.rejects(caller.emit('p', 5n), refused)
    await assert.rejects(caller.request('p', NEVER), { ...refused, message: /stream/ })
    await assert.rejects(caller.request(Symbol('p') as never, 1), { code: 'OPTION' })
    assert.deepEqual([output.text, requester.inFlight], ['', 0])
    void caller.request('p', null)
    assert.match(output.text, /"data":null/)
  })
})

describe("the answer to a call on Nest's wire", () => {
  it('is one value, whether the end comes with it, behind it or never', async () => {
    const { requester, caller, answer } = connected()
    for (const packets of [
      [{ response: 1, isDisposed: true }],
      [{ response: 1 }],
      [{ response: 1 }, { response: 2 }, { isDisposed: true }]
    ]) {
      const answered = caller.request('one', 1)
      for (const packet of packets) answer({ ...packet, id: String(requester.calls.started) })
      assert.equal(await answered, 1)
      assert.equal(requester.inFlight, 0)
    }
    const none = caller.request('none', 1)
    answer({ isDisposed: true, id: String(requester.calls.started) })
    assert.equal(await none, undefined)
  })

  it('is a stream of values: those without a response are `undefined`, but an end is none', () => {
    const { caller, answer } = connected()
    const seen = streamOf(caller)
    for (const packet of [{ response: 1 }, {}, { response: null }, { response: 2, isDisposed: true }])
      answer({ ...packet, id: '1' })
    answer({ response: 3, id: '1' })
    assert.deepEqual(seen, ['1', 'undefined', 'null', '2', 'complete'])
    const empty = streamOf(caller)
    answer({ isDisposed: true, id: '2' })
    assert.deepEqual(empty, ['complete'])
  })

  it('is an error for the one call that it names', async () => {
    const { requester, caller, answer } = connected()
    const other = streamOf(caller)
    const failed = caller.request('fail', 1)
    answer({ err: { code: 'E', message: 'm' }, isDisposed: true, id: '2' })
    answer({ err: 'nobody asked', id: '7' })
    answer({ response: 'nobody asked' })
    await assert.rejects(failed, { code: 'E', message: 'm' })
    assert.deepEqual([other, requester.inFlight], [[], 1])
  })

  it('is a whole packet from another system, and the end', () => {
    const { caller, answer } = connected()
    const seen = streamOf(caller)
    answer({ id: '1', result: 5 })
    answer({ id: '1', result: 6 })
    assert.deepEqual(seen, ['{"id":"1","result":5}', 'complete'])
  })

  it('ends no call twice that its reader gives up while it takes the last value', () => {
    const { caller, answer } = connected()
    const seen: unknown[] = []
    const call = caller.stream('values', 1, {
      next(value) {
        seen.push(value)
        call.cancel()
      },
      complete: assert.fail,
      error: assert.fail
    })
    answer({ response: 1, isDisposed: true, id: '1' })
    assert.deepEqual(seen, [1])
  })

  it("lets go of the caller's signal, which may outlive many calls", async () => {
    const { caller, answer } = connected()
    const { signal } = new AbortController()
    let listeners = 0
    signal.addEventListener = () => void listeners++
    signal.removeEventListener = () => void listeners--
    const asked = caller.request('p', 1, { signal })
    assert.equal(listeners, 1)
    answer({ response: 1, isDisposed: true, id: '1' })
    await asked
    assert.equal(listeners, 0)
  })

  it('is dropped with everything that has come, if the connection is to read no more', () => {
    const { requester, caller } = connected()
    const seen = streamOf(caller)
    const frame = encodeFrame('{"response":1,"id":"1"}')
    assert.deepEqual([requester.buffered, requester.incomplete], [0, false])
    requester.receive(Buffer.from(frame.slice(0, -1)))
    assert.deepEqual([requester.buffered, requester.incomplete], [frame.length - 4, true])
    requester.discard()
    assert.deepEqual([requester.buffered, requester.incomplete], [0, false])
    requester.receive(Buffer.from(frame))
    assert.deepEqual(seen, ['1'])
  })
})

describe("an event on Nest's wire", () => {
  for (const count of [1, 2]) {
    it(`has left when a socket has taken it that is not blocked: ${count} at once`, async () => {
      const { requester, output, caller } = connected()
      let left = 0
      output.isBlocked = true
      for (let event = 0; event < count; event++) void caller.emit('event', event).then(() => left++)
      assert.notEqual(output.text, '')
      requester.resume()
      await turn()
      assert.deepEqual([left, requester.inFlight], [0, count])
      output.isBlocked = false
      requester.resume()
      await turn()
      assert.deepEqual([left, requester.inFlight], [count, 0])
    })
  }

  it('that waits too long may have been handled all the same', async () => {
    const { requester, output, clock, caller } = connected()
    output.isBlocked = true
    const event = caller.emit('event', 1, { timeout: 5 })
    clock.pass(5)
    await assert.rejects(event, { name: 'TimeoutError', mayHaveRun: true })
    assert.equal(requester.inFlight, 0)
  })
})

describe("the time of a call on Nest's wire", () => {
  it('ends for each call when it is over, neither sooner nor later', async () => {
    const { requester, clock, caller } = connected({ timeout: 30 })
    const failed: number[] = []
    for (const timeout of [20, 10, undefined, false] as const)
      caller.request('never', 1, { timeout }).catch((error: Error) => {
        assert.equal(error.name, 'TimeoutError')
        failed.push(Number(timeout ?? 30))
      })
    for (const [until, expected] of [
      [9, []],
      [10, [10]],
      [19, [10]],
      [20, [10, 20]],
      [30, [10, 20, 30]]
    ] as const) {
      clock.pass(until - clock.time)
      await turn()
      assert.deepEqual(failed, expected)
    }
    assert.equal(requester.inFlight, 1)
    assert.equal(clock.next, Number.POSITIVE_INFINITY)
  })

  it('tells a call that was sent from one that was not', async () => {
    for (const isSent of [true, false]) {
      const { clock, caller } = isSent ? connected() : newRequester()
      const asked = caller.request('never', 1, { timeout: 5 })
      clock.pass(5)
      await assert.rejects(asked, { name: 'TimeoutError', mayHaveRun: isSent })
    }
  })
})

describe("the end of a connection on Nest's wire", () => {
  it('fails every call: it may have run if there was a connection', async () => {
    const { requester, output, clock, caller } = connected()
    const asked = caller.request('p', 1, { timeout: 5 })
    output.isBlocked = true
    const event = caller.emit('p', 1)
    requester.close(new Error('it broke'))
    const message = 'The connection to tcp://test:4000 was closed: it broke'
    await assert.rejects(asked, { name: 'ConnectionError', message, mayHaveRun: true })
    await assert.rejects(event, { name: 'ConnectionError', message, mayHaveRun: true })
    assert.deepEqual([requester.inFlight, clock.next], [0, Number.POSITIVE_INFINITY])
  })

  it('fails the calls that waited for it as not begun', async () => {
    const { requester, caller } = newRequester()
    const calls = [caller.request('p', 1), caller.emit('p', 1)]
    requester.close(new Error('it broke'))
    for (const call of calls)
      await assert.rejects(call, {
        name: 'ConnectionError',
        message: 'Cannot connect to tcp://test:4000: it broke',
        mayHaveRun: false
      })
  })

  it('refuses the calls that come behind it', async () => {
    const { requester, output, caller } = connected()
    requester.close()
    await assert.rejects(caller.request('p', 1), {
      name: 'ConnectionError',
      message: 'The connection to tcp://test:4000 was closed',
      mayHaveRun: false
    })
    assert.deepEqual([output.text, requester.inFlight], ['', 0])
  })

  it('leaves a call alone that another connection takes over, which then answers it', async () => {
    const next = connected()
    const asked: string[] = []
    const recover: Recover = (call, error) => {
      asked.push(error.name)
      next.requester.calls.start(call)
      return true
    }
    const { requester, caller } = connected({ recover })
    const answered = caller.request('p', 1)
    requester.close()
    assert.deepEqual([asked, requester.inFlight, next.requester.inFlight], [['ConnectionError'], 0, 1])
    next.answer({ response: 5, isDisposed: true, id: '1' })
    assert.equal(await answered, 5)
    assert.equal(next.requester.inFlight, 0)
    const refused = newRequester({ recover: () => false })
    const failed = refused.caller.request('p', 1)
    refused.requester.close()
    await assert.rejects(failed, { name: 'ConnectionError' })
  })
})
