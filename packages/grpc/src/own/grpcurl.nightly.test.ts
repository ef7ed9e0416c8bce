/** grpcurl, a program of others that knows of a server only what its reflection tells. It is built from its sources, by Go. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { loadProto } from '@elysia-microservices/protobuf'
import { isMissing, Log } from '@elysia-microservices/test-support'
import type { ServerTransport } from '@elysia-microservices/transport/kit'
import { grpc } from '../grpc.ts'
import { dispatcherOf } from '../testing/service.ts'

const run = promisify(execFile)
const PROGRAM = 'github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3'
const GO = ['go', '/usr/local/go/bin/go'].find((go) => spawnSync(go, ['version']).status === 0)
const CACHE = join(tmpdir(), 'elysia-microservices-grpcurl')

/** Builds the program, if that has not been done yet. Returns its path. */
async function built(go: string): Promise<string> {
  const program = join(CACHE, 'bin', 'grpcurl')
  const env = { ...process.env, GOPATH: CACHE, GOFLAGS: '-modcacherw' }
  if (!existsSync(program)) await run(go, ['install', PROGRAM], { env, timeout: 600_000 })
  return program
}

if (!isMissing('grpcurl', GO === undefined ? 'Go' : undefined))
  describe('grpcurl', () => {
    let server: ServerTransport
    let address: string
    let program: Promise<string> | undefined

    before(async () => {
      const protos = fileURLToPath(new URL('../../src/testing/protos/', import.meta.url))
      const proto = await loadProto({ files: `${protos}shop/orders.proto`, includeDirs: [protos] })
      const transport = grpc({ proto, host: '127.0.0.1', port: 0, reflection: true })
      server = transport.server({ name: 'shop', version: undefined, logger: new Log().logger })
      await server.start(
        dispatcherOf({ GetTotal: ({ data }) => (data as { lines: { price: object }[] }).lines[0]?.price })
      )
      address = `127.0.0.1:${transport.address!.port}`
    })
    after(() => server.stop({ drain: 0 }))

    const ask = async (...words: readonly string[]) => {
      program ??= built(GO as string)
      const flags = words[0]?.startsWith('-') ? words.slice(0, 2) : []
      const { stdout } = await run(await program, [
        '-plaintext',
        ...flags,
        address,
        ...words.slice(flags.length)
      ])
      return stdout.replaceAll(/\s+/g, ' ').trim()
    }

    it('lists services and methods', { timeout: 700_000 }, async () => {
      assert.equal(
        await ask('list'),
        'grpc.health.v1.Health grpc.reflection.v1.ServerReflection grpc.reflection.v1alpha.ServerReflection shop.Orders'
      )
      assert.equal(await ask('list', 'shop.Orders'), 'shop.Orders.GetTotal')
    })

    it('describes what has a name', async () => {
      assert.match(
        await ask('describe', 'shop.Orders'),
        /rpc GetTotal \( \.shop\.Order \) returns \( \.shop\.Money \)/
      )
      assert.match(await ask('describe', 'shop.Order.Line'), /\.shop\.Money price = 1;/)
      assert.match(await ask('describe', 'grpc.reflection.v1.ErrorResponse'), /int32 error_code = 1;/)
      await assert.rejects(ask('describe', 'shop.Nobody'), /shop\.Nobody/)
    })

    it('calls methods, and asks for the health', async () => {
      assert.equal(
        await ask('-d', '{"lines":[{"price":{"cents":"700"}}]}', 'shop.Orders/GetTotal'),
        '{ "cents": "700" }'
      )
      assert.equal(await ask('grpc.health.v1.Health/Check'), '{ "status": "SERVING" }')
      await assert.rejects(ask('-d', '{"service":"shop.Cart"}', 'grpc.health.v1.Health/Check'), /NotFound/)
    })
  })
