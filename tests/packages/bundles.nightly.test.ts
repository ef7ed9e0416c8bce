/** The commands of docs/runtimes.md make one file of a program and its packages, and the file runs alone. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { codeBlocks } from '../docs/markdown.ts'
import { bun, rootFolder, testsFolder } from '../workspace.ts'

const run = promisify(execFile)
/** The commands find our packages from here, and the bundles run where there are none. */
const folder = join(testsFolder, 'dist', `bundles-${process.pid}`)
const alone = mkdtempSync(join(tmpdir(), 'bundles-'))
const env = { ...process.env, PATH: `${join(rootFolder, 'node_modules/.bin')}:${process.env['PATH']}` }

/** Loads the drivers of all engines that can be bundled, and a schema, which loads Elysia at run time. */
const PROGRAM = `
import { mqtt } from '@elysia-microservices/mqtt'
import { nats } from '@elysia-microservices/nats'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { redis } from '@elysia-microservices/redis'
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
  .message('double', ({ data }) => 2 * data, { data: t.Number() })
await service.listen()
const client = connect<typeof service>({ port: service.address!.port, codec: 'msgpack' })
console.log(await client.request('double', 21), [mqtt, nats, rabbitmq, redis].length)
await client.close()
await service.stop()
`

/** The files that the commands of the page make, and how they are started. */
const STARTED = {
  'app.mjs': (file: string) => [process.versions.bun ? 'node' : process.execPath, file],
  'app.js': (file: string) => [bun, file],
  app: (file: string) => [file]
} as const

describe('the commands for bundles', { timeout: 300_000 }, () => {
  const commands = codeBlocks(join(rootFolder, 'docs/runtimes.md'))
    .filter(({ code }) => code.includes('--outfile='))
    .flatMap(({ code }) => code.trim().split('\n'))

  before(() => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'app.ts'), PROGRAM)
  })
  after(() => {
    for (const one of [folder, alone]) rmSync(one, { recursive: true, force: true })
  })

  for (const [file, started] of Object.entries(STARTED))
    it(`make ${file}, which runs without its packages`, async () => {
      const command = commands.find((one) => new RegExp(`--outfile=${file}(?![.\\w])`).test(one))
      assert.ok(command, `no command makes ${file}`)
      // In a workspace npx would run the command in the folder of the package.
      await run('sh', ['-c', command.replace(/^npx /, '')], { cwd: folder, env })
      copyFileSync(join(folder, file), join(alone, file))
      const [program = '', ...args] = started(join(alone, file))
      const { stdout } = await run(program, args, { cwd: alone })
      assert.equal(stdout.trim(), '42 4')
    })
})
