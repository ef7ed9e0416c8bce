/** Every server with every client: NestJS's own, NestJS with our transport, and ours without NestJS. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MicroserviceClient } from '@elysia-microservices/nestjs'
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import { connect, RpcError } from 'elysia-microservices/client'
import { firstValueFrom, lastValueFrom, type Observable, toArray } from 'rxjs'
import { ConformanceController, seen } from '../conformance/controller.ts'
import {
  type RunningServer,
  type StartServer,
  startNest,
  startOurs,
  startOursInNest
} from '../conformance/harness/servers.ts'

interface AnyClient {
  send(pattern: unknown, data: unknown): Observable<unknown>
  emit(pattern: unknown, data: unknown): unknown
  close(): unknown
}

type MakeClient = (port: number) => AnyClient

function inNest(protocol: 'nest' | 'rsocket'): MakeClient {
  return (port) =>
    ClientProxyFactory.create({
      customClass: MicroserviceClient,
      options: { host: '127.0.0.1', port, protocol }
    })
}

function withoutNest(protocol: 'nest' | 'rsocket'): MakeClient {
  return (port) => {
    const client = connect({ host: '127.0.0.1', port, protocol })
    return {
      send: (pattern, data) => client.send(pattern as string, data),
      emit: (pattern, data) => client.emit(pattern as string, data),
      close: () => client.close()
    }
  }
}

const SERVERS: [string, StartServer][] = [
  ["Nest's server", startNest],
  ['ours inside Nest', startOursInNest],
  ['ours', startOurs]
]

const ON_NEST: [string, MakeClient][] = [
  [
    "Nest's client",
    (port) => ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } })
  ],
  ['our client inside Nest (nest)', inNest('nest')],
  ['our client (nest)', withoutNest('nest')]
]
const ON_RSOCKET: [string, MakeClient][] = [
  ['our client inside Nest (rsocket)', inNest('rsocket')],
  ['our client (rsocket)', withoutNest('rsocket')]
]

/** The content of the error as the service sent it, for any client. */
function sent(error: unknown): unknown {
  return error instanceof RpcError ? error.received : error
}

for (const [serverName, start] of SERVERS) {
  for (const [clientName, makeClient] of start === startNest ? ON_NEST : [...ON_NEST, ...ON_RSOCKET]) {
    describe(`${clientName} and ${serverName}`, () => {
      let server: RunningServer
      let client: AnyClient
      before(async () => {
        server = await start([ConformanceController])
        client = makeClient(server.port)
      })
      after(async () => {
        await client.close()
        await server.stop()
      })

      const ask = (pattern: unknown, data: unknown) => firstValueFrom(client.send(pattern, data))

      it('exchange values, streams and errors', async () => {
        for (const data of [0, '', false, 'é€😀', { a: [1, { b: null }] }]) {
          assert.deepEqual(await ask('echo', data), data)
        }
        assert.deepEqual(await lastValueFrom(client.send('from', 0).pipe(toArray())), [1, 2, 3])
        assert.equal(await ask(5, 0), 'five')
        await assert.rejects(ask('rpc-exception', { code: 7 }), (error) => {
          assert.deepEqual(sent(error), { code: 7 })
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
  }
}
