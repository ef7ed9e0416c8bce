/** Tests that a client gives up a connection whose server does not answer, long before the keepalive's lifetime. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeOutput } from '../testing/peer.ts'
import { frame, keepalive, payload, uint32 } from '../testing/rsocket-frames.ts'
import { newRsocketClient, outcomeOf, rsocketClient, turn } from '../testing/rsocket-peer.ts'
import { answersWithin } from './answer-watch.ts'

const SILENT = 'the server has sent nothing for options.connectTimeout (1000 ms)'
const NEVER_HEARD = `${SILENT}; if it speaks Nest's wire, the client needs protocol: 'nest'`
const RESUME = { window: 60_000, bufferSize: 1_000 }
const resumeOk = frame(0, 'RESUME_OK', '', uint32(0), uint32(0))

/** The text of the error with which a connection was ended; `undefined` while it is open. */
const ended = (output: FakeOutput) => (output.ended instanceof Error ? output.ended.message : output.ended)

describe('a server that does not answer', () => {
  it('SETUP is given up in time, although the socket is open; its calls may have run', async () => {
    const client = newRsocketClient({ answers: answersWithin(1_000) })
    client.connection.open(client.output)
    const call = client.caller.request('a', 1)
    const types = client.on().map((text) => text.split(' ')[0])
    assert.deepEqual(types, ['SETUP', 'KEEPALIVE', 'REQUEST_RESPONSE'])
    client.after(999)
    assert.equal(ended(client.output), undefined)
    client.after(1)
    assert.equal(ended(client.output), NEVER_HEARD)
    client.connection.close()
    await assert.rejects(call, {
      name: 'ConnectionError',
      mayHaveRun: true,
      message: new RegExp(SILENT.slice(0, 30))
    })
  })

  it('SETUP is not asked to resume a connection that it may never have accepted', () => {
    const client = rsocketClient({ answers: answersWithin(1_000), resume: RESUME })
    client.after(1_000)
    assert.equal(client.connection.lost(), false)
    assert.equal(client.connection.reason?.message, NEVER_HEARD)
  })

  it('RESUME is given up in time, and asked again over the next socket', () => {
    const client = rsocketClient({ answers: answersWithin(1_000), resume: RESUME })
    client.on(keepalive(''))
    assert.equal(client.connection.lost(), true)
    for (const answer of [keepalive(''), resumeOk]) {
      const output = new FakeOutput()
      client.connection.open(output)
      client.connection.receive(answer)
      client.after(1_000)
      assert.equal(ended(output), answer === resumeOk ? undefined : SILENT)
      assert.equal(client.connection.isResuming, answer !== resumeOk)
      if (answer !== resumeOk) client.connection.lost()
    }
  })

  it('a check after a call has timed out is given up, too', async () => {
    const client = rsocketClient({ answers: answersWithin(1_000) })
    client.on(keepalive(''))
    client.after(1_000)
    const calls = [300, 500].map((timeout) => outcomeOf(client.caller.request('a', 1, { timeout })))
    client.on()
    assert.deepEqual(client.after(300), ['CANCEL 1', 'KEEPALIVE 0 F 0'])
    assert.deepEqual(client.after(200), ['CANCEL 3'])
    client.after(799)
    assert.equal(ended(client.output), undefined)
    client.after(1)
    assert.equal(ended(client.output), SILENT)
    await turn()
    assert.deepEqual(calls.flat(), ['TimeoutError', 'TimeoutError'])
  })
})

describe('a server that is only slow', () => {
  it('keeps its connection when it answers the check', () => {
    const client = rsocketClient({ answers: answersWithin(1_000) })
    client.on(keepalive(''))
    client.after(1_000)
    outcomeOf(client.caller.request('a', 1, { timeout: 300 }))
    client.on()
    client.after(300)
    client.after(500)
    client.on(keepalive(''))
    client.after(100_000)
    assert.equal(ended(client.output), undefined)
  })

  it('is not asked when something has arrived since', () => {
    const client = rsocketClient({ answers: answersWithin(1_000) })
    client.on(keepalive(''))
    client.after(1_000)
    outcomeOf(client.caller.request('a', 1, { timeout: 300 }))
    void client.caller.request('b', 2)
    client.on(payload(3, 'NC', '2'))
    assert.deepEqual(client.after(300), ['CANCEL 1'])
    client.after(100_000)
    assert.equal(ended(client.output), undefined)
  })

  it('is not watched without the option', () => {
    const client = rsocketClient()
    outcomeOf(client.caller.request('a', 1, { timeout: 300 }))
    client.on()
    assert.deepEqual(client.after(100_000), ['CANCEL 1'])
    assert.equal(ended(client.output), undefined)
  })
})
