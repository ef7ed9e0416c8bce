/** The runtime’s own `node:http2` as the other end, over sockets. */
import assert from 'node:assert/strict'
import { type ClientHttp2Session, connect as connectNode, createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { until, within } from '@elysia-microservices/test-support'
import { ask, echo, fieldIn } from '../testing/messages.ts'
import { connect, type Listening, listen } from '../testing/sockets.ts'

const SIZES = [0, 1, 1_000, 16_384, 65_535, 65_536, 1_000_000]
const bytesOf = (size: number) => Buffer.alloc(size, 'abcdefghijk')

describe('a client of node:http2', () => {
  let ours: Listening
  let session: ClientHttp2Session
  const resets: string[] = []

  before(async () => {
    ours = await listen({
      request(stream, fields, isLast) {
        if (fieldIn(fields, 'x-wait') === undefined) return echo(stream, fields, isLast)
        stream.listener = {
          head() {},
          data() {},
          trailers() {},
          reset: (end) => void resets.push(`${end.errorCode} ${end.isByPeer}`),
          room() {}
        }
      }
    })
    session = connectNode(`http://127.0.0.1:${ours.port}`)
  })
  after(() => {
    session.close()
    ours.stop()
  })

  const askNode = (body: Buffer, more: Record<string, string> = {}) =>
    within(
      new Promise<{ status: unknown; body: Buffer; trailers: Record<string, unknown> }>((resolve, reject) => {
        const request = session.request({ ':method': 'POST', ':path': '/', ...more })
        const chunks: Buffer[] = []
        let status: unknown
        let trailers: Record<string, unknown> = {}
        request.on('response', (fields) => {
          status = fields[':status']
        })
        request.on('trailers', (fields) => {
          trailers = fields
        })
        request.on('data', (chunk: Buffer) => chunks.push(chunk))
        request.on('end', () => resolve({ status, body: Buffer.concat(chunks), trailers }))
        request.on('error', reject)
        request.end(body)
      }),
      'an answer'
    )

  for (const size of SIZES)
    it(`is answered with ${size} bytes`, async () => {
      const { status, body } = await askNode(bytesOf(size))
      assert.deepEqual([status, body.equals(bytesOf(size))], [200, true])
    })

  it('gets trailers', async () => {
    const { trailers } = await askNode(bytesOf(10), { 'x-echo': 'value' })
    assert.equal(trailers['x-echo'], 'value')
  })

  it('sends long fields, and again and again', async () => {
    for (const value of ['a'.repeat(20_000), 'b'.repeat(20_000), 'c', 'c', 'c']) {
      const { trailers } = await askNode(bytesOf(1), { 'x-echo': value })
      assert.equal(trailers['x-echo'], value)
    }
  })

  it('is answered 200 times at once', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, at) => askNode(bytesOf(at * 100))))
    assert.deepEqual(
      answers.map(({ body }) => body.length),
      Array.from({ length: 200 }, (_, at) => at * 100)
    )
  })

  it('cancels', async () => {
    const request = session.request({ ':method': 'POST', ':path': '/', 'x-wait': '1' })
    request.on('error', () => {})
    await until('the request is there', () => ours.connections[0]!.inFlight > 0)
    request.close(8)
    await until('the request is cancelled', () => resets.length > 0)
    assert.deepEqual(resets, ['8 true'])
  })

  it('is drained: what is under way is answered, and the connection closes', async () => {
    const other = connectNode(`http://127.0.0.1:${ours.port}`)
    const closed = new Promise((resolve) => other.on('close', resolve))
    const request = other.request({ ':method': 'POST', ':path': '/' })
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    const ended = new Promise((resolve) => request.on('end', resolve))
    request.write('one')
    await until('the first part comes back', () => body === 'one')
    ours.connections.at(-1)!.drain('stopping')
    request.end('two')
    await within(ended, 'the end of the answer')
    assert.equal(body, 'onetwo')
    await within(closed, 'the end of the connection')
  })
})

describe('a server of node:http2', () => {
  let node: Http2Server
  let port: number

  before(async () => {
    node = createServer()
    node.on('stream', (stream, fields) => {
      const trailer = fields['x-echo']
      stream.respond(
        { ':status': 200, 'content-type': 'text/plain' },
        { waitForTrailers: trailer !== undefined }
      )
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-echo': trailer }))
      stream.on('error', () => {})
      stream.pipe(stream)
    })
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
    port = (node.address() as AddressInfo).port
  })
  after(() => void node.close())

  it('answers bodies of any size, trailers, long fields, and many requests at once', async () => {
    const { connection, session } = await connect(port)
    for (const size of SIZES) {
      const { head, body } = await within(ask(connection, bytesOf(size)), `${size} bytes`)
      assert.deepEqual([fieldIn(head, ':status'), body.equals(bytesOf(size))], ['200', true])
    }
    for (const value of ['a'.repeat(20_000), 'b', 'b', 'b']) {
      const { trailers } = await within(ask(connection, bytesOf(5), ['x-echo', value]), 'trailers')
      assert.equal(fieldIn(trailers, 'x-echo'), value)
    }
    const answers = await within(
      Promise.all(Array.from({ length: 100 }, (_, at) => ask(connection, bytesOf(at * 100)))),
      '100 answers'
    )
    assert.deepEqual(
      answers.map(({ body }) => body.length),
      Array.from({ length: 100 }, (_, at) => at * 100)
    )
    assert.deepEqual([connection.inFlight, connection.pending], [0, 0])
    connection.leave()
    session.end()
  })
})
