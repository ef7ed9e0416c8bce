/** Headers of a client, and `client.with()`: options that need not be passed with each call. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type Message, memory, microservice } from '../index.ts'
import { Cleanups } from '../testing/ways.ts'
import { connect, type StoringConnectOptions } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

/** A service that answers with what it got, a list of what its events got, and a function that connects. */
async function start() {
  const transport = memory()
  const got: unknown[] = []
  const seen = ({ headers }: Message<unknown>) => ({ ...headers })
  const service = microservice({ name: 'seen', transport })
    .message('seen', seen)
    .message('seen often', async function* (message: Message<unknown>) {
      yield seen(message)
    })
    .message('is short', ({ remaining = 60_000 }) => remaining <= 5_000)
    .event('told', (message) => void got.push(message.headers))
    .event('kept', (message) => void got.push(message.headers), { durable: true })
  cleanups.add(await service.listen())
  const client = (options: Partial<StoringConnectOptions> = {}) =>
    cleanups.add(connect({ transport, ...options }))
  return { client, got }
}

describe('headers of a client', () => {
  it('come with all calls, and those of a call are added and take precedence', async () => {
    const { client, got } = await start()
    const mine = client({ headers: { tenant: 'acme', lang: 'de' } })
    const options = { headers: { lang: 'en', id: '7' } }
    const expected = { tenant: 'acme', ...options.headers }
    assert.deepEqual(await mine.request('seen', 1, options), expected)
    assert.deepEqual(await mine.request('seen'), { tenant: 'acme', lang: 'de' })
    for await (const one of mine.stream('seen often', 1, options)) assert.deepEqual(one, expected)
    await mine.send('seen', 1, options).forEach((one) => void assert.deepEqual(one, expected))
    await mine.emit('told', 1, options)
    await mine.publish('kept', 1, options)
    await mine.publish('kept')
    assert.deepEqual(got, [expected, expected, { tenant: 'acme', lang: 'de' }])
  })

  it('may come from a function, which is called for each call', async () => {
    const { client } = await start()
    let n = 0
    const mine = client({ headers: () => ({ n: String(++n) }) })
    assert.deepEqual(await mine.request('seen'), { n: '1' })
    assert.deepEqual(await mine.request('seen', 1, { headers: { m: 'x' } }), { n: '2', m: 'x' })
  })

  it('that are none are refused: at the start, and when the function has returned them', async () => {
    const { client } = await start()
    for (const headers of ['text', 5, { n: 1 }, [], null])
      assert.throws(() => client({ headers: headers as never }), { name: 'OptionError' }, String(headers))
    for (const returned of ['text', { n: 1 }, Promise.resolve({ n: '1' })]) {
      const mine = client({ headers: () => returned as never })
      for (const call of [
        () => mine.request('seen'),
        () => mine.emit('told'),
        () => mine.publish('kept'),
        () => mine.stream('seen often').next()
      ])
        await assert.rejects(call(), { name: 'OptionError', path: /options\.headers/ })
    }
  })
})

describe('client.with()', () => {
  it('gives its options to all calls, on top of what the client and an outer with() give', async () => {
    const { client } = await start()
    const mine = client({ headers: { a: '1', b: '1', c: '1' } })
      .with({ headers: { b: '2', c: '2' } })
      .with({ headers: () => ({ c: '3' }), timeout: 5_000 })
    assert.deepEqual(await mine.request('seen'), { a: '1', b: '2', c: '3' })
    const gaps = { headers: undefined, timeout: undefined }
    assert.equal(await mine.request('is short', 1, gaps), true)
    const { data, error } = await mine.safe.request('seen', 1, gaps)
    assert.deepEqual([data, error], [{ a: '1', b: '2', c: '3' }, null])
  })

  it('lets all calls end with the signal and the handled message', async () => {
    const { client } = await start()
    const signal = AbortSignal.abort()
    await assert.rejects(client().with({ signal }).request('seen'), { name: 'CanceledError' })
    const late = client().with({ within: { remaining: 0 } })
    for (const call of [late.request('seen'), late.emit('told'), late.publish('kept')])
      await assert.rejects(call, { name: 'TimeoutError' })
  })

  it('forwards headers of the message that it was given', async () => {
    const { client } = await start()
    const mine = client({ forward: ['x-id'] }).with({
      within: { remaining: undefined, headers: { 'x-id': '7' } }
    })
    assert.deepEqual(await mine.request('seen'), { 'x-id': '7' })
  })

  it('carries the time and headers of a message to all calls of its handler, also within a generator', async () => {
    const { client } = await start()
    const further = client({ forward: ['x-id'] })
    const transport = memory()
    const service = microservice({ transport })
      .derive((message) => ({ seen: further.with({ within: message }) }))
      .message('asks', async ({ seen }) => [await seen.request('seen'), await seen.request('is short')])
      .message('asks often', async function* ({ seen }) {
        const isShort = await seen.request('is short')
        yield await seen.request('seen')
        yield isShort
      })
    cleanups.add(await service.listen())
    const outer = cleanups.add(connect({ transport })).with({ headers: { 'x-id': '7' }, timeout: 5_000 })
    const expected = [{ 'x-id': '7' }, true]
    assert.deepEqual(await outer.request('asks'), expected)
    const often: unknown[] = []
    for await (const one of outer.stream('asks often')) often.push(one)
    assert.deepEqual(often, expected)
  })

  it('refuses options that it does not know', async () => {
    const { client } = await start()
    assert.throws(() => client().with({ header: {} } as never), { path: 'options.header' })
    for (const timeout of [-1, 0, Number.NaN, true])
      assert.throws(() => client().with({ timeout } as never), { path: 'options.timeout' })
  })
})

describe('client.safe', () => {
  it('gives the outcome of events and publishes, too', async () => {
    const { client } = await start()
    const { safe } = client()
    assert.deepEqual(await safe.emit('told'), { data: undefined, error: null })
    assert.equal((await safe.publish('kept', 1, { id: 'a' })).data?.id, 'a')
    const wrong = await safe.publish('kept', 5n)
    assert.deepEqual([wrong.data, wrong.error?.name], [null, 'OptionError'])
  })
})
