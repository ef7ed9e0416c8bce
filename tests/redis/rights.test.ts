/**
 * The rights that the documentation gives to users of Redis: each role can do its work with them, and nothing else.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { redis } from '@elysia-microservices/redis'
import {
  collected,
  isMissing,
  Log,
  PATIENCE,
  RedisServerProcess,
  redisMissing,
  until
} from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { Redis } from 'ioredis'
import { makeAllCalls, startOrders } from '../engines/all-calls.ts'
import { testsFolder } from '../workspace.ts'

interface Role {
  readonly user: string
  readonly rules: readonly string[]
}

/** The users in docs/redis.md; the password of each is its name. */
function readRoles(): readonly Role[] {
  const page = readFileSync(join(testsFolder, '../docs/redis.md'), 'utf8')
  const part = /<!-- rights -->([\s\S]*)<!-- \/rights -->/.exec(page)?.[1] ?? ''
  return [...part.matchAll(/^user (\S+) on >\S+ (.*)$/gm)].map(([, user = '', rest = '']) => ({
    user,
    rules: ['on', `>${user}`, ...(rest.match(/\([^)]*\)|\S+/g) ?? [])]
  }))
}

const ROLES = readRoles()
const STORE = '_elysia:{events}:'

/** Commands that only the named users may run; without names: commands that no user may run. */
const ONLY: readonly (readonly [users: readonly string[], ...command: string[]])[] = [
  [[], 'PSUBSCRIBE', '*'],
  [[], 'PSUBSCRIBE', '_elysia:i:*'],
  [[], 'SUBSCRIBE', '_elysia:i:abcdefghijkl'],
  [[], 'FLUSHALL'],
  [[], 'CONFIG', 'GET', '*'],
  [[], 'KEYS', '*'],
  [[], 'DEL', `${STORE}s:payments.settled`],
  [[], 'DEL', `${STORE}groups`],
  [[], 'DEL', `${STORE}d:ledger`],
  [['operator'], 'XRANGE', `${STORE}s:payments.settled`, '-', '+'],
  [[], 'XADD', `${STORE}s:payments.other`, '*', 'a', 'b'],
  [[], 'XADD', `${STORE}d:other`, '*', 'a', 'b'],
  [[], 'PUBLISH', 'payments.other', ''],
  [['orders'], 'SUBSCRIBE', '_elysia:i:orders:abcdefghijkl'],
  [['web'], 'SUBSCRIBE', '_elysia:i:web:abcdefghijkl'],
  [['ledger'], 'SUBSCRIBE', '_elysia:i:ledger:abcdefghijkl'],
  [['orders'], 'SUBSCRIBE', '_elysia:s:m:orders:abcdefghijkl:orders.total'],
  [['web'], 'PUBLISH', '_elysia:s:m:orders:abcdefghijkl:orders.total', ''],
  [['web'], 'PUBLISH', 'orders.total', ''],
  [['orders', 'ledger'], 'PUBLISH', '_elysia:i:web:abcdefghijkl', ''],
  [['till', 'ledger'], 'XADD', `${STORE}s:payments.settled`, '*', 'a', 'b'],
  [['till', 'ledger', 'operator'], 'ZREM', `${STORE}f:payments.settled`, 'a'],
  [[], 'ZREM', `${STORE}f:payments.other`, 'a'],
  [['till'], 'PUBLISH', 'payments.settled', ''],
  [['ledger'], 'XADD', `${STORE}d:ledger`, '*', 'a', 'b'],
  [['operator'], 'XRANGE', `${STORE}d:ledger`, '-', '+'],
  [['operator'], 'XADD', `${STORE}a:ledger payments.settled`, '*', 'a', 'b'],
  [['operator'], 'SET', `${STORE}p:ledger`, '1']
]

if (!isMissing('rights over Redis', redisMissing())) {
  describe('users of Redis with the rights of the documentation', { timeout: 4 * PATIENCE }, () => {
    const log = new Log()
    const { logger } = log
    const cleanUps: (() => Promise<unknown>)[] = []
    let server: RedisServerProcess
    let all: Redis

    before(async () => {
      server = await RedisServerProcess.start()
      all = new Redis(server.url)
      for (const { user, rules } of ROLES) await all.acl('SETUSER', user, ...rules)
      await all.acl('SETUSER', 'default', 'off')
    })
    after(async () => {
      all.disconnect()
      await server.stop()
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      log.clear()
    })

    const transportOf = (user: string) => {
      const durable = { ackWait: 1_000 }
      return redis({ url: server.url, username: user, password: user, inboxPrefix: user, durable })
    }
    function clientOf(user: string) {
      const client = connect({ transport: transportOf(user), logger })
      cleanUps.push(() => client.close())
      return client
    }

    it('are those of the documentation', () => {
      const users = ROLES.map(({ user }) => user)
      assert.deepEqual(users, ['orders', 'web', 'till', 'ledger', 'operator'])
    })

    it('let a service and its caller do all kinds of calls', async () => {
      const orders = await startOrders(transportOf('orders'), logger)
      cleanUps.push(() => orders.stop())
      const web = clientOf('web')
      await makeAllCalls(web)
      assert.deepEqual(log.lines, [])
      await assert.rejects(
        web.request('payments.total', 1),
        /does not let this client publish to 'payments.total'/
      )
    })

    for (const ordered of [false, true])
      it(`allow publishing and handling events${ordered ? ' in order' : ''}, pausing groups, storing, listing and redriving dead letters, and events that wait`, async () => {
        await all.del(`${STORE}groups`, `${STORE}s:payments.settled`, `${STORE}d:ledger`)
        const handled: unknown[] = []
        let fails = true
        const ledger = microservice({ name: 'ledger', transport: transportOf('ledger'), logger }).event(
          'payments.settled',
          ({ data }: Message<unknown>) => {
            handled.push(data)
            if (fails) throw new Error('not now')
          },
          { durable: { retry: { attempts: 2, minDelay: 10 }, ordered } }
        )
        await ledger.listen()
        cleanUps.push(() => ledger.stop())
        const operator = clientOf('operator')
        const till = clientOf('till')
        await till.publish('payments.settled', { order: 7 }, { id: `seven ${ordered}`, key: 'k' })
        const letters = operator.group('ledger').deadLetters
        const dead = () => collected(letters.list())
        await until('the event is dead', async () => (await dead()).length === 1)
        fails = false
        await operator.group('ledger').pause()
        assert.deepEqual(await collected(operator.group('ledger').backlog()), [])
        await operator.group('ledger').resume()
        assert.equal(await letters.redrive((await dead())[0]?.position as string), true)
        await until('it is handled again', () => handled.length === 3)
        assert.deepEqual(await dead(), [])
        for (const id of ['now', 'never', 'soon'])
          await till.publish('payments.settled', id, {
            id: `${id} ${ordered}`,
            delay: id === 'soon' ? 50 : 3_600_000
          })
        await until('the first has come', () => handled.includes('soon'))
        const waiting = await collected(operator.waiting())
        assert.deepEqual(waiting.map(({ data }) => data).toSorted(), ['never', 'now'])
        assert.equal(await operator.cancel('payments.settled', `never ${ordered}`), true)
        assert.equal(await operator.fire('payments.settled', `now ${ordered}`), true)
        await until('the other one has come', () => handled.includes('now'))
        assert.deepEqual(await collected(operator.waiting()), [])
        await ledger.stop()
        assert.ok(
          log.lines.every((line) => !line.includes('NOPERM') && !line.includes('does not let')),
          log.lines.join('\n')
        )
      })

    for (const { user } of ROLES)
      it(`keep '${user}' from everything else`, async () => {
        for (const [users, command, ...args] of ONLY) {
          const driver = new Redis(server.url, { username: user, password: user, lazyConnect: true })
          await driver.connect()
          const refused = await driver.call(command as string, ...args).then(
            () => false,
            (error: Error) => error.message.startsWith('NOPERM')
          )
          driver.disconnect()
          assert.equal(refused, !users.includes(user), `${user}: ${command} ${args.join(' ')}`)
        }
      })
  })
}
