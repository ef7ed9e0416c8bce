/** docs/other-languages.md: its server answers its clients as the page says, and its tables are complete. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { freePort, isMissing } from '@elysia-microservices/test-support'
import { listening } from '../support/listening.ts'
import { bun, rootFolder, testsFolder } from '../workspace.ts'
import { codeBlocks } from './markdown.ts'

const run = promisify(execFile)
const PAGE = join(rootFolder, 'docs/other-languages.md')
const page = readFileSync(PAGE, 'utf8')
const blocks = codeBlocks(PAGE)

/** The code of a block, and the text of the block behind it, which is what the code prints. */
function program(info: string, begins = ''): { readonly code: string; readonly prints: string } {
  const index = blocks.findIndex((block) => block.info === info && block.code.startsWith(begins))
  const { code } = blocks[index] ?? assert.fail(`no block ${info} that begins with ${begins}`)
  return { code, prints: blocks[index + 1]?.info === 'text' ? (blocks[index + 1]?.code ?? '') : '' }
}

/** The built file of a package. */
function built<Module>(name: string, file: string): Promise<Module> {
  return import(pathToFileURL(join(rootFolder, 'packages', name, 'dist', file)).href) as Promise<Module>
}

describe('the server of docs/other-languages.md', () => {
  const folder = join(testsFolder, 'dist', `other-languages-${process.pid}`)
  let server: ChildProcess
  let port = ''

  before(async () => {
    port = String(await freePort('localhost'))
    mkdirSync(folder, { recursive: true })
    // As for users: without the paths of this repository, by which Bun would read the sources of all packages.
    writeFileSync(join(folder, 'tsconfig.json'), '{}')
    writeFileSync(join(folder, 'shop.proto'), program('proto').code)
    writeFileSync(join(folder, 'server.ts'), onPort(program('ts', '// shop-server.ts').code))
    server = spawn(bun, [join(folder, 'server.ts')], { stdio: ['ignore', 'ignore', 'inherit'] })
    await listening(Number(port), server)
  })
  after(() => {
    server?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  const onPort = (code: string) => code.replaceAll('3000', port)

  it('answers curl', async () => {
    const { code, prints } = program('sh', 'curl')
    const lines = code.trim().split('\n')
    assert.equal(lines.length, 3)
    const answers: string[] = []
    for (const line of lines) answers.push((await run('sh', ['-c', `${onPort(line)} -sS`])).stdout)
    assert.equal(answers.join('\n'), prints.trim())
  })

  const python = program('py', 'import json')
  if (!isMissing('the client in Python', pythonMissing()))
    it('answers the client in Python', async () => {
      const file = join(folder, 'client.py')
      writeFileSync(file, onPort(python.code))
      assert.equal((await run('python3', [file])).stdout, python.prints)
    })
})

function pythonMissing(): string | undefined {
  return spawnSync('python3', ['--version']).status === 0 ? undefined : 'Python (python3)'
}

describe('the tables of docs/other-languages.md', () => {
  it('have each limit, with its default', async () => {
    const { CONNECT_LIMITS: limits } = await built<{
      CONNECT_LIMITS: Readonly<Record<string, { readonly byDefault?: unknown }>>
    }>('connect', 'options.js')
    const named = [...page.matchAll(/^\| `limits\.(\w+)` \| ([\d,]+) \|/gm)]
    assert.deepEqual(
      Object.fromEntries(named.map(([, name, figure = '']) => [name, Number(figure.replaceAll(',', ''))])),
      Object.fromEntries(Object.entries(limits).map(([name, { byDefault }]) => [name, byDefault]))
    )
  })

  it('have each code, with its number, its HTTP status and the codes of errors', async () => {
    const { CODES } = await built<{
      CODES: Readonly<Record<string, { readonly number: number; readonly status: number }>>
    }>('protobuf', 'rpc/codes.js')
    const { ERROR_CODES } = await built<{ ERROR_CODES: Readonly<Record<string, string>> }>(
      'protobuf',
      'rpc/codes.js'
    )
    const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (\d+) \| (\d{3}) \| (.+) \|$/gm)]
    for (const [, code = '', number, status] of rows)
      assert.deepEqual(CODES[code], { number: Number(number), status: Number(status) }, code)
    const listed = new Map(
      rows.flatMap(([, code = '', , , errors = '']) =>
        [...errors.matchAll(/`([A-Z_]+)`/g)].map(([, error = '']) => [error, code] as const)
      )
    )
    for (const [error, code] of Object.entries(ERROR_CODES)) assert.equal(listed.get(error), code, error)
    // A name of gRPC stands for itself.
    for (const [error, code] of listed) assert.equal(ERROR_CODES[error] ?? error.toLowerCase(), code)
  })
})
