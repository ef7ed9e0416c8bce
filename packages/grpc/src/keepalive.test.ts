/** Both ends notice that the other one is gone. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeClock, FakeOutput } from '@elysia-microservices/rsocket/testing'
import { Log, within } from '@elysia-microservices/test-support'
import { PendingCaller } from '@elysia-microservices/transport/kit'
import { GrpcClientConnection } from './client/grpc-client-connection.ts'
import { GrpcConnection } from './server/grpc-connection.ts'
import { FrameWords, frame, PREFACE_BYTES, settings } from './testing/frames.ts'
import { dispatcherOf, METHODS } from './testing/service.ts'

const KEEPALIVE = { interval: 1_000, timeout: 100 }
const common = (clock: FakeClock) => ({
  methods: METHODS,
  logger: new Log().logger,
  maxMessageSize: 1_000,
  maxHeldSize: 1_000,
  keepalive: KEEPALIVE,
  newTimer: clock.newTimer
})
const isPing = (one: string) => one.startsWith('PING')

describe('a server', () => {
  const open = () => {
    const clock = new FakeClock()
    const output = new FakeOutput()
    const connection = new GrpcConnection({ ...common(clock), dispatcher: dispatcherOf({}) })
    connection.open(output)
    connection.receive(Uint8Array.from(Buffer.concat([PREFACE_BYTES, settings()])))
    const words = new FrameWords()
    const pings = () => words.of(output.sent()).filter(isPing)
    pings()
    return { clock, output, connection, pings }
  }

  it('asks a client without calls, and ends the connection of one that does not answer', () => {
    const { clock, output, pings } = open()
    clock.pass(999)
    assert.deepEqual(pings(), [])
    clock.pass(1)
    assert.equal(pings().length, 1)
    clock.pass(99)
    assert.equal(output.ended, undefined)
    clock.pass(1)
    assert.match(String(output.ended), /nothing has arrived for keepalive.interval/)
    assert.ok(output.destroyed)
  })

  it('keeps a client that answers, for ever', () => {
    const { clock, output, connection, pings } = open()
    for (let at = 0; at < 50; at++) {
      clock.pass(1_000)
      const [asked] = pings()
      assert.ok(asked)
      clock.pass(50)
      connection.receive(Uint8Array.from(frame(6, 1, 0, Buffer.from(asked.split(' ')[1]!, 'hex'))))
    }
    assert.equal(output.ended, undefined)
  })
})

describe('a client', () => {
  const open = () => {
    const clock = new FakeClock()
    const output = new FakeOutput()
    let tooOften = 0
    const connection = new GrpcClientConnection({
      ...common(clock),
      timeout: 0,
      authority: 'here:1',
      isSecure: false,
      where: 'grpc://here:1',
      goingAway() {},
      pingsTooOften: () => void tooOften++
    })
    const caller = new PendingCaller((call) => connection.calls.start(call), 0)
    connection.open(output)
    connection.receive(Uint8Array.from(settings()))
    const words = new FrameWords()
    const pings = () => words.of(output.sent()).filter(isPing)
    pings()
    return { clock, output, connection, caller, pings, tooOften: () => tooOften }
  }

  it('asks only while a call is in flight', () => {
    const { clock, caller, pings } = open()
    clock.pass(10_000)
    assert.deepEqual(pings(), [])
    assert.equal(clock.next, Number.POSITIVE_INFINITY)
    void caller.request('test.Kinds/Unary', 'x').catch(() => {})
    clock.pass(0)
    assert.equal(pings().length, 1)
  })

  it('fails its calls when the server does not answer, and says why', async () => {
    const { clock, output, connection, caller } = open()
    const call = caller.request('test.Kinds/Unary', 'x')
    const failed = assert.rejects(within(call, 'an end'), {
      name: 'ConnectionError',
      mayHaveRun: true,
      message: /nothing has arrived for keepalive.interval \(1000 ms\)/
    })
    clock.pass(1_100)
    assert.ok(output.destroyed)
    connection.close()
    await failed
  })

  it('hears that it asks too often', () => {
    const { connection, tooOften } = open()
    const goAway = (words: string) =>
      Uint8Array.from(
        frame(7, 0, 0, Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, 11]), Buffer.from(words)]))
      )
    connection.receive(goAway('too_many_pings'))
    assert.equal(tooOften(), 1)
    const other = open()
    other.connection.receive(goAway('too many calls'))
    assert.equal(other.tooOften(), 0)
  })
})
