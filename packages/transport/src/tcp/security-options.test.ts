import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authority, service } from '../testing/certificates.ts'
import { TcpClient } from './client.ts'
import type { TcpClientOptions } from './options.ts'
import { TcpServer } from './server.ts'
import type { TcpServerOptions } from './server-options.ts'

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
      assert.throws(() => new TcpServer(options as TcpServerOptions), { name: 'ValidationError', path })
    })
  for (const [options, path] of [...BOTH, ...CLIENT])
    it(`are checked: a client's ${path}`, () => {
      assert.throws(() => new TcpClient(options as TcpClientOptions), { name: 'ValidationError', path })
    })

  it('are taken as they are meant', () => {
    new TcpServer({ tls: { ...service, ca: authority, crl: undefined, requestCert: true } })
    new TcpServer({ tls: () => service, allow: ['::1'] })
    for (const tls of [true, false, {}, { ca: authority }]) new TcpClient({ tls })
  })

  it('never show a key', () => {
    const tls = { ...service, ca: 'x' }
    assert.throws(
      () => new TcpServer({ tls }),
      (error: Error) => !JSON.stringify({ ...error, message: error.message }).includes('PRIVATE KEY')
    )
  })
})
