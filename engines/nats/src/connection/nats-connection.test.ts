import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Carried, Sender, Subject } from '@elysia-microservices/engine'
import { OverFake } from '../testing/over-fake.ts'

const subjectsOf = (address: string, queue?: string) => [{ address, queue } as Subject]

const text = (words: string | Uint8Array) =>
  typeof words === 'string' ? words : new TextDecoder().decode(words)

describe('a connection to NATS', () => {
  let over: OverFake
  let seen: string[]
  beforeEach(() => {
    over = new OverFake()
    seen = []
  })
  afterEach(() => over.close())

  const note = ({ address, words, reply, headers }: Carried) =>
    void seen.push([address, text(words), reply, JSON.stringify(headers)].filter((part) => part).join(' '))

  it('holds messages while there is no server, and sends them in order before all others', async () => {
    const one = await over.connect({ restored: () => one.publish('a', 'after') })
    const other = await over.connect()
    other.listen('a', note)
    over.server.stop()
    assert.equal(one.isConnected, false)
    for (const words of ['1', '2', '3']) one.publish('a', words)
    over.server.start()
    await over.until(() => seen.length === 4)
    assert.deepEqual(seen, ['a 1', 'a 2', 'a 3', 'a after'])
    assert.equal(one.isConnected, true)
  })

  it('tells once that the server is lost, and that it is back', async () => {
    const said: string[] = []
    const one = await over.connect({ lost: () => said.push('lost'), restored: () => said.push('restored') })
    over.server.stop()
    one.lost()
    over.server.start()
    await over.until(() => said.length === 2)
    await one.close()
    assert.deepEqual(said, ['lost', 'restored'])
  })

  it('tells that it has ended, unless it was closed', async () => {
    const ends: unknown[] = []
    const ended = (error: Error | undefined) => void ends.push(error)
    const one = await over.connect({ ended })
    one.ended(new Error('over'))
    assert.deepEqual([ends, one.isConnected], [[new Error('over')], false])
    const other = await over.connect({ ended })
    await other.close()
    await other.close()
    assert.equal(ends.length, 1)
  })

  it('carries headers and reply addresses, and says that nobody listens', async () => {
    const one = await over.connect()
    one.listen('there', note)
    await one.flush()
    one.publish('there', '1', 'its.reply', { x: '1', many: ['a', 'b'] })
    one.emit('there', '2', undefined, undefined)
    await over.until(() => seen.length === 2)
    assert.deepEqual(seen, ['there 1 its.reply {"x":"1","many":"a, b"}', 'there 2'])
    const inbox = one.newInbox()
    assert.ok(one.isInbox(inbox + 1) && !one.isInbox('there') && inbox !== one.newInbox())
    const heard = new Map<string, boolean>()
    one.listen(inbox, ({ address, isNobody }) => void heard.set(address, isNobody === true))
    one.publish('nowhere', '', `${inbox}1`)
    one.publish(`${inbox}2`, '')
    await over.until(() => heard.size === 2)
    assert.deepEqual([heard.get(`${inbox}1`), heard.get(`${inbox}2`)], [true, false])
  })

  it('refuses a header that NATS cannot carry, and tells of a message that is too large', async () => {
    const one = await over.connect()
    assert.throws(() => one.publish('a', '', undefined, { 'a b': '1' }), { name: 'OptionError' })
    one.publish('a', 'x'.repeat(one.maxPayload + 1))
    assert.match(over.lines[0] ?? '', /unpublished: .*max_payload/)
    assert.equal(one.maxPayload, 1024 * 1024)
  })

  it('tells of what the server refuses', async () => {
    over.server.forbidden.add('closed')
    const one = await over.connect()
    let refusal: Error | undefined
    one.listen('closed', note, (error) => {
      refusal = error
    })
    one.publish('closed', '')
    await over.until(() => over.lines.length === 2)
    assert.equal(refusal?.name, 'PermissionViolationError')
    assert.deepEqual(over.lines.map((line) => line.split(':')[0]).toSorted(), [
      'listen closed',
      'publish closed'
    ])
    await assert.rejects(
      one.take(subjectsOf('closed'), () => {}),
      {
        name: 'ListenError',
        message: /NATS at 127\.0\.0\.1:4222/
      }
    )
  })

  it('survives a receiver that throws', async () => {
    const one = await over.connect()
    one.listen('bad', () => {
      throw new Error('mine')
    })
    one.listen('good', note)
    one.publish('bad', '')
    one.publish('good', '1')
    await over.until(() => seen.length === 1)
    assert.deepEqual(over.lines, ['failed: Error: mine'])
  })

  it('takes messages and batches of a service, each once among its processes, and nothing of the system', async () => {
    const services = [await over.connect(), await over.connect()]
    for (const service of services) await service.take(subjectsOf('>', 'q'), (_, message) => note(message))
    const client = await over.connect()
    client.publish('a', '1')
    client.publish(client.togetherAt('b'), '2')
    client.publish('_INBOX.x', '3')
    client.publish('$SRV.PING', '4')
    await client.flush()
    assert.deepEqual(seen, ['a 1', 'b 2'])
    // A handler of `>` would get some of them in the queue group of the service, and drop them.
    const before = seen.length
    for (let n = 0; n < 4; n++) client.publish(client.togetherAt('b'), String(n))
    await client.flush()
    assert.deepEqual(seen.splice(before), ['b 0', 'b 1', 'b 2', 'b 3'])
    for (const service of services) {
      client.publish('c', '5')
      await service.leave()
    }
    await client.flush()
    client.publish('d', '6')
    await client.flush()
    assert.deepEqual(seen.slice(2), ['c 5', 'c 5'])
  })

  it('tells of what it listens to only if it was allowed, except that others may not hear', async () => {
    over.server.forbidden.add('closed')
    const refused: string[] = []
    const one = await over.connect({
      refused: (address, operation) => void refused.push(`${operation} ${address}`)
    })
    one.subscribeIfAllowed('closed', 'q', () => {})
    await one.flush()
    assert.deepEqual(refused, [])
    one.publish('closed', '')
    await over.until(() => refused.length === 1)
    assert.deepEqual(refused, ['publish closed'])
  })

  it('lets streams wait while much is on its way, and go on when it has arrived, also after a loss', async () => {
    const one = await over.connect()
    let resumed = 0
    const sender: Sender = { resume: () => void resumed++ }
    assert.equal(one.hasRoomFor(sender), true)
    for (const loses of [false, true]) {
      over.server.suspend()
      for (let n = 0; n < 2; n++) one.publish('a', 'x'.repeat(512 * 1024))
      assert.equal(one.hasRoomFor(sender), false)
      if (loses) over.server.stop()
      over.server.resume()
      if (loses) over.server.start()
      await over.until(() => one.isConnected && one.hasRoomFor(sender))
      await over.until(() => resumed > (loses ? 1 : 0))
    }
  })

  it('given up while it connects says so in the words of who has given it up', async () => {
    over.server.stop()
    const signal = AbortSignal.abort()
    await assert.rejects(over.connect({ signal }), { message: 'connection refused' })
    over.server.start()
  })

  it('closes without a server', async () => {
    const one = await over.connect()
    over.server.stop()
    await one.close()
  })

  it('that cannot be opened says where it looked, and what helps', async () => {
    over.server.stop()
    await assert.rejects(over.connect(), {
      name: 'ConnectionError',
      mayHaveRun: false,
      message:
        'Cannot reach NATS at localhost:4222: connection refused; start nats-server there, or check options.url'
    })
    over.server.start()
  })
})
