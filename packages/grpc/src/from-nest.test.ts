/** Options of Nest's gRPC, and how connections and messages behave by them. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Log, within } from '@elysia-microservices/test-support'
import type { ClientTransport, IncomingMessage } from '@elysia-microservices/transport/kit'
import { fromNest } from './from-nest.ts'
import { FrameWords, framesIn, PREFACE_BYTES, settings } from './testing/frames.ts'
import { dispatcherOf } from './testing/service.ts'
import { exchange } from './testing/sockets.ts'

const SHOP = `
  syntax = "proto3";
  package shop;
  service Orders { rpc Get (Order) returns (Order); }
  message Order { string text = 1; int64 signed = 2; uint64 unsigned = 3; repeated sint64 list = 4; }
`
const INNER = `
  syntax = "proto3";
  package shop.v1;
  message Order { string text = 1; }
  service Orders { rpc Get (Order) returns (Order); }
`
const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')
const read = (name: string) =>
  readFileSync(new URL(`../../../tests/fixtures/tls/${name}`, import.meta.url), 'utf8')
const GET = 'shop.Orders/Get'
/** The start of a connection, after which the client says nothing. */
const GREETING = Buffer.concat([PREFACE_BYTES, settings()])

let folder: string
let protoPath: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'grpc-nest-'))
  protoPath = join(folder, 'shop.proto')
  writeFileSync(protoPath, SHOP)
  writeFileSync(join(folder, 'inner.proto'), INNER)
})
after(() => rmSync(folder, { recursive: true }))

type Handler = (message: IncomingMessage) => unknown
const echo: Handler = ({ data }) => data

/** A service and a client, each with options of Nest. */
async function connected(
  ofServer: object,
  ofClient: object = {},
  handler = echo
): Promise<{ readonly client: ClientTransport; readonly port: number } & AsyncDisposable> {
  const { logger } = new Log()
  const common = { protoPath, package: 'shop' }
  const { transport } = fromNest({ ...common, url: '127.0.0.1:0', ...ofServer })
  const server = transport.server({ name: 'test', version: undefined, logger })
  await server.start(dispatcherOf({ Get: handler }))
  const { port = 0 } = server.address ?? {}
  const client = fromNest({
    ...common,
    url: `127.0.0.1:${port}`,
    ...{ reconnect: false, retry: false },
    ...ofClient
  }).transport.client({ logger, timeout: 10_000, dispatcher: undefined })
  return {
    client,
    port,
    async [Symbol.asyncDispose]() {
      await client.close()
      await server.stop({ drain: 0 })
    }
  }
}

const codeOf = (client: ClientTransport, text: string) =>
  soon(client.request(GET, { text })).then(
    () => 'OK',
    ({ code, mayHaveRun }) => [code, mayHaveRun]
  )

describe("lengths of messages in options of Nest's gRPC", () => {
  const long = 'x'.repeat(1_000)
  const most = 500
  const answersLong: Handler = () => ({ text: long })

  it('count for what a service receives, and for what it sends', async () => {
    for (const options of [
      { maxReceiveMessageLength: most },
      { channelOptions: { 'grpc.max_receive_message_length': most } },
      { maxSendMessageLength: most },
      { channelOptions: { 'grpc.max_send_message_length': most } }
    ]) {
      await using pair = await connected(options)
      assert.deepEqual(await codeOf(pair.client, long), ['RESOURCE_EXHAUSTED', true])
      assert.equal(await codeOf(pair.client, 'short'), 'OK')
    }
  })

  it('count for what a client sends, and for what it receives', async () => {
    await using sending = await connected({}, { maxSendMessageLength: most })
    assert.deepEqual(await codeOf(sending.client, long), ['PAYLOAD_TOO_LARGE', false])
    await using receiving = await connected({}, { maxReceiveMessageLength: most }, answersLong)
    assert.deepEqual(await codeOf(receiving.client, 'short'), ['PAYLOAD_TOO_LARGE', true])
  })

  it('are 4 MB for what is received, and -1 is no limit', async () => {
    const longer = 'x'.repeat(5_000_000)
    await using usual = await connected({})
    assert.deepEqual(await codeOf(usual.client, longer), ['RESOURCE_EXHAUSTED', true])
    const none = { maxReceiveMessageLength: -1, maxSendMessageLength: -1 }
    await using unlimited = await connected(none, none)
    assert.equal(await codeOf(unlimited.client, longer), 'OK')
  })
})

describe("integers of 64 bits in options of Nest's gRPC", () => {
  const given = { signed: -5, unsigned: '18446744073709551615', list: [{ low: 7, high: 0, unsigned: false }] }
  const textOf = (value: unknown) => `${typeof value} ${value}`
  for (const [longs, expected] of [
    [undefined, ['object -5', 'object 18446744073709551615', 'object 7']],
    [String, ['string -5', 'string 18446744073709551615', 'string 7']],
    [Number, ['number -5', 'number 18446744073709552000', 'number 7']]
  ] as const)
    it(`are what loader.longs says: ${longs?.name}`, async () => {
      const kinds: string[][] = []
      const note = (data: unknown) => {
        const { signed, unsigned, list } = data as { signed: unknown; unsigned: unknown; list: unknown[] }
        kinds.push([signed, unsigned, ...list].map(textOf))
        return data
      }
      const loader = { longs }
      await using pair = await connected({ loader }, { loader }, ({ data }) => {
        note(data)
        return given
      })
      note(await soon(pair.client.request(GET, given)))
      assert.deepEqual(kinds, [expected, expected])
    })
})

describe("connections by options of Nest's gRPC", () => {
  it('have the limits of a service', async () => {
    const channelOptions = { 'grpc.max_concurrent_streams': 7, 'grpc.max_connection_age_ms': 50 }
    await using pair = await connected({ maxMetadataSize: 20_000, channelOptions })
    const frames = framesIn(await soon(exchange(pair.port, GREETING)))
    const [first] = frames
    const all = new Map<number, number>()
    for (let at = 0; at < first!.payload.length; at += 6)
      all.set(first!.payload.readUInt16BE(at), first!.payload.readUInt32BE(at + 2))
    assert.deepEqual([all.get(3), all.get(6)], [7, 20_000])
    // A connection of this age goes away.
    assert.ok(frames.some(({ type }) => type === 7))
  })

  it('end when nobody uses them', async () => {
    await using pair = await connected({ channelOptions: { 'grpc.max_connection_idle_ms': 50 } })
    assert.ok(framesIn(await soon(exchange(pair.port, GREETING))).some(({ type }) => type === 7))
  })

  it('are asked by a service for a sign of life', async () => {
    for (const options of [
      { keepalive: { keepaliveTimeMs: 30, keepaliveTimeoutMs: 30 } },
      { channelOptions: { 'grpc.keepalive_time_ms': 30, 'grpc.keepalive_timeout_ms': 30 } }
    ]) {
      await using pair = await connected(options)
      const words = new FrameWords().of(await soon(exchange(pair.port, GREETING)))
      assert.ok(words.some((one) => one.startsWith('PING')))
    }
  })

  it('are asked by a client with calls for a sign of life', async () => {
    // It takes connections, and says nothing.
    const silent = createServer((socket) => void socket.resume().on('error', () => {}))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { readonly port: number }
    const keepalive = { keepaliveTimeMs: 30, keepaliveTimeoutMs: 30, keepalivePermitWithoutCalls: 1 }
    await using pair = await connected({}, { url: `127.0.0.1:${port}`, keepalive })
    await assert.rejects(soon(pair.client.request(GET, {})), /nothing has arrived for keepalive.interval/)
    silent.close()
  })
})

describe("TLS by options of Nest's gRPC", () => {
  const [cert, key, ca] = [read('service.pem'), read('service.key'), read('authority.pem')]
  /** The credentials that `ServerCredentials.createSsl` of grpc-js makes. */
  const credentialsOf = (requestCert: boolean, pairs = 1) => ({
    _isSecure: () => true,
    _getSecureContextOptions: () => ({ ca, cert: Array(pairs).fill(cert), key: Array(pairs).fill(key) }),
    _getConstructorOptions: () => ({ requestCert })
  })

  it('is that of the credentials of a service', async () => {
    await using pair = await connected({ credentials: credentialsOf(false) }, { tls: { ca } })
    assert.equal(await codeOf(pair.client, 'x'), 'OK')
    await using clear = await connected({ credentials: credentialsOf(false) })
    assert.deepEqual((await codeOf(clear.client, 'x'))[0], 'CONNECTION')
  })

  it('asks clients for a certificate if the credentials say so', async () => {
    const caller = { ca, cert: read('caller.pem'), key: read('caller.key') }
    await using pair = await connected({ credentials: credentialsOf(true) }, { tls: caller })
    assert.equal(await codeOf(pair.client, 'x'), 'OK')
    await using stranger = await connected({ credentials: credentialsOf(true) }, { tls: { ca } })
    assert.equal((await codeOf(stranger.client, 'x'))[0], 'CONNECTION')
  })

  it('has the name of the server that a client expects', async () => {
    const named = (name: string) => ({
      tls: { ca },
      channelOptions: { 'grpc.ssl_target_name_override': name }
    })
    await using right = await connected({ tls: { cert, key } }, named('service.test'))
    assert.equal(await codeOf(right.client, 'x'), 'OK')
    await using wrong = await connected({ tls: { cert, key } }, named('other.test'))
    assert.equal((await codeOf(wrong.client, 'x'))[0], 'CONNECTION')
  })

  it('is refused where the credentials hide what is in them, with what to do', () => {
    for (const credentials of [{}, { _isSecure: () => true }, { _getSecureContextOptions: () => null }])
      assert.throws(() => fromNest({ protoPath, credentials }), /give options.tls in its place/)
    assert.throws(
      () => fromNest({ protoPath, credentials: credentialsOf(false, 2) }),
      /must have one pair of a certificate and a key, not 2/
    )
  })
})

describe("methods by options of Nest's gRPC", () => {
  /** A package definition as proto-loader makes it, with texts as messages. */
  const packageDefinition = () => {
    const bytes = (value: { text?: string }) => Buffer.from(value.text ?? '')
    const value = (given: Uint8Array) => {
      assert.ok(Buffer.isBuffer(given))
      return { text: given.toString() }
    }
    const method = {
      path: '/shop.Orders/Get',
      ...{ requestStream: false, responseStream: false },
      ...{ requestSerialize: bytes, requestDeserialize: value },
      ...{ responseSerialize: bytes, responseDeserialize: value }
    }
    return { 'shop.Order': { format: 'Protocol Buffer 3 DescriptorProto' }, 'shop.Orders': { Get: method } }
  }

  it('are those of a package definition', async () => {
    const options = { protoPath: undefined, packageDefinition: packageDefinition(), maxSendMessageLength: 4 }
    await using pair = await connected(options, options)
    assert.deepEqual(await soon(pair.client.request(GET, { text: 'abc' })), { text: 'abc' })
    assert.deepEqual(await codeOf(pair.client, 'abcde'), ['PAYLOAD_TOO_LARGE', false])
    assert.throws(() => fromNest({ packageDefinition: {} }), /what load\(\) of proto-loader returns/)
    assert.throws(
      () => fromNest({ protoPath, packageDefinition: packageDefinition() }),
      /either options.protoPath or options.packageDefinition/
    )
  })

  it('are in the order of the packages, and those of an inner package come behind', () => {
    const files = [join(folder, 'inner.proto'), protoPath]
    const pathsOf = (given: unknown, protoPaths = files) =>
      fromNest({ protoPath: protoPaths, package: given }).methods?.map(({ path }) => path)
    assert.deepEqual(pathsOf('shop'), ['shop.Orders/Get', 'shop.v1.Orders/Get'])
    assert.deepEqual(pathsOf('shop', files.toReversed()), ['shop.Orders/Get', 'shop.v1.Orders/Get'])
    assert.deepEqual(pathsOf(['shop.v1', 'shop']), ['shop.v1.Orders/Get', 'shop.Orders/Get'])
    assert.deepEqual(pathsOf('shop.v1'), ['shop.v1.Orders/Get'])
  })
})
