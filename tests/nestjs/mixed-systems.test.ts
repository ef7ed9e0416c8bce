/**
 * Our client inside NestJS with every server: NestJS's own, NestJS with our transport, and ours without NestJS. Other
 * clients are in `tests/conformance`.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MicroserviceClient } from '@elysia-microservices/nestjs'
import { type ClientProxy, ClientProxyFactory } from '@nestjs/microservices'
import { RpcError } from 'elysia-microservices/client'
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs'
import { ConformanceController, seen } from '../conformance/controller.ts'
import { type RunningServer, SERVERS } from '../conformance/harness/servers.ts'

for (const [serverName, start] of SERVERS)
  for (const protocol of serverName === 'NestJS 12' ? ['nest'] : ['nest', 'rsocket'])
    describe(`our client inside Nest (${protocol}) and a server of ${serverName}`, () => {
      let server: RunningServer
      let client: ClientProxy
      before(async () => {
        server = await start([ConformanceController])
        client = ClientProxyFactory.create({
          customClass: MicroserviceClient,
          options: { host: '127.0.0.1', port: server.port, protocol }
        })
      })
      after(async () => {
        await client.close()
        await server.stop()
      })

      const ask = (pattern: unknown, data: unknown): Promise<unknown> =>
        firstValueFrom(client.send(pattern, data))

      it('exchange values, streams and errors', async () => {
        for (const data of [0, '', false, 'é€😀', { a: [1, { b: null }] }]) {
          assert.deepEqual(await ask('echo', data), data)
        }
        assert.deepEqual(await lastValueFrom(client.send('from', 0).pipe(toArray())), [1, 2, 3])
        assert.equal(await ask(5, 0), 'five')
        await assert.rejects(ask('rpc-exception', { code: 7 }), (error) => {
          assert.deepEqual(error instanceof RpcError ? error.received : error, { code: 7 })
          return true
        })
        await assert.rejects(ask('unknown', 0))
        await assert.rejects(ask('error', 0))
      })

      it('exchange events in order', async () => {
        seen.length = 0
        for (let index = 0; index < 20; index++) void client.emit('note', index)
        await ask('echo', 'end')
        assert.deepEqual(await ask('seen', 0), [...Array(20).keys()])
      })

      it('ask a thousand times at once', async () => {
        const answers = await Promise.all(Array.from({ length: 1000 }, (_, index) => ask('echo', index)))
        assert.deepEqual(answers, [...Array(1000).keys()])
      })
    })
