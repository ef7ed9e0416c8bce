/** The promises of any driver and server on which the package relies. The same cases run over the fake and over nats-server. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { headers as newHeaders } from '@nats-io/transport-node'
import { Opened, type ServerForCases } from './cases-frame.ts'
import { consumerCases } from './consumer-cases.ts'
import { scheduleCases } from './schedule-cases.ts'
import { streamCases } from './stream-cases.ts'

export type { ServerForCases } from './cases-frame.ts'

/** Declares the cases. @param title the server's name @param open starts a server, or returns one that runs */
export function driverCases(title: string, open: () => Promise<ServerForCases>): void {
  streamCases(title, open)
  consumerCases(title, open)
  scheduleCases(title, open)
  describe(`subjects of NATS over ${title}`, () => {
    const opened = new Opened(open)
    afterEach(opened.close)

    it('delivers to all who have subscribed to a subject or a wildcard, in order, also to the publisher', async () => {
      const server = await opened.server()
      const [one, other] = [await opened.connect(server), await opened.connect(server)]
      const heard = [
        one.listen('order.a'),
        one.listen('order.*'),
        other.listen('order.>'),
        other.listen('order.b')
      ]
      await other.connection.flush()
      for (const n of [1, 2, 3]) one.publish('order.a', String(n))
      one.publish('order.a.b', '4')
      const expected = ['order.a 1', 'order.a 2', 'order.a 3']
      for (const recorded of heard.slice(0, 2)) assert.deepEqual(await recorded.count(3), expected)
      assert.deepEqual(await heard[2]?.count(4), [...expected, 'order.a.b 4'])
      assert.deepEqual(heard[3]?.said, [])
    })

    it('carries headers and a reply subject', async () => {
      const one = await opened.connect(await opened.server())
      const headers = newHeaders()
      headers.set('X-A', '1')
      headers.append('X-A', 'ü')
      const seen = await new Promise((resolve) => {
        one.connection.subscribe('carried', undefined, (_, message) =>
          resolve([message.reply, message.headers?.values('X-A'), [...message.data]])
        )
        one.connection.publish('carried', new Uint8Array([0, 255]), 'its.reply', headers)
      })
      assert.deepEqual(seen, ['its.reply', ['1', 'ü'], [0, 255]])
    })

    it('gives a message to one member of each queue', async () => {
      const server = await opened.server()
      const one = await opened.connect(server)
      const members = [one, await opened.connect(server)].map((each) => each.listen('shared.*', 'q'))
      const alone = one.listen('shared.*', 'other')
      for (const each of [one, await opened.connect(server)]) await each.connection.flush()
      for (let n = 0; n < 50; n++) one.publish('shared.a', String(n))
      await alone.count(50)
      await one.connection.flush()
      await Promise.all(members.map((member) => member.count(1)))
      while (members.reduce((sum, { said }) => sum + said.length, 0) < 50)
        await Promise.race(members.map((member) => member.count(member.said.length + 1)))
      assert.equal(new Set(members.flatMap(({ said }) => said)).size, 50)
    })

    it('says that nobody listens, or answers', async () => {
      const server = await opened.server()
      const [one, other] = [await opened.connect(server), await opened.connect(server)]
      assert.match(await one.ask('nobody.there', 'x'), /^503/)
      other.connection.subscribe('echo', undefined, (_, { reply, data }) =>
        other.connection.publish(reply as string, data, undefined, undefined)
      )
      await other.connection.flush()
      assert.equal(await one.ask('echo', 'x'), 'x')
    })

    it('delivers all that was sent for a subscription before its end, and nothing after', async () => {
      const one = await opened.connect(await opened.server())
      const seen: number[] = []
      const subscription = one.connection.subscribe(
        'ending',
        undefined,
        (_, { data }) => void seen.push(data.length)
      )
      await one.connection.flush()
      for (const text of ['a', 'aa']) one.publish('ending', text)
      await subscription.drain()
      assert.deepEqual(seen, [1, 2])
      assert.match(await one.ask('ending', 'aaa'), /^503/)
      one.connection.subscribe('left', undefined, () => {}).unsubscribe()
      assert.match(await one.ask('left', ''), /^503/)
    })

    it('refuses a message that is too large, and a subject without the right; others go on', async () => {
      const one = await opened.connect(await opened.server())
      const { maxPayload } = one.connection
      assert.equal(maxPayload, 1024 * 1024)
      assert.throws(() => one.publish('large', 'x'.repeat(maxPayload + 1)), /max_payload/)
      const heard = one.listen('cases.forbidden')
      one.publish('cases.forbidden', '')
      await one.count(2)
      assert.deepEqual(one.said.toSorted(), ['listen cases.forbidden', 'publish cases.forbidden'])
      assert.deepEqual(await heard.count(1), ['refused PermissionViolationError'])
      one.listen('echoed')
      assert.equal((await one.ask('nobody', '')).slice(0, 3), '503')
    })

    it('tells that the server is lost and back, restores subscriptions, and fails what was under way', async () => {
      const server = await opened.server()
      const one = await opened.connect(server)
      const heard = one.listen('kept')
      one.connection.subscribe('ended', undefined, () => {}).unsubscribe()
      await one.connection.flush()
      const restarting = server.restart()
      await one.until('lost')
      await assert.rejects(one.connection.flush())
      await restarting
      await one.until('restored')
      one.publish('kept', 'again')
      assert.deepEqual(await heard.count(1), ['kept again'])
      assert.match(await one.ask('ended', ''), /^503/)
    })

    it('ends when it is closed, and publishes no more', async () => {
      const one = await opened.connect(await opened.server())
      await one.connection.close()
      await one.until('ended')
      assert.throws(() => one.publish('late', ''), /closed/i)
      await assert.rejects(one.connection.flush(), /closed/i)
    })
  })
}
