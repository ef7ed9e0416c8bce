import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { METHODS, parseRouteKey } from './route-key.ts'

describe('the key of a route', () => {
  for (const [key, path, params] of [
    ['GET /', '/', []],
    ['GET /users', '/users', []],
    ['GET /users/', '/users/', []],
    ['GET /users/:id', '/users/:id', ['id']],
    ['DELETE /users/:id/posts/:post_2', '/users/:id/posts/:post_2', ['id', 'post_2']],
    ['GET /users/:id?', '/users/:id?', ['id']],
    ['GET /files/*', '/files/*', ['*']],
    ['PATCH /v1.0/a-b/ü', '/v1.0/a-b/ü', []]
  ] as const) {
    it(`may be '${key}'`, () => {
      const [method] = key.split(' ')
      assert.deepEqual(parseRouteKey(key), { method, path, params })
    })
  }

  for (const key of [
    '',
    'GET',
    'GET ',
    '/users',
    ' /users',
    'get /users',
    'FETCH /users',
    'GET users',
    'GET  /users',
    'GET /users ',
    'GET /users x',
    'GET /a\tb',
    'GET //',
    'GET /a//b',
    'GET /users?page=1',
    'GET /users#top',
    'GET /:',
    'GET /:1',
    'GET /:a-b',
    'GET /a:b',
    'GET /:id/:id',
    'GET /:id?/posts',
    'GET /*/a',
    'GET /a*',
    'GET /**'
  ]) {
    it(`may not be '${key}'`, () => {
      assert.throws(() => parseRouteKey(key), { name: 'OptionError', path: `routes['${key}']` })
    })
  }

  it('is read as it was written, whatever its segments', () => {
    const name = fc.stringMatching(/^[A-Za-z_]\w{0,8}$/)
    const text = fc.stringMatching(/^[^\s:*?#/]{1,8}$/)
    const segments = fc.uniqueArray(
      fc.oneof(
        name.map((param) => `:${param}`),
        text
      ),
      { maxLength: 6 }
    )
    const last = fc.constantFrom('', '/', '/*')
    fc.assert(
      fc.property(fc.constantFrom(...METHODS), segments, last, (method, parts, end) => {
        const path = parts.map((part) => `/${part}`).join('') + end || '/'
        const params = [...parts.filter((part) => part.startsWith(':')).map((part) => part.slice(1))]
        if (end === '/*') params.push('*')
        assert.deepEqual(parseRouteKey(`${method} ${path}`), { method, path, params })
      })
    )
  })

  it('is refused or is made of exactly what it says, for any text', () => {
    const parts = fc.constantFrom('GET', ' ', '/', ':', 'a', '?', '*', '#', 'POST', '\n')
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(parts).map((all) => all.join(''))
        ),
        (key) => {
          let parsed: ReturnType<typeof parseRouteKey>
          try {
            parsed = parseRouteKey(key)
          } catch (error) {
            assert.equal((error as Error).name, 'OptionError')
            return
          }
          assert.equal(`${parsed.method} ${parsed.path}`, key)
        }
      )
    )
  })
})
