/** The client of Connect for Python, with code that its own generator makes of the page's `.proto`: over each protocol. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { connectRpc } from '@elysia-microservices/connect'
import { grpc } from '@elysia-microservices/grpc'
import { isMissing, until } from '@elysia-microservices/test-support'
import { codeBlocks } from '../docs/markdown.ts'
import { listen, newApp } from '../support/http-app.ts'
import { rootFolder, testsFolder } from '../workspace.ts'
import { codeIn, newShop, shopProto } from './shop.ts'

const run = promisify(execFile)

const CONNECT = '0.13.0'
const GRPC_TOOLS = '1.85.1'
const PACKAGES = [
  `connectrpc==${CONNECT}`,
  `protoc-gen-connectrpc==${CONNECT}`,
  `grpcio-tools==${GRPC_TOOLS}`,
  'googleapis-common-protos'
]
const GENERATE = ['-I.', '--python_out=gen', '--connectrpc_out=gen', '--connectrpc_opt=protobuf=google']

/** The client of the page, and what it prints. */
function pageProgram(): { readonly code: string; readonly prints: string } {
  const blocks = codeBlocks(join(rootFolder, 'docs/other-languages.md'))
  const index = blocks.findIndex(({ info, code }) => info === 'py' && code.includes('connectrpc'))
  return { code: blocks[index]?.code ?? assert.fail('no such block'), prints: blocks[index + 1]?.code ?? '' }
}

const works = spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0

if (!isMissing('the client of Connect in Python', works ? undefined : 'Python with venv (python3)'))
  describe('the client of Connect in Python', () => {
    const folder = mkdtempSync(join(tmpdir(), 'connect-python-'))
    const interpreter = join(folder, 'bin/python')
    let app: Awaited<ReturnType<typeof listen>>
    let service: ReturnType<typeof newShop>
    let address: string
    /** Streams and calls that were left. */
    let left = 0

    before(
      async () => {
        const proto = await shopProto()
        app = await listen(
          newApp()
            .use(newShop(() => void left++))
            .use(connectRpc({ proto }))
        )
        const transport = grpc({ proto, host: '127.0.0.1', port: 0 })
        service = newShop(() => void left++, transport)
        await service.listen()
        address = `http://127.0.0.1:${transport.address!.port}`
        await run('python3', ['-m', 'venv', folder])
        await run(interpreter, [
          '-m',
          'pip',
          'install',
          '--quiet',
          '--disable-pip-version-check',
          ...PACKAGES
        ])
        writeFileSync(join(folder, 'shop.proto'), codeIn('proto'))
        mkdirSync(join(folder, 'gen'))
        const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH']}` }
        await run(interpreter, ['-m', 'grpc_tools.protoc', ...GENERATE, 'shop.proto'], { cwd: folder, env })
      },
      { timeout: 600_000 }
    )
    after(async () => {
      await app.stop()
      await service.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    const env = { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' }

    it('gets what the page says', async () => {
      const { code, prints } = pageProgram()
      writeFileSync(join(folder, 'caller.py'), code.replaceAll('http://localhost:3000', app.url))
      assert.equal((await run(interpreter, [join(folder, 'caller.py')], { env })).stdout, prints)
    })

    const program = join(testsFolder, 'other-languages/connect_checks.py')
    const asked = async (...words: readonly string[]) =>
      JSON.parse((await run(interpreter, [program, ...words], { env, timeout: 60_000 })).stdout)

    for (const [protocol, format] of [
      ['CONNECT', 'bytes'],
      ['CONNECT', 'json'],
      ['GRPC_WEB', 'bytes'],
      ['GRPC_WEB', 'json'],
      ['GRPC', 'bytes']
    ] as const)
      it(`gets values, streams, errors with details and deadlines, by ${protocol}, as ${format}`, async () => {
        const before = left
        assert.deepEqual(await asked(protocol === 'GRPC' ? address : app.url, protocol, format), {
          one: { id: 'tea ü', price: 4 },
          prices: [1, 2, 3],
          endless: 1_000,
          added: 2,
          error: { code: 'not_found', message: 'There is no order 0', reason: null, details: null },
          detailed: {
            code: 'unknown',
            message: 'No tea is left: ü',
            reason: 'OUT_OF_STOCK',
            details: { left: [0] }
          },
          deadline: 'deadline_exceeded'
        })
        await until('the handlers know that nobody waits any more', () => left === before + 2)
      })
  })
