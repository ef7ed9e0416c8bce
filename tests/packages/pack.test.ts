/** Tarballs of all packages, installed in an empty project, in which the examples of READMEs run. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { freePort, isOnPush } from '@elysia-microservices/test-support'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { codeBlocks } from '../docs/markdown.ts'
import { listening } from '../support/listening.ts'
import { fromOthers } from '../support/others.ts'
import { bun, packageFolder, rootFolder } from '../workspace.ts'
import { MADE_FOR, testMadeProjects } from './made-projects.ts'

const run = promisify(execFile)
const PACKAGES = [
  'transport',
  'rsocket',
  'tcp',
  'workers',
  'elysia-microservices',
  'websocket',
  'nestjs',
  'telemetry',
  'engine',
  'engine-tests',
  'kafka',
  'mqtt',
  'nats',
  'rabbitmq',
  'redis',
  'sqlite',
  'outbox',
  'postgres',
  'protobuf',
  'connect',
  'grpc',
  'cli',
  'console'
]
const ESBUILD = join(rootFolder, 'node_modules/.bin/esbuild')
/** A package that is a program, and is not imported. */
const CREATE = 'create-elysia-microservices'

/** The part of `@arethetypeswrong/core` that is used here. */
interface AreTheTypesWrong {
  createPackageFromTarballData(tarball: Uint8Array): object
  checkPackage(from: object): Promise<{
    readonly types: object | false
    readonly problems: readonly object[]
    readonly entrypoints: object
  }>
}

interface PackageJson {
  readonly name: string
  readonly devDependencies: Record<string, string>
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
}

function packageJson(folder: string): PackageJson {
  return JSON.parse(readFileSync(join(rootFolder, folder, 'package.json'), 'utf8')) as PackageJson
}

/** The entry points of a package that users may import, and the files behind each. */
function entriesOf(name: string): { readonly entry: string; readonly files: readonly string[] }[] {
  const { name: published, exports } = packageJson(packageFolder(name))
  return Object.entries(exports).map(([path, target]) => ({
    entry: published + path.slice(1),
    files: typeof target === 'string' ? [target] : Object.values(target)
  }))
}

function versionOf(name: string): string {
  for (const folder of ['.', 'packages/elysia-microservices', 'packages/nestjs', 'packages/telemetry']) {
    const version = packageJson(folder).devDependencies[name]
    if (version !== undefined) return version
  }
  return assert.fail(`no version of ${name}`)
}

/** Other packages that users' projects have. */
const OTHERS = [
  'elysia',
  '@sinclair/typebox',
  'file-type',
  'typescript',
  '@types/node',
  '@types/bun',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/microservices',
  '@opentelemetry/api',
  'reflect-metadata',
  'rxjs'
]

describe('the packages as users install them', () => {
  let folder: string
  let project: string
  const tarballs: string[] = []
  let create: string

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'elysia-microservices-pack-'))
    const all = [...PACKAGES, CREATE].map((name) => `--workspace=${packageFolder(name)}`)
    const pack = ['pack', '--json', '--pack-destination', folder, ...all]
    const { stdout } = await run('npm', pack, { cwd: rootFolder, maxBuffer: 16 * 1024 * 1024 })
    const packed = Object.values(JSON.parse(stdout)) as { readonly name: string; readonly filename: string }[]
    for (const name of [...PACKAGES, CREATE]) {
      const { filename } = packed.find((one) => one.name === packageJson(packageFolder(name)).name)!
      tarballs.push(join(folder, filename))
    }
    create = tarballs.pop() as string
    project = join(folder, 'project')
    mkdirSync(project)
    writeFileSync(
      join(project, 'package.json'),
      JSON.stringify({ name: 'project', private: true, type: 'module' })
    )
    const wanted = [...tarballs, create, ...OTHERS.map((name) => `${name}@${versionOf(name)}`)]
    // A request that hangs is retried well before the time limit of the test. npm fails every request at once if the
    // shortest pause between retries, 10 s by default, is longer than the longest.
    const retries = ['--fetch-retries=4', '--fetch-retry-mintimeout=100', '--fetch-retry-maxtimeout=1000']
    const flags = ['--prefer-offline', '--fetch-timeout=20000', ...retries, '--no-audit', '--no-fund']
    await run('npm', ['install', ...flags, ...wanted], { cwd: project })
    for (const { code } of codeBlocks(join(rootFolder, 'README.md'))) {
      const name = /^\/\/ (math|caller)\.ts\n/.exec(code)?.[1]
      if (name !== undefined) writeFileSync(join(project, `${name}.ts`), code)
    }
    const inNest = codeBlocks(join(rootFolder, 'packages/nestjs/README.md'))
    for (const [file, text] of Object.entries(outsidersEngine())) writeFileSync(join(project, file), text)
    writeFileSync(join(project, 'nest.ts'), inNest.find(({ info }) => info === 'ts run')!.code)
    // Elysia's own declarations fail a strict check of libraries.
    const compilerOptions = {
      target: 'es2022',
      module: 'nodenext',
      strict: true,
      rewriteRelativeImportExtensions: true,
      skipLibCheck: true,
      experimentalDecorators: true,
      outDir: 'out',
      types: ['node']
    }
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['math.ts', 'caller.ts', 'nest.ts', 'hub.test.ts'] })
    )
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const [index, name] of [...PACKAGES, CREATE].entries())
    it(`${name} passes publint`, async () => {
      const file = readFileSync(tarballs[index] ?? create)
      const tarball = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength)
      const { messages, pkg } = await publint({ pack: { tarball }, strict: true })
      assert.deepEqual(
        messages.map((message) => formatMessage(message, pkg)),
        []
      )
    })

  for (const [index, name] of PACKAGES.entries()) {
    it(`${name} has its code, types, licence and README, and no tests`, async () => {
      const { stdout } = await run('tar', ['-tzf', tarballs[index]!])
      const files = stdout.trim().split('\n')
      for (const file of [
        'lib/index.js',
        'lib/index.js.map',
        'lib/index.d.ts',
        'package.json',
        'LICENSE',
        'README.md'
      ]) {
        assert.ok(files.includes(`package/${file}`), `${file} is there`)
      }
      for (const entry of entriesOf(name)) {
        for (const file of entry.files)
          assert.ok(files.includes(file.replace('.', 'package')), `${file} of ${entry.entry} is there`)
      }
      // RSocket has a public entry point for tests; the test helpers of other packages are not entry points.
      const offersTesting = entriesOf(name).some(({ entry }) => entry.endsWith('/testing'))
      assert.deepEqual(
        files.filter(
          (file) =>
            /\.test\.|tsbuildinfo|\.results|\.turbo/.test(file) ||
            (!offersTesting && file.includes('testing/'))
        ),
        []
      )
    })

    // Compiling each package in every way takes a minute of a processor.
    if (!isOnPush)
      it(`${name} has correct types for all module resolutions with ESM`, async () => {
        const { checkPackage, createPackageFromTarballData } =
          await fromOthers<AreTheTypesWrong>('are-the-types-wrong')
        const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarballs[index]!)))
        assert.ok(analysis.types)
        // The same as the profile `esm-only` of the tool's command line.
        const ignored: readonly unknown[] = ['node10', 'node16-cjs']
        assert.deepEqual(
          analysis.problems.filter(
            (problem) => !('resolutionKind' in problem && ignored.includes(problem.resolutionKind))
          ),
          []
        )
        assert.equal(Object.keys(analysis.entrypoints).length, entriesOf(name).length)
      })

    if (!isOnPush)
      it(`${name} is packed by Bun with the same files`, async () => {
        const { stdout } = await run(bun, ['pm', 'pack', '--dry-run'], {
          cwd: join(rootFolder, packageFolder(name))
        })
        assert.match(stdout, /lib\/index\.js/)
        assert.doesNotMatch(stdout, /\.test\./)
      })
  }

  // 421 kB on 2026-11-30: 157 transport (an eighth MessagePack), 136 plugin, 80 RSocket, 36 TCP, 11 workers. Half of each
  // is declarations with docstrings, and 15 kB are source maps.
  it('are small: a user of the plugin downloads less than 422 kB of our packages', () => {
    const needed = tarballs.filter((_, index) =>
      ['transport', 'rsocket', 'tcp', 'workers', 'elysia-microservices'].includes(PACKAGES[index] as string)
    )
    const sizes = needed.map((tarball) => statSync(tarball).size)
    assert.equal(sizes.length, 5)
    assert.ok(sizes.reduce((sum, size) => sum + size) < 422_000, String(sizes))
  })

  it('type-check in a strict project', async () => {
    await run(join(project, 'node_modules/.bin/tsc'), [], { cwd: project }).catch(
      (error: { stdout: string }) => assert.fail(error.stdout)
    )
  })

  // On a push, a change of api.txt tells of a name that is gone.
  if (!isOnPush)
    it('have declarations in which every name is declared', async () => {
      const entries = PACKAGES.flatMap(entriesOf).filter(({ entry }) => !entry.endsWith('.json'))
      const imports = entries.map(({ entry }) => `import type {} from '${entry}'`)
      writeFileSync(join(project, 'entries.ts'), imports.join('\n'))
      const compilerOptions = { skipLibCheck: false, noEmit: true }
      writeFileSync(
        join(project, 'tsconfig.entries.json'),
        JSON.stringify({ extends: './tsconfig.json', compilerOptions, files: ['entries.ts'] })
      )
      const { stdout } = await run(join(project, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.entries.json'], {
        cwd: project,
        maxBuffer: 16 * 1024 * 1024
      }).catch((error: { stdout: string }) => error)
      // The declarations of others have errors of their own.
      const ours = stdout
        .split('\n')
        .filter((line) => /^node_modules\/(?:@elysia-microservices|elysia-microservices)\//.test(line))
      assert.deepEqual(ours, [])
    })

  for (const [runtime, command, extension] of [
    ['Bun', bun, '.ts'],
    ['Node', 'node', '.js']
  ] as const) {
    it(`run the example of the README under ${runtime}`, async () => {
      await runExample(command, extension, extension === '.ts' ? project : join(project, 'out'))
    })

    it(`run the example of the README from one file under ${runtime}`, async () => {
      // In a folder without packages.
      const cwd = mkdtempSync(join(folder, 'bundled-'))
      for (const name of ['math', 'caller']) {
        const out = `--outfile=${join(cwd, name)}.mjs`
        const args = [join(project, `${name}.ts`), '--minify', out]
        const { stderr } = await (runtime === 'Bun'
          ? run(bun, ['build', '--target=bun', ...args])
          : run(ESBUILD, ['--bundle', '--platform=node', '--format=esm', ...args]))
        assert.doesNotMatch(stderr, /warn/i)
      }
      await runExample(command, '.mjs', cwd)
    })

    it(`can be imported by each of their entries under ${runtime}`, async () => {
      const entries = PACKAGES.flatMap(entriesOf).flatMap(({ entry }) =>
        entry.endsWith('.json') ? [] : [entry]
      )
      assert.ok(
        entries.includes('@elysia-microservices/tcp/kit') && entries.includes('elysia-microservices/types')
      )
      const program = entries.map((entry) => `await import('${entry}')`).join('\n')
      writeFileSync(join(project, 'entries.mjs'), program)
      await run(command, ['entries.mjs'], { cwd: project, timeout: 20_000 })
    })

    it(`run the example for Nest under ${runtime}`, async () => {
      const cwd = extension === '.ts' ? project : join(project, 'out')
      const { stdout } = await run(command, [`nest${extension}`], { cwd, timeout: 20_000 })
      // NestJS's log lines are in the output, too.
      assert.ok(stdout.split('\n').includes('6'), stdout)
    })
  }

  it('test an engine that somebody else has written: that of the documentation', async () => {
    const some = isOnPush ? ['-t', 'two services'] : []
    const { stderr } = await run(bun, ['test', 'hub.test.ts', ...some], { cwd: project }).catch(
      (error: { stderr: string }) => assert.fail(error.stderr)
    )
    assert.match(stderr, isOnPush ? /\b4 pass/ : /\b35 pass\n 0 fail/)
  })

  it('read MessagePack by msgpackr-extract, where a user has installed it', async () => {
    const native = join(project, 'node_modules/msgpackr-extract')
    mkdirSync(native)
    writeFileSync(join(native, 'package.json'), '{ "name": "msgpackr-extract", "version": "3.0.7" }')
    // After an error, msgpackr uses JavaScript for the rest.
    const code = `exports.extractStrings = () => { globalThis.asked = true; throw new Error('given up') }`
    writeFileSync(join(native, 'index.js'), code)
    const program = `
      import { setImmediate } from 'node:timers/promises'
      import { memory, microservice } from 'elysia-microservices'
      import { connect } from 'elysia-microservices/client'
      const transport = memory({ codec: 'msgpack' })
      const service = microservice({ transport }).message('echo', ({ data }) => data)
      await service.listen()
      const client = connect({ transport })
      const text = 'long enough '.repeat(10)
      // Modules that are imported meanwhile need turns of the event loop.
      do if ((await client.request('echo', [text, text]))[1] !== text) throw new Error('another text')
      while (!globalThis.asked && (await setImmediate(true)))
      await client.close()
      await service.stop()
      console.log('asked')`
    const flags = ['--input-type=module', '-e', program]
    const { stdout } = await run('node', flags, { cwd: project, timeout: 20_000 })
    assert.equal(stdout, 'asked\n')
  })

  it('have source maps, so that stack traces name the lines of the sources', async () => {
    const program = `
      import { tcp } from '@elysia-microservices/tcp'
      try { tcp({ prot: 1 }) } catch (error) { console.log(error.stack) }`
    const flags = ['--enable-source-maps', '--input-type=module', '-e', program]
    const { stdout } = await run('node', flags, { cwd: project, timeout: 20_000 })
    const [, file, line] = /tcp\/(src\/[^\n]+\.ts):(\d+):\d+\)/.exec(stdout) ?? []
    const source = readFileSync(join(rootFolder, 'packages/tcp', file ?? stdout), 'utf8').split('\n')
    assert.match(source[Number(line) - 1] ?? '', /throw new OptionError/)
  })

  it(`${CREATE} has its program, what it copies, licence and README, and no tests of its own`, async () => {
    const { stdout } = await run('tar', ['-tzf', create])
    const files = stdout.trim().split('\n')
    const template = readdirSync(join(rootFolder, packageFolder(CREATE), 'template'), {
      recursive: true,
      withFileTypes: true
    })
    const copied = template
      .filter((entry) => entry.isFile())
      .map((entry) => relative(join(rootFolder, packageFolder(CREATE)), join(entry.parentPath, entry.name)))
    const others = ['lib/main.js', 'lib/main.js.map', 'package.json', 'LICENSE', 'README.md']
    assert.ok(copied.length > 20)
    assert.deepEqual(files.sort(), [...copied, ...others].map((file) => `package/${file}`).sort())
  })

  for (const runtime of MADE_FOR)
    testMadeProjects(runtime, () => ({
      folder,
      project,
      tarballs: new Map(
        PACKAGES.map((name, index) => [packageJson(packageFolder(name)).name, tarballs[index] as string])
      )
    }))
})

/** The files of an engine outside of this repository: that of `docs/engines.md`, its server, and its tests. */
function outsidersEngine(): Readonly<Record<string, string>> {
  const written = codeBlocks(join(rootFolder, 'docs/engines.md')).flatMap(({ code }) => {
    const name = /^\/\/ (hub-\w+\.ts)\n/.exec(code)?.[1]
    return name === undefined ? [] : [[name, code] as const]
  })
  const server = ['hub.ts', 'hub-events.ts'].map(
    (name) => [name, readFileSync(join(rootFolder, 'tests/engines', name), 'utf8')] as const
  )
  const tests = `
    import { engineTests } from '@elysia-microservices/engine-tests'
    import { startHub } from './hub.ts'
    import { storingHub } from './hub-store.ts'

    engineTests({
      name: 'hub',
      title: 'Hub',
      traits: storingHub(0).traits,
      carriage: 'packets',
      hasServer: true,
      start: () => startHub(storingHub)
    })`
  return { ...Object.fromEntries([...written, ...server]), 'hub.test.ts': tests }
}

/** Runs `math` and `caller` of the README, and compares their output. */
async function runExample(command: string, extension: string, cwd: string): Promise<void> {
  const port = await freePort('localhost')
  const env = { ...process.env, PORT: String(port) }
  const server = spawn(command, [`math${extension}`], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  try {
    const said = firstLine(server)
    await listening(port, server)
    const { stdout } = await run(command, [`caller${extension}`], { cwd, env, timeout: 20_000 })
    const promised = codeBlocks(join(rootFolder, 'README.md')).find(({ info }) => info === 'text')!.code
    assert.equal(stdout, promised)
    assert.equal(await said, 'order 7 placed')
  } finally {
    server.kill()
    await ended
  }
}

async function firstLine(server: ChildProcess): Promise<string> {
  const [chunk] = (await once(server.stdout!, 'data')) as [Buffer]
  return chunk.toString().trim()
}

/** The packages that a bundled entry point imports, itself or through its chunks. */
function importedBy(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return []
  seen.add(file)
  const names = [...readFileSync(file, 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*"([^"]+)"/g)]
  return names.flatMap(([, name = '']) =>
    name.startsWith('.') ? importedBy(resolve(dirname(file), name), seen) : [name]
  )
}

/** The exports of a module; a class with the name that Node shows wherever it shows one of its objects. */
function namesOf(module: object): readonly string[] {
  return Object.entries(module)
    .map(([name, value]) => (isClass(value) ? `${name}: ${value.name}` : name))
    .sort()
}

function isClass(value: unknown): value is { readonly name: string } {
  return typeof value === 'function' && Function.prototype.toString.call(value).startsWith('class')
}

describe('the bundled entry points', () => {
  it('of the client work without Elysia and TypeBox, which a program that only calls services may leave out', () => {
    const names = importedBy(join(rootFolder, 'packages/elysia-microservices/lib/client/index.js'))
    const others = new Set(names.filter((name) => !name.startsWith('@elysia-microservices/')))
    assert.deepEqual([...others].sort(), ['node:async_hooks', 'rxjs'])
  })

  for (const name of PACKAGES) {
    it(`of ${name} export what their sources export, under the same names of classes`, async () => {
      const { exports } = packageJson(packageFolder(name))
      for (const target of Object.values(exports)) {
        if (typeof target === 'string') continue
        const [bundled, unbundled] = await Promise.all(
          [target.default, target.default.replace('/lib/', '/dist/')].map(
            (file) => import(join(rootFolder, packageFolder(name), file)) as Promise<object>
          )
        )
        assert.deepEqual(namesOf(bundled!), namesOf(unbundled!))
      }
    })
  }
})
