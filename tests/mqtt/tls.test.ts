/** MQTT over TLS, with certificates for both sides. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { mqtt } from '@elysia-microservices/mqtt'
import { isMissing } from '@elysia-microservices/test-support'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { MosquittoProcess, mosquittoMissing } from '../support/mosquitto-server.ts'
import { testsFolder } from '../workspace.ts'

const folder = join(testsFolder, 'fixtures/tls')
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const pair = (name: string) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) })

if (!isMissing('MQTT over TLS', mosquittoMissing()))
  it('MQTT can be reached over TLS with the right certificates, and not without', async () => {
    const server = await MosquittoProcess.start([
      'allow_anonymous true',
      `cafile ${join(folder, 'authority.pem')}`,
      `certfile ${join(folder, 'service.pem')}`,
      `keyfile ${join(folder, 'service.key')}`,
      'require_certificate true'
    ])
    const logger = { error() {}, warn() {} }
    const url = `mqtts://127.0.0.1:${server.port}`
    const ca = read('authority.pem')
    const transport = mqtt({ url, tls: { ca, ...pair('caller') } })
    const service = microservice({ name: 'secret', transport, logger }).message('echo', ({ data }) => data)
    await service.listen()
    const client = connect({ transport, logger })
    try {
      assert.equal(await client.request('echo', 1), 1)
      for (const tls of [
        { ca: read('other-authority.pem'), ...pair('caller') },
        { ca },
        { ca, ...pair('stranger') }
      ]) {
        const other = connect({ transport: mqtt({ url, tls }), logger })
        await assert.rejects(other.request('echo', 1), { name: 'ConnectionError', mayHaveRun: false })
        await other.close()
      }
    } finally {
      await client.close()
      await service.stop()
      await server.stop()
    }
  })
