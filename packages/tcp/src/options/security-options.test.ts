import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authority, service } from '../testing/certificates.ts'
import { newClient, newServer } from '../testing/ends.ts'
import { RecordingLogger } from '../testing/service.ts'
import type { TcpClientOptions } from './client-options.ts'
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
