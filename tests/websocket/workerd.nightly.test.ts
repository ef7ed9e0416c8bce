/** The client in `workerd`, the runtime of Cloudflare's Workers. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { isMissing } from '@elysia-microservices/test-support'
import { websocket } from '@elysia-microservices/websocket'
import { bundled } from '../support/bundled.ts'
import { listen, newApp } from '../support/http-app.ts'
import { fromOthers } from '../support/others.ts'
import { EXPECTED, newService } from './edge-service.ts'

/** The worker: `fetch` answers with the results of a client of the app. */
const PROGRAM = `import { outcome } from './edge.ts'
export default {
  async fetch(request) {
    return Response.json(await outcome(new URL(request.url).searchParams.get('app')))
  }
}`

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "edge", worker = (
      modules = [(name = "edge.js", esModule = embed "edge.js")],
      compatibilityDate = "2026-11-01"
    )),
    (name = "internet", network = (allow = ["local"]))
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")]
);`

/** Only tested on one platform, so that the lockfile does not need the programs of all platforms. */
const missing =
  process.platform === 'linux' && process.arch === 'x64' ? undefined : 'workerd of this platform'

describe('a client in workerd', { skip: isMissing('a client in workerd', missing) }, () => {
  const service = newService()
  let server: Awaited<ReturnType<typeof listen>>
  let folder = ''
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'workerd-'))
    server = await listen(
      newApp()
        .use(service)
        .use(websocket({ expose: ['>'] }))
    )
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await server.stop()
    await service.stop()
  })

  it('makes requests, reads a stream, sends one, and gets errors', async () => {
    const { workerd } = await fromOthers<{ workerd: string }>('workerd')
    writeFileSync(path.join(folder, 'edge.js'), bundled(PROGRAM))
    writeFileSync(path.join(folder, 'config.capnp'), CONFIG)
    const edge = spawn(workerd, ['serve', '--control-fd=3', path.join(folder, 'config.capnp')], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe']
    })
    try {
      const [line] = await once(createInterface({ input: edge.stdio[3] as Readable }), 'line')
      const { port } = JSON.parse(line)
      const app = `${server.url.replace('http://localhost', 'ws://127.0.0.1')}/rsocket`
      const response = await fetch(`http://127.0.0.1:${port}/?app=${encodeURIComponent(app)}`)
      assert.deepEqual(await response.json(), EXPECTED)
    } finally {
      edge.kill()
      await once(edge, 'close')
    }
  })
})
