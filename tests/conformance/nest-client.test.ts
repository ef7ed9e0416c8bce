/** An unmodified NestJS ClientProxy with a NestJS server and with ours: the client must see no difference. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { onPush } from '@elysia-microservices/test-support'
import { type ClientProxy, ClientProxyFactory, Transport } from '@nestjs/microservices'
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs'
import { ConformanceController, seen } from './controller.ts'
import { type RunningServer, SERVERS, startOurs } from './harness/servers.ts'

for (const [name, start] of SERVERS) {
  describe(`Nest's client and a server of ${name}`, () => {
    let server: RunningServer
    let client: ClientProxy
    before(async () => {
      server = await start([ConformanceController])
    })
    after(() => server.stop())
    beforeEach(() => {
      seen.length = 0
      client = ClientProxyFactory.create({
        transport: Transport.TCP,
        options: { host: '127.0.0.1', port: server.port }
      })
    })
    afterEach(() => client.close())

    const ask = (pattern: unknown, data: unknown): Promise<unknown> =>
      firstValueFrom(client.send(pattern, data))
    const askAll = (pattern: unknown, data: unknown): Promise<unknown[]> =>
      lastValueFrom(client.send(pattern, data).pipe(toArray()))

    for (const data of [0, '', false, 'text', '€😀é', { a: [1, { b: null }] }, [1, 2]]) {
      it(`echoes ${JSON.stringify(data)}`, async () => assert.deepEqual(await ask('echo', data), data))
    }

    it('completes without a value for undefined', async () =>
      assert.deepEqual(await askAll('undefined', 0), []))
    it('gets all values of an Observable', async () => assert.deepEqual(await askAll('from', 0), [1, 2, 3]))
    it('gets the values of a timer', async () => assert.deepEqual(await askAll('timer', 0), [0, 1, 2]))

    it('gets the content of an RpcException', async () => {
      await assert.rejects(ask('rpc-exception', { code: 7 }), (error) => {
        assert.deepEqual(error, { code: 7 })
        return true
      })
    })

    it('gets "Internal server error" for any other error', async () => {
      await assert.rejects(ask('error', 0), (error) => {
        assert.deepEqual(error, { status: 'error', message: 'Internal server error' })
        return true
      })
    })

    it('gets the text for an unknown pattern', async () => {
      await assert.rejects(ask('unknown', 0), (error) => {
        assert.equal(error, 'There is no matching message handler defined in the remote service.')
        return true
      })
    })

    it('reaches object patterns in any order of keys, and numbers', async () => {
      const pattern = { a: 2, b: { d: 1, c: 'q"' } }
      assert.equal(await ask(pattern, 0), JSON.stringify(pattern))
      assert.equal(await ask(5, 0), 'five')
    })

    it('sends metadata', async () => {
      client.setOnDispatchHook((packet) => {
        packet.metadata = { trace: '1' }
      })
      assert.deepEqual(await ask('context', { a: 1 }), [1, 'context', { trace: '1' }])
    })

    it('emits events in order, strings and objects as patterns', async () => {
      for (let index = 0; index < 50; index++) client.emit('note', index)
      await ask('echo', 'end')
      assert.deepEqual(
        await ask('seen', 0),
        Array.from({ length: 50 }, (_, index) => index)
      )
    })

    it('sends a thousand requests at once', async () => {
      const answers = await Promise.all(Array.from({ length: 1000 }, (_, index) => ask('echo', index)))
      assert.deepEqual(
        answers,
        Array.from({ length: 1000 }, (_, index) => index)
      )
    })

    it('echoes a mebibyte', async () => {
      const data = 'é'.repeat(512 * 1024)
      assert.equal(await ask('echo', data), data)
    })

    it('unsubscribes from a stream and goes on', async () => {
      assert.equal(await ask('never', 0), 1)
      assert.equal(await ask('echo', 2), 2)
    })

    it('fails pending calls when it closes, and connects again', async () => {
      const failed = assert.rejects(ask('silent', 0), /Connection closed/)
      await ask('echo', 1)
      client.close()
      await failed
      assert.equal(await ask('echo', 2), 2)
    })
  })
}

describe("Nest's client and our server", () => {
  onPush(it)('echo 64 MiB at once, with which a NestJS client and server hang', async () => {
    const server = await startOurs([ConformanceController])
    const client = ClientProxyFactory.create({
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: server.port }
    })
    const data = 'x'.repeat(1024 * 1024)
    const echoes = Array.from({ length: 64 }, () => firstValueFrom(client.send<string>('echo', data)))
    for (const echo of await Promise.all(echoes)) assert.equal(echo.length, data.length)
    client.close()
    await server.stop()
  })
})
