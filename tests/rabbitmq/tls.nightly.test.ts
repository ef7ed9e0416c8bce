/** RabbitMQ over TLS, with certificates for both sides. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { isMissing } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { rabbitmqMissing, sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { testsFolder } from '../workspace.ts'

const read = (name: string) => readFileSync(join(testsFolder, 'fixtures/tls', name), 'utf8')
const pair = (name: string) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) })

if (!isMissing('RabbitMQ over TLS', rabbitmqMissing()))
  it('RabbitMQ can be reached over TLS with the right certificates, and not without', async () => {
    const { tlsPort } = await sharedRabbitmq()
    const logger = { error() {}, warn() {} }
    const urls = `amqps://127.0.0.1:${tlsPort}`
    const ca = read('authority.pem')
    const transport = rabbitmq({ url: urls, tls: { ca, ...pair('caller') } })
    const service = microservice({ name: 'secret', transport, logger }).message(
      'secret.echo',
      ({ data }) => data
    )
    await service.listen()
    const client = connect({ transport, logger })
    try {
      assert.equal(await client.request('secret.echo', 1), 1)
      for (const tls of [
        { ca: read('other-authority.pem'), ...pair('caller') },
        { ca },
        { ca, ...pair('stranger') }
      ]) {
        const other = connect({ transport: rabbitmq({ url: urls, tls }), logger })
        await assert.rejects(other.request('secret.echo', 1), { name: 'ConnectionError', mayHaveRun: false })
        await other.close()
      }
    } finally {
      await client.close()
      await service.stop()
    }
  })
