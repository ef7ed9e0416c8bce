/** Tests TLS over real sockets: every protocol on every kind of socket that this runtime has. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import tls from 'node:tls'
import type { AuthenticationRequest } from '@elysia-microservices/rsocket'
import { differsOnDeno, isInCheck } from '@elysia-microservices/test-support'
import type { ConnectionError } from '@elysia-microservices/transport/kit'
import type { TcpClientOptions } from '../options/client-options.ts'
import type { TcpServerOptions } from '../options/server-options.ts'
import * as certificates from '../testing/certificates.ts'
import { closed, Ends, isTried, SOCKETS } from '../testing/ends.ts'

const { authority, otherAuthority, service, renewed, otherHost, expired, caller, stranger } = certificates
const MUTUAL = { ...service, ca: authority, requestCert: true }

for (const [socketsName, sockets] of SOCKETS) {
  for (const protocol of ['nest', 'rsocket'] as const) {
    if (!isTried(socketsName, protocol)) continue
    describe(`TLS with sockets of ${socketsName}, protocol ${protocol}`, () => {
      let ends: Ends

      beforeEach(() => {
        ends = new Ends(sockets)
      })
      afterEach(() => ends.close())

      /** Starts a server and a client, and returns the answer to a request. */
      async function ask(server: TcpServerOptions, client: TcpClientOptions): Promise<unknown> {
        const { address } = await ends.server(server)
        return ends.client(address!.port, { protocol, ...client }).request('echo', 'hello')
      }

      /** Returns the error of a request that must fail. */
      async function failure(server: TcpServerOptions, client: TcpClientOptions): Promise<ConnectionError> {
        const error = await ask(server, client).then(
          () => assert.fail('there was an answer'),
          (reason: ConnectionError) => reason
        )
        assert.equal(error.name, 'ConnectionError', String(error))
        return error
      }

      it('answers, in both directions and at any length', async () => {
        const server = await ends.server({ tls: service })
        const client = ends.client(server.address!.port, { protocol, tls: { ca: authority } })
        await client.connect()
        assert.equal(await client.request('echo', 'text €😀é'), 'text €😀é')
        const data = 'x'.repeat(1024 * 1024)
        const calls = Array.from({ length: isInCheck ? 4 : 16 }, () => client.request('echo', data))
        for (const answer of await Promise.all(calls)) assert.ok(answer === data)
        const count = isInCheck ? 100 : 1_000
        const many = Array.from({ length: count }, (_, index) => client.request('later', index))
        assert.deepEqual(await Promise.all(many), [...Array(count).keys()])
      })

      it('takes bytes and lists for PEM, and functions for options', async () => {
        const cert = Buffer.from(service.cert)
        const key = new Uint8Array(Buffer.from(service.key))
        const ca = [Buffer.from(otherAuthority), authority]
        assert.equal(await ask({ tls: async () => ({ cert, key }) }, { tls: () => ({ ca }) }), 'hello')
      })

      it('speaks TLS 1.2 and 1.3, and nothing lower', {
        skip: differsOnDeno('the log does not say why a handshake failed')
      }, async () => {
        for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
          assert.equal(await ask({ tls: service }, { tls: { ca: authority, maxVersion } }), 'hello')
        const { address } = await ends.server({ tls: service })
        // Without this option OpenSSL does not even try TLS 1.1. BoringSSL does not know the option.
        const ciphers = typeof Bun === 'undefined' ? { ciphers: 'DEFAULT@SECLEVEL=0' } : {}
        const old = tls.connect({
          ...{ port: address!.port, host: '127.0.0.1', ca: authority, ...ciphers },
          ...{ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }
        })
        old.once('secureConnect', () => assert.fail('TLS 1.1 was spoken'))
        const [error] = (await once(old, 'close').catch((reason: Error) => [reason])) as [Error]
        assert.ok(error instanceof Error)
        assert.match(ends.logger.lines[0] ?? '', /no version of TLS that both ends allow/)
      })

      it('says that there is no version in common', async () => {
        const server = { tls: { ...service, minVersion: 'TLSv1.3' } } as const
        const error = await failure(server, { tls: { ca: authority, maxVersion: 'TLSv1.2' } })
        assert.equal(error.reason, 'TLS_VERSION', String(error.cause))
        assert.equal(error.mayHaveRun, false)
      })

      const REFUSED: [string, TcpServerOptions, TcpClientOptions, string, RegExp][] = [
        [
          'an authority nobody trusts',
          { tls: service },
          { tls: { ca: otherAuthority } },
          'TLS_NOT_TRUSTED',
          /trusted/
        ],
        ['a private authority, by default', { tls: service }, { tls: true }, 'TLS_NOT_TRUSTED', /trusted/],
        ['another host', { tls: otherHost }, { tls: { ca: authority } }, 'TLS_WRONG_HOST', /another host/],
        [
          'another name than asked for',
          { tls: service },
          { tls: { ca: authority, servername: 'other.test' } },
          'TLS_WRONG_HOST',
          /other\.test/
        ],
        [
          'an expired certificate',
          { tls: expired },
          { tls: { ca: authority } },
          'TLS_CERTIFICATE_EXPIRED',
          /expired/
        ],
        [
          'what checkServerIdentity does not like',
          { tls: service },
          {
            tls: {
              ca: authority,
              checkServerIdentity: (name, { subject }) =>
                Object.assign(new Error(`${name} ${subject['CN']}`), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
            }
          },
          'TLS_WRONG_HOST',
          /127\.0\.0\.1 service/
        ]
      ]
      for (const [what, server, client, reason, message] of REFUSED) {
        const isExpired = reason === 'TLS_CERTIFICATE_EXPIRED'
        const skip = isExpired && differsOnDeno('An expired certificate is `TLS_NOT_TRUSTED`')
        it(`refuses ${what}`, { skip }, async () => {
          const error = await failure(server, client)
          assert.equal(error.reason, reason, String(error.cause))
          assert.equal(error.mayHaveRun, false)
          assert.match(error.message, message)
          await assert.rejects(ends.client(0, { protocol, port: 1, ...client }).connect(), {
            name: 'ConnectionError'
          })
        })
      }

      it('checks names and not only addresses', async () => {
        assert.equal(await ask({ tls: service }, { host: 'localhost', tls: { ca: authority } }), 'hello')
        const named = { ca: authority, servername: 'service.test' }
        assert.equal(await ask({ tls: service }, { tls: named }), 'hello')
        assert.equal(
          await ask({ tls: otherHost }, { tls: { ca: authority, servername: 'other.test' } }),
          'hello'
        )
        assert.equal(await ask({ tls: stranger }, { tls: { rejectUnauthorized: false } }), 'hello')
      })

      for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
        it(`wants client certificates, by ${maxVersion}`, {
          skip:
            maxVersion === 'TLSv1.2' &&
            differsOnDeno('a missing client certificate over TLS 1.2 is `TLS_HANDSHAKE`')
        }, async () => {
          const client = { ca: authority, maxVersion }
          assert.equal(await ask({ tls: MUTUAL }, { tls: { ...client, ...caller } }), 'hello')
          const missing = await failure({ tls: MUTUAL }, { tls: client })
          assert.equal(missing.reason, 'TLS_CLIENT_CERTIFICATE_MISSING', String(missing.cause))
          assert.match(
            missing.message,
            /requires a client certificate.*set options\.tls\.cert and options\.tls\.key/
          )
          for (const own of [stranger, expired]) {
            const refused = await failure({ tls: MUTUAL }, { tls: { ...client, ...own } })
            // Neither Node nor Bun tells a client a more exact reason.
            assert.equal(refused.reason, 'TLS_CLOSED', String(refused.cause))
            assert.match(
              refused.message,
              /does not accept the client certificate: options\.tls\.cert must be valid/
            )
          }
          assert.equal(ends.dispatcher.events.length, 0)
          assert.match(
            ends.logger.lines[0] ?? '',
            /^A connection of 127\.0\.0\.1 failed in the TLS handshake: /
          )
        })
      }

      it('says that there is no cipher in common, and does not take it for a missing certificate', {
        skip: differsOnDeno('`tls.ciphers` is ignored')
      }, async () => {
        const mutual = { ...MUTUAL, maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384' } as const
        const client = { ca: authority, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }
        for (const own of [{}, caller]) {
          const error = await failure({ tls: mutual }, { tls: { ...client, ...own } })
          assert.equal(error.reason, 'TLS_HANDSHAKE', String(error.cause))
          assert.match(error.message, /or other ciphers/)
        }
      })

      it('tells why none of several servers can be used', async () => {
        const servers = [await ends.server({ tls: MUTUAL }), await ends.server({ tls: MUTUAL })]
        const endpoints = servers.map(({ address }) => `127.0.0.1:${address!.port}`)
        const client = ends.client(0, {
          port: 1,
          protocol,
          url: endpoints,
          reconnect: false,
          tls: { ca: authority }
        })
        const reason = { name: 'ConnectionError', reason: 'TLS_CLIENT_CERTIFICATE_MISSING' }
        await assert.rejects(client.request('echo', 1), reason)
      })

      it('shows handlers the certificate of their caller', async () => {
        const { address } = await ends.server({ tls: MUTUAL })
        const client = ends.client(address!.port, { protocol, tls: { ca: authority, ...caller } })
        const begun = new Promise<string | undefined>((resolve) => {
          ends.dispatcher.began = ({ peer }) => resolve(String(peer?.certificate?.subject['CN']))
        })
        await client.request('echo', 1)
        assert.equal(await begun, 'caller')
      })

      it('fails clearly when a plain client finds TLS', async () => {
        const error = await failure({ tls: service }, {})
        assert.equal(error.reason, 'TLS_NEEDED', String(error))
        assert.match(
          ends.logger.lines[0] ?? '',
          /^A connection of 127\.0\.0\.1 failed in the TLS handshake: .*not speak TLS/
        )
      })

      it('fails clearly when a TLS client finds none', async () => {
        const error = await failure({}, { tls: { ca: authority } })
        assert.equal(error.reason, 'TLS_NOT_SPOKEN', String(error.cause))
        assert.match(ends.logger.lines[0] ?? '', /The client speaks TLS, but this server has no options\.tls/)
      })

      it('does not wait for ever for a handshake, on either side', async () => {
        const { address } = await ends.server({ tls: service, limits: { handshake: 50 } })
        for (const begun of ['', '\x16', '\x16\x03\x01\x02']) {
          const silent = net.connect(address!.port, '127.0.0.1')
          silent.write(begun)
          await closed(silent)
        }
        assert.match(ends.logger.lines[0] ?? '', /limits\.handshake \(50 ms\)|handshake took too long/)
        const deaf = net.createServer(() => {}).listen(0, '127.0.0.1')
        await once(deaf, 'listening')
        const { port } = deaf.address() as net.AddressInfo
        const client = ends.client(port, { protocol, tls: { ca: authority }, connectTimeout: 50 })
        await assert.rejects(client.request('echo', 1), {
          name: 'ConnectionError',
          message: /connectTimeout/
        })
        deaf.close()
      })

      it('stops although a peer has not shaken hands', async () => {
        const server = await ends.server({ tls: service })
        const silent = net.connect(server.address!.port, '127.0.0.1')
        await once(silent, 'connect')
        const cut = closed(silent)
        const client = ends.client(server.address!.port, { protocol, tls: { ca: authority } })
        await client.request('echo', 1)
        await server.stop({ drain: 0 })
        await cut
      })

      it('gives new connections a reloaded certificate, and loses nothing under load', async () => {
        const server = await ends.server({ tls: service })
        const { port } = server.address!
        const names = new Set<unknown>()
        const connected = (): TcpClientOptions => ({
          protocol,
          tls: {
            ca: authority,
            checkServerIdentity: (_name, { subject }) => {
              names.add(subject['CN'])
              return undefined
            }
          }
        })
        const old = ends.client(port, connected())
        await old.connect()
        let loading = true
        const load = async () => {
          for (let index = 0; loading; index++) {
            const client = ends.client(port, { protocol, tls: { ca: authority } })
            assert.equal(await client.request('echo', index), index)
            assert.equal(await old.request('later', index), index)
            await client.close()
          }
        }
        const loads = [load(), load(), load()]
        for (const tls of [renewed, service, renewed]) {
          await server.reloadTls(tls)
          await ends.client(port, connected()).connect()
        }
        assert.deepEqual([...names], ['service', 'renewed'])
        names.clear()
        await ends.client(port, connected()).connect()
        assert.deepEqual([...names], ['renewed'])
        loading = false
        await Promise.all(loads)
        assert.equal(await old.request('echo', 'still here'), 'still here')
      })

      it('keeps the old certificate if the new one cannot be used', {
        skip: differsOnDeno('If a certificate and a key do not belong together, the first handshake fails')
      }, async () => {
        let tls = service
        const server = await ends.server({ tls: () => tls })
        tls = { cert: service.cert, key: renewed.key }
        await assert.rejects(server.reloadTls(undefined), {
          name: 'OptionError',
          message: /^options\.tls cannot be used: /
        })
        await assert.rejects(server.reloadTls({ cert: service.cert }), { path: 'options.tls.key' })
        const client = ends.client(server.address!.port, { protocol, tls: { ca: authority } })
        assert.equal(await client.request('echo', 1), 1)
        tls = renewed
        await server.reloadTls(undefined)
      })
    })
  }

  describe(`TLS with sockets of ${socketsName}`, () => {
    let ends: Ends

    beforeEach(() => {
      ends = new Ends(sockets)
    })
    afterEach(() => ends.close())

    it('shows authenticate the certificate of the client', async () => {
      const seen: AuthenticationRequest[] = []
      const { address } = await ends.server({
        tls: MUTUAL,
        authenticate: (request) => {
          seen.push(request)
          return request.peer?.certificate?.subject['CN'] === 'caller'
        }
      })
      const client = ends.client(address!.port, { tls: { ca: authority, ...caller } })
      assert.equal(await client.request('echo', 1), 1)
      const certificate = seen[0]?.peer?.certificate
      assert.equal(certificate?.authorized, true)
      assert.equal(certificate.subject['O'], 'Tests')
      assert.equal(certificate.issuer['CN'], 'authority')
      assert.equal(certificate.subjectaltname, 'URI:spiffe://test/caller')
      assert.match(certificate.fingerprint256, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
      assert.equal(new Date(certificate.validTo).getUTCFullYear(), 2100)
      assert.ok(certificate.raw.length > 100)
      const other = ends.client(address!.port, { tls: { ca: authority, ...service } })
      await assert.rejects(other.request('echo', 1), {
        name: 'UnauthenticatedError',
        message: /: The credentials are not accepted$/
      })
      assert.match(String(ends.logger.lines), /127\.0\.0\.1:\d+ \(certificate of service\): The credentials/)
    })

    it('leaves the decision to authenticate, with rejectUnauthorized: false', async () => {
      const seen: (boolean | undefined)[] = []
      const { address } = await ends.server({
        tls: { ...MUTUAL, rejectUnauthorized: false },
        authenticate: ({ peer }) => {
          seen.push(peer?.certificate?.authorized)
          return true
        }
      })
      for (const own of [caller, stranger, {}])
        await ends.client(address!.port, { tls: { ca: authority, ...own } }).request('echo', 1)
      assert.deepEqual(seen, [true, false, undefined])
    })

    it('cannot listen with a certificate and a key that do not fit', {
      skip: differsOnDeno('If a certificate and a key do not belong together, the first handshake fails')
    }, async () => {
      const unfit = ends.server({ tls: { cert: service.cert, key: renewed.key } })
      await assert.rejects(unfit, {
        name: 'ListenError',
        message: /^Cannot listen on tcp:\/\/127\.0\.0\.1:0: /
      })
      const broken = {
        cert: service.cert,
        key: '-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----\n'
      }
      await assert.rejects(ends.server({ tls: broken }), { name: 'ListenError' })
    })

    it('reloads what was there from the start, and only with something new', async () => {
      const plain = await ends.server({})
      await assert.rejects(plain.reloadTls(service), { name: 'OptionError', path: 'options.tls' })
      const fixed = await ends.server({ tls: service })
      await assert.rejects(fixed.reloadTls(undefined), { name: 'OptionError', path: 'tls' })
    })
  })
}

describe('sockets that know no TLS', () => {
  for (const [name, sockets] of SOCKETS) {
    it(`are not used in its place (${name})`, async () => {
      const ends = new Ends({
        listen: ({ tls, ...address }, accept) => sockets.listen(address, accept),
        connect: ({ tls, ...address }, accept, signal) => sockets.connect(address, accept, signal)
      })
      const secret = await ends.server({ tls: service })
      const plain = await ends.server({})
      await assert.rejects(ends.client(secret.address!.port, {}).request('echo', 1), {
        name: 'ConnectionError'
      })
      const client = ends.client(plain.address!.port, { tls: true })
      await assert.rejects(client.request('echo', 1), {
        name: 'ConnectionError',
        message: /does not support TLS/
      })
      await ends.close()
    })
  }
})
