/** Tests the error of a client whose server has ended the handshake, made of the errors of Node and Bun. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientTlsFailureOf, closedByServer, TlsFailure } from './tls-failure.ts'

/** Error codes that Node 20 and Bun 1.4.5 report with servers of Node, Bun and OpenSSL. */
const REQUIRED = ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'ERR_SSL_TLSV1_ALERT_CERTIFICATE_REQUIRED']
const REFUSED = ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED']
const HANDSHAKE = 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE'

function failureOf(code: string, certificate: boolean, cipherChosen = true): TlsFailure {
  const cause = Object.assign(new Error('told by the runtime'), { code })
  const failure = clientTlsFailureOf(cause, { certificate, cipherChosen })
  assert.ok(failure instanceof TlsFailure)
  assert.equal(failure.cause, cause)
  return failure
}

describe('a TLS client whose server has ended the handshake', () => {
  for (const code of [...REQUIRED, ...REFUSED, 'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', HANDSHAKE]) {
    it(`without a certificate says that the server wants one: ${code}`, () => {
      const failure = failureOf(code, false)
      assert.equal(failure.code, 'TLS_CLIENT_CERTIFICATE_MISSING')
      assert.match(failure.message, /^the server requires a client certificate, .*set options\.tls\.cert/)
      assert.ok(failure.message.includes(code))
    })
  }

  for (const code of [...REFUSED, HANDSHAKE]) {
    it(`with a certificate says that it is not accepted: ${code}`, () => {
      const failure = failureOf(code, true)
      assert.equal(failure.code, 'TLS_CLIENT_CERTIFICATE_REFUSED')
      assert.match(failure.message, /^the server does not accept the client certificate.*an authority/)
      assert.ok(failure.message.includes(code))
    })
  }

  it('blames no certificate before there is a cipher', () => {
    for (const certificate of [true, false]) {
      assert.equal(failureOf(HANDSHAKE, certificate, false).code, 'TLS_HANDSHAKE')
    }
  })

  it('says of its server what it said before', () => {
    assert.equal(failureOf('ERR_TLS_CERT_ALTNAME_INVALID', true).code, 'TLS_WRONG_HOST')
    assert.equal(failureOf('CERT_HAS_EXPIRED', false).code, 'TLS_CERTIFICATE_EXPIRED')
    for (const code of ['ECONNREFUSED', 'ETIMEDOUT', 'ENETDOWN']) {
      const ofSystem = Object.assign(new Error('from the system'), { code })
      assert.equal(clientTlsFailureOf(ofSystem, { certificate: true, cipherChosen: false }), ofSystem)
    }
  })

  it('says what is likely, and what to do, where nothing was said', () => {
    assert.match(
      closedByServer(true, undefined).message,
      /most likely it does not accept the client certificate/
    )
    assert.match(
      closedByServer(false, undefined).message,
      /if it requires a client certificate, set options\.tls\.cert/
    )
    for (const certificate of [true, false])
      assert.equal(closedByServer(certificate, undefined).code, 'TLS_CLOSED')
  })
})
