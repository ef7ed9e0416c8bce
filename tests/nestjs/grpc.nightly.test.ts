/**
 * NestJS's gRPC applications in four columns: NestJS's service on grpc-js, our strategy and our plugin, each called by
 * NestJS's own client and by ours, with one file of controllers and one of calls. Value by value they are the same.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { GrpcMetadata } from '@elysia-microservices/nestjs'
import { freePort, PATIENCE, within } from '@elysia-microservices/test-support'
import { fileOfOthers } from '../support/others.ts'
import { testsFolder } from '../workspace.ts'
import { answers, CALLED_BACK, callsBack } from './grpc/callers.ts'
import { clientOf, serveNest, servePlugin } from './grpc/ends.ts'
import { EXPECTED, EXPECTED_OF_PLUGIN } from './grpc/expected.ts'
import { expectedOutcomes } from './grpc/suite.ts'

const peer = join(testsFolder, 'nestjs/grpc/nest-peer.ts')
let packages = ''
/** Megabytes that a handler sends at once: as many as in NestJS's own suite. */
const LARGE = 1_000

/** NestJS's own ends, in a process that finds grpc-js. */
function startPeer(...task: readonly string[]): ChildProcess {
  return spawn('bun', [peer, ...task], {
    env: { ...process.env, NODE_PATH: packages },
    stdio: ['pipe', 'pipe', 'inherit']
  })
}

async function output({ stdout }: ChildProcess): Promise<string> {
  const parts: string[] = []
  for await (const part of stdout!) parts.push(String(part))
  return parts.join('')
}

const byNest = async (port: number): Promise<unknown> =>
  JSON.parse(await within(output(startPeer('call', String(port))), "the answers of NestJS's client"))

async function byUs(port: number): Promise<unknown> {
  const client = clientOf('ours', port)
  try {
    return [await answers(client, GrpcMetadata), await callsBack(client)]
  } finally {
    await client.close()
  }
}

const serveByPeer = async (port: number) => {
  const child = startPeer('serve', String(port))
  await within(once(child.stdout!, 'data'), "the start of NestJS's service")
  return {
    port,
    async close() {
      const ended = once(child, 'exit')
      child.stdin!.end()
      await ended
    }
  }
}

async function prepare(): Promise<void> {
  packages = join(dirname(fileURLToPath(await fileOfOthers('grpc-js'))), 'node_modules')
}

const SERVERS = [
  ['NestJS itself', serveByPeer, EXPECTED],
  ['NestJS with our strategy', (port: number) => serveNest('ours', port), EXPECTED],
  ['our plugin', servePlugin, EXPECTED_OF_PLUGIN]
] as const

for (const [name, serve, expected] of SERVERS)
  describe(`gRPC: the same controllers, run by ${name}`, () => {
    let server: Awaited<ReturnType<typeof serve>>
    before(start, { timeout: 4 * PATIENCE })
    async function start() {
      await prepare()
      server = await serve(await freePort())
    }
    after(() => server.close())

    it("answer NestJS's own client", { timeout: 2 * PATIENCE }, async () => {
      assert.deepEqual(await byNest(server.port), [expected, CALLED_BACK])
    })

    it('answer our client', { timeout: 2 * PATIENCE }, async () => {
      assert.deepEqual(await byUs(server.port), [expected, CALLED_BACK])
    })
  })

describe("gRPC: the specs of NestJS's suites", () => {
  before(prepare, { timeout: 4 * PATIENCE })

  for (const server of ['Nest', 'ours'] as const)
    for (const client of ['Nest', 'ours'] as const)
      it(`${server} with ${client}`, { timeout: 4 * PATIENCE }, async () => {
        assert.deepEqual(
          JSON.parse(await output(startPeer('suite', server, client, String(LARGE)))),
          expectedOutcomes(server, LARGE)
        )
      })
})
