/** NestJS's gRPC applications run here unchanged. That NestJS itself answers the same, `grpc.nightly.test.ts` shows. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { GrpcMetadata } from '@elysia-microservices/nestjs'
import { freePort } from '@elysia-microservices/test-support'
import { answers, CALLED_BACK, callsBack, LEFT, leaves } from './grpc/callers.ts'
import { seen } from './grpc/controller.ts'
import { clientOf, type Running, serveNest, servePlugin } from './grpc/ends.ts'
import { EXPECTED, EXPECTED_OF_PLUGIN } from './grpc/expected.ts'
import { expectedOutcomes, outcomes } from './grpc/suite.ts'

/** Megabytes that a handler sends at once. */
const LARGE = 40

const SERVERS = [
  ['an application of NestJS with our strategy', (port: number) => serveNest('ours', port), EXPECTED],
  ['our plugin with controllers of NestJS', servePlugin, EXPECTED_OF_PLUGIN]
] as const

for (const [name, serve, expected] of SERVERS)
  describe(`gRPC: ${name}`, () => {
    let server: Running
    let client: ReturnType<typeof clientOf>
    before(async () => {
      server = await serve(await freePort())
      client = clientOf('ours', server.port)
    })
    after(async () => {
      await client.close()
      await server.close()
    })

    it('answers all kinds of calls, values and errors', async () => {
      assert.deepEqual(await answers(client, GrpcMetadata), expected)
    })

    it('answers callers who give callbacks and streams', async () => {
      assert.deepEqual(await callsBack(client), CALLED_BACK)
    })

    it('stops the work of a caller who has left', async () => {
      assert.deepEqual(await leaves(client, seen), LEFT)
    })
  })

describe("gRPC: the specs of NestJS's suites", () => {
  it('have the same outcomes', async () => {
    assert.deepEqual(await outcomes('ours', 'ours', LARGE), expectedOutcomes('ours', LARGE))
  })
})
