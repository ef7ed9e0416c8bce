/** Spans of calls over gRPC and Connect: one trace through both ends, in the words of the semantic conventions. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { connectRpc } from '@elysia-microservices/connect'
import { grpc } from '@elysia-microservices/grpc'
import { loadProto, type Proto } from '@elysia-microservices/protobuf'
import { telemetry } from '@elysia-microservices/telemetry'
import * as conventions from '@opentelemetry/semantic-conventions'
import { type Message, microservice, RejectedError, RpcError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { listen, newApp } from '../support/http-app.ts'
import { collectTraces } from './tracing.ts'

const PROTO = `
syntax = "proto3";
package shop.v1;
service Orders {
  rpc Get (Ask) returns (Order);
  rpc Watch (Ask) returns (stream Order);
  rpc Nobody (Ask) returns (Order);
}
message Ask { string id = 1; }
message Order { string id = 1; }
`
const quiet = { error() {}, warn() {} }
const PARENT = 'b7ad6b7169203331'
const headersOf = (trace: string) => ({ traceparent: `00-${trace}-${PARENT}-01` })

const newShop = (transport?: ReturnType<typeof grpc>) =>
  microservice({ name: 'shop', logger: quiet, ...(transport && { transport }) })
    .wrap(telemetry())
    .message('shop.v1.Orders/Get', async ({ data }: Message<{ id: string }>) => {
      if (data.id === 'full') throw new RpcError({ code: 'CONFLICT', message: 'full' })
      if (data.id === 'own') throw new RpcError({ code: 'OUT_OF_STOCK', message: 'none left' })
      if (data.id === 'busy') throw new RejectedError('busy')
      if (data.id === 'bug') throw new TypeError('a bug')
      return { id: data.id }
    })
    .message('shop.v1.Orders/Watch', function* ({ data }: Message<{ id: string }>) {
      yield* [data, data]
    })

describe('spans of calls', () => {
  const traces = collectTraces()
  let proto: Proto

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rpc-spans-'))
    writeFileSync(join(folder, 'shop.proto'), PROTO)
    proto = await loadProto({ files: join(folder, 'shop.proto') })
    rmSync(folder, { recursive: true, force: true })
  })

  /** The parts of the spans of a trace that the conventions speak of, callers first. */
  const told = async (trace: string) =>
    (await traces.lineOf(trace)).map(({ kind, name, attributes }) => [
      kind,
      name,
      attributes[conventions.ATTR_RPC_SYSTEM_NAME],
      attributes[conventions.ATTR_RPC_METHOD],
      attributes[conventions.ATTR_RPC_STATUS_CODE],
      attributes[conventions.ATTR_ERROR_TYPE]
    ])
  const GET = 'shop.v1.Orders/Get'

  it('over gRPC are those of gRPC, at both ends of one trace', async () => {
    const transport = grpc({ proto, host: '127.0.0.1', port: 0 })
    const service = newShop(transport)
    await service.listen()
    const client = connect({
      transport: grpc({ proto, host: '127.0.0.1', port: transport.address!.port }),
      wrap: [telemetry()],
      logger: quiet
    })
    const ids = ['7', 'full', 'own', 'bug']
    const trace = (at: number) => `0af7651916cd43dd8448eb211c8031a${at}`
    for (const [at, id] of ids.entries())
      await client.request(GET, { id }, { headers: headersOf(trace(at)) }).catch(() => {})
    for await (const _ of client.stream(
      'shop.v1.Orders/Watch',
      { id: '7' },
      { headers: headersOf(trace(5)) }
    ));
    await client.request('shop.v1.Orders/Nobody', {}, { headers: headersOf(trace(6)) }).catch(() => {})
    await client.close()
    await service.stop()

    const ends = (status: string, atClient?: string, atServer?: string, method = GET) => [
      ['client', method, 'grpc', method, status, atClient],
      ['server', method, 'grpc', method, status, atServer]
    ]
    assert.deepEqual(await told(trace(0)), ends('OK'))
    assert.deepEqual(await told(trace(1)), ends('ABORTED', 'CONFLICT'))
    assert.deepEqual(await told(trace(2)), ends('UNKNOWN', 'OUT_OF_STOCK'))
    assert.deepEqual(await told(trace(3)), ends('INTERNAL', 'INTERNAL', 'TypeError'))
    assert.deepEqual(await told(trace(5)), ends('OK', undefined, undefined, 'shop.v1.Orders/Watch'))
    const [sent] = await told(trace(6))
    assert.deepEqual(sent, ['client', '_OTHER', 'grpc', '_OTHER', 'UNIMPLEMENTED', 'PATTERN_NOT_FOUND'])
    const [first, second] = await traces.lineOf(trace(0))
    assert.equal(first?.parentSpanId, PARENT)
    assert.equal(second?.parentSpanId, first?.spanId)
  })

  it('over Connect are those of Connect, in the trace of the request', async () => {
    const http = await listen(newApp().use(newShop()).use(connectRpc({ proto })))
    const trace = (at: number) => `0bf7651916cd43dd8448eb211c8031b${at}`
    for (const [at, id] of ['7', 'full', 'busy'].entries())
      await fetch(`${http.url}/${GET}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headersOf(trace(at)) },
        body: JSON.stringify({ id })
      })
    await http.stop()
    const end = (status: string) => [['server', GET, 'connectrpc', GET, status, undefined]]
    assert.deepEqual(await told(trace(0)), end('OK'))
    assert.deepEqual(await told(trace(1)), end('aborted'))
    assert.deepEqual(await told(trace(2)), end('unavailable'))
    const [span] = await traces.lineOf(trace(0))
    assert.equal(span?.parentSpanId, PARENT)
  })
})
