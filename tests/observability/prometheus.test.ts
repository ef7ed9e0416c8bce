/** A real Prometheus scrapes `prometheus()`, and answers every query of the Grafana dashboard. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { prometheus, telemetry } from '@elysia-microservices/telemetry'
import { freePort, isOnPath } from '@elysia-microservices/test-support'
import { microservice, RpcError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { listen, newApp } from '../support/http-app.ts'
import { rootFolder } from '../workspace.ts'

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
}

const dashboard = JSON.parse(
  readFileSync(join(rootFolder, 'packages/telemetry/grafana/dashboard.json'), 'utf8')
) as Dashboard
const hasPrometheus = isOnPath('prometheus')

function register(): void {
  describe('Prometheus', () => {
    const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
      .wrap(telemetry())
      .message('scraped', () => 1)
      .message('refused', () => {
        throw new RpcError({ code: 'NO' })
      })
      .event('noticed', () => {})
    let http: Awaited<ReturnType<typeof listen>>
    let scraper: ChildProcess
    let folder: string
    let url: string

    const query = async (expr: string): Promise<readonly unknown[]> => {
      const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`)
      const { status, error, data } = (await response.json()) as {
        status: string
        error?: string
        data?: { result: unknown[] }
      }
      assert.equal(status, 'success', `${expr}: ${error}`)
      return data!.result
    }

    /**
     * Repeats a query until it has a result: after a late scrape on a busy machine, there is no result for a moment.
     */
    const found = async (expr: string): Promise<void> => {
      while ((await query(expr)).length === 0) await pause(50)
    }

    before(async () => {
      await service.listen()
      http = await listen(newApp().use(prometheus()))
      folder = mkdtempSync(join(tmpdir(), 'elysia-microservices-prometheus-'))
      const target = new URL(http.url).host
      const config = `global: { scrape_interval: 200ms, scrape_timeout: 200ms }
scrape_configs: [{ job_name: shop, static_configs: [{ targets: ['${target}'] }] }]`
      writeFileSync(join(folder, 'prometheus.yml'), config)
      const port = await freePort('127.0.0.1')
      url = `http://127.0.0.1:${port}`
      const args = [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`
      ]
      scraper = spawn('prometheus', args, { stdio: 'ignore' })
      const client = connect({ host: '127.0.0.1', port: service.address!.port, wrap: [telemetry()] })
      // Rates need values that have grown between two scrapes.
      const scrapes = async () => (await query('count_over_time(up{job="shop"}[1m]) > 5')).length > 0
      while (!(await scrapes().catch(() => false))) {
        await client.request('scraped')
        await client.request('refused').catch(() => {})
        await client.emit('noticed', 1)
        await pause(50)
      }
      await client.close()
    })
    after(async () => {
      scraper.kill()
      await once(scraper, 'exit')
      await http.stop()
      await service.stop()
      rmSync(folder, { recursive: true })
    })

    it('scrapes', async () => {
      await found('up{job="shop"} == 1')
      await found('rpc_server_call_duration_seconds_count{rpc_method="scraped"} > 1')
    })

    for (const { title, targets } of dashboard.panels) {
      it(`has what the panel "${title}" asks for`, async () => {
        for (const { expr } of targets) {
          const filled = expr.replaceAll('$job', 'shop').replaceAll('$__rate_interval', '1m')
          await found(filled)
        }
      })
    }
  })
}

if (hasPrometheus) register()
else if (process.env['CI']) it('runs a real Prometheus', () => assert.fail('There is no prometheus'))
else console.log('Left out: the tests with a real Prometheus: there is no prometheus')
