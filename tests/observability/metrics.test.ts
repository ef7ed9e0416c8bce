/** `prometheus()` as Prometheus reads it: checked by promtool, and scraped by a real Prometheus if it is installed. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { prometheus, telemetry } from '@elysia-microservices/telemetry'
import { memory, microservice, RpcError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { tcp } from 'elysia-microservices/tcp'
import { Counter, Registry } from 'prom-client'
import { listen, newApp } from '../support/http-app.ts'

describe('prometheus()', () => {
  const registry = new Registry()
  const orders = new Counter({ name: 'shop_orders_total', help: 'Orders', registers: [registry] })
  const door = tcp({ host: '127.0.0.1', port: 0, limits: { connections: 7 } })
  const service = microservice({ transport: [door, memory()] })
    .wrap(telemetry())
    .message('metrics.sum', () => 3)
    .message('metrics.fails', () => {
      throw new RpcError({ code: 'NO' })
    })
    .message('metrics.*', () => 1)
    .event('metrics.event', () => {})
  let http: Awaited<ReturnType<typeof listen>>
  let text: string
  const figureOf = (line: RegExp) =>
    Number(
      text
        .split('\n')
        .find((each) => line.test(each))
        ?.split(' ')
        .at(-1)
    )

  before(async () => {
    await service.listen()
    http = await listen(newApp().use(prometheus({ registry })))
    const client = connect({ host: '127.0.0.1', port: door.address!.port, wrap: [telemetry()] })
    orders.inc(5)
    await client.request('metrics.sum')
    await client.request('metrics.fails').catch(() => {})
    for (let n = 0; n < 20; n++) await client.request(`metrics.${n}`)
    for (let n = 0; n < 20; n++) await client.request(`other.${n}`).catch(() => {})
    await client.emit('metrics.event', 1)
    const response = await fetch(`${http.url}/metrics`)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
    text = await response.text()
    await client.close()
  })
  after(async () => {
    await http.stop()
    await service.stop()
  })

  it('has what is counted of messages, of wildcards and unknown patterns under one name each', () => {
    const server = (method: string, code: string) =>
      figureOf(
        new RegExp(
          `^rpc_server_call_duration_seconds_count\\{.*rpc_method="${method}",rpc_status_code="${code}"`
        )
      )
    assert.equal(server('metrics\\.sum', 'OK'), 1)
    assert.equal(server('metrics\\.fails', 'NO'), 1)
    assert.equal(server('metrics\\.\\*', 'OK'), 20)
    // Other tests of this process may have counted under the same name.
    assert.ok(server('_OTHER', 'PATTERN_NOT_FOUND') >= 20)
    assert.doesNotMatch(text, /^rpc_server.*metrics\.7/m)
  })

  it('has what transports do, with their limits', () => {
    const { port } = door.address!
    const labels = `transport="tcp",server_address="127.0.0.1",server_port="${port}"`
    assert.ok(text.includes(`elysia_microservices_transport_connections{${labels}} 1`), text)
    assert.ok(text.includes(`elysia_microservices_transport_limit{${labels},limit="connections"} 7`))
    assert.ok(text.includes(`elysia_microservices_transport_refused_total{${labels},limit="requests"} 0`))
    assert.ok(text.includes('elysia_microservices_transport_streams{transport="memory"} 0'))
  })

  it('has the metrics of a registry of the user beside it', () => {
    assert.match(text, /^shop_orders_total 5$/m)
  })

  it('is accepted by promtool', (context) => {
    const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8'
    })
    if (error !== undefined) return leftOut(context.name, 'promtool')
    assert.equal(status, 0, stdout + stderr)
  })
})

/** Skips a test, or fails in CI. */
function leftOut(test: string, program: string): void {
  const what = `the test "${test}": there is no ${program}`
  if (process.env['CI']) assert.fail(`Cannot run ${what}`)
  console.log(`Left out: ${what}`)
}
