/** A service on the other runtime (Bun or Node), over one NATS server. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing, until } from '@elysia-microservices/test-support'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { ServerProcess } from '../support/server-process.ts'

if (!isMissing('a service over NATS on the other runtime', natsMissing())) {
  describe('a service over NATS on the other runtime', () => {
    const folder = mkdtempSync(join(tmpdir(), 'nats-'))
    let server: NatsServerProcess
    let service: ServerProcess
    let client: UntypedClient
    before(async () => {
      server = await NatsServerProcess.start()
      service = new ServerProcess({
        program: 'torture/brokers/request-service',
        arguments: () => [server.url, join(folder, 'runs')],
        runtime: 'other'
      })
      await service.start()
      client = connect({ transport: nats({ url: server.url }) })
    })
    after(async () => {
      await client.close()
      assert.equal((await service.stop('SIGTERM'))?.code, 0)
      await server.stop()
      rmSync(folder, { recursive: true })
    })

    it('answers, streams as many values as are read, and is told when a caller leaves', async () => {
      const all = [...Array(1_000).keys()]
      assert.deepEqual(await Promise.all(all.map((n) => client.request('echo', n))), all)
      assert.deepEqual(await Promise.all(all.map((n) => client.request('work', n))), all)
      let expected = 0
      for await (const { n } of client.stream<{ n: number }>('endless', 100)) {
        assert.equal(n, expected++)
        if (expected === 5_000) break
      }
      const controller = new AbortController()
      const waiting = client.request('wait', 0, { signal: controller.signal })
      await client.request('work', 1)
      controller.abort()
      await assert.rejects(waiting, { name: 'CanceledError' })
      await until('no handler runs', async () => (await client.request<{ open: number }>('open')).open === 0)
    })
  })
}
