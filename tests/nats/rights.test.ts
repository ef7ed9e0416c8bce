/** The rights that the documentation gives to users of NATS: each role can do its work with them, and nothing else. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, Link, Log, PATIENCE, until, within } from '@elysia-microservices/test-support'
import { connect as connectDriver, errors, headers, type NatsConnection } from '@nats-io/transport-node'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { makeAllCalls, startOrders } from '../engines/all-calls.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { testsFolder } from '../workspace.ts'

interface Role {
  readonly user: string
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/** The roles in a table of docs/nats.md. */
function readRoles(table: string): readonly Role[] {
  const page = readFileSync(join(testsFolder, '../docs/nats.md'), 'utf8')
  const [, found = ''] = page.split(new RegExp(`<!-- /?${table} -->`))
  const rows = found.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => {
    const [user, publish, subscribe] = row
      .slice(1, -1)
      .split('|')
      .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string))
    return { user: user?.[0] as string, publish: publish as string[], subscribe: subscribe as string[] }
  })
}

const ROLES = readRoles('rights')
/** Users whose events wait for their time have more rights. */
const LATER = readRoles('rights of later').map(({ user, publish, subscribe }): Role => {
  const { publish: also, subscribe: too } = ROLES.find((role) => role.user === user) as Role
  return { user: `${user}-later`, publish: [...also, ...publish], subscribe: [...too, ...subscribe] }
})

/** Subjects to which no user may publish, whatever its role. */
const PUBLISH_NEVER = [
  '$JS.API.STREAM.DELETE.payments_settled',
  '$JS.API.STREAM.PURGE.payments_settled',
  '$JS.API.STREAM.UPDATE.payments_settled',
  '$JS.API.STREAM.CREATE.mine',
  '$JS.API.CONSUMER.DELETE.payments_settled.ledger_payments_settled',
  '$JS.API.CONSUMER.CREATE.payments_settled.mine.payments.settled',
  '$SRV.PING',
  'payments.other',
  '_INBOX.till.store.guessed.1',
  '_INBOX.ledger.store.guessed.1',
  '_INBOX.orders.store.guessed.1',
  '_INBOX.operator.guessed.1'
]
/** Subjects to which only the named roles may publish. */
const PUBLISH_ONLY: Readonly<Record<string, readonly string[]>> = {
  'payments.settled': ['till'],
  'orders.total': ['web'],
  '_ELYSIA.TOGETHER.orders.total': ['web'],
  '_ELYSIA.AGAIN.ledger_payments_settled': ['operator'],
  '_ELYSIA.DEAD.ledger.ledger_payments_settled': ['ledger'],
  '_ELYSIA.DEAD.other.other_payments_settled': [],
  '$JS.ACK.payments_settled.ledger_payments_settled.1.1.1.1.0': ['ledger'],
  '$JS.API.STREAM.MSG.GET.payments_settled': [],
  '$JS.API.STREAM.MSG.DELETE.payments_settled': [],
  '_INBOX.web.calls.guessed.1': ['orders', 'ledger'],
  '_INBOX.web.guessed.1': []
}
const SUBSCRIBE_NEVER = ['>', '_INBOX.>', '_INBOX.*.calls.>', 'payments.settled', '_ELYSIA.>', '$JS.>', '*.>']

if (!isMissing('rights over NATS', natsMissing())) {
  describe('users of NATS with the rights of the documentation', { timeout: 4 * PATIENCE }, () => {
    const log = new Log()
    const { logger } = log
    const cleanUps: (() => Promise<unknown>)[] = []
    let folder: string
    let server: NatsServerProcess

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'nats-rights-'))
      const users = [...ROLES, ...LATER].map(({ user, publish, subscribe }) =>
        JSON.stringify({ user, password: user, permissions: { publish, subscribe } })
      )
      const all = JSON.stringify({ user: 'all', password: 'all' })
      const file = join(folder, 'server.conf')
      writeFileSync(file, `authorization { users: [ ${[...users, all].join(', ')} ] }`)
      server = await NatsServerProcess.start('-js', '-sd', folder, '-c', file)
    })
    after(async () => {
      await server.stop()
      await rm(folder, { recursive: true })
    })
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      log.clear()
    })

    const transportOf = (user: string, url = server.url) =>
      nats({
        url,
        username: user,
        password: user,
        inboxPrefix: user.replace('-later', ''),
        durable: { ackWait: 1_000 }
      })
    function clientOf(user: string) {
      const client = connect({ transport: transportOf(user), logger })
      cleanUps.push(() => client.close())
      return client
    }
    async function driverOf(user: string): Promise<NatsConnection> {
      const inboxPrefix = user === 'all' ? '_INBOX' : `_INBOX.${user}`
      const driver = await connectDriver({ port: server.port, user, pass: user, inboxPrefix })
      cleanUps.push(() => driver.close())
      return driver
    }
    async function startLedger(handle: (data: unknown) => void, servers = server.url, user = 'ledger') {
      const ledger = microservice({
        name: 'ledger',
        transport: transportOf(user, servers),
        logger
      }).event('payments.settled', ({ data }: Message<unknown>) => handle(data), {
        durable: { retry: { attempts: 1 } }
      })
      await ledger.listen()
      cleanUps.push(() => ledger.stop())
    }

    it('are those of the table', () => {
      assert.deepEqual(
        ROLES.map(({ user }) => user),
        ['orders', 'web', 'till', 'ledger', 'operator']
      )
    })

    it('let a service and its caller do all kinds of calls', async () => {
      const orders = await startOrders(transportOf('orders'), logger)
      cleanUps.push(() => orders.stop())
      await makeAllCalls(clientOf('web'))
      assert.deepEqual(log.lines, [])
    })

    it('do not let a user publish an event who may only handle it: `publish` says so at once, others go on', async () => {
      await startLedger(() => {})
      const till = clientOf('till')
      await till.publish('payments.settled', 1)
      const failed = clientOf('ledger').publish('payments.settled', 2, { timeout: false })
      await assert.rejects(failed, {
        name: 'ConnectionError',
        mayHaveRun: false,
        message: "NATS does not let this client publish to 'payments.settled'; give its user the permission"
      })
      await till.publish('payments.settled', 3)
    })

    it('allow publishing, handling and failing events, and listing and redriving dead letters', async () => {
      const handled: unknown[] = []
      let fails = true
      await startLedger((data) => {
        handled.push(data)
        if (fails) throw new Error('not now')
      })
      const till = clientOf('till')
      await till.publish('payments.settled', { order: 7 }, { id: 'seven' })
      const letters = clientOf('operator').group('ledger').deadLetters
      const dead = async () => {
        const all = []
        for await (const letter of letters.list()) all.push(letter)
        return all
      }
      await until('the event is dead', async () => (await dead()).length === 1)
      const [letter] = await dead()
      assert.deepEqual([letter?.id, letter?.data], ['seven', { order: 7 }])
      fails = false
      assert.equal(await letters.redrive(letter?.position as string), true)
      await until('it is handled again', () => handled.length === 2)
      assert.deepEqual(await dead(), [])
      assert.ok(
        log.lines.every((line) => !line.includes('permission')),
        log.lines.join('\n')
      )
    })

    it('of later allow planning, listing, cancelling and firing events, and to store those that come', async () => {
      const handled: unknown[] = []
      await startLedger((data) => handled.push(data), server.url, 'ledger-later')
      const till = clientOf('till-later')
      const publish = (n: number, delay: number) =>
        till.publish('payments.settled', n, { id: `later-${n}`, delay })
      for (const n of [1, 2]) await publish(n, 3_600_000)
      await publish(3, 500)
      const waiting: string[] = []
      for await (const { id } of till.waiting({ pattern: 'payments.settled' })) waiting.push(id)
      assert.deepEqual(waiting.slice(-2), ['later-1', 'later-2'])
      assert.equal(await till.cancel('payments.settled', 'later-1'), true)
      assert.equal(await till.fire('payments.settled', 'later-2'), true)
      await until('both have come', () => handled.length === 2)
      assert.ok(
        log.lines.every((line) => !line.includes('permission')),
        log.lines.join('\n')
      )
    })

    it('without those of later leave events that have come where they are, and say which right is missing', async () => {
      const handled: unknown[] = []
      const till = clientOf('till-later')
      await till.publish('payments.settled', 4, { delay: 500 })
      await until('it has come', async () => {
        for await (const _ of till.waiting({ pattern: 'payments.settled' })) return false
        return true
      })
      await startLedger((data) => handled.push(data))
      await log.has('whose time has come are not stored yet')
      assert.match(log.lines.join('\n'), /elysia-later/)
      await startLedger((data) => handled.push(data), server.url, 'ledger-later')
      await until('it is handled', () => handled.includes(4))
    })

    it('let a service say which further rights it needs to miss no event after its consumer was deleted', async () => {
      const handled: unknown[] = []
      const link = await Link.start(server.port)
      cleanUps.push(() => link.stop())
      await startLedger((data) => handled.push(data), `nats://127.0.0.1:${link.port}`)
      link.hold()
      const all = await driverOf('all')
      await all.request('$JS.API.CONSUMER.DELETE.payments_settled.ledger_payments_settled')
      const till = clientOf('till')
      await till.publish('payments.settled', 1)
      await startLedger((data) => handled.push(data))
      link.release()
      await log.has('may have missed')
      await till.publish('payments.settled', 2)
      await until('it is handled', () => handled.includes(2))
      assert.ok(
        log.lines.some((line) =>
          line.includes('$JS.API.STREAM.MSG.GET.payments_settled and $JS.API.CONSUMER.')
        )
      )
    })

    it('do not allow forged dead letters', async () => {
      await startLedger(() => {})
      const driver = await driverOf('ledger')
      const poisoned = headers()
      for (const name of ['Reason', 'Key', 'Id', 'Subject', 'Position', 'Published-At', 'Attempts'])
        poisoned.set(`Elysia-${name}`, '%E0%A4%A')
      driver.publish('_ELYSIA.DEAD.ledger.ledger_payments_settled', '{', { headers: poisoned })
      driver.publish('_ELYSIA.DEAD.ledger.x', '')
      await driver.flush()
      const letters = clientOf('operator').group('ledger').deadLetters
      const reasons: string[] = []
      for await (const { reason, position } of letters.list()) {
        reasons.push(reason)
        await letters.discard(position)
      }
      assert.deepEqual(reasons, ['%E0%A4%A', ''])
    })

    it('do not let a caller delete a stream in the name of a service', async () => {
      await startLedger(() => {})
      const orders = await startOrders(transportOf('orders'), logger)
      cleanUps.push(() => orders.stop())
      const web = await driverOf('web')
      for (const subject of [
        'orders.nothing',
        'orders.same',
        '_ELYSIA.TOGETHER.orders.nothing',
        '_ELYSIA.CALLS'
      ])
        for (const reply of ['$JS.API.STREAM.DELETE.payments_settled', 'payments.settled', '_ELYSIA.AGAIN.x'])
          web.publish(subject, '1', { reply })
      await web.flush()
      await until('they are refused', () => Number(orders.stats()[0]?.refused) >= 6)
      const all = await driverOf('all')
      const info = await all.request('$JS.API.STREAM.INFO.payments_settled')
      assert.match(info.string(), /"name":"payments_settled"/)
    })

    for (const { user } of ROLES)
      it(`keep '${user}' from everything else`, async () => {
        const driver = await driverOf(user)
        const refused = new Set<string>()
        void (async () => {
          for await (const status of driver.status())
            if (status.type === 'error' && status.error instanceof errors.PermissionViolationError)
              refused.add(`${status.error.operation} ${status.error.subject}`)
        })()
        const own = new Set(Object.keys(PUBLISH_ONLY).filter((one) => PUBLISH_ONLY[one]?.includes(user)))
        const never = [...PUBLISH_NEVER, ...Object.keys(PUBLISH_ONLY).filter((one) => !own.has(one))]
        const others = ROLES.map((one) => `_INBOX.${one.user}.>`).filter((one) => !one.includes(`.${user}.`))
        for (const subject of never) driver.publish(subject, '')
        for (const subject of [...SUBSCRIBE_NEVER, ...others]) driver.subscribe(subject, { callback() {} })
        const expected = [
          ...never.map((one) => `publish ${one}`),
          ...[...SUBSCRIBE_NEVER, ...others].map((one) => `subscription ${one}`)
        ]
        await within(driver.flush(), 'flush')
        await until('all is refused', () => expected.every((one) => refused.has(one))).catch(() => {})
        assert.deepEqual(
          expected.filter((one) => !refused.has(one)),
          []
        )
      })
  })
}
