/** Services over TLS and on a Unix socket, configured as users would. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { connect } from '../client/index.ts'
import { microservice } from '../index.ts'
import { tcp } from '../tcp.ts'

const read = (file: string) =>
  readFileSync(new URL(`../../../../tests/fixtures/tls/${file}`, import.meta.url), 'utf8')
const pair = (name: string) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) })
const ca = read('authority.pem')

/** Connects to a port and returns the common name of the server's certificate. */
async function nameAt(port: number): Promise<unknown> {
  let name: unknown
  const client = connect({
    host: '127.0.0.1',
    port,
    tls: {
      ca,
      ...pair('caller'),
      checkServerIdentity: (_host, { subject }) => {
        name = subject['CN']
        return undefined
      }
    }
  })
  await client.request('hello')
  await client.close()
  return name
}

describe('a service with TLS', () => {
  it('knows its clients by their certificates, and reloads its own', async () => {
    let tls = { ...pair('service'), ca, requestCert: true }
    const seen: unknown[] = []
    const door = tcp({
      host: '127.0.0.1',
      port: 0,
      tls: () => tls,
      authenticate: ({ peer }) => seen.push(peer?.certificate?.subjectaltname) > 0
    })
    const service = microservice({ transport: door }).message('hello', () => 'hello')
    await service.listen()
    assert.equal(await nameAt(service.address!.port), 'service')
    assert.deepEqual(seen, ['URI:spiffe://test/caller'])
    tls = { ...tls, ...pair('renewed') }
    assert.equal(await nameAt(service.address!.port), 'service')
    await door.reloadTls()
    assert.equal(await nameAt(service.address!.port), 'renewed')
    await door.reloadTls({ ...pair('service'), ca, requestCert: true })
    assert.equal(await nameAt(service.address!.port), 'service')
    await service.stop()
    // After a restart the service uses the TLS options of the last `reloadTls()`.
    await service.listen()
    assert.equal(await nameAt(service.address!.port), 'service')
    await service.stop()
  })

  it('without TLS has nothing to reload', async () => {
    const door = tcp()
    microservice({ transport: door })
    await assert.rejects(door.reloadTls(), { name: 'OptionError', path: 'options.tls' })
  })
})

describe('a service on a Unix socket', () => {
  it('answers there, and removes its file when it stops', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'service-'))
    const path = join(folder, 'service.sock')
    const service = microservice({ transport: 'tcp', path }).message('hello', () => 'hello')
    for (let round = 0; round < 2; round++) {
      await service.listen()
      assert.equal(service.address?.path, path)
      const client = connect({ path })
      assert.equal(await client.request('hello'), 'hello')
      await client.close()
      await service.stop()
      assert.ok(!existsSync(path))
    }
    rmSync(folder, { recursive: true })
  })
})
