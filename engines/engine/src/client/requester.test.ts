/** The answers that a client takes: those of our services, of Nest's, and of other programs on the engine. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { Carried, Engine } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import { Ends, valuesOf } from '../testing/ends.ts'
import type { TestCarrier } from '../testing/hub.ts'
import { STREAM_WINDOW, textOf } from '../words.ts'

const scenes: Ends[] = []
afterEach(async () => {
  for (const one of scenes.splice(0)) await one.close()
})

/** A client, and a program on the engine that answers its calls as a test says. */
async function scene(context: { readonly name?: string } = {}) {
  const ends = new Ends()
  scenes.push(ends)
  const client = ends.client(context)
  await client.connect()
  const other = ends.lastCarrier
  /** Answers the calls of a pattern: `ID` stands for the id of the request. */
  const answers = (pattern: string, ...all: readonly string[]) =>
    other.listen(pattern, ({ words, reply }) => {
      const { id } = JSON.parse(textOf(words)) as { id: string }
      for (const one of all) other.publish(reply, one.replace('ID', id))
    })
  return { ends, client, other, answers, engine: ends.engine as Engine<TestCarrier> }
}

describe('an answer', () => {
  it('of a NestJS service is its last value, nothing, or its error', async () => {
    const { client, answers } = await scene()
    answers('value', '{"response":5,"isDisposed":true,"id":"ID"}')
    answers('nothing', '{"isDisposed":true,"id":"ID"}')
    answers('empty', '{"id":"ID"}')
    answers('fails', '{"err":{"status":"error","message":"no"},"id":"ID"}')
    assert.equal(await client.request('value', 1), 5)
    assert.equal(await client.request('nothing', 1), undefined)
    assert.equal(await client.request('empty', 1), undefined)
    await assert.rejects(client.request('fails', 1), { name: 'RpcError', message: 'no' })
  })

  it('of a NestJS service that is a stream has its values, and the last one may come with its end', async () => {
    const { client, answers } = await scene()
    answers('apart', '{"response":1,"id":"ID"}', '{"response":2,"id":"ID"}', '{"isDisposed":true,"id":"ID"}')
    answers('together', '{"response":1,"id":"ID"}', '{"response":2,"isDisposed":true,"id":"ID"}')
    answers('broken', '{"response":1,"id":"ID"}', '{"err":"no","id":"ID"}')
    for (const pattern of ['apart', 'together']) {
      const { values, ended } = valuesOf(client, pattern)
      await ended
      assert.deepEqual(values, [1, 2])
    }
    const { values, ended } = valuesOf(client, 'broken')
    await assert.rejects(ended, { message: 'no' })
    assert.deepEqual(values, [1])
  })

  it('of a program of another system is the whole body, and ends the call', async () => {
    const { client, answers } = await scene()
    for (const [n, body] of ['{"total":5}', '[1,2]', '"text"', '7', 'null', '{"id":"its own"}'].entries()) {
      answers(`other.${n}`, body)
      assert.deepEqual(await client.request(`other.${n}`, 1), JSON.parse(body))
      const { values, ended } = valuesOf(client, `other.${n}`)
      await ended
      assert.deepEqual(values, [JSON.parse(body)])
    }
    answers('bare', '')
    assert.equal(await client.request('bare', 1), undefined)
  })

  it('that is not JSON, or whose values are no list, fails its call, and no other one', async () => {
    const { client, answers, other } = await scene()
    answers('broken', '{')
    other.listen('values', ({ reply }) =>
      other.publish(reply, '+v{}', `${other.newInbox()}1-${newSecret()}.1`)
    )
    await assert.rejects(client.request('broken', 1), { name: 'ProtocolError' })
    await assert.rejects(valuesOf(client, 'values').ended, {
      name: 'ProtocolError',
      message: 'The values of a stream are not a list'
    })
    assert.equal(client.inFlight, 0)
  })

  it('may be an error that its engine knows: in the headers of another system, or of the engine itself', async () => {
    const { client, other, answers, engine } = await scene()
    engine.foreignError = ({ headers }) => (headers?.['code'] === '503' ? new Error('busy') : undefined)
    engine.engineAnswer = (body, pattern) =>
      (body as { stream?: string }).stream === undefined ? undefined : new Error(`'${pattern}' is stored`)
    other.listen('busy', ({ reply }) => other.publish(reply, '{"total":5}', undefined, { code: '503' }))
    other.listen('fine', ({ reply }) => other.publish(reply, '{"total":5}', undefined, { code: '200' }))
    answers('stored', '{"stream":"ORDERS","seq":1}')
    await assert.rejects(client.request('busy', 1), { message: 'busy' })
    assert.deepEqual(await client.request('fine', 1), { total: 5 })
    await assert.rejects(client.request('stored', 1), { message: "'stored' is stored" })
  })

  it('of a service says whether the handler was busy, or is gone', async () => {
    const { client, answers } = await scene()
    answers('busy', '+r{"code":"REJECTED","message":"busy"}')
    answers('gone', '+x')
    answers('lost', '+l')
    await assert.rejects(client.request('busy', 1), {
      name: 'RejectedError',
      message: 'busy',
      mayHaveRun: false
    })
    await assert.rejects(client.request('gone', 1), {
      name: 'ConnectionError',
      message: /The service stopped/
    })
    await assert.rejects(client.request('lost', 1), {
      name: 'ConnectionError',
      message: /A value of the channel/
    })
  })

  it('that comes when its call is over is told so if a service can hear it, and asks for nothing', async () => {
    const { ends, client, other } = await scene()
    let reply = ''
    other.listen('twice', (message) => {
      reply = message.reply
      other.publish(reply, '+d1')
    })
    await client.request('twice', 1)
    const control = `${other.newInbox()}1`
    const heard: string[] = []
    other.listen(control, ({ words }) => void heard.push(textOf(words)))
    const from = ends.hub.published.length
    for (const [words, answerTo] of [
      ['+d2', control],
      ['+x', control],
      ['+d2', 'orders.delete'],
      ['+d2', '']
    ] as const)
      other.publish(reply, words, answerTo)
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    assert.deepEqual([heard, ends.hub.published.length - from], [['x'], 5])
  })
})

describe('a client', () => {
  it('tells a service exactly how many characters of its values it has read, headers and packets of Nest included', async () => {
    const quarter = STREAM_WINDOW / 4
    for (const [begin, end] of [
      ['+v["', '"]'],
      ['+h14 {"headers":{}}+v["', '"]'],
      ['{"response":"', '","id":"1"}']
    ] as const) {
      const { ends, client, other } = await scene()
      const control = `${other.newInbox()}1-${newSecret()}.`
      const words = begin + 'x'.repeat(quarter - begin.length - end.length) + end
      other.listen('p', ({ reply }) => other.publish(reply, words, `${control}1`))
      const { values, ended } = valuesOf(client, 'p')
      ended.catch(() => {})
      for (let turns = 0; turns < 9 && values.length === 0; turns++) await new Promise(setImmediate)
      const told = ends.hub.published.filter(({ address }) => address === `${control}1`)
      assert.deepEqual(
        told.map((one) => one.words.replace(/^g\d+/, 'g')),
        [`g,${quarter}`],
        begin
      )
    }
  })

  it('answers the question whether all has come with its name, to an inbox only', async () => {
    const { ends, client, other } = await scene({ name: 'orders' })
    let reply = ''
    other.listen('p', (message) => {
      reply = message.reply
      other.publish(reply, '+d1')
    })
    await client.request('p', 1)
    const question = `${reply.slice(0, reply.lastIndexOf('.') + 1)}1q`
    const inbox = `${other.newInbox()}1`
    const from = ends.hub.published.length + 2
    for (const asker of [inbox, 'orders.delete']) other.publish(question, '', asker)
    for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate)
    assert.deepEqual(
      ends.hub.published.slice(from).map(({ address, words }) => `${address} ${words}`),
      [`${inbox} porders`]
    )
  })

  it('that is closed waits for the services that it cannot tell yet, for a quarter of a second', async () => {
    using time = new VirtualTime()
    const { client, other } = await scene()
    const told: string[] = []
    const control = `${other.newInbox()}1-${newSecret()}.`
    other.listen(`${control}0`, ({ words }) => void told.push(textOf(words)))
    let request: Carried | undefined
    other.listen('slow', (message) => {
      request = message
    })
    client.request('slow', 1).catch(() => {})
    await time.until('it is sent', () => request !== undefined)
    let isClosed = false
    const closed = client.close().then(() => {
      isClosed = true
    })
    await time.pass(100)
    assert.equal(isClosed, false)
    other.publish(request?.reply ?? '', '+a', `${control}0`)
    await time.pass(1)
    assert.deepEqual([isClosed, told], [true, ['x']])
    await closed
    const next = await scene()
    next.other.listen('slow', () => {})
    next.client.request('slow', 1).catch(() => {})
    await time.pass(1)
    const late = next.client.close()
    const began = time.now
    await time.settled(late)
    assert.equal(time.now - began, 250)
    scenes.length = 0
  })

  it('that is closed waits for nobody if nothing is open, or if only events are', async () => {
    using time = new VirtualTime()
    const { client } = await scene()
    client.emit('noted', 1).catch(() => {})
    const began = time.now
    await time.settled(client.close())
    assert.equal(time.now, began)
    scenes.length = 0
  })
})
