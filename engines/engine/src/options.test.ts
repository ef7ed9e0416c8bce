import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ANY_CHARACTER } from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { checkWindow, readAddress } from './options.ts'

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
