/** Tests the options of RSocket, including wrong types that JavaScript allows. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { credentialsOption } from './rsocket-options.ts'

describe('credentials', () => {
  for (const credentials of [
    { type: 'bearer', token: 'x' },
    { type: 'simple', username: 'a', password: '' },
    { type: 'other', name: 'x.custom', payload: new Uint8Array([1]) }
  ]) {
    it(`may be of the type ${credentials.type}`, () => {
      assert.deepEqual(credentialsOption(credentials as never), credentials)
    })
  }

  it('may come from a function, whose answers are checked when it is asked', async () => {
    let given: unknown = { type: 'bearer', token: 'x' }
    const credentials = credentialsOption(() => given as never)
    assert.ok(typeof credentials === 'function')
    assert.deepEqual(await credentials(), given)
    given = undefined
    assert.equal(await credentials(), undefined)
    given = { type: 'bearer' }
    await assert.rejects(async () => credentials(), { path: 'options.credentials.token' })
  })

  for (const [credentials, path] of [
    [null, ''],
    ['secret', ''],
    [{ token: 'secret' }, ''],
    [{ type: 'toString', token: 'secret' }, ''],
    [{ type: 'bearer' }, '.token'],
    [{ type: 'bearer', token: 5 }, '.token'],
    [{ type: 'simple', username: 'a' }, '.password'],
    [{ type: 'other', name: 'größe', payload: new Uint8Array() }, '.name'],
    [{ type: 'other', name: 'x'.repeat(128), payload: new Uint8Array() }, '.name'],
    [{ type: 'other', name: 'x', payload: 'secret' }, '.payload']
  ] as const) {
    it(`are not ${JSON.stringify(credentials)?.slice(0, 60)}`, () => {
      assert.throws(
        () => credentialsOption(credentials as never),
        (error: Error & { path?: string }) => {
          assert.equal(error.name, 'OptionError')
          assert.equal(error.path, `options.credentials${path}`)
          assert.doesNotMatch(error.message, /secret/)
          return true
        }
      )
    })
  }
})
