/** Clients that others have written: those of Connect, for the web and for Node, with each of their protocols. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type CallOptions,
  Code,
  ConnectError,
  createClient,
  decodeBinaryHeader,
  type Transport
} from '@connectrpc/connect'
import * as onNode from '@connectrpc/connect-node'
import * as onWeb from '@connectrpc/connect-web'
import { connectRpc } from './index.ts'
import { listen, newApp } from './testing/app.ts'
import { happening } from './testing/happening.ts'
import { newSeen, newShop, type Order, Orders, withDeadline } from './testing/shop.ts'

/** The client of the service, as generated code types it. */
interface ShopClient {
  getOrder(order: Partial<Order>, options?: CallOptions): Promise<Order>
  echo(order: Partial<Order>, options?: CallOptions): Promise<Order>
  fail(order: Partial<Order>, options?: CallOptions): Promise<Order>
  wait(order: Partial<Order>, options?: CallOptions): Promise<Order>
  missing(order: Partial<Order>, options?: CallOptions): Promise<Order>
  watch(order: Partial<Order>, options?: CallOptions): AsyncIterable<Order>
  upload(orders: AsyncIterable<Partial<Order>>, options?: CallOptions): Promise<Order>
}

const gzip = { sendCompression: onNode.compressionGzip, compressMinBytes: 0 }
const httpVersion = '1.1' as const

const CLIENTS: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  'Connect for the web': (baseUrl) => onWeb.createConnectTransport({ baseUrl, useBinaryFormat: true }),
  'Connect for the web, JSON and GET': (baseUrl) =>
    onWeb.createConnectTransport({ baseUrl, useHttpGet: true }),
  'gRPC-Web for the web': (baseUrl) => onWeb.createGrpcWebTransport({ baseUrl }),
  'Connect for Node': (baseUrl) => onNode.createConnectTransport({ baseUrl, httpVersion }),
  'Connect for Node, JSON in gzip': (baseUrl) =>
    onNode.createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: false, ...gzip }),
  'gRPC-Web for Node': (baseUrl) => onNode.createGrpcWebTransport({ baseUrl, httpVersion }),
  'gRPC-Web for Node, in gzip': (baseUrl) => onNode.createGrpcWebTransport({ baseUrl, httpVersion, ...gzip })
}

const seen = newSeen()

for (const [name, newTransport] of Object.entries(CLIENTS))
  describe(name, () => {
    const started = async () => {
      const app = await listen(
        newApp()
          .use(newShop(seen))
          .use(connectRpc({ proto: [Orders] }))
      )
      return { app, client: createClient(Orders, newTransport(app.url)) as unknown as ShopClient }
    }

    /** Resolves when a handler was told that its call is over. */
    async function untilAborted(before: number): Promise<void> {
      while (seen.aborted === before) {
        const changed = happening<void>()
        seen.changed = () => changed.happen()
        if (seen.aborted === before) await changed.happened
      }
    }

    it('gets one message', async () => {
      const { app, client } = await started()
      await using _ = app
      const { id, number, prices, blob } = await client.getOrder({ id: 'ä', prices: [1, 2.5] })
      assert.deepEqual([id, number, prices, blob.length], ['ä', 7n, [1, 2.5], 0])
      const blobs = Uint8Array.from({ length: 300_000 }, (_, index) => index)
      assert.equal(Buffer.compare((await client.echo({ blob: blobs })).blob, blobs), 0)
    })

    it('gets many messages', async () => {
      const { app, client } = await started()
      await using _ = app
      const ids: string[] = []
      for await (const { id } of client.watch({ id: 'v', number: 2_000n })) ids.push(id)
      assert.deepEqual([ids.length, ids[0], ids.at(-1)], [2_000, 'v0', 'v1999'])
    })

    it('gets errors with their codes and details', async () => {
      const { app, client } = await started()
      await using _ = app
      const error = await client
        .fail({ id: 'NOT_FOUND' })
        .catch((thrown: unknown) => ConnectError.from(thrown))
      assert.ok(error instanceof ConnectError)
      assert.deepEqual([error.code, error.rawMessage], [Code.NotFound, 'Sold out: 100 %'])
      const types = error.details.map((detail) => ('type' in detail ? detail.type : detail.desc.typeName))
      assert.deepEqual(types, ['google.rpc.ErrorInfo', 'google.protobuf.Value'])
      await assert.rejects(client.fail({ id: 'bug' }), {
        code: Code.Internal,
        rawMessage: 'Internal server error'
      })
      await assert.rejects(client.missing({}), { code: Code.Unimplemented })
    })

    it('gets the error of a stream after its values', async () => {
      const { app, client } = await started()
      await using _ = app
      let values = 0
      const read = async () => {
        for await (const _ of client.watch({ id: 'fails', number: 3n })) values++
      }
      await assert.rejects(read, { code: Code.NotFound, rawMessage: 'No more' })
      assert.equal(values, 3)
    })

    it('gets headers and trailers of answers and of errors', async () => {
      const { app, client } = await started()
      await using _ = app
      const heard: (string | null)[] = []
      const onHeader = (headers: Headers) => {
        const bytes = decodeBinaryHeader(headers.get('trace-bin') ?? '')
        heard.push(headers.get('x-cache'), String(bytes))
      }
      const onTrailer = (trailers: Headers) => heard.push(trailers.get('x-cost'))
      await client.echo({}, { onHeader, onTrailer })
      for await (const _ of client.watch({ number: 1n }, { onHeader, onTrailer }));
      assert.deepEqual(heard, ['hit', '0,255', '7', 'hit', '0,255', '7'])
      const error = await client
        .fail({ id: 'NOT_FOUND' })
        .catch((thrown: unknown) => ConnectError.from(thrown))
      assert.ok(error instanceof ConnectError)
      assert.equal(error.metadata.get('x-cache'), 'miss')
    })

    it('has deadlines, of which the handler is told', async () => {
      const { app, client } = await started()
      await using _ = app
      const before = seen.aborted
      await withDeadline(seen, (timeoutMs) =>
        assert.rejects(client.wait({}, { timeoutMs }), { code: Code.DeadlineExceeded })
      )
      await untilAborted(before)
      assert.equal((await client.echo({ id: 'a' }, { timeoutMs: 60_000 })).id, 'a')
    })

    it('leaves a call and a stream, of which the handler is told', async () => {
      const { app, client } = await started()
      await using _ = app
      let before = seen.aborted
      const begun = happening<void>()
      seen.changed = () => begun.happen()
      const leaving = new AbortController()
      const waiting = client.wait({}, { signal: leaving.signal })
      await begun.happened
      leaving.abort()
      await assert.rejects(waiting, { code: Code.Canceled })
      await untilAborted(before)
      before = seen.aborted
      // These clients do not cancel a stream whose loop is left; its signal does.
      const leavingStream = new AbortController()
      const { signal } = leavingStream
      for await (const _ of client.watch({ id: 'x'.repeat(1_000), number: 1_000_000n }, { signal })) break
      leavingStream.abort()
      await untilAborted(before)
    })

    if (name.includes('Node'))
      it('sends many messages', async () => {
        const { app, client } = await started()
        await using _ = app
        const { id } = await client.upload(orders(1_000))
        assert.deepEqual([id.split(' ').length, id.slice(0, 6)], [1_000, 'o0 o1 '])
      })
  })

async function* orders(count: number) {
  for (let index = 0; index < count; index++) yield { id: `o${index}` }
}
