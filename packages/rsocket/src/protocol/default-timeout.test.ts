/** The timeout of a client's calls, told once in SETUP: what each end makes of it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ByteWriter, type TimerOwner } from '@elysia-microservices/transport/kit'
import { FakeClock } from '../testing/peer.ts'
import {
  event,
  frame,
  headersEntry,
  metadata,
  request,
  routeEntry,
  setup
} from '../testing/rsocket-frames.ts'
import { newRsocketServer, rsocketClient } from '../testing/rsocket-peer.ts'
import { writeDefaultTimeout } from './default-timeout.ts'

const introduced = (timeout: number) => {
  const out = new ByteWriter()
  writeDefaultTimeout(out, timeout)
  return out.copyFrom(0)
}

describe('a client that has told its timeout in SETUP', () => {
  for (const [what, timeout, options, told] of [
    ['tells none with a call that has the same', 50, {}, undefined],
    ['tells none with a call that names the same', 50, { timeout: 50 }, undefined],
    ['tells that of a call with another', 50, { timeout: 80 }, '80'],
    ['tells that a call has no limit', 50, { timeout: false }, '0'],
    ['tells none with a call without limit, if it has none either', 0, {}, undefined]
  ] as const)
    it(what, () => {
      const client = rsocketClient({ timeout, knownTimeout: timeout })
      void client.caller.request('a', 1, options)
      const json = told === undefined ? '' : `, json: {"elysia-timeout":"${told}"}`
      assert.deepEqual(client.on(), [`REQUEST_RESPONSE 1 M {a${json}} 1`])
    })
})

describe('a server whose client has told its timeout in SETUP', () => {
  const timeoutsOf = (told: Uint8Array | undefined, ...frames: Buffer[]) => {
    const server = newRsocketServer({}, { a: () => 1 })
    server.connection.receive(setup(told === undefined ? {} : { metadata: told }))
    for (const one of frames) server.connection.receive(one)
    const { requests, events } = server.dispatcher
    return [...requests, ...events].map(({ timeout }) => timeout)
  }
  const telling = (timeout: string) =>
    frame(
      1,
      'REQUEST_RESPONSE',
      'M',
      metadata(routeEntry('a'), headersEntry({ 'elysia-timeout': timeout })),
      '1'
    )

  it('gives it to requests that tell none, and to no event', () => {
    assert.deepEqual(timeoutsOf(introduced(50), request(1, 'a', '1'), event(3, 'b', '1')), [50, undefined])
  })

  it('prefers what a request tells, 0 for no limit', () => {
    assert.deepEqual(timeoutsOf(introduced(50), telling('80')), [80])
    assert.deepEqual(timeoutsOf(introduced(50), telling('0')), [undefined])
  })

  it('takes 0, no entry and an entry that is no number for no limit', () => {
    for (const told of [introduced(0), undefined, Buffer.from('no metadata')])
      assert.deepEqual(timeoutsOf(told, request(1, 'a', '1')), [undefined])
  })

  it('looks at the clock once for all requests that arrive together', () => {
    const clock = new FakeClock()
    let looks = 0
    const newTimer = (owner: TimerOwner) => {
      const timer = clock.newTimer(owner)
      return Object.assign(timer, { now: () => ++looks })
    }
    const server = newRsocketServer({ newTimer }, { a: () => 1, b: () => new Promise(() => {}) })
    server.connection.receive(setup({ metadata: introduced(50) }))
    const before = looks
    server.connection.receive(
      Buffer.concat([request(1, 'a', '1'), request(3, 'b', '1'), request(5, 'b', '1')])
    )
    assert.equal(looks - before, 1)
    server.connection.receive(request(7, 'a', '1'))
    assert.equal(looks - before, 2)
  })

  it('counts the time of a request from its arrival, also while another handler is busy', () => {
    const server = newRsocketServer(
      {},
      { busy: () => void server.clock.pass(30), waits: () => new Promise(() => {}) }
    )
    server.clock.pass(1)
    server.connection.receive(setup({ metadata: introduced(50) }))
    server.on(Buffer.concat([request(1, 'busy', '1'), request(3, 'waits', '1')]))
    assert.deepEqual(server.after(20), ['ERROR 3 0x203 The deadline of the request has passed'])
  })
})
