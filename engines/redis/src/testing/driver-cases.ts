/** The promises of any driver and server on which the package relies. The same cases run over the fake and over Redis. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { Opened, type ServerForCases } from './cases-frame.ts'
import { futureCases } from './future-cases.ts'
import { storeCases } from './store-cases.ts'

export type { ServerForCases } from './cases-frame.ts'

/** Declares the cases. @param title the server's name @param open starts a server, or returns one that runs */
export function driverCases(title: string, open: () => Promise<ServerForCases>): void {
  storeCases(title, open)
  futureCases(title, open)
  describe(`channels of Redis over ${title}`, () => {
    const opened = new Opened(open)
    afterEach(opened.close)

    it('counts the receivers of a message, by channel and by glob, and delivers in order', async () => {
      const server = await opened.server()
      const [one, seen] = await opened.connect(server)
      const [other] = await opened.connect(server)
      assert.equal(await other.publish('in.order', '0'), 0)
      await one.subscribe('in.order')
      await one.subscribe('in.*', true)
      await one.subscribe('[^_]*.nothing', true)
      for (const payload of ['1', Buffer.from('2')]) assert.equal(await other.publish('in.order', payload), 2)
      await seen.until('in.* in.order 2')
      assert.deepEqual(seen.said, ['in.order 1', 'in.* in.order 1', 'in.order 2', 'in.* in.order 2'])
      await one.unsubscribe(['in.order'], ['in.*'])
      assert.equal(await other.publish('in.order', '3'), 0)
    })

    it('lists the channels of services, each once', async () => {
      const server = await opened.server()
      const [one] = await opened.connect(server)
      const [other] = await opened.connect(server)
      for (const connection of [one, other]) await connection.subscribe('_elysia:s:m:q:abc:cases')
      await one.subscribe('_elysia:i:inbox')
      assert.deepEqual(await other.services(), ['_elysia:s:m:q:abc:cases'])
      assert.equal(await other.mayMiss('nobody'), false)
      assert.equal(await other.isLeaving(), false)
    })

    it('restores subscriptions when the server is back, and fails what was under way', async () => {
      const server = await opened.server()
      const [one, seen] = await opened.connect(server)
      await one.subscribe('kept')
      await one.subscribe('ended')
      await one.unsubscribe(['ended'], [])
      await server.restart()
      await seen.until('lost')
      await seen.until('restored')
      const [other] = await opened.connect(server)
      assert.equal(await other.publish('kept', 'again'), 1)
      assert.equal(await other.publish('ended', 'again'), 0)
      await seen.until('kept again')
      const unanswered = one.publish('kept', 'late')
      one.renew()
      await assert.rejects(unanswered, (error: Error) => error.name !== 'ReplyError')
      await seen.until('restored', 2)
      await one.ping()
    })
  })
}
