/**
 * Every TypeScript version that users may have, with the strictest settings, compiles all code that users copy, and
 * writes its declarations. It compiles our assertions of types, too, with the packages as users have them: a compiler
 * may take all code and still see other types.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { codeBlocks, DOCUMENTS } from '../docs/markdown.ts'
import { rootFolder, testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)
const folder = join(testsFolder, 'dist', `compilers-${process.pid}`)

/** Further TypeScript versions, which are only installed for this test. */
const OTHERS = ['5.6.3', '5.7.3', '5.8.3', '5.9.3', '6.0.3']
const RESOLUTIONS = {
  nodenext: { module: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' }
}
const EXAMPLES = ['dependency-injection', 'durable-events', 'migrate-from-nest', 'shop', 'small']

/** The tests of the package whose assertions are about types. */
const ASSERTIONS = [
  'client/client-types.test.ts',
  'gateway/gateway-types.test.ts',
  'types/arriving.test.ts',
  'types/errors.test.ts',
  'types/needs.slow.test.ts'
]

const OPTIONS = {
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node', 'bun'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  isolatedModules: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  declaration: true,
  emitDeclarationOnly: true,
  rootDir: rootFolder
}

/** Writes a template for each transport and runtime, and the programs of the documentation, to files. */
function writeSources(): string[] {
  const template = join(rootFolder, 'tools/create-elysia-microservices/template')
  for (const transport of ['tcp', 'nats'])
    for (const runtime of ['bun', 'node'])
      for (const part of ['common', transport, runtime])
        cpSync(join(template, part, 'src'), join(folder, 'template', `${transport}-${runtime}`), {
          recursive: true
        })
  for (const document of DOCUMENTS) {
    const place = join(folder, 'docs', document.replaceAll(/\W+/g, '-'))
    mkdirSync(place, { recursive: true })
    for (const { info, line, code } of codeBlocks(join(rootFolder, document)))
      if (info.split(' ')[0] === 'ts') {
        const name = /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? `line-${line}.ts`
        writeFileSync(join(place, name), `${code}\nexport {}\n`)
      }
  }
  for (const file of ASSERTIONS) {
    const place = join(folder, 'assertions', file)
    mkdirSync(dirname(place), { recursive: true })
    const code = readFileSync(join(rootFolder, 'packages/elysia-microservices/src', file), 'utf8')
    const byPackage = code.replaceAll(/from '(\.[^']*)'/g, (_, path: string) => {
      const entry = join(dirname(file), path).replace(/(^|\/)index\.ts$|\.ts$/, '')
      return `from '${join('elysia-microservices', entry)}'`
    })
    writeFileSync(place.replace('.test.ts', '.ts'), byPackage)
  }
  return [
    ...sourcesIn(join(folder, 'assertions')),
    ...sourcesIn(join(folder, 'template')),
    ...sourcesIn(join(folder, 'docs')),
    ...EXAMPLES.flatMap((example) => sourcesIn(join(rootFolder, 'examples', example)))
  ]
}

function sourcesIn(place: string): string[] {
  return (readdirSync(place, { recursive: true }) as string[])
    .filter((file) => file.endsWith('.ts') && !/(^|\/)(dist|node_modules)\/|\.test\.ts$/.test(file))
    .map((file) => join(place, file))
}

describe('users compile the template, the examples and the documentation', { timeout: 1_200_000 }, () => {
  let files: readonly string[]

  before(async () => {
    mkdirSync(folder, { recursive: true })
    files = writeSources()
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
    const packages = OTHERS.map((version) => `typescript-${version}@npm:typescript@${version}`)
    await run('npm', ['install', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', ...packages], {
      cwd: folder
    })
    // A package that the tests themselves do not need.
    const openapi = 'node_modules/@elysiajs/openapi'
    mkdirSync(join(folder, 'node_modules/@elysiajs'), { recursive: true })
    symlinkSync(join(rootFolder, 'packages/elysia-microservices', openapi), join(folder, openapi))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const version of [...OTHERS, 'the workspace’s'])
    for (const [resolution, module] of Object.entries(RESOLUTIONS))
      it(`with TypeScript ${version}, resolved as by ${resolution}`, async () => {
        const own = join(folder, 'node_modules', `typescript-${version}`, 'bin/tsc')
        const compiler = OTHERS.includes(version) ? own : tsc
        const config = join(folder, `${version.replaceAll(/\W+/g, '-')}-${resolution}.json`)
        const outDir = config.replace(/\.json$/, '')
        writeFileSync(config, JSON.stringify({ compilerOptions: { ...OPTIONS, ...module, outDir }, files }))
        await run(compiler, ['-p', config, '--pretty', 'false'], { maxBuffer: 64 * 1024 * 1024 }).catch(
          (error: { stdout: string }) => assert.fail(error.stdout)
        )
        for (const file of files) {
          const declarations = join(outDir, relative(rootFolder, file)).replace(/\.ts$/, '.d.ts')
          assert.ok(existsSync(declarations), declarations)
        }
      })
})
