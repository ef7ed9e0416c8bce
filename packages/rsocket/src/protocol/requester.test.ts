/** Tests the calls of one side: how they wait, are sent, are retried elsewhere, and end. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PendingCall } from '@elysia-microservices/transport/kit'
import { EMPTY, NEVER, of, Subject } from 'rxjs'
import { cancel, entry, error, frame, lease, metadata, payload, requestN } from '../testing/rsocket-frames.ts'
import {
  type ClientUnderTest,
  outcomeOf,
  RecordingReceiver,
  rsocketClient,
  turn
} from '../testing/rsocket-peer.ts'

const failureOf = (call: Promise<unknown>): Promise<Error & { mayHaveRun?: boolean }> =>
  call.then(
    () => assert.fail('it was answered'),
    (reason) => reason
  )

/** Makes a client whose failed calls are taken over, as for a retry. */
function failingClient(options: Parameters<typeof rsocketClient>[0] = {}) {
  const failed: { call: PendingCall; error: Error }[] = []
  const client = rsocketClient({
    ...options,
    recover: (call, error) => {
      failed.push({ call, error })
      return true
    }
  })
  return { client, failed }
}

/** Starts a failed call again. */
function again(client: ClientUnderTest, { call }: { call: PendingCall } = assert.fail('no call has failed')) {
  client.connection.calls.start(call)
}

describe('a call that waits for a lease', () => {
  it('has the demand that was granted meanwhile, and only that', () => {
    const client = rsocketClient({ lease: true })
    const call = client.caller.stream('a', 1, new RecordingReceiver(), { demand: 1 })
    call.request(3)
    call.request(2)
    assert.deepEqual(client.on(lease(1_000, 1)), ['REQUEST_STREAM 1 M n=6 {a} 1'])
    call.request(4)
    assert.deepEqual(client.on(), ['REQUEST_N 1 4'])
  })

  it('is given up without a word, and is not sent with the next lease', async () => {
    const client = rsocketClient({ lease: true })
    const receiver = new RecordingReceiver()
    const call = client.caller.stream('a', 1, receiver)
    const next = outcomeOf(client.caller.request('b', 1))
    call.cancel()
    call.request(1)
    assert.equal(client.connection.inFlight, 1)
    assert.deepEqual(client.on(lease(1_000, 5)), ['REQUEST_RESPONSE 1 M {b} 1'])
    client.on(payload(1, 'NC', '1'))
    await turn()
    assert.deepEqual([receiver.seen, next, client.connection.inFlight], [[], ['1'], 0])
  })

  it('has not run when its time is over or the connection is lost; one that was sent may have', async () => {
    const client = rsocketClient({ lease: true })
    client.on(lease(10_000, 2))
    const failures = [
      client.caller.request('sent', 1, { timeout: 100 }),
      client.caller.request('sent', 1),
      client.caller.request('waits', 1, { timeout: 100 }),
      client.caller.request('waits', 1),
      client.caller.emit('waits', 1)
    ].map(failureOf)
    client.after(100)
    assert.equal(client.connection.inFlight, 3)
    client.connection.close()
    assert.equal(client.connection.inFlight, 0)
    assert.deepEqual(
      (await Promise.all(failures)).map(({ name, mayHaveRun }) => [name, mayHaveRun]),
      [
        ['TimeoutError', true],
        ['ConnectionError', true],
        ['TimeoutError', false],
        ['ConnectionError', false],
        ['ConnectionError', false]
      ]
    )
  })

  it('fails alone if it cannot be encoded when the lease comes', async () => {
    const client = rsocketClient({ lease: true })
    const bad = failureOf(client.caller.request('a', 1n))
    const good = outcomeOf(client.caller.request('b', 1))
    assert.deepEqual(client.on(lease(1_000, 2)), ['REQUEST_RESPONSE 1 M {b} 1'])
    client.on(payload(1, 'NC', '1'))
    assert.equal((await bad).name, 'OptionError')
    assert.deepEqual(good, ['1'])
  })
})

describe('a channel that waits for its first value', () => {
  it('keeps no other call from using a lease', () => {
    const client = rsocketClient({ lease: true })
    client.on(lease(1_000, 5))
    void outcomeOf(client.caller.request('channel', NEVER))
    void outcomeOf(client.caller.request('a', 1))
    assert.deepEqual(client.on(), ['REQUEST_RESPONSE 1 M {a} 1'])
    assert.equal(client.connection.inFlight, 2)
  })

  it('uses no lease until then; then it waits for one, as other calls do', async () => {
    const client = rsocketClient({ lease: true })
    const values = new Subject<number>()
    const outcome = outcomeOf(client.caller.request('channel', values))
    assert.deepEqual(client.on(lease(1_000, 1)), [])
    void outcomeOf(client.caller.request('a', 1))
    assert.deepEqual(client.on(), ['REQUEST_RESPONSE 1 M {a} 1'])
    values.next(1)
    values.next(2)
    assert.deepEqual(client.on(), ['KEEPALIVE 0 F 0 lease'])
    assert.equal(client.connection.inFlight, 2)
    assert.deepEqual(client.on(lease(1_000, 1)), ['REQUEST_CHANNEL 3 M n=1 {channel} 1'])
    assert.equal(client.connection.inFlight, 2)
    assert.deepEqual(client.on(requestN(3, 5)), ['PAYLOAD 3 N 2'])
    values.complete()
    assert.deepEqual(client.on(payload(3, 'NC', '7')), ['PAYLOAD 3 C'])
    await turn()
    assert.deepEqual([outcome, client.connection.inFlight], [['7'], 1])
  })

  it('brings all its values and its end, also those that come while its request waits for a lease', () => {
    const long = 'x'.repeat(100)
    for (const [source, request, others] of [
      [EMPTY, 'REQUEST_CHANNEL 1 MC n=1 {channel}', []],
      [of(1), 'REQUEST_CHANNEL 1 MC n=1 {channel} 1', []],
      [of(1, 2, 3), 'REQUEST_CHANNEL 1 M n=1 {channel} 1', ['PAYLOAD 1 N 2', 'PAYLOAD 1 N 3', 'PAYLOAD 1 C']],
      [
        of(1, long),
        'REQUEST_CHANNEL 1 M n=1 {channel} 1',
        [`PAYLOAD 1 FN "${long.slice(0, 57)}`, `PAYLOAD 1 N ${long.slice(57)}"`, 'PAYLOAD 1 C']
      ]
    ] as const) {
      const client = rsocketClient({ lease: true, maxFrameLength: 64 })
      void outcomeOf(client.caller.request('channel', source))
      assert.deepEqual(client.on(), [])
      assert.deepEqual(client.on(lease(1_000, 1)), [request])
      assert.deepEqual(client.on(requestN(1, 9)), others)
    }
  })

  it('is sent at once with its first value where there is a lease or none is needed, and is then one call', () => {
    for (const isLeased of [true, false]) {
      const client = rsocketClient({ lease: isLeased })
      client.on(lease(1_000, 5))
      const values = new Subject<number>()
      client.caller.stream('channel', values, new RecordingReceiver(), { demand: 3 })
      assert.deepEqual([client.on(), client.connection.inFlight], [[], 1])
      values.next(1)
      assert.deepEqual(client.on(), ['REQUEST_CHANNEL 1 M n=3 {channel} 1'])
      assert.equal(client.connection.inFlight, 1)
      assert.deepEqual(client.on(lease(1_000, 5)), [])
      client.on(payload(1, 'C'), cancel(1))
      assert.equal(client.connection.inFlight, 0)
    }
  })

  it('is complete with its request if there is no value', async () => {
    const client = rsocketClient()
    const call = outcomeOf(client.caller.request('channel', (function* () {})()))
    assert.deepEqual(await client.later(), ['REQUEST_CHANNEL 1 MC n=1 {channel}'])
    assert.deepEqual(client.on(requestN(1, 1), payload(1, 'NC', '0')), [])
    await turn()
    assert.deepEqual(call, ['0'])
  })

  it('is given up without a word, has not run, and its source is told', async () => {
    const client = rsocketClient()
    const values = new Subject<number>()
    const abort = new AbortController()
    const failures = [
      client.caller.request('channel', values, { timeout: 100 }),
      client.caller.request('channel', values, { signal: abort.signal }),
      client.caller.request('channel', values)
    ].map(failureOf)
    assert.equal(client.connection.inFlight, 3)
    client.after(100)
    abort.abort()
    assert.equal(client.connection.inFlight, 1)
    client.connection.close()
    assert.equal(values.observed, false)
    assert.deepEqual(
      (await Promise.all(failures)).map(({ name, mayHaveRun }) => [name, mayHaveRun]),
      [
        ['TimeoutError', false],
        ['CanceledError', false],
        ['ConnectionError', false]
      ]
    )
    assert.deepEqual(client.on(), [])
  })

  it('fails without a word if its source fails, and its server is told once it knows of it', async () => {
    const client = rsocketClient()
    const early = new Subject<number>()
    const late = new Subject<number>()
    const calls = [early, late].map((values) => outcomeOf(client.caller.request('channel', values)))
    early.error(new Error('of the source'))
    late.next(1)
    assert.deepEqual(client.on(), ['REQUEST_CHANNEL 1 M n=1 {channel} 1'])
    late.error(new Error('of the source'))
    assert.match(client.on().join(), /^ERROR 1 0x201 /)
    await turn()
    assert.deepEqual([calls, client.connection.inFlight], [[['Error'], ['Error']], 0])
  })
})

describe('a call whose data has code of its own', () => {
  const ending = (end: () => void) => ({
    toJSON() {
      end()
      return 1
    }
  })

  it('is not sent if this code gives it up, and leaves no gap', async () => {
    const client = rsocketClient()
    const abort = new AbortController()
    const data = ending(() => abort.abort())
    const call = outcomeOf(client.caller.request('a', data, { signal: abort.signal }))
    void client.caller.request('b', 1)
    assert.deepEqual(client.on(), ['REQUEST_RESPONSE 1 M {b} 1'])
    await turn()
    assert.deepEqual([call, client.connection.inFlight], [['CanceledError'], 1])
  })

  it('is not sent if this code ends the connection', async () => {
    const client = rsocketClient()
    const failures = [
      client.caller.request(
        'a',
        ending(() => client.connection.close())
      ),
      client.caller.emit('b', 1)
    ].map(failureOf)
    for (const failure of await Promise.all(failures))
      assert.deepEqual(
        [failure.name, failure.mayHaveRun, failure.message],
        ['ConnectionError', false, 'The connection to tcp://test:4000 was closed']
      )
    assert.equal(client.connection.inFlight, 0)
  })

  it('of a channel sends no value if this code ends the channel', async () => {
    const client = rsocketClient()
    const values = new Subject<unknown>()
    const abort = new AbortController()
    const call = outcomeOf(client.caller.request('a', values, { signal: abort.signal }))
    values.next(1)
    client.on(requestN(1, 5))
    values.next(ending(() => abort.abort()))
    assert.deepEqual(client.on(), ['CANCEL 1'])
    await turn()
    assert.deepEqual(call, ['CanceledError'])
  })
})

describe('a call that is retried', () => {
  it('is not failed before, and takes its answer from where it is made', async () => {
    const { client, failed } = failingClient()
    const other = rsocketClient()
    const call = outcomeOf(client.caller.request('a', 1))
    client.on(error(1, 0x202, 'busy'))
    assert.deepEqual(
      [failed.length, failed[0]?.error.name, client.connection.inFlight],
      [1, 'RejectedError', 0]
    )
    void other.caller.request('b', 1)
    again(other, failed[0])
    assert.deepEqual(other.on(), ['REQUEST_RESPONSE 1 M {b} 1', 'REQUEST_RESPONSE 3 M {a} 1'])
    client.on(payload(1, 'NC', '"old"'))
    other.on(payload(3, 'NC', '"new"'))
    await turn()
    assert.deepEqual(call, ['"new"'])
  })

  it('belongs to the other connection alone: it is given up there, by its number there', () => {
    const { client, failed } = failingClient()
    const other = rsocketClient()
    void other.caller.request('b', 1)
    const call = client.caller.stream('a', 1, new RecordingReceiver(), { demand: 1 })
    client.on(error(1, 0x202, 'busy'))
    again(other, failed[0])
    other.on()
    call.request(2)
    call.cancel()
    assert.deepEqual([other.on(), client.on()], [['REQUEST_N 3 2', 'CANCEL 3'], []])
  })

  it('has no number while it waits for a lease there', async () => {
    const { client, failed } = failingClient()
    const other = rsocketClient({ lease: true })
    const call = client.caller.stream('a', 1, new RecordingReceiver(), { demand: 1 })
    client.on(error(1, 0x202, 'busy'))
    again(other, failed[0])
    call.request(2)
    assert.deepEqual(other.on(), [])
    call.cancel()
    assert.deepEqual([other.on(lease(1_000, 5)), other.connection.inFlight], [[], 0])
  })

  it('may also be one whose time is over or that was never sent, and one of a lost connection', async () => {
    const { client, failed } = failingClient()
    const calls = [
      outcomeOf(client.caller.request('late', 1, { timeout: 100 })),
      outcomeOf(client.caller.request('a', 1n)),
      outcomeOf(client.caller.request('a', 1))
    ]
    client.after(100)
    client.connection.close()
    await turn()
    assert.deepEqual(calls, [[], [], []])
    assert.deepEqual(
      failed.map((one) => one.error.name),
      ['OptionError', 'TimeoutError', 'ConnectionError']
    )
  })

  it('is none that has been answered, also if its signal forgets no listener', async () => {
    const { client, failed } = failingClient()
    const signal = new EventTarget() as AbortSignal
    signal.removeEventListener = () => {}
    const call = outcomeOf(client.caller.request('a', 1, { signal }))
    client.on(payload(1, 'NC', '1'))
    signal.dispatchEvent(new Event('abort'))
    await turn()
    assert.deepEqual([call, failed, client.on()], [['1'], [], []])
  })

  it('fails if it is not retried', async () => {
    const client = rsocketClient({ recover: () => false })
    const calls = [
      outcomeOf(client.caller.request('a', 1)),
      outcomeOf(client.caller.request('late', 1, { timeout: 100 }))
    ]
    client.on(error(1, 0x202, 'busy'))
    client.after(100)
    await turn()
    assert.deepEqual(calls, [['RejectedError'], ['TimeoutError']])
  })

  it('tells what is left of its time, rounded up, and never that there is none', () => {
    for (const [passed, told] of [
      [0, 100],
      [30.5, 70],
      [99, 1],
      [99.5, 1],
      [100, 1]
    ] as const) {
      const { client, failed } = failingClient()
      const other = rsocketClient()
      void outcomeOf(client.caller.request('a', 1, { timeout: 100 }))
      client.on(error(1, 0x202, 'busy'))
      const [first] = failed
      if (first !== undefined) first.call.isDelayed = true
      other.clock.time = passed
      again(other, first)
      const text = `REQUEST_RESPONSE 1 M {a, json: {"elysia-timeout":"${told}"}} 1`
      assert.deepEqual(other.on(), [text])
    }
  })
})

describe('a request', () => {
  it('has the text of its pattern for a route, equal for equal patterns', () => {
    const client = rsocketClient()
    for (const pattern of ['a', 7, { b: 1, a: 'x' }, { a: 'x', b: 1 }])
      void client.caller.request(pattern as string, 1)
    const routes = client.on().map((text) => /\{(.*)\}/.exec(text)?.[1])
    assert.deepEqual(routes.slice(0, 2), ['a', '7'])
    assert.match(routes[2] ?? '', /a.*x.*b.*1/)
    assert.equal(routes[3], routes[2])
  })

  it('has no flags but those that it needs, whether it has waited or not', () => {
    for (const isLeased of [false, true]) {
      const client = rsocketClient({ lease: isLeased })
      void client.caller.request('a', 1)
      void client.caller.emit('a', 1)
      client.caller.stream('a', 1, new RecordingReceiver())
      void outcomeOf(client.caller.request('a', of(1, 2)))
      if (isLeased) client.connection.receive(lease(1_000, 9))
      const bytes = Buffer.from(client.output.sent())
      const flags: number[] = []
      for (let at = 0; at < bytes.length; at += 3 + bytes.readUIntBE(at, 3))
        flags.push(bytes.readUInt16BE(at + 7) & 0x3ff)
      assert.deepEqual(flags, [0x100, 0x100, 0x100, 0x100])
    }
  })
})

describe('the time of a call', () => {
  it('is told, also if it is the default of the client; never with an event, which has no answer', () => {
    for (const [options, told] of [
      [{}, true],
      [{ timeout: 50 }, true],
      [{ timeout: false }, false]
    ] as const) {
      const client = rsocketClient({ timeout: 50 })
      void client.caller.request('a', 1, options)
      void client.caller.emit('a', 1, options)
      const json = told ? ', json: {"elysia-timeout":"50"}' : ''
      assert.deepEqual(client.on(), [`REQUEST_RESPONSE 1 M {a${json}} 1`, 'REQUEST_FNF 3 M {a} 1'])
    }
  })

  it('of a whole stream is told beside that of its first value', () => {
    const client = rsocketClient({ timeout: 50 })
    client.caller.stream('a', 1, new RecordingReceiver(), { lifetime: 900, headers: { tenant: 'a' } })
    const [sent = ''] = client.on()
    assert.match(sent, /"tenant":"a","elysia-timeout":"50","elysia-lifetime":"900"/)
    client.on(payload(1, 'N', '1'))
    assert.deepEqual(client.after(899), [])
    assert.deepEqual(client.after(1), ['CANCEL 1'])
  })

  it('is told as it was given, whatever the clock of the caller says', () => {
    const client = rsocketClient()
    client.clock.time = 100 / 7
    assert.ok(client.clock.time + 50 - client.clock.time > 50, 'the sum is rounded')
    void client.caller.request('a', 1, { timeout: 50 })
    assert.deepEqual(client.on(), ['REQUEST_RESPONSE 1 M {a, json: {"elysia-timeout":"50"}} 1'])
  })

  it('is watched for each call, whichever is over first', async () => {
    const client = rsocketClient()
    const calls = [150, 50, 100].map((timeout) => outcomeOf(client.caller.request('a', 1, { timeout })))
    const endless = outcomeOf(client.caller.request('a', 1))
    client.on()
    assert.deepEqual(client.after(49), [])
    assert.deepEqual(client.after(1), ['CANCEL 3'])
    assert.deepEqual(client.after(49), [])
    assert.deepEqual(client.after(1), ['CANCEL 5'])
    assert.deepEqual(client.after(50), ['CANCEL 1'])
    await turn()
    assert.deepEqual([calls.flat(), endless], [['TimeoutError', 'TimeoutError', 'TimeoutError'], []])
  })
})

describe('an answer', () => {
  it('that cannot be read ends its call alone, and its sender is told unless it has ended', async () => {
    const client = rsocketClient()
    const calls = [1, 2, 3].map((n) => outcomeOf(client.caller.request('a', n)))
    client.on()
    assert.deepEqual(client.on(payload(1, 'NC', '{')), [])
    assert.deepEqual(client.on(payload(3, 'N', '{')), ['CANCEL 3'])
    assert.deepEqual(client.on(payload(5, 'NC', '5')), [])
    await turn()
    assert.deepEqual(calls, [['ProtocolError'], ['ProtocolError'], ['5']])
  })

  it('of a channel is over for its receiver, who gives it up with the last value, but its input is not', () => {
    const client = rsocketClient()
    const values = new Subject<number>()
    const seen: unknown[] = []
    const call = client.caller.stream('a', values, {
      next(value) {
        seen.push(value)
        call.cancel()
      },
      complete: () => seen.push('complete'),
      error: assert.fail
    })
    values.next(1)
    client.on()
    assert.equal(client.on(payload(1, 'NC', '7'))[0], 'CANCEL 1')
    assert.deepEqual([seen, values.observed, client.connection.inFlight], [[7], false, 0])
  })

  it('is not asked for any more once its receiver has given it up', () => {
    const client = rsocketClient()
    let left = 128
    const call = client.caller.stream('a', 1, {
      next() {
        if (--left === 0) call.cancel()
      },
      complete: assert.fail,
      error: assert.fail
    })
    client.on()
    for (let n = 0; n < 127; n++) assert.deepEqual(client.on(payload(1, 'N', '1')), [])
    assert.deepEqual(client.on(payload(1, 'N', '1')), ['CANCEL 1'])
    call.request(5)
    assert.deepEqual(client.on(), [])
  })

  it('of one value is enough for a channel that is a request: the other side is told unless it has ended', async () => {
    const client = rsocketClient()
    for (const [id, flags, expected] of [
      [1, 'N', ['CANCEL 1']],
      [3, 'NC', []]
    ] as const) {
      void client.caller.request('a', of(1))
      assert.deepEqual(client.on(requestN(id, 5)), [`REQUEST_CHANNEL ${id} M n=1 {a} 1`, `PAYLOAD ${id} C`])
      assert.deepEqual(client.on(payload(id, flags, '7')), expected)
    }
  })

  it('is measured by its data alone when more is asked for, wherever it stands in its chunk', () => {
    const client = rsocketClient()
    client.caller.stream('a', 1, new RecordingReceiver())
    client.on()
    const values = Array.from({ length: 128 }, () => payload(1, 'N', `"${'x'.repeat(50)}"`))
    assert.deepEqual(client.on(Buffer.concat(values)), ['REQUEST_N 1 384'])
  })

  it('is asked for value by value if values are so large that two are many', () => {
    const client = rsocketClient({ maxBufferSize: 20_000_000 })
    client.caller.stream('a', 1, new RecordingReceiver())
    client.on()
    const large = payload(1, 'N', `"${'x'.repeat(8_500_000)}"`)
    const small = payload(1, 'N', '1')
    for (const [count, expected] of [
      [127, ['REQUEST_N 1 1']],
      [126, ['REQUEST_N 1 1']]
    ] as const) {
      for (let n = 0; n < count; n++) assert.deepEqual(client.on(small), [])
      assert.deepEqual(client.on(large), expected)
    }
  })

  it('in fragments is read by the type that it names, too', async () => {
    const client = rsocketClient()
    const call = client.caller.request('a', 1)
    const type = metadata(entry(0x7a, Buffer.of(23), 'application/octet-stream'))
    client.on(frame(1, 'PAYLOAD', 'MNF', type, 'by'), frame(1, 'PAYLOAD', 'NC', 'tes'))
    assert.equal(Buffer.from((await call) as Uint8Array).toString(), 'bytes')
  })

  it('ends a stream once', () => {
    const client = rsocketClient()
    const receivers = [new RecordingReceiver(), new RecordingReceiver()]
    for (const receiver of receivers) client.caller.stream('a', 1, receiver)
    client.on(payload(1, 'N', '1'), payload(1, 'NC', '2'), payload(3, 'C'))
    const late = [payload(1, 'NC', '3'), payload(3, 'C'), payload(3, 'N', '3'), error(1, 0x201, 'late')]
    assert.deepEqual(client.on(...late), [])
    assert.equal(client.ended, false)
    assert.deepEqual(
      receivers.map(({ seen }) => seen),
      [['1', '2', 'complete'], ['complete']]
    )
  })

  it('that is late by the clock of the other side says that the call may have run', async () => {
    const client = rsocketClient()
    const failure = failureOf(client.caller.request('a', 1, { timeout: 50 }))
    client.clock.time = 50
    client.on(error(1, 0x203, 'late'))
    const { name, mayHaveRun } = await failure
    assert.deepEqual([name, mayHaveRun], ['TimeoutError', true])
  })
})
