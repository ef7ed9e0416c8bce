/** The client of Connect for Go, with code that its own generators make of the page's `.proto`. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { connectRpc } from '@elysia-microservices/connect'
import { isMissing } from '@elysia-microservices/test-support'
import { listen, newApp } from '../support/http-app.ts'
import { generateGo, MODULE, PROTOBUF, PROTOBUF_VERSION } from './go.ts'
import { codeIn, newShop, printsIn, shopProto } from './shop.ts'

const run = promisify(execFile)

/** Go's own package manager fetches these versions. */
const CONNECT = 'connectrpc.com/connect'
const CONNECT_VERSION = 'v1.18.1'

const missing = spawnSync('go', ['version']).status === 0 ? undefined : 'Go (go)'

if (!isMissing('the client in Go', missing))
  describe('the client in Go', () => {
    const folder = mkdtempSync(join(tmpdir(), 'other-languages-go-'))
    let app: Awaited<ReturnType<typeof listen>>

    before(async () => {
      const proto = await shopProto()
      app = await listen(newApp().use(newShop()).use(connectRpc({ proto })))
      const needs = [`${CONNECT} ${CONNECT_VERSION}`, `${PROTOBUF} ${PROTOBUF_VERSION}`]
      const lines = [`module ${MODULE}`, '', 'go 1.23', '', ...needs.map((one) => `require ${one}`)]
      writeFileSync(join(folder, 'go.mod'), `${lines.join('\n')}\n`)
      generateGo(folder, proto, `${PROTOBUF}/cmd/protoc-gen-go@${PROTOBUF_VERSION}`)
      generateGo(folder, proto, `${CONNECT}/cmd/protoc-gen-connect-go@${CONNECT_VERSION}`)
      writeFileSync(join(folder, 'main.go'), codeIn('go').replaceAll('http://localhost:3000', app.url))
      await run('go', ['mod', 'tidy'], { cwd: folder })
    })
    after(async () => {
      await app.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    for (const options of [
      '',
      'connect.WithProtoJSON()',
      'connect.WithGRPCWeb()',
      'connect.WithSendGzip(), connect.WithHTTPGet()',
      'connect.WithGRPCWeb(), connect.WithSendGzip()'
    ])
      it(`gets what the page says${options && `, with ${options}`}`, async () => {
        const code = codeIn('go')
          .replaceAll('http://localhost:3000', app.url)
          .replace(`"${app.url}")`, `"${app.url}"${options && `, ${options}`})`)
        writeFileSync(join(folder, 'main.go'), code)
        const { stdout } = await run('go', ['run', '.'], { cwd: folder })
        assert.equal(stdout, printsIn('go'))
      })
  })
