import assert from 'node:assert/strict'
import { it } from 'node:test'
import { OptionError } from '@elysia-microservices/transport/kit'
import { type MqttOptions, mqttOptions } from './options.ts'

it('options of an address, a user and TLS are read', () => {
  const { where, servers } = mqttOptions({ url: ['mqtts://a:b%20c@[::1]', 'mqtts://other'] })
  const [{ protocol, port, username, password } = {}] = servers
  assert.deepEqual(
    [where, protocol, port, username, password],
    ['::1:8883, other:8883', 'mqtts', 8883, 'a', 'b c']
  )
  assert.equal(mqttOptions({}).where, 'localhost:1883')
})

it('invalid options are refused by name, and the errors contain no password', () => {
  for (const [options, words] of [
    [{ url: 'nats://localhost' }, /options\.url must be an address such as/],
    [{ url: 'mqtt://localhost/path' }, /options\.url/],
    [{ url: 'secret' }, /options\.url .*no address/],
    [{ group: 'a' }, /it is an option of the service/],
    [{ queue: 'a' }, /give the service the option group/],
    [{ events: 'some' }, /options\.events/],
    [{ replyTo: ['a#'] }, /options\.replyTo/],
    [{ replyTo: 'a' }, /options\.replyTo/],
    [{ inboxPrefix: 'a/b' }, /options\.inboxPrefix/],
    [{ tls: {} }, /mqtts:\/\//],
    [{ url: 'mqtts://x', tls: { port: 1 } }, /options\.tls/],
    [{ password: 'secret' }, /options\.username/],
    [{ username: '\0' }, /options\.username/],
    [{ clientId: 7 }, /options\.clientId/],
    [{ will: { pattern: 'a/+' } }, /a call goes to one/],
    [{ will: { pattern: 'a', delay: -1 } }, /options\.will\.delay/],
    [{ will: { pattern: 'a', retain: 1 } }, /options\.will\.retain/],
    [{ will: 'gone' }, /options\.will/],
    [{ connectTimeout: 1 }, /options\.connectTimeout/],
    [{ heartbeat: 1 }, /options\.heartbeat/],
    [{ urls: [] }, /did you mean options\.url/],
    [{ url: [] }, /options\.url/]
  ] as const)
    assert.throws(
      () => mqttOptions(options as unknown as MqttOptions),
      (error) =>
        error instanceof OptionError && words.test(error.message) && !error.message.includes('secret'),
      JSON.stringify(options)
    )
})
