/**
 * Every way in which a call may end, over every transport: the content of its error (code, whether the call may have
 * run, whether to retry, which server), that the call settles exactly once, and that nothing of it is left.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { isMissing, until, within } from '@elysia-microservices/test-support'
import type { MicroserviceError } from '@elysia-microservices/transport'
import { answered, failuresOf, open, Setting, said } from './ending.ts'
import { type Carried, clientOf, TRANSPORTS, type TransportUnderTest } from './transports.ts'

function casesOf(transport: TransportUnderTest) {
  let carried: Carried
  let setting: Setting
  before(async () => {
    carried = await transport.open()
  })
  after(() => carried.close())
  beforeEach(async () => {
    setting = new Setting(carried)
    await setting.start()
    setting.client = setting.newClient()
  })
  afterEach(() => setting.stop())

  it('data that cannot be sent: not run, and retrying is useless', async () => {
    const error = await failuresOf(setting.client, 'echo', { data: 1n })
    assert.deepEqual(said(error), ['OPTION', false, false])
    assert.equal(setting.messages.length, 0)
  })

  it('a signal that has aborted before: not run', async () => {
    const options = { signal: AbortSignal.abort() }
    assert.deepEqual(said(await failuresOf(setting.client, 'echo', { options })), ['CANCELED', false, false])
    assert.equal(setting.messages.length, 0)
  })

  it('a signal that aborts when the call was sent: it may have run, and the handler is told', async () => {
    const abort = new AbortController()
    const error = await failuresOf(setting.client, 'wait', {
      options: { signal: abort.signal },
      async meanwhile() {
        await setting.got(2)
        abort.abort()
      }
    })
    assert.deepEqual([...said(error), error.endpoint], ['CANCELED', true, false, setting.endpoint])
    if (transport.cancels) await until('the handlers are told', () => setting.aborted.length === 2)
  })

  it('a reader that leaves: no error, and the handler is told', async () => {
    const { call, outcome } = open(setting.client, 'partly')
    await until('a value', () => outcome.values.length === 1)
    call.cancel()
    if (transport.cancels) await until('the handler is told', () => setting.aborted.length === 1)
    assert.equal(await setting.client.request('echo', 1), 1)
    assert.deepEqual(outcome.ends, [])
  })

  it('an answer that is an error: what the other side said', async () => {
    const error = await failuresOf(setting.client, 'fail')
    assert.deepEqual([...said(error), error.endpoint], ['NO', true, false, setting.endpoint])
    const unknown = await failuresOf(setting.client, 'unknown')
    assert.deepEqual(
      [...said(unknown), unknown.endpoint],
      ['PATTERN_NOT_FOUND', false, false, setting.endpoint]
    )
  })

  it('its deadline after it was sent: it may have run', async () => {
    await setting.client.connect()
    // On a busy machine, a short timeout may be over before both requests have arrived.
    for (let timeout = 100; setting.messages.length < 2; timeout *= 3) {
      setting.messages.length = 0
      const error = await failuresOf(setting.client, 'wait', { options: { timeout } })
      assert.deepEqual([...said(error), error.endpoint], ['TIMEOUT', true, true, setting.endpoint])
    }
  })

  it('its client, which is closed: it may have run if it was sent, and a later call has not', async () => {
    const error = await failuresOf(setting.client, 'wait', {
      async meanwhile() {
        await setting.got(2)
        // After this answer, the client knows over an engine where the service can be reached.
        await setting.client.request('settled', 1)
        await setting.client.close()
      }
    })
    assert.deepEqual(said(error), ['CONNECTION', true, false])
    assert.equal(error.endpoint, setting.endpoint)
    assert.deepEqual(said(await failuresOf(setting.client, 'wait')), ['CONNECTION', false, false])
    if (transport.cancels) await until('the handlers are told', () => setting.aborted.length === 2)
  })

  it('its server, which stops without a drain: it may have run', async () => {
    const { endpoint } = setting
    const error = await failuresOf(setting.client, 'wait', {
      async meanwhile() {
        await setting.got(2)
        await setting.server.stop({ drain: 0 })
      }
    })
    assert.deepEqual([...said(error), error.endpoint], ['CONNECTION', true, true, endpoint])
  })

  it('its server, which stops after the first values of a stream: it is not retried', async () => {
    const { outcome } = open(setting.client, 'partly', 1, { idempotent: true })
    await until('a value', () => outcome.values.length === 1)
    await setting.server.stop({ drain: 0 })
    await until('the end', () => outcome.ends.length > 0)
    assert.deepEqual(outcome.ends.map(said), [['CONNECTION', true, true]])
    assert.deepEqual([outcome.values, setting.messages.length], [[1], 1])
  })

  if (transport.refuses) {
    it('refusals, after all allowed attempts: not run, and retrying may help', async () => {
      const error = await failuresOf(setting.client, 'refuse')
      assert.deepEqual([...said(error), error.endpoint], ['REJECTED', false, true, setting.endpoint])
      // Three attempts of the request, three of the stream.
      assert.equal(setting.messages.length, 6)
    })

    it('refusals, when the budget of retries is used up', async () => {
      const count = 400
      const refused = Array.from({ length: count }, () =>
        setting.client.request('refuse', 1).then(answered, (error: MicroserviceError) => said(error).join())
      )
      assert.deepEqual(new Set(await Promise.all(refused)), new Set(['REJECTED,false,true']))
      // The budget is 100 at the start, and grows by 0.2 for each attempt and 10 each second; without it there would
      // be 1,200 attempts.
      const attempts = setting.messages.length
      assert.ok(attempts >= count + 100 && attempts < 2 * count, `${attempts} attempts`)
    })
  } else
    it('a refusal, which this protocol cannot express: an error like others', async () => {
      const error = await failuresOf(setting.client, 'refuse')
      assert.deepEqual([...said(error), setting.messages.length], ['REJECTED', true, false, 2])
    })

  if (!transport.connects) return

  it('its connection, which is lost: it may have run', async () => {
    const error = await failuresOf(setting.client, 'wait', {
      async meanwhile() {
        await setting.got(2)
        await setting.lose()
      }
    })
    assert.deepEqual([...said(error), error.endpoint], ['CONNECTION', true, true, setting.endpoint])
  })

  it('its deadline, or the limit for waiting, while it waits for a connection: not run', async () => {
    const { endpoint } = setting
    const restore = await setting.cut()
    for (const options of [{ timeout: 50 }, { waitForConnection: 50 }]) {
      const error = await failuresOf(setting.client, 'echo', { options })
      assert.deepEqual([...said(error), error.endpoint], ['CONNECTION', false, true, endpoint])
      assert.match(error.message, /^No connection.* within 50 ms/)
    }
    await restore()
    assert.equal(setting.messages.length, 1)
  })

  it('its signal while it waits for a connection: not run', async () => {
    const restore = await setting.cut()
    const abort = new AbortController()
    const error = await failuresOf(setting.client, 'echo', {
      options: { signal: abort.signal },
      meanwhile: async () => abort.abort()
    })
    assert.deepEqual(said(error), ['CANCELED', false, false])
    await restore()
  })

  it('its client, which is closed while it waits for a connection: not run', async () => {
    const restore = await setting.cut()
    const error = await failuresOf(setting.client, 'echo', { meanwhile: () => setting.client.close() })
    assert.deepEqual(said(error), ['CONNECTION', false, false])
    await restore()
  })

  it('an answer, although its connection was lost, if it is idempotent', async () => {
    const answer = setting.client.request('later', 7, { idempotent: true })
    await setting.got(1)
    await setting.lose()
    assert.equal(await within(answer, 'the answer of the second attempt'), 7)
    assert.equal(setting.messages.length, 2)
  })

  it('a refusal of the second attempt: the first may have run all the same', async () => {
    const refused = setting.client
      .request('refused-later', 7, { idempotent: true })
      .then(answered, (error: MicroserviceError) => error)
    await setting.got(1)
    await setting.lose()
    const error = await within(refused, 'the end of the last attempt')
    assert.deepEqual(
      [...said(error), error.endpoint],
      ['REJECTED', true, transport.refuses, setting.endpoint]
    )
    assert.equal(setting.messages.length, transport.refuses ? 3 : 2)
  })
}

/** Calls that never reach a server. */
function unreachedOf(transport: TransportUnderTest) {
  it('a server that cannot be reached: not run', async () => {
    const { transport: nowhere, endpoint } = await transport.unreachable()
    const client = clientOf(nowhere)
    try {
      const error = await failuresOf(client, 'echo')
      assert.deepEqual([...said(error), error.endpoint], ['CONNECTION', false, true, endpoint])
    } finally {
      await client.close()
    }
  })

  it('its client, which is closed before it is connected: not run', async () => {
    const { transport: nowhere } = await transport.unreachable()
    const client = clientOf(nowhere)
    const error = await failuresOf(client, 'echo', { meanwhile: () => client.close() })
    assert.deepEqual(said(error).slice(0, 2), ['CONNECTION', false])
  })

  it('a close() during a connect() that nobody awaits: no unhandled rejection', async () => {
    const { transport: nowhere } = await transport.unreachable()
    const unhandled: unknown[] = []
    const hear = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', hear)
    try {
      const client = clientOf(nowhere)
      if (transport.connects) void client.connect()
      await client.close()
      await assert.rejects(client.connect(), { code: 'CONNECTION', mayHaveRun: false, retryable: false })
      await new Promise((resolve) => setTimeout(resolve, 20))
      assert.deepEqual(unhandled, [])
    } finally {
      process.off('unhandledRejection', hear)
    }
  })
}

for (const transport of TRANSPORTS) {
  if (isMissing(`what ends calls over ${transport.name}`, transport.missing)) continue
  describe(`over ${transport.name}, a call is ended by`, () => casesOf(transport))
  describe(`over ${transport.name}, a call without a server is ended by`, () => unreachedOf(transport))
}
