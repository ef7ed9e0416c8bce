import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import { fromNest as translated } from '@elysia-microservices/transport/nest'
import { fromNest } from '../from-nest.ts'
import { KAFKA_NEST_OPTIONS } from './nest-options.ts'
import { KAFKA_OPTIONS } from './options.ts'

const optionsOf = (given: object) =>
  translated(KAFKA_NEST_OPTIONS, given, Object.keys(KAFKA_OPTIONS)).transport as Readonly<
    Record<string, unknown>
  >

describe('options of NestJS over Kafka', () => {
  it('are those of the transport', () => {
    const createPartitioner = () => () => 0
    const given = {
      client: { brokers: ['a:1'], clientId: 'c', ssl: 'true', connectionTimeout: 5_000 },
      consumer: { groupId: 'g', readUncommitted: true },
      subscribe: { fromBeginning: true },
      producer: { createPartitioner }
    }
    assert.deepEqual(optionsOf(given), {
      ...{ brokers: ['a:1'], clientName: 'c', tls: true, connectTimeout: 5_000 },
      ...{ readUncommitted: true, start: 'all', createPartitioner }
    })
    assert.equal(fromNest(given).group, 'g')
    assert.equal(fromNest({}).group, 'nestjs-group')
  })

  it('may be texts, as of variables of the environment', () => {
    for (const [ssl, tls] of [
      [true, true],
      ['true', true],
      [{ ca: 'x' }, { ca: 'x' }],
      [false, undefined],
      ['false', undefined]
    ] as const)
      assert.deepEqual(optionsOf({ client: { ssl } })['tls'], tls)
    for (const [fromBeginning, start] of [
      [true, 'all'],
      ['true', 'all'],
      [false, 'new'],
      ['false', 'new']
    ] as const)
      assert.equal(optionsOf({ subscribe: { fromBeginning } })['start'], start)
  })

  it('name mechanisms of SASL in lower case, and a token with its name', async () => {
    const sasl = { mechanism: 'scram-sha-256', username: 'u', password: 'p' }
    assert.deepEqual(optionsOf({ client: { sasl } })['sasl'], { ...sasl, mechanism: 'SCRAM-SHA-256' })
    const oauthBearerProvider = async () => ({ value: 'the token' })
    const bearer = optionsOf({ client: { sasl: { mechanism: 'oauthbearer', oauthBearerProvider } } })['sasl']
    const { mechanism, token, ...others } = bearer as { mechanism: string; token(): Promise<string> }
    assert.deepEqual([mechanism, await token(), others], ['OAUTHBEARER', 'the token', {}])
  })

  it('without a counterpart are refused, with what to do', () => {
    for (const [given, message] of [
      [{ client: { brokers: () => ['a:1'] } }, /give the list that the function returns/],
      [{ client: { sasl: { mechanism: 'aws' } } }, /its mechanisms are PLAIN/],
      [{ client: { sasl: { mechanism: 'plain', authenticationProvider() {} } } }, /its mechanisms are PLAIN/],
      [{ client: { socketFactory() {} } }, /the sockets are the driver's own/],
      [{ producer: { transactionalId: 't' } }, /publish from an outbox/],
      [{ parser: { keepBinary: true } }, /encode bytes/]
    ] as const)
      assert.throws(
        () => fromNest(given),
        (error) => error instanceof OptionError && message.test(error.message),
        String(message)
      )
    assert.deepEqual(optionsOf({ parser: { keepBinary: false } }), {})
  })
})
