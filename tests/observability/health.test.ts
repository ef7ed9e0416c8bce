/** The answers of `health()` to probes while a service starts, works, drains and has stopped. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type HealthReport, health } from '@elysia-microservices/telemetry'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { listen, newApp } from '../support/http-app.ts'

/** The statuses of the three probes. */
async function probe(url: string): Promise<Readonly<Record<string, number>>> {
  const paths = ['livez', 'readyz', 'healthz']
  const answers = await Promise.all(paths.map((path) => fetch(`${url}/${path}`)))
  return Object.fromEntries(paths.map((path, index) => [path, answers[index]!.status]))
}

const READY = { livez: 200, readyz: 200, healthz: 200 }
const NOT_READY = { livez: 200, readyz: 503, healthz: 503 }
const tcpService = () => microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })

describe('health()', () => {
  it('in an app: answers as JSON why it is not ready', async () => {
    let hasDatabase = true
    const service = tcpService()
    const checks = { database: () => hasDatabase }
    const http = await listen(newApp().use(health({ services: [service], checks })))
    assert.deepEqual(await probe(http.url), NOT_READY)
    await service.listen()
    assert.deepEqual(await probe(http.url), READY)
    hasDatabase = false
    assert.deepEqual(await probe(http.url), NOT_READY)
    const report = (await (await fetch(`${http.url}/healthz`)).json()) as HealthReport
    assert.deepEqual(report, {
      ok: false,
      services: ['listening'],
      transports: [{ transport: 'tcp', ok: true }],
      checks: { database: { ok: false, reason: 'the check says no' } }
    })
    await service.stop()
    await http.stop()
  })

  it('on a port of its own: is not ready from the moment in which draining begins', async () => {
    const probes = health({ port: 0, host: '127.0.0.1' })
    let begun = () => {}
    let finish = () => {}
    const running = new Promise<void>((resolve) => {
      begun = resolve
    })
    const service = tcpService()
      .use(probes)
      .message('slow', () => {
        begun()
        return new Promise<number>((resolve) => {
          finish = () => resolve(7)
        })
      })
    const url = `http://127.0.0.1:${await probes.port}`
    assert.deepEqual(await probe(url), NOT_READY)
    await service.listen()
    assert.equal(service.status, 'listening')
    assert.deepEqual(await probe(url), READY)

    const client = connect<typeof service>({ host: '127.0.0.1', port: service.address!.port })
    const answer = client.request('slow')
    await running
    const stopped = service.stop()
    assert.equal(service.status, 'draining')
    assert.deepEqual(await probe(url), NOT_READY)
    finish()
    assert.equal(await answer, 7)
    await stopped
    assert.equal(service.status, 'stopped')
    assert.deepEqual(await probe(url), NOT_READY)
    assert.equal((await fetch(`${url}/other`)).status, 404)
    await client.close()
    probes.close()
  })

  it('follows a service that starts again, and one that cannot start', async () => {
    const service = tcpService()
    await service.listen()
    const taken = microservice({ transport: 'tcp', host: '127.0.0.1', port: service.address!.port })
    const failing = taken.listen()
    assert.equal(taken.status, 'starting')
    await assert.rejects(failing, { name: 'ListenError' })
    assert.equal(taken.status, 'stopped')
    await service.stop()
    await service.listen()
    assert.equal(service.status, 'listening')
    await service.stop()
  })
})
