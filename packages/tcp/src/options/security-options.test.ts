import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RecordingLogger } from '@elysia-microservices/rsocket/testing'
import { authority, service } from '../testing/certificates.ts'
import { newClient, newServer } from '../testing/ends.ts'
import type { TcpClientOptions } from './client-options.ts'
import { clientTls, serverTls } from './security-options.ts'
import type { TcpServerOptions } from './server-options.ts'

const logger = new RecordingLogger()

const BOTH: [object, string][] = [
  [{ path: '' }, 'options.path'],
  [{ path: '\0abstract' }, 'options.path'],
  [{ path: `/${'x'.repeat(110)}` }, 'options.path'],
  [{ tls: null }, 'options.tls'],
  [{ tls: 'yes' }, 'options.tls'],
  [{ tls: { ...service, pfx: 'x' } }, 'options.tls.pfx'],
  [{ tls: { ...service, minVersion: 'TLSv1.1' } }, 'options.tls.minVersion'],
  [{ tls: { ...service, maxVersion: 'TLSv1' } }, 'options.tls.maxVersion'],
  [{ tls: { ...service, minVersion: 'TLSv1.3', maxVersion: 'TLSv1.2' } }, 'options.tls.maxVersion'],
  [{ tls: { cert: service.cert } }, 'options.tls.key'],
  [{ tls: { key: service.key } }, 'options.tls.cert'],
  [{ tls: { cert: 'service.pem', key: service.key } }, 'options.tls.cert'],
  [{ tls: { ...service, ca: [] } }, 'options.tls.ca'],
  [{ tls: { ...service, ca: ['ca.pem'] } }, 'options.tls.ca'],
  [{ tls: { ...service, crl: 7 } }, 'options.tls.crl']
]
const SERVER: [object, string][] = [
  [{ tls: true }, 'options.tls'],
  [{ tls: {} }, 'options.tls.cert'],
  [{ tls: { ...service, requestCert: true } }, 'options.tls.ca'],
  [{ tls: { ...service, servername: 'a' } }, 'options.tls.servername'],
  [{ allow: [] }, 'options.allow'],
  [{ allow: '10.0.0.1' }, 'options.allow'],
  [{ allow: ['10.0.0.1', 'x'] }, 'options.allow[1]'],
  [{ allow: ['10.0.0.1'], path: '/tmp/x.sock' }, 'options.allow']
]
const CLIENT: [object, string][] = [
  [{ tls: { requestCert: true } }, 'options.tls.requestCert'],
  [{ tls: { servername: '' } }, 'options.tls.servername']
]

describe('options of security', () => {
  for (const [options, path] of [...BOTH, ...SERVER])
    it(`are checked: a server's ${path}`, () => {
      assert.throws(() => newServer(options as TcpServerOptions, logger), { name: 'OptionError', path })
    })
  for (const [options, path] of [...BOTH, ...CLIENT])
    it(`are checked: a client's ${path}`, () => {
      assert.throws(() => newClient(options as TcpClientOptions, logger), { name: 'OptionError', path })
    })

  it('are taken as they are meant', () => {
    newServer({ tls: { ...service, ca: authority, crl: undefined, requestCert: true } }, logger)
    newServer({ tls: () => service, allow: ['::1'] }, logger)
    for (const tls of [true, false, {}, { ca: authority }]) newClient({ tls }, logger)
  })

  it('never show a key', () => {
    const tls = { ...service, ca: 'x' }
    assert.throws(
      () => newServer({ tls }, logger),
      (error: Error) => !JSON.stringify({ ...error, message: error.message }).includes('PRIVATE KEY')
    )
  })
})

describe('options of TLS that a function gives', () => {
  it('are those of the moment, at once or later', async () => {
    let asked = 0
    const certificates = () => ({ ...service, passphrase: String(++asked) })
    assert.deepEqual(await serverTls(certificates), { ...service, passphrase: '1' })
    assert.deepEqual(await serverTls(async () => certificates()), { ...service, passphrase: '2' })
    assert.deepEqual(await clientTls(certificates), { ...service, passphrase: '3' })
    assert.deepEqual(await clientTls(async () => certificates()), { ...service, passphrase: '4' })
  })

  it('are checked as those that stand there', async () => {
    const wrong = { ...service, ciphres: 'x' }
    const expected = { name: 'OptionError', path: 'options.tls.ciphres' }
    await assert.rejects(
      serverTls(() => wrong),
      expected
    )
    await assert.rejects(
      clientTls(() => wrong),
      expected
    )
  })
})

describe('options of TLS that stand there', () => {
  it('are what a client uses: all defaults for `true`, nothing for `false`', async () => {
    assert.deepEqual(await clientTls({ servername: 'a' }), { servername: 'a' })
    assert.deepEqual(await clientTls(true), {})
    assert.equal(await clientTls(false), undefined)
    assert.equal(await clientTls(undefined), undefined)
    assert.equal(await serverTls(service), service)
  })

  it('may be of one version of TLS and those above it, or below it', () => {
    for (const tls of [{ minVersion: 'TLSv1.3' }, { maxVersion: 'TLSv1.2' }] as const)
      newServer({ tls: { ...service, ...tls } }, logger)
    newClient({ tls: { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' } }, logger)
  })

  it('are told to be an object or a function where they are neither', () => {
    for (const tls of [null, 'yes'])
      assert.throws(() => newServer({ tls: tls as never }, logger), { message: /an object or a function/ })
  })

  it('may be bytes, and lists of authorities', async () => {
    const bytes = { cert: Buffer.from(service.cert), key: new TextEncoder().encode(service.key) }
    assert.equal(await serverTls(bytes), bytes)
    for (const ca of [authority, [authority], [authority, Buffer.from(authority)]])
      assert.deepEqual(await clientTls({ ca }), { ca })
  })
})
