import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER } from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import {
  CONNECT_TIMEOUT,
  checkWindow,
  HEARTBEAT,
  readAddress,
  readUrls,
  refuseForeign,
  STORAGE
} from './options.ts'

const PORTS = { mqtt: 1883, mqtts: 8883 } as const
const read = (url: unknown) => readAddress('options.url', url, PORTS, 'an address')

describe('the address of a server', () => {
  it('has a port by default, and credentials without their escapes', () => {
    assert.deepEqual(read('mqtts://a:b%20c@[::1]/x'), {
      protocol: 'mqtts',
      host: '::1',
      port: 8883,
      username: 'a',
      password: 'b c',
      path: '/x'
    })
    const { host, port, username, password, path } = read('mqtt://h:7/')
    assert.deepEqual([host, port, username, password, path], ['h', 7, undefined, undefined, ''])
  })

  it('is refused without its text, whatever is wrong with it', () => {
    for (const url of [
      'secret',
      'http://secret',
      'mqtt://%zzsecret@h',
      'mqtt://',
      'constructor://h',
      5,
      null,
      {}
    ])
      assert.throws(
        () => read(url),
        (error) =>
          error instanceof OptionError &&
          /^options\.url must be an address, but (is|has|begins with) /.test(error.message) &&
          !error.message.includes('secret'),
        String(url)
      )
  })

  it('that is wrong is refused with the reason, and nothing is quoted that the user has not written', () => {
    for (const [url, why] of [
      ['http://localhost:1', "begins with 'http:'"],
      ['localhost:1883', "begins with 'localhost:'"],
      ['mqtt://', 'has no host'],
      ['local host', 'is no address'],
      ['mqtt://h:99999', 'is no address']
    ])
      assert.throws(() => read(url), { message: `options.url must be an address, but ${why}` })
  })

  it('is an address or refused', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40, unit: ANY_CHARACTER }), (rest) => {
        try {
          assert.ok(read(`mqtt://${rest}`).host.length > 0)
        } catch (error) {
          assert.ok(error instanceof OptionError)
        }
      })
    )
  })
})

it('ids are not kept longer than events, unless these are kept for ever', () => {
  checkWindow('d', { maxAge: false, duplicateWindow: 5 })
  checkWindow('d', { maxAge: 5, duplicateWindow: 5 })
  assert.throws(() => checkWindow('d', { maxAge: 4, duplicateWindow: 5 }), { path: 'd.duplicateWindow' })
})

it('times have a least length, and ages may be without an end or longer than a timer', () => {
  const { maxAge, duplicateWindow, ackWait } = STORAGE
  for (const [{ check }, allowed, refused] of [
    [CONNECT_TIMEOUT, [100], [99, '100']],
    [HEARTBEAT, [100], [99]],
    [duplicateWindow, [100], [99, false]],
    [ackWait, [500], [499]],
    [maxAge, [1, false, 10 ** 12], [0, 1.5, '1', true]]
  ] as const) {
    for (const value of allowed) check('o', value)
    for (const value of refused)
      assert.throws(() => check('o', value), { name: 'OptionError', path: 'o' }, String(value))
  }
})

describe('the addresses of servers', () => {
  it('are given by either name, one or several, or are the default', () => {
    assert.deepEqual(readUrls({ url: 'a' }, 'brokers', 'd'), { path: 'options.url', urls: ['a'] })
    assert.deepEqual(readUrls({ brokers: ['a', 'b'] }, 'brokers', 'd'), {
      path: 'options.brokers',
      urls: ['a', 'b']
    })
    assert.deepEqual(readUrls({}, 'brokers', 'd'), { path: 'options.url', urls: ['d'] })
  })

  it('are refused if both names are given, or there is none in the list', () => {
    assert.throws(() => readUrls({ url: 'a', brokers: 'b' }, 'brokers', 'd'), {
      path: 'options.brokers',
      message: 'options.brokers is another name of options.url: give only one of them'
    })
    assert.throws(() => readUrls({ brokers: [] }, 'brokers', 'd'), { path: 'options.brokers' })
    assert.throws(() => readUrls({ url: [] }, 'brokers', 'd'), { path: 'options.url' })
  })
})

it('options of other libraries are refused with what to do in their place, those of the service only beside ours', () => {
  const others = { name: 'it is another one' }
  assert.throws(() => refuseForeign({ name: 1 }, others), {
    path: 'options.name',
    message: 'options.name is not an option; it is another one'
  })
  assert.throws(
    () => refuseForeign({ queue: 'a' }, others),
    /options\.queue is not an option; give the service/
  )
  refuseForeign({ queue: 'a', toString: 1 }, others, 'options.durable')
  refuseForeign(undefined as unknown as object, others)
  assert.throws(() => refuseForeign({ name: 1 }, others, 'options.durable'), { path: 'options.durable.name' })
})
