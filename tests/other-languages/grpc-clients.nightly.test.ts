/** The clients of docs/grpc.md in Go and Python, with the code that their own generators make of the `.proto`. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { type GrpcTransport, grpc } from '@elysia-microservices/grpc'
import { isMissing } from '@elysia-microservices/test-support'
import { codeBlocks } from '../docs/markdown.ts'
import { rootFolder } from '../workspace.ts'
import { generateGo, MODULE, PROTOBUF, PROTOBUF_VERSION } from './go.ts'
import { codeIn, newShop, shopProto } from './shop.ts'

const run = promisify(execFile)
const blocks = codeBlocks(join(rootFolder, 'docs/grpc.md'))

const GRPC_GO = 'google.golang.org/grpc'
const GRPC_GO_VERSION = 'v1.85.0'
const GO_PLUGIN = `${GRPC_GO}/cmd/protoc-gen-go-grpc@v1.6.0`
const GRPC_PYTHON = '1.85.1'

/** The code of a client, on the port of the test's service, and what it prints. */
function program(language: string, port: number): { readonly code: string; readonly prints: string } {
  const index = blocks.findIndex(({ info }) => info === language)
  const { code } = blocks[index] ?? assert.fail(`docs/grpc.md has no block ${language}`)
  return {
    code: code.replaceAll('localhost:50051', `127.0.0.1:${port}`),
    prints: blocks[index + 1]?.code ?? ''
  }
}

const works = (name: string, ...parameters: string[]) => spawnSync(name, parameters).status === 0

describe('the clients of docs/grpc.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-clients-'))
  let transport: GrpcTransport
  let service: ReturnType<typeof newShop>
  const port = () => transport.address!.port

  before(async () => {
    transport = grpc({ proto: await shopProto(), host: '127.0.0.1', port: 0 })
    service = newShop(undefined, transport)
    await service.listen()
  })
  after(async () => {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  if (!isMissing('the client in Go', works('go', 'version') ? undefined : 'Go (go)'))
    it('in Go', { timeout: 300_000 }, async () => {
      const place = join(folder, 'go')
      mkdirSync(place)
      const needs = [`${GRPC_GO} ${GRPC_GO_VERSION}`, `${PROTOBUF} ${PROTOBUF_VERSION}`]
      const lines = [`module ${MODULE}`, '', 'go 1.24', '', ...needs.map((one) => `require ${one}`)]
      writeFileSync(join(place, 'go.mod'), `${lines.join('\n')}\n`)
      const proto = await shopProto()
      generateGo(place, proto, `${PROTOBUF}/cmd/protoc-gen-go@${PROTOBUF_VERSION}`)
      generateGo(place, proto, GO_PLUGIN)
      const { code, prints } = program('go', port())
      writeFileSync(join(place, 'main.go'), code)
      await run('go', ['mod', 'tidy'], { cwd: place })
      assert.equal((await run('go', ['run', '.'], { cwd: place })).stdout, prints)
    })

  const python = works('python3', '-c', 'import venv, ensurepip') ? undefined : 'Python with venv (python3)'
  if (!isMissing('the client in Python', python))
    it('in Python', { timeout: 300_000 }, async () => {
      const place = join(folder, 'python')
      await run('python3', ['-m', 'venv', place])
      const interpreter = join(place, 'bin/python')
      const packages = [`grpcio==${GRPC_PYTHON}`, `grpcio-tools==${GRPC_PYTHON}`]
      await run(interpreter, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages])
      writeFileSync(join(place, 'shop.proto'), codeIn('proto'))
      const generate = [
        '-m',
        'grpc_tools.protoc',
        '-I.',
        '--python_out=.',
        '--grpc_python_out=.',
        'shop.proto'
      ]
      await run(interpreter, generate, { cwd: place })
      const { code, prints } = program('py', port())
      writeFileSync(join(place, 'caller.py'), code)
      assert.equal((await run(interpreter, ['caller.py'], { cwd: place })).stdout, prints)
    })
})
