/** Messages that are compressed: answers, and what hostile callers make of it. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { prefixed } from '@elysia-microservices/protobuf/rpc'
import { data, FrameWords, framesIn, headers } from '../testing/frames.ts'
import { call, message, Server } from '../testing/server.ts'
import { METHODS } from '../testing/service.ts'

const OPEN = 0
const turn = () => new Promise((resolve) => setTimeout(resolve))

describe('a server that compresses', () => {
  const ACCEPTS = [['grpc-accept-encoding', 'identity, deflate,gzip']] as const
  const noise = Buffer.concat(
    Array.from({ length: 10 }, (_, at) => createHash('sha512').update(String(at)).digest())
  )
  /** The answers to a call: for each message its flag, and its content. */
  const answers = async (
    fields: readonly (readonly [string, string])[],
    values: readonly (string | Buffer)[]
  ) => {
    const server = new Server(
      {
        async *Down() {
          yield* values
        }
      },
      {
        packsFrom: 500,
        methods: {
          method: (path) => {
            const method = METHODS.method(path)
            return (
              method && {
                ...method,
                output: { ...method.output, encode: (value) => Buffer.from(value as never) }
              }
            )
          }
        }
      }
    )
    server.receives(headers(1, call('Down', ...fields), OPEN), data(1, message('x'), true))
    await turn()
    const all = Buffer.from(server.output.sent())
    const head = new FrameWords().of(all)[0]
    const body = Buffer.concat(
      framesIn(all)
        .filter(({ type }) => type === 0)
        .map(({ payload }) => payload)
    )
    const found: { readonly isPacked: boolean; readonly content: Buffer }[] = []
    for (let at = 0; at < body.length; ) {
      const end = at + 5 + body.readUInt32BE(at + 1)
      found.push({ isPacked: body[at] === 1, content: body.subarray(at + 5, end) })
      at = end
    }
    return { head, found }
  }

  it('packs long messages for callers that can read them, if they become shorter', async () => {
    const long = 'long '.repeat(200)
    const { head, found } = await answers(ACCEPTS, ['short', long, noise])
    assert.match(head ?? '', /grpc-encoding=gzip/)
    assert.deepEqual(
      found.map(({ isPacked }) => isPacked),
      [false, true, false]
    )
    assert.equal(String(gunzipSync(found[1]!.content)), String(Buffer.from(long)))
    assert.ok(found[1]!.content.length < 100)
    assert.deepEqual(found[2]!.content, noise)
  })

  for (const [words, fields] of Object.entries({
    'say nothing': [],
    'read another compression': [['grpc-accept-encoding', 'identity,gzipped,br']]
  } as const))
    it(`packs nothing for callers that ${words}`, async () => {
      const { head, found } = await answers(fields, ['long '.repeat(200)])
      assert.doesNotMatch(head ?? '', /grpc-encoding/)
      assert.deepEqual(
        found.map(({ isPacked }) => isPacked),
        [false]
      )
    })
})

describe('a message that becomes longer than it may', () => {
  const CALL = call('Unary', ['grpc-encoding', 'gzip'])
  for (const [words, bytes] of Object.entries({
    'in one part': gzipSync(new Uint8Array(1_001)),
    'in many parts that are each short': Buffer.concat(
      Array.from({ length: 30 }, () => gzipSync(new Uint8Array(100)))
    ),
    'by a factor of a thousand': gzipSync(new Uint8Array(900_000))
  }))
    it(`${words} ends its call, and is never there as a whole`, () => {
      const server = new Server({ Unary: () => 'read' })
      server.receives(headers(1, CALL, OPEN), data(1, prefixed(bytes, 1), true))
      assert.match(server.sent()[0] ?? '', /grpc-status=8 /)
      assert.equal(server.connection.inFlight, 0)
    })
})
