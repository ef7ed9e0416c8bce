/**
 * The rights that the documentation gives to users of mosquitto: each user can do its work with them, and nothing
 * else.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { mqtt } from '@elysia-microservices/mqtt'
import { isMissing, Log, PATIENCE, until } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { connectAsync } from 'mqtt'
import { makeAllCalls, startOrders } from '../engines/all-calls.ts'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { testsFolder } from '../workspace.ts'

const page = readFileSync(join(testsFolder, '../docs/mqtt.md'), 'utf8')
const RIGHTS = /<!-- rights -->\n```text\n([\s\S]*?)```/.exec(page)?.[1] ?? ''

const TOPICS = [
  'orders/total',
  'payments/total',
  '_elysia/t/orders/total',
  '_elysia/t/payments/total',
  '_elysia/everyone',
  '_elysia/i/orders/x',
  '_elysia/i/web/x',
  '_elysia/i/nobody/x'
]

if (!isMissing('rights over MQTT', mosquittoMissing())) {
  describe('users of MQTT with the rights of the documentation', { timeout: PATIENCE }, () => {
    const log = new Log()
    const { logger } = log
    const folder = mkdtempSync(join(tmpdir(), 'rights-'))
    let server: MosquittoProcess
    before(async () => {
      const [passwords, rights] = [join(folder, 'passwords'), join(folder, 'rights')]
      writeFileSync(
        passwords,
        ['orders', 'web', 'nobody', 'everything'].map((user) => `${user}:${user}\n`).join('')
      )
      assert.equal(spawnSync('mosquitto_passwd', ['-U', passwords]).status, 0)
      writeFileSync(rights, `${RIGHTS}\nuser nobody\ntopic read none\n\nuser everything\ntopic readwrite #\n`)
      server = await MosquittoProcess.start([
        'allow_anonymous false',
        `password_file ${passwords}`,
        `acl_file ${rights}`
      ])
    })
    after(async () => {
      await server.stop()
      rmSync(folder, { recursive: true })
    })
    const transportOf = (user: string, password = user) =>
      mqtt({ url: server.url, username: user, password, inboxPrefix: user })

    it('let a service and its caller do all kinds of calls', async () => {
      const orders = await startOrders(transportOf('orders'), logger, '/')
      const web = connect({ transport: transportOf('web'), logger })
      try {
        await makeAllCalls(web, '/')
        assert.deepEqual(log.lines, [])
        await assert.rejects(
          web.request('payments/total', 1),
          /does not let this client publish to 'payments\/total'/
        )
      } finally {
        await web.close()
        await orders.stop()
      }
    })

    it('keep other users from reading answers, and their callers get an error', async () => {
      const spy = await connectAsync(server.url, { protocolVersion: 5, username: 'web', password: 'web' })
      const heard: string[] = []
      spy.on('message', (topic) => void heard.push(topic))
      for (const topic of ['_elysia/i/#', '_elysia/i/orders/#', 'orders/#']) await spy.subscribeAsync(topic)
      const orders = microservice({ name: 'orders', transport: transportOf('orders'), logger }).message(
        'orders/total',
        () => 1
      )
      await orders.listen()
      const other = connect({ transport: transportOf('nobody'), logger })
      await assert.rejects(other.request('orders/total', 1), {
        name: 'ConnectionError',
        message: /does not let this client subscribe to _elysia\/i\/nobody/
      })
      await other.close()
      await spy.endAsync()
      await orders.stop()
      assert.deepEqual(heard, [])
    })

    it('let no user publish or read anything else', async () => {
      const enter = (user: string) =>
        connectAsync(server.url, { protocolVersion: 5, username: user, password: user })
      const everything = await enter('everything')
      const heard = new Set<string>()
      everything.on('message', (_, payload) => void heard.add(payload.toString()))
      await everything.subscribeAsync('#', { qos: 1 })
      const read = new Set<string>()
      for (const user of ['orders', 'web', 'nobody']) {
        const one = await enter(user)
        one.on('message', (topic, payload) => {
          const text = payload.toString()
          if (text === 'for all') read.add(`${user} ${topic}`)
          if (text.startsWith('last')) read.add(text)
        })
        for (const filter of ['#', 'orders/#', '_elysia/#', '_elysia/i/#', '_elysia/i/web/#', '$SYS/#'])
          await one.subscribeAsync(filter, { qos: 1 })
        // The server answers that some are not allowed.
        for (const topic of TOPICS)
          await one.publishAsync(topic, `${user} ${topic}`, { qos: 1 }).catch(() => {})
        for (const topic of TOPICS) await everything.publishAsync(topic, 'for all', { qos: 1 })
        // A connection's messages stay in order: when the last one has come, all others have.
        const own = user === 'nobody' ? 'none' : `_elysia/i/${user}/x`
        await one.subscribeAsync(own, { qos: 1 })
        await everything.publishAsync(own, `last of ${user}`, { qos: 1 })
        await until('All messages have come', () => read.delete(`last of ${user}`))
        await one.endAsync()
      }
      await everything.publishAsync('end', 'end', { qos: 1 })
      await until('All messages have come', () => heard.has('end'))
      await everything.endAsync()
      for (const one of heard) if (/^(end|for all|last)/.test(one)) heard.delete(one)
      assert.deepEqual([...heard].sort(), [
        'orders _elysia/i/nobody/x',
        'orders _elysia/i/orders/x',
        'orders _elysia/i/web/x',
        'web _elysia/everyone',
        'web _elysia/i/orders/x',
        'web _elysia/i/web/x',
        'web _elysia/t/orders/total',
        'web orders/total'
      ])
      assert.deepEqual([...read].sort(), [
        'orders _elysia/everyone',
        'orders _elysia/i/orders/x',
        'orders _elysia/t/orders/total',
        'orders orders/total',
        'web _elysia/i/web/x'
      ])
    })

    it('are given only with the right password', async () => {
      const other = connect({ transport: transportOf('web', 'wrong'), logger })
      await assert.rejects(other.request('orders/total', 1), {
        code: 'UNAUTHENTICATED',
        message: /does not accept the credentials/
      })
      await other.close()
    })
  })
}
