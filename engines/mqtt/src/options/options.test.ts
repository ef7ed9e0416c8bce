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

it('a will has its defaults, and may wait for as long as MQTT can count', () => {
  const willOf = (will: MqttOptions['will']) => mqttOptions({ will }).will
  assert.deepEqual(willOf({ pattern: 'a' }), { pattern: 'a', data: undefined, retain: false, delay: 0 })
  const longest = (2 ** 32 - 1) * 1_000
  const will = { pattern: 'a', data: 1, retain: true, delay: longest }
  assert.deepEqual(willOf(will), will)
  assert.throws(() => willOf({ ...will, delay: longest + 1 }), /options\.will\.delay/)
})

it('an empty user or password is none, as from a variable that is not set', () => {
  const userOf = (options: MqttOptions) => {
    const [{ username, password } = {}] = mqttOptions(options).servers
    return [username, password]
  }
  const url = 'mqtt://a:b@host'
  assert.deepEqual(userOf({ url, username: '', password: '' }), ['a', 'b'])
  assert.deepEqual(userOf({ url, username: 'c', password: 'd' }), ['c', 'd'])
  assert.deepEqual(userOf({}), [undefined, undefined])
})

it('texts are as long as MQTT can carry, and prefixes of inboxes as servers allow', () => {
  const isTaken = (options: MqttOptions) => {
    try {
      mqttOptions(options)
      return true
    } catch (error) {
      assert.ok(error instanceof OptionError)
      return false
    }
  }
  const found = [
    { clientId: 'x'.repeat(65_535) },
    { clientId: 'x'.repeat(65_536) },
    { clientId: 'é'.repeat(32_768) },
    { clientId: '' },
    { clientId: '\ud800' },
    { username: 'a', password: '\0' },
    { inboxPrefix: 'x'.repeat(64) },
    { inboxPrefix: 'x'.repeat(65) },
    { inboxPrefix: '' }
  ].map(isTaken)
  assert.deepEqual(found, [true, false, false, false, false, false, true, false, false])
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
    [{ will: {} }, /options\.will\.pattern must be a text/],
    [{ will: { pattern: 7 } }, /options\.will\.pattern must be a text/],
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
