/** Interop tests with rsocket-js 1.0, the rewrite in TypeScript. */
import assert from 'node:assert/strict'
import { RpcError } from 'elysia-microservices/client'
import { Code } from './cases/error-codes.ts'
import { refusesSetup } from './cases/limits.ts'
import { testInterop } from './interop.ts'
import { node } from './toolchains.ts'

await testInterop({
  name: 'rsocket-js 1.0.0-alpha.3',
  // Compiled for both runtimes, because rsocket-js is made for Node.
  toolchain: node('dist/interop/peers/js/peer.js'),
  asking: {
    'pushes metadata, which changes nothing': [
      'pushes no metadata',
      async (given) => {
        const connection = await given.dial(await given.serve())
        connection.push('news')
        assert.match((await connection.event('failed')).message, /not implemented/)
      }
    ]
  },
  answering: {
    'gives a megabyte back in fragments, ours and its own': [
      'gives a megabyte back that came in fragments, in one frame whatever its fragment size',
      async (given) => {
        const { client, connection, tap } = await given.connected(
          { fragmentSize: 10_000 },
          { fragmentSize: 10_000 }
        )
        const answer = client.request('echo', 'é'.repeat(500_000))
        const { answer: stream, bytes } = await connection.requested()
        stream.next(bytes, { complete: true })
        assert.equal(await answer, 'é'.repeat(500_000))
        assert.ok(tap.fragments('client') >= 100)
        assert.equal(tap.fragments('server'), 0)
      }
    ],
    'answers with codes: rejected, invalid, canceled': [
      'answers with no other code than APPLICATION_ERROR',
      async (given) => {
        const { client, connection } = await given.connected()
        const failed = assert.rejects(client.request('fail', 1), (error) => {
          assert.ok(error instanceof RpcError)
          assert.deepEqual([error.name, error.code, error.message], ['RpcError', 'UNKNOWN', 'no'])
          return true
        })
        ;(await connection.requested()).answer.error(Code.REJECTED, 'no')
        await failed
      }
    ],
    'pushes metadata, which changes nothing': [
      'pushes no metadata',
      async (given) => {
        const { connection } = await given.connected()
        connection.push('news')
        assert.match((await connection.event('failed')).message, /not implemented/)
      }
    ],
    'grants leases, and is asked no more than that': refusesSetup(
      'grants no leases, and refuses clients that want them',
      { rsocket: { lease: true } },
      /REJECTED_SETUP.*Lease has to be disabled/
    )
  }
})
