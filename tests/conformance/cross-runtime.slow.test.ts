/** Both clients under this runtime, against both servers under the other runtime (Bun or Node). */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import { connect, PatternNotFoundError, RpcError } from 'elysia-microservices/client'
import { firstValueFrom, lastValueFrom, type Observable, toArray } from 'rxjs'
import { ServerProcess } from '../support/server-process.ts'
import { underBun } from '../workspace.ts'

const OTHER = underBun ? 'Node' : 'Bun'

interface AnyClient {
  send(pattern: unknown, data: unknown): Observable<unknown>
  close(): unknown
}

const CLIENTS: [string, (port: number) => AnyClient][] = [
  [
    "Nest's client",
    (port) => ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } })
  ],
  [
    'our client',
    (port) => {
      const client = connect({ protocol: 'nest', host: '127.0.0.1', port })
      return { send: (pattern, data) => client.send(pattern as string, data), close: () => client.close() }
    }
  ]
]

for (const kind of ['nest', 'ours'] as const) {
  describe(`a server (${kind}) under ${OTHER}`, () => {
    const server = new ServerProcess({
      program: 'conformance/fixture-server',
      arguments: () => [kind],
      runtime: 'other'
    })
    before(() => server.start())
    after(() => server.stop('SIGTERM'))

    for (const [name, connectTo] of CLIENTS) {
      it(`answers ${name}: values, streams, unicode, errors, a thousand at once, a mebibyte`, async () => {
        const client = connectTo(server.port)
        const ask = (pattern: unknown, data: unknown) => firstValueFrom(client.send(pattern, data))
        const data = { text: '€😀é', list: [1, null, { a: false }] }
        assert.deepEqual(await ask('echo', data), data)
        assert.equal(await ask({ b: { d: 1, c: 'q"' }, a: 2 }, 0), '{"b":{"d":1,"c":"q\\""},"a":2}')
        assert.deepEqual(await lastValueFrom(client.send('from', 0).pipe(toArray())), [1, 2, 3])
        assert.deepEqual(await lastValueFrom(client.send('timer', 0).pipe(toArray())), [0, 1, 2])
        assert.deepEqual(await lastValueFrom(client.send('undefined', 0).pipe(toArray())), [])
        await assert.rejects(ask('rpc-exception', { code: 'E' }), (error) => {
          assert.deepEqual(error instanceof RpcError ? error.received : error, { code: 'E' })
          return true
        })
        await assert.rejects(ask('unknown', 0), (error) => {
          return error instanceof PatternNotFoundError || String(error).startsWith('There is no matching')
        })
        const many = await Promise.all(Array.from({ length: 1000 }, (_, index) => ask('echo', index)))
        assert.deepEqual(
          many,
          Array.from({ length: 1000 }, (_, index) => index)
        )
        const mebibyte = 'é'.repeat(512 * 1024)
        assert.equal(await ask('echo', mebibyte), mebibyte)
        await client.close()
      })
    }
  })
}
