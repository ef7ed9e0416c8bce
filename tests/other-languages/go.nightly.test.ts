/** The client of Connect for Go, with code that its own generators make of the page's `.proto`. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema
} from '@bufbuild/protobuf/wkt'
import { connectRpc } from '@elysia-microservices/connect'
import type { Proto } from '@elysia-microservices/protobuf'
import { isMissing } from '@elysia-microservices/test-support'
import { listen, newApp } from '../support/http-app.ts'
import { codeIn, newShop, printsIn, shopProto } from './shop.ts'

const run = promisify(execFile)

/** Go's own package manager fetches these versions. */
const CONNECT = 'connectrpc.com/connect'
const CONNECT_VERSION = 'v1.18.1'
const PROTOBUF = 'google.golang.org/protobuf'
const PROTOBUF_VERSION = 'v1.36.6'
const MODULE = 'example.com/shop'
const GENERATED = `${MODULE}/gen/shop/v1`

const missing = spawnSync('go', ['version']).status === 0 ? undefined : 'Go (go)'

if (!isMissing('the client in Go', missing))
  describe('the client in Go', () => {
    const folder = mkdtempSync(join(tmpdir(), 'other-languages-go-'))
    let app: Awaited<ReturnType<typeof listen>>

    before(async () => {
      const proto = await shopProto()
      app = await listen(
        newApp()
          .use(newShop())
          .use(connectRpc({ services: proto }))
      )
      const needs = [`${CONNECT} ${CONNECT_VERSION}`, `${PROTOBUF} ${PROTOBUF_VERSION}`]
      const lines = [`module ${MODULE}`, '', 'go 1.23', '', ...needs.map((one) => `require ${one}`)]
      writeFileSync(join(folder, 'go.mod'), `${lines.join('\n')}\n`)
      generate(folder, proto, `${PROTOBUF}/cmd/protoc-gen-go@${PROTOBUF_VERSION}`)
      generate(folder, proto, `${CONNECT}/cmd/protoc-gen-connect-go@${CONNECT_VERSION}`)
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

/** Runs a generator of code, as `buf generate` and `protoc` do. */
function generate(folder: string, proto: Proto, generator: string): void {
  const { file } = fromBinary(FileDescriptorSetSchema, proto.descriptors())
  const own = file.filter(({ package: name }) => name === 'shop.v1').map(({ name }) => name)
  const mapped = own.map((name) => `M${name}=${GENERATED};shopv1`)
  const request = create(CodeGeneratorRequestSchema, {
    fileToGenerate: own,
    parameter: [...mapped, `module=${MODULE}`].join(','),
    protoFile: file
  })
  const input = toBinary(CodeGeneratorRequestSchema, request)
  const { stdout, stderr } = spawnSync('go', ['run', generator], { cwd: folder, input })
  const answer = fromBinary(CodeGeneratorResponseSchema, new Uint8Array(stdout))
  assert.ok(answer.error === '' && answer.file.length > 0, answer.error || String(stderr))
  for (const { name, content } of answer.file) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
}
