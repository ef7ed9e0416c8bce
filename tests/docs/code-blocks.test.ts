/**
 * Every code block of the documentation and of docstrings: TypeScript compiles, blocks marked `ts run` are run (`ts
 * run nats` beside a NATS server, whose address is in `NATS_URL`; `ts run postgres` with an empty database at
 * `DATABASE_URL`), commands exist.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { freePort, isMissing, isOnPush, PATIENCE } from '@elysia-microservices/test-support'
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import { firstValueFrom } from 'rxjs'
import { listening } from '../support/listening.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { bun, rootFolder, testsFolder, tsc } from '../workspace.ts'
import { type CodeBlock, codeBlocks, DOCUMENTS, docstringBlocks } from './markdown.ts'

const run = promisify(execFile)

const blocks = [...DOCUMENTS.flatMap((file) => codeBlocks(join(rootFolder, file))), ...docstringBlocks()]
const nameOf = ({ file, line }: CodeBlock) => `${relative(rootFolder, file)}:${line}`

/** Inside the package of the tests, so that packages are resolved as for users; git ignores this folder. */
const folder = join(testsFolder, 'dist', `code-blocks-${process.pid}`)

function fileOf(block: CodeBlock): string {
  // A block that names its file (`// math.ts`) can be imported by other blocks of its page.
  const named = /^\/\/ (\S+\.ts)\n/.exec(block.code)?.[1]
  return named ?? `${nameOf(block).replace(/[^a-zA-Z0-9]+/g, '-')}.ts`
}

const COMPILER_OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  skipLibCheck: true,
  experimentalDecorators: true,
  types: ['node']
}

/** The code with all declarations exported, except clients of Eden: Eden does not export their types. */
function exported(code: string): string {
  return code.replace(
    /^(?!const \w+ = treaty)(?=(?:const|(?:async )?function|class|interface|type) )/gm,
    'export '
  )
}

let postgresServer: Promise<Postgres> | undefined
function postgres(): Promise<Postgres> {
  postgresServer ??= startPostgres()
  return postgresServer
}

/**
 * Runs programs one after the other in one process, because most of the time of sixty programs is that of starting
 * sixty processes.
 * @returns those that have run to their end; none if the process did not end by itself, as something of theirs is open
 */
async function runTogether(files: readonly string[]): Promise<ReadonlySet<string>> {
  const all = join(folder, 'all.ts')
  writeFileSync(
    all,
    `const ended = []
for (const file of ${JSON.stringify(files)})
  await import('./' + file).then(() => ended.push(file), () => {})
console.log('\\n' + JSON.stringify(ended))`
  )
  const { stdout } = await run(bun, [all], { timeout: PATIENCE }).catch(() => ({ stdout: '[]' }))
  const last = stdout.trim().split('\n').at(-1) ?? ''
  return new Set(last.startsWith('[') ? (JSON.parse(last) as string[]) : [])
}

describe('the documentation', () => {
  const typescript = blocks.filter(({ info }) => info.split(' ')[0] === 'ts')
  const programs = typescript.filter(({ info }) => info.split(' ').includes('run'))
  /** At night each program has a process of its own. */
  let together: Promise<ReadonlySet<string>> | undefined
  const ranTogether = () => {
    together ??= runTogether(programs.filter(({ info }) => info === 'ts run').map(fileOf))
    return together
  }

  before(() => {
    mkdirSync(folder, { recursive: true })
    // As for users: without the paths of this repository, by which Bun would read the sources of all packages.
    writeFileSync(join(folder, 'tsconfig.json'), '{}')
    for (const block of typescript) writeFileSync(join(folder, fileOf(block)), `${block.code}\nexport {}\n`)
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await (await postgresServer)?.stop()
  })

  it('has no two files of one name', () => {
    const names = typescript.map(fileOf)
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      []
    )
  })

  it('has TypeScript that compiles, also with all declarations exported', async () => {
    assert.ok(typescript.length > 10, `${typescript.length} blocks found`)
    const declared = join(folder, 'declared')
    mkdirSync(declared)
    for (const block of typescript)
      writeFileSync(join(declared, fileOf(block)), `${exported(block.code)}\nexport {}\n`)
    const compilerOptions = {
      ...COMPILER_OPTIONS,
      composite: true,
      emitDeclarationOnly: true,
      rewriteRelativeImportExtensions: true,
      rootDir: '.',
      outDir: 'types'
    }
    writeFileSync(join(declared, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    await run(tsc, ['-p', declared]).catch((error: { stdout: string }) => assert.fail(error.stdout))
  })

  for (const block of programs) {
    const what = `a program at ${nameOf(block)}`
    const needsNats = block.info.split(' ').includes('nats')
    if (needsNats && isMissing(what, natsMissing())) continue
    const needsPostgres = block.info.split(' ').includes('postgres')
    it(`has ${what} that runs to its end`, async () => {
      // One that has failed beside others may run alone.
      if (isOnPush && block.info === 'ts run' && (await ranTogether()).has(fileOf(block))) return
      const store = join(folder, 'nats')
      const server = needsNats ? await NatsServerProcess.start('-js', '-sd', store) : undefined
      const env = {
        ...process.env,
        ...(server === undefined ? {} : { NATS_URL: server.url }),
        ...(needsPostgres ? { DATABASE_URL: await (await postgres()).database() } : {})
      }
      try {
        await run(bun, [join(folder, fileOf(block))], { timeout: PATIENCE, env })
      } finally {
        await server?.stop()
      }
    })
  }

  it('has a first service that answers the first client', async () => {
    // Both are separate programs, on a free port.
    const port = String(await freePort('localhost'))
    const [server, client] = ['orders.ts', 'checkout.ts'].map((name) => {
      const code = typescript.find((each) => fileOf(each) === name)?.code ?? ''
      assert.ok(code.includes('4000'), `${name} is on a page, and on port 4000`)
      const file = join(folder, `first-${name}`)
      writeFileSync(file, code.replaceAll('4000', port))
      return file
    })
    const service = spawn(bun, [server!], { stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      const said = once(service.stdout, 'data')
      await listening(Number(port), service)
      await run(bun, [client!], { timeout: PATIENCE })
      assert.equal(String((await said)[0]).trim(), 'order 7')
      service.kill('SIGTERM')
      assert.deepEqual(await once(service, 'exit'), [0, null])
    } finally {
      service.kill('SIGKILL')
    }
  })

  it("has a controller that Nest's client calls", async () => {
    const ports = new Map([
      ['4001', String(await freePort('localhost'))],
      ['3000', String(await freePort('localhost'))]
    ])
    const code = typescript.find((each) => fileOf(each) === 'controller.ts')?.code ?? ''
    const project = join(folder, 'controller')
    mkdirSync(project)
    // The setting that the README names, and no other.
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { experimentalDecorators: true } })
    )
    const file = join(project, 'controller.ts')
    writeFileSync(
      file,
      code.replaceAll(/4001|3000/g, (port) => ports.get(port) as string)
    )
    const service = spawn(bun, [file], { stdio: ['ignore', 'ignore', 'inherit'] })
    const port = Number(ports.get('4001'))
    const client = ClientProxyFactory.create({
      transport: Transport.TCP,
      options: { host: 'localhost', port }
    })
    try {
      await listening(port, service)
      assert.equal(await firstValueFrom(client.send({ cmd: 'sum' }, [1, 2, 3])), 6)
      assert.match(await (await fetch(`http://localhost:${ports.get('3000')}`)).text(), /messages/)
    } finally {
      client.close()
      service.kill('SIGKILL')
    }
  })

  it('has services that dev runs', async () => {
    const ports = new Map([
      ['4000', String(await freePort('localhost'))],
      ['3000', String(await freePort('localhost'))]
    ])
    const project = join(folder, 'dev')
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    for (const name of ['microservices.config.ts', 'prices-service.ts', 'shop-gateway.ts']) {
      const code =
        typescript.find((each) => fileOf(each) === name)?.code ?? assert.fail(`${name} is on no page`)
      writeFileSync(
        join(project, name),
        code.replaceAll(/4000|3000/g, (port) => ports.get(port) as string)
      )
    }
    const program = join(rootFolder, 'tools/cli/lib/main.js')
    const dev = spawn(bun, [program, 'dev'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
    try {
      let said = ''
      for await (const chunk of dev.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        said += chunk
        if (said.includes('All services are ready')) break
      }
      assert.match(said, /^dev {4}\| All services are shown at http:\/\/localhost:\d+\/console$/m)
      assert.match(said, /^dev {4}\| shop is ready after [\d.]+ s \(process \d+, port \d+\)$/m)
      dev.stdout.resume()
      const answer = await fetch(`http://localhost:${ports.get('3000')}`)
      assert.equal(await answer.text(), 'tea costs 3')
      dev.kill('SIGINT')
      assert.deepEqual(await once(dev, 'exit'), [0, null])
    } finally {
      // The services end together with dev.
      dev.kill('SIGKILL')
    }
  })

  it('names only npm scripts that exist', () => {
    const scriptsOf = (file: string): string[] =>
      Object.keys((JSON.parse(readFileSync(join(rootFolder, file), 'utf8')) as { scripts: object }).scripts)
    const known = new Set(
      ['.', 'examples/bench', 'examples/shop', 'examples/small'].flatMap((each) =>
        scriptsOf(`${each}/package.json`)
      )
    )
    const named = blocks
      .filter(({ info }) => info === 'sh')
      .flatMap(({ code }) =>
        [...code.matchAll(/(?:npm|bun) run ([\w:-]+)(?![\w./-])/g)].map((match) => match[1] as string)
      )
    assert.ok(named.length > 0)
    assert.deepEqual(
      named.filter((name) => !known.has(name)),
      []
    )
  })
})
