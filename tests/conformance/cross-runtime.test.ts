/** Both clients here, under this runtime, against both servers under the other runtime (Bun or Node). */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import { connect, PatternNotFoundError, RpcError } from 'elysia-microservices/client'
import { firstValueFrom, lastValueFrom, type Observable, toArray } from 'rxjs'

const underBun = process.versions.bun !== undefined
/** This folder is `conformance` under Bun and `dist/conformance` under Node. */
const testsFolder = fileURLToPath(new URL(underBun ? '..' : '../..', import.meta.url))
const OTHER = underBun
  ? { name: 'Node', command: 'node', file: 'dist/conformance/fixture-server.js' }
  : { name: 'Bun', command: '../node_modules/.bin/bun', file: 'conformance/fixture-server.ts' }

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
  describe(`a server (${kind}) under ${OTHER.name}`, () => {
    let server: ChildProcess
    let port: number
    before(async () => {
      server = spawn(OTHER.command, [OTHER.file, kind], {
        cwd: testsFolder,
        stdio: ['pipe', 'pipe', 'inherit']
      })
      const [line] = await once(createInterface({ input: server.stdout! }), 'line')
      port = (JSON.parse(line as string) as { port: number }).port
    })
    after(async () => {
      const exited = once(server, 'exit')
      server.stdin!.end()
      await exited
    })

    for (const [name, connectTo] of CLIENTS) {
      it(`answers ${name}: values, streams, unicode, errors, a thousand at once, a mebibyte`, async () => {
        const client = connectTo(port)
        const ask = (pattern: unknown, data: unknown) => firstValueFrom(client.send(pattern, data))
        const data = { text: '€😀é', list: [1, null, { a: false }] }
        assert.deepEqual(await ask('echo', data), data)
        assert.equal(await ask({ b: { d: 1, c: 'q"' }, a: 2 }, 0), '{"b":{"d":1,"c":"q\\""},"a":2}')
        assert.deepEqual(await lastValueFrom(client.send('from', 0).pipe(toArray())), [1, 2, 3])
        assert.deepEqual(await lastValueFrom(client.send('timer', 0).pipe(toArray())), [0, 1, 2])
        assert.deepEqual(await lastValueFrom(client.send('undefined', 0).pipe(toArray())), [])
        await assert.rejects(ask('rpc exception', { code: 'E' }), (error) => {
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
