/**
 * The rights in docs/kafka.md are the smallest set with which everything works: tested with users of a real broker.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { kafka } from '@elysia-microservices/kafka'
import { collected, isMissing, Log, PATIENCE, until } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import kafkajs from 'kafkajs'
import { KafkaServerProcess, kafkaMissing } from '../support/kafka-server.ts'
import { rootFolder, testsFolder } from '../workspace.ts'

/** The rows of the table in the page. */
function rows(): readonly (readonly [user: string, operations: readonly string[], resource: string])[] {
  const page = readFileSync(join(rootFolder, 'docs/kafka.md'), 'utf8')
  const table = page.slice(page.indexOf('<!-- rights -->'), page.indexOf('<!-- /rights -->'))
  return table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => {
      const [, user = '', operations = '', resource = ''] = line.split('|').map((cell) => cell.trim())
      return [user, operations.split(', '), resource] as const
    })
}

// Node cannot import all of these as named exports.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, Kafka, logLevel, ResourcePatternTypes } =
  kafkajs

function entries() {
  return rows().flatMap(([user, operations, resource]) => {
    const names = [...resource.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string)
    assert.ok(names.length > 0, resource)
    return names.flatMap((resourceName) =>
      operations.map((operation) => ({
        resourceType: resource.startsWith('groups') ? AclResourceTypes.GROUP : AclResourceTypes.TOPIC,
        resourceName,
        resourcePatternType: resource.includes('begin with')
          ? ResourcePatternTypes.PREFIXED
          : ResourcePatternTypes.LITERAL,
        principal: `User:${user}`,
        host: '*',
        operation: AclOperationTypes[operation.toUpperCase() as keyof typeof AclOperationTypes],
        permissionType: AclPermissionTypes.ALLOW
      }))
    )
  })
}

if (!isMissing('rights at Kafka', kafkaMissing()))
  describe('at a Kafka broker with users', () => {
    let server: KafkaServerProcess
    let client: UntypedStoringClient
    const cleanUps: (() => Promise<unknown>)[] = []
    const log = new Log()
    let admin: ReturnType<InstanceType<typeof Kafka>['admin']>

    const as = (username: string, password = `secret-of-${username}`) =>
      kafka({
        url: [`127.0.0.1:${server.saslPort}`],
        sasl: { mechanism: 'PLAIN', username, password },
        partitions: 1
      })

    before(async () => {
      server = await KafkaServerProcess.start({
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        // Clients without credentials: the administrator of the tests, and the broker itself.
        'super.users': 'User:ANONYMOUS'
      })
      cleanUps.push(() => server.stop())
      admin = new Kafka({ brokers: [server.broker], logLevel: logLevel.NOTHING }).admin()
      cleanUps.push(() => admin.disconnect())
      await admin.createAcls({ acl: entries() })
      client = connect({ transport: as('caller'), timeout: PATIENCE })
      cleanUps.push(() => client.close())
    })
    after(async () => {
      for (const cleanUp of cleanUps.reverse()) await cleanUp()
    })

    it('calls, streams, events and durable events work with the rights of the page', {
      timeout: PATIENCE
    }, async () => {
      const seen: unknown[] = []
      const service = microservice({ name: 'orders', transport: as('orders'), logger: log.logger })
        .message('orders.total', ({ data }) => data)
        .message('orders.watch', async function* () {
          yield* [1, 2, 3]
        })
        .event('orders.noted', ({ data }) => void seen.push(data))
        .event(
          'orders.placed',
          ({ data, delivery }) => {
            if (delivery?.attempt === 1) throw new Error('again')
            seen.push(data)
          },
          { durable: { retry: { attempts: 2, minDelay: 1 } } }
        )
      await service.listen()
      cleanUps.push(() => service.stop())
      assert.deepEqual(await client.request('orders.total', [1]), [1])
      assert.deepEqual(await collected(client.stream('orders.watch')), [1, 2, 3])
      await client.emit('orders.noted', 'noted')
      await client.publish('orders.placed', 'placed')
      await until('Both have come', () => seen.length === 2)
      assert.deepEqual(seen.sort(), ['noted', 'placed'])
    })

    it('a caller without the right to write gets an error, and others go on', {
      timeout: PATIENCE
    }, async () => {
      await assert.rejects(client.request('stock.count', 1), (error: Error) => {
        assert.equal(error.name, 'ConnectionError')
        assert.match(error.message, /Kafka does not let this client publish to 'stock\.count'; give its user/)
        return true
      })
      assert.deepEqual(await client.request('orders.total', [2]), [2])
    })

    it('a service without rights does not start, and reports the reason', { timeout: PATIENCE }, async () => {
      const service = microservice({ name: 'stock', transport: as('caller'), logger: log.logger })
      await assert.rejects(
        service.message('orders.stock', () => 1).listen(),
        /Kafka .*group 'stock-server'|orders\.stock/
      )
    })

    it('a wrong password is refused, and is in no error', { timeout: PATIENCE }, async () => {
      const wrong = connect({ transport: as('orders', 'guessed') })
      await assert.rejects(wrong.request('orders.total'), (error: Error) => {
        assert.equal(error.name, 'UnauthenticatedError')
        assert.ok(!error.message.includes('guessed'))
        return true
      })
      await wrong.close()
    })

    it('service and client use TLS with certificates', { timeout: PATIENCE }, async () => {
      const read = (file: string) => readFileSync(join(testsFolder, 'fixtures/tls', file))
      const tls = {
        ca: read('authority.pem'),
        cert: read('service.pem'),
        key: read('service.key'),
        servername: 'localhost'
      }
      const brokers = [`127.0.0.1:${server.tlsPort}`]
      const untrusted = connect({
        transport: kafka({ url: brokers, tls: { ...tls, ca: read('service.pem') } })
      })
      await assert.rejects(untrusted.connect(), { name: 'ConnectionError' })
      await untrusted.close()
      // The user of the certificate has no rights: the connection is accepted, but every request is refused.
      const secure = connect({ transport: kafka({ url: brokers, tls }) })
      await assert.rejects(secure.connect(), /_elysia\.(inbox|everyone)/)
      await secure.close()
    })
  })
