/** NATS servers that require TLS and keys: what a user needs to connect, and the errors without it. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { type NatsOptions, nats } from '@elysia-microservices/nats'
import { isMissing, Log } from '@elysia-microservices/test-support'
import { nkeyAuthenticator, nkeys } from '@nats-io/transport-node'
import { ConnectionError, microservice, UnauthenticatedError } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { testsFolder } from '../workspace.ts'

const pem = (name: string) => join(testsFolder, 'fixtures/tls', name)
const CERTIFICATE = ['--tls', '--tlscert', pem('service.pem'), '--tlskey', pem('service.key')]
const WITH_AUTHORITY = { tls: { caFile: pem('authority.pem') } }
const WITH_CERTIFICATE = {
  tls: { caFile: pem('authority.pem'), certFile: pem('caller.pem'), keyFile: pem('caller.key') }
}

if (!isMissing('security over NATS', natsMissing())) {
  describe('a NATS server that is secured', () => {
    const cleanUps: (() => Promise<unknown>)[] = []
    const log = new Log()
    let server: NatsServerProcess
    let folder: string

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'nats-security-'))
    })
    after(() => rm(folder, { recursive: true }))
    afterEach(async () => {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
      log.clear()
    })

    async function start(...args: string[]): Promise<void> {
      const started = await NatsServerProcess.start(...args)
      server = started
      cleanUps.push(() => started.stop())
    }

    /** Starts a server that accepts only users with this key. */
    function startWithKey(publicKey: string): Promise<void> {
      const file = join(folder, 'server.conf')
      writeFileSync(file, `authorization { users: [ { nkey: ${publicKey} } ] }`)
      return start('-c', file)
    }

    async function serve(options: NatsOptions): Promise<void> {
      const transport = nats({ url: server.url, ...options })
      const service = microservice({ name: 'secured', transport, logger: log.logger })
        .message('echo', ({ data }) => data)
        .message('count', function* () {
          yield* [1, 2, 3]
        })
      cleanUps.push(() => service.stop())
      await service.listen()
    }

    function newClient(options: NatsOptions): UntypedClient {
      const client = connect({ transport: nats({ url: server.url, ...options }), logger: log.logger })
      cleanUps.push(() => client.close())
      return client
    }

    async function worksWith(options: NatsOptions): Promise<void> {
      await serve(options)
      const client = newClient(options)
      assert.deepEqual(await client.request('echo', { a: 1 }), { a: 1 })
      const values: unknown[] = []
      for await (const value of client.stream('count')) values.push(value)
      assert.deepEqual(values, [1, 2, 3])
    }

    /** Checks that neither a service nor a client can connect. @param why the reason in both errors */
    async function refuses(
      options: NatsOptions,
      Expected: typeof ConnectionError | typeof UnauthenticatedError,
      why: RegExp
    ): Promise<void> {
      const isRight = (error: unknown) => {
        assert.ok(error instanceof Expected, String(error))
        assert.match(error.message, why)
        assert.equal(error.mayHaveRun, false)
        return true
      }
      await assert.rejects(serve(options), isRight)
      await assert.rejects(newClient(options).request('echo', 1), isRight)
    }

    it('answers over TLS with a known certificate authority', async () => {
      await start(...CERTIFICATE)
      await worksWith(WITH_AUTHORITY)
    })

    it('is not trusted if its certificate authority is unknown, and the error says so', async () => {
      await start(...CERTIFICATE)
      await refuses({}, ConnectionError, /certificate.*; check options\.tls/)
      await refuses({ tls: { caFile: pem('other-authority.pem') } }, ConnectionError, /certificate/)
    })

    it('is not trusted if its certificate is for another host, or has expired', async () => {
      for (const name of ['other-host', 'expired']) {
        await start('--tls', '--tlscert', pem(`${name}.pem`), '--tlskey', pem(`${name}.key`))
        await refuses(WITH_AUTHORITY, ConnectionError, /certificate/i)
      }
    })

    it('requires a certificate of service and client', async () => {
      await start(...CERTIFICATE, '--tlsverify', '--tlscacert', pem('authority.pem'))
      await worksWith(WITH_CERTIFICATE)
      await refuses(
        { ...WITH_AUTHORITY, connectTimeout: 500 },
        ConnectionError,
        /give options\.tls a certFile and a keyFile/
      )
    })

    it('is refused if it has no TLS but the options require it', async () => {
      await start()
      await refuses(WITH_AUTHORITY, ConnectionError, /does not support 'tls'; check options\.tls/)
    })

    it('cannot be used with certificate files that do not exist', async () => {
      await start(...CERTIFICATE)
      await refuses(
        { tls: { caFile: join(folder, 'nothing.pem') } },
        ConnectionError,
        /nothing\.pem doesn't exist; check options\.tls/
      )
    })

    it('accepts a user with the key', async () => {
      const user = nkeys.createUser()
      await startWithKey(user.getPublicKey())
      await worksWith({ authenticator: nkeyAuthenticator(user.getSeed()) })
    })

    it('accepts no user with another key, or without a key', async () => {
      await startWithKey(nkeys.createUser().getPublicKey())
      const other = nkeyAuthenticator(nkeys.createUser().getSeed())
      await refuses({ authenticator: other }, UnauthenticatedError, /does not accept the credentials/)
      await refuses({}, UnauthenticatedError, /does not accept the credentials/)
    })
  })
}
