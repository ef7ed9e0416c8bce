/** Tests Nest's `tlsOptions`, which this library calls `tls`. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { tcp } from '@elysia-microservices/tcp'
import { lastValueFrom } from 'rxjs'
import { MicroserviceClient } from './microservice-client.ts'
import { MicroserviceServer } from './microservice-server.ts'

const read = (file: string) =>
  readFileSync(new URL(`../../../tests/fixtures/tls/${file}`, import.meta.url), 'utf8')
const tlsOptions = { cert: read('service.pem'), key: read('service.key') }

describe('tlsOptions', () => {
  for (const protocol of ['nest', 'rsocket'] as const) {
    it(`encrypt both ends, protocol ${protocol}`, async () => {
      const server = new MicroserviceServer({ host: '127.0.0.1', port: 0, tlsOptions })
      server.addHandler('echo', async (data: unknown) => data as never)
      await new Promise<void>((resolve, reject) =>
        server.listen((error) => (error === undefined ? resolve() : reject(error)))
      )
      const { port } = server.address!
      const to = { host: '127.0.0.1', port, protocol }
      const client = new MicroserviceClient({ ...to, tlsOptions: { ca: read('authority.pem') } })
      assert.equal(await lastValueFrom(client.send('echo', 7)), 7)
      const stranger = new MicroserviceClient({ ...to, tlsOptions: { ca: read('other-authority.pem') } })
      await assert.rejects(stranger.connect(), { code: 'TLS_NOT_TRUSTED' })
      await client.close()
      await stranger.close()
      await server.close()
    })
  }

  it('of a client do not trust a server without TLS', async () => {
    const logger = { error() {}, warn() {} }
    const server = tcp({ host: '127.0.0.1', port: 0 }).server({ name: undefined, version: undefined, logger })
    await server.start({ routes: () => [], request() {}, event() {} })
    const client = new MicroserviceClient({ host: '127.0.0.1', port: server.address!.port, tlsOptions: {} })
    await assert.rejects(client.connect(), { code: 'TLS_NOT_SPOKEN' })
    await client.close()
    await server.stop()
  })
})
