import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import { type KafkaOptions, kafkaOptions } from './options.ts'

describe('the options of kafka()', () => {
  it('have defaults', () => {
    const { brokers, where, partitions, replicas, advertised, events } = kafkaOptions({})
    assert.deepEqual(brokers, [{ host: 'localhost', port: 9092 }])
    assert.deepEqual(
      [where, partitions, replicas, advertised, events],
      ['localhost:9092', 4, -1, true, 'one-process']
    )
    assert.deepEqual(kafkaOptions({ url: ['kafka://[::1]:1'] }).brokers, [{ host: '::1', port: 1 }])
  })

  it('are refused with what is wrong', () => {
    const wrong: readonly (readonly [string, unknown])[] = [
      ['url', 'localhost'],
      ['url', []],
      ['brokers', 5],
      ['brokers', ['localhost']],
      ['brokers', ['user@localhost:1']],
      ['brokers', ['localhost:99999']],
      ['events', 'some'],
      ['partitions', 0],
      ['partitions', 1.5],
      ['replicas', -1],
      ['inboxPrefix', 'a b'],
      ['replyTo', ['a b']],
      ['advertised', 1],
      ['start', 'old'],
      ['createPartitioner', 'LegacyPartitioner'],
      ['connectTimeout', 1],
      ['clientName', ''],
      ['group', '\n'],
      ['tls', { unknown: 1 }],
      ['sasl', { mechanism: 'PLAN' }],
      ['sasl', { mechanism: 'PLAIN', username: 'a' }],
      ['sasl', { mechanism: 'OAUTHBEARER' }],
      ['unknown', 1]
    ]
    for (const [option, value] of wrong)
      assert.throws(
        () => kafkaOptions({ [option]: value } as KafkaOptions),
        (error: Error) => error instanceof OptionError && error.message.includes(`options.${option}`),
        option
      )
  })

  it('say what other libraries have by another name', () => {
    assert.deepEqual(kafkaOptions({ brokers: 'a:1' }).brokers, [{ host: 'a', port: 1 }])
    for (const [given, message] of [
      [{ url: 'a:1', brokers: ['a:1'] }, /options\.brokers is another name of options\.url/],
      [{ clientId: 'a' }, /did you mean options\.clientName/],
      [{ replyTopics: ['a'] }, /did you mean options\.replyTo/]
    ] as const)
      assert.throws(() => kafkaOptions(given as KafkaOptions), message)
  })

  it('call TLS `tls`, although `ssl` looks more like `sasl`', () => {
    assert.throws(
      () => kafkaOptions({ ssl: true } as KafkaOptions),
      /options\.ssl is not an option; give options\.tls: true, or certificates/
    )
  })

  it('keep passwords out of errors', () => {
    const sasl = { mechanism: 'PLAIN', username: '', password: 'secret' } as const
    assert.throws(
      () => kafkaOptions({ sasl }),
      (error: Error) => !error.message.includes('secret')
    )
  })
})
