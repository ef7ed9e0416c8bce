/** The entries of the packages: what users can import from each one, and what it loads. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import * as elysia from 'elysia'
import { packageFolders, rootFolder } from '../workspace.ts'

const read = (file: string) => readFileSync(path.join(rootFolder, file), 'utf8')

/** The names that an entry exports, each with the package that declares it; `undefined` for another package. */
type Exported = ReadonlyMap<string, string | undefined>

/** The exports of each entry, as `npm run api` has written them. */
function exportsOfEntries(): Map<string, Exported> {
  const entries = new Map<string, Map<string, string | undefined>>()
  for (const folder of packageFolders.values()) {
    if (!existsSync(path.join(rootFolder, folder, 'api.txt'))) continue
    let names = new Map<string, string | undefined>()
    for (const line of read(`${folder}/api.txt`).split('\n')) {
      const entry = /^\/\/ ([@\w/-]+)$/.exec(line)?.[1]
      if (entry !== undefined || line.startsWith('// Named by')) names = new Map()
      if (entry !== undefined) entries.set(entry, names)
      const again = /^(?:export \{ (\w+) \} from .*|\/\/ (\w+): that of .*)$/.exec(line)
      if (again !== null) names.set((again[1] ?? again[2])!, undefined)
      const own =
        /^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type|enum) (\w+)/.exec(line)
      if (own !== null) names.set(own[1]!, folder)
    }
  }
  return entries
}

/** The entries that docs/versions.md lists: those for users, and those for authors of transports and engines. */
const promised = read('docs/versions.md').matchAll(/^\| (for [^|]+) \| ([^|]+) \|$/gm)
const kinds = new Map(
  [...promised].flatMap(([, kind = '', list = '']) =>
    [...list.matchAll(/`([^`]+)`/g)].map(([, entry = '']) => [entry, kind] as const)
  )
)

const entries = exportsOfEntries()
const forUsers = [...entries].filter(([entry]) => kinds.get(entry) === 'for users')

/** Names that programs have beside ours: the globals of runtimes, and what OpenTelemetry and Elysia export. */
const taken = new Map([
  ...Object.keys(elysia).map((name) => [name, 'elysia'] as const),
  ...[...read('node_modules/@opentelemetry/api/build/src/index.d.ts').matchAll(/\{([^}]*)\}/g)]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => [name.trim().replace(/^type |.* as /, ''), '@opentelemetry/api'] as const),
  ...Object.getOwnPropertyNames(globalThis).map((name) => [name, 'a global'] as const)
])

/** Names that stay although they are taken, with the reason. */
const KEPT: Readonly<Record<string, string>> = {
  ValidationError: "it has the meaning of Elysia's, whose users ask for the code 'VALIDATION'"
}

describe('the entries of the packages', () => {
  it('are found by compilers that do not read exports, as those of older Nest applications are set', () => {
    for (const folder of packageFolders.values()) {
      if (!/^(?:packages|engines)\//.test(folder)) continue
      const { exports, types, typesVersions } = JSON.parse(read(`${folder}/package.json`))
      const told = Object.entries<{ readonly types?: string }>(exports ?? {}).flatMap(([entry, one]) =>
        one.types === undefined ? [] : [[entry.slice(2), [one.types]]]
      )
      const { '': [own] = [], ...others } = Object.fromEntries(told)
      assert.equal(types, own, folder)
      assert.deepEqual(typesVersions?.['*'] ?? {}, others, folder)
    }
  })

  it('that docs/versions.md lists are there', () => {
    assert.ok(forUsers.length > 20)
    assert.deepEqual(
      [...kinds.keys()].filter((entry) => !entries.has(entry)),
      []
    )
  })

  it('for users export no name of a global, of OpenTelemetry or of Elysia', () => {
    assert.ok(taken.has('Event') && taken.has('metrics') && taken.has('t'))
    const shadowing = forUsers.flatMap(([entry, names]) =>
      [...names.keys()]
        .filter((name) => taken.has(name) && !Object.hasOwn(KEPT, name))
        .map((name) => `${name} of ${entry}: ${taken.get(name)}`)
    )
    assert.deepEqual(shadowing, [])
  })

  it('for users give one name to one thing', () => {
    const origins = new Map<string, Set<string>>()
    for (const [, names] of forUsers)
      for (const [name, origin] of names)
        if (origin !== undefined) origins.set(name, (origins.get(name) ?? new Set()).add(origin))
    // Each end has its own connect(): a page's client has other options.
    origins.delete('connect')
    // Nest's decorator has its name from Nest, whose applications change imports alone.
    origins.delete('Client')
    // Each transport reads its own options of NestJS.
    origins.delete('fromNest')
    assert.deepEqual(
      [...origins].filter(([, { size }]) => size > 1),
      []
    )
  })
})

/** All packages that a source file loads when it is imported, itself or by files and packages of this repository. */
function loadedBy(file: string, found = new Set<string>(), seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return found
  seen.add(file)
  const { compilerOptions } = JSON.parse(read('tsconfig.base.json')) as {
    compilerOptions: { paths: Record<string, string[]> }
  }
  const text = read(file).replace(/\/\*[\s\S]*?\*\//g, '')
  const imports = /^(?:import|export)(?! type)(?:[^'";]*? from)? ?'([^']+)'/gm
  for (const [, given = ''] of text.matchAll(imports)) {
    const source = given.startsWith('.')
      ? path.posix.join(path.posix.dirname(file), given)
      : compilerOptions.paths[given]?.[0]
    if (source === undefined) found.add(given)
    else loadedBy(path.posix.normalize(source), found, seen)
  }
  return found
}

describe('the entry elysia-microservices', () => {
  const folder = 'packages/elysia-microservices/src'

  it('loads neither reflect-metadata nor rxjs; that of the decorators loads reflect-metadata', () => {
    const root = loadedBy(`${folder}/index.ts`)
    assert.ok(root.has('node:os'), [...root].join())
    assert.deepEqual(
      [...root].filter((name) => /^(reflect-metadata|rxjs)/.test(name)),
      []
    )
    assert.ok(loadedBy(`${folder}/nest.ts`).has('reflect-metadata'))
  })

  it('exports only what one needs to write a service', () => {
    const { size } = entries.get('elysia-microservices')!
    assert.ok(size <= 48, `The entry has ${size} names: does the newest belong to an entry of its own?`)
  })
})
