import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Access, type AccessOptions } from './access.ts'

interface Asked {
  readonly method?: string
  readonly address?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

async function isRefused(
  { method = 'GET', headers = {}, ...rest }: Asked,
  options: AccessOptions = {}
): Promise<boolean> {
  const address = 'address' in rest ? rest.address : '127.0.0.1'
  // A real `fetch` does not let a program set some of these headers, but a server may receive them.
  const request = { method, headers: new Headers({ host: 'localhost:3000', ...headers }) } as Request
  return (await new Access(options).refusal(request, address)) !== undefined
}

describe('Access', () => {
  it('lets in every user of this machine', async () => {
    for (const address of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])
      assert.equal(await isRefused({ address }), false, address)
    for (const address of [
      undefined,
      '',
      '10.0.0.1',
      '::ffff:10.0.0.1',
      '1127.0.0.1',
      '::10',
      '127.0.0.1.evil'
    ])
      assert.equal(await isRefused({ address }), true, address)
  })

  it('does not take a proxy on this machine for who stands behind it', async () => {
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via', 'x-forwarded-host'])
      assert.equal(await isRefused({ headers: { [name]: '127.0.0.1' } }), true, name)
  })

  it('answers to names of this machine, and those it is given', async () => {
    for (const host of [
      'localhost',
      'localhost:80',
      'a.localhost:1',
      '127.0.0.1:3000',
      '[::1]:3000',
      'LOCALHOST'
    ])
      assert.equal(await isRefused({ headers: { host } }), false, host)
    for (const host of [
      'evil.test',
      'localhost.evil.test:3000',
      '10.0.0.1',
      '',
      'a@localhost',
      'evil.test/localhost'
    ])
      assert.equal(await isRefused({ headers: { host } }), true, host)
    assert.equal(await isRefused({ headers: { host: 'Ops.test:8080' } }, { hosts: ['ops.test'] }), false)
  })

  it('asks a function in place of the address, which must say true', async () => {
    const address = '10.0.0.1'
    assert.equal(await isRefused({ address }, { allow: (_, from) => from === address }), false)
    assert.equal(await isRefused({ address }, { allow: async ({ headers }) => headers.has('x-staff') }), true)
    assert.equal(await isRefused({}, { allow: () => 'yes' as never }), true)
    assert.equal(await isRefused({ headers: { host: 'evil.test' } }, { allow: () => true }), true)
  })

  it('answers no page but its own', async () => {
    const own = 'http://localhost:3000'
    assert.equal(await isRefused({ method: 'POST', headers: { origin: own } }), false)
    assert.equal(await isRefused({ method: 'POST', headers: { origin: 'https://localhost:3000' } }), false)
    assert.equal(
      await isRefused({ method: 'POST', headers: { origin: 'http://localhost', host: 'localhost:80' } }),
      false
    )
    for (const origin of ['http://localhost:3001', 'http://evil.test', 'null', 'ftp://localhost:3000'])
      assert.equal(await isRefused({ method: 'POST', headers: { origin } }), true, origin)
    assert.equal(await isRefused({ method: 'POST' }), true)
    assert.equal(await isRefused({ headers: { origin: 'http://evil.test' } }), true)
    assert.equal(
      await isRefused({ headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' } }),
      true
    )
    assert.equal(
      await isRefused({ headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } }),
      false
    )
  })

  it('refuses options that are none', () => {
    for (const hosts of ['a', ['a:80'], ['http://a'], [1], ['']])
      assert.throws(() => new Access({ hosts: hosts as never }), { path: 'options.hosts' })
    assert.throws(() => new Access({ allow: true as never }), { path: 'options.allow' })
  })
})
