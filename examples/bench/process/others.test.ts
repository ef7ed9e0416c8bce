/** The other peers' packages are in their own lockfile, and no other part of the bench imports them. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { targets } from '../peers/targets.ts'
import { suites } from '../suites/catalog.ts'
import { BENCH_FOLDER } from './folder.ts'
import { isOther, OTHERS } from './others.ts'

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): Readonly<Record<string, string>> => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8')
  ) as Manifest
  return { ...dependencies, ...devDependencies }
}

/** The packages that the sources of a folder import. */
function importedIn(folder: string, isSkipped: (file: string) => boolean): Set<string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/(^|\/)(node_modules|dist)\//.test(file) && !isSkipped(file)
  )
  const specifiers = files.flatMap((file) =>
    [
      ...readFileSync(join(folder, file), 'utf8').matchAll(
        /^(?:import|export|\}) .*?from '([^'.][^']*)'|^\} from '([^'.][^']*)'|^import '([^'.][^']*)'|import\('([^'.][^']*)'\)/gm
      )
    ].map((match) => match.slice(1).find((name) => name !== undefined)!)
  )
  const names = specifiers.map((one) =>
    one
      .split('/')
      .slice(0, one.startsWith('@') ? 2 : 1)
      .join('/')
  )
  return new Set(names.filter((name) => !name.startsWith('node:') && !builtinModules.includes(name)))
}

describe('the other peers', () => {
  const theirs = manifestOf(OTHERS)
  const ours = manifestOf(BENCH_FOLDER)

  it('import exactly the packages that their package.json names', () => {
    const unknown = [...importedIn(OTHERS, () => false)].filter((name) => theirs[name] === undefined)
    assert.deepEqual(unknown, [])
  })

  it('have packages that no other part of the bench imports, unless both have the same version', () => {
    for (const name of importedIn(BENCH_FOLDER, (file) => file.startsWith('others/'))) {
      assert.ok(theirs[name] === undefined || theirs[name] === ours[name], name)
    }
    for (const [name, version] of Object.entries(theirs)) assert.equal(ours[name] ?? version, version, name)
  })

  it('have all programs that the bench starts', () => {
    const suiteTargets = Object.values(suites).flatMap((suite) => Object.values(suite.targets))
    const servers = [...Object.values(targets), ...suiteTargets].flatMap(({ server }) => server ?? [])
    const started = servers.filter(isOther)
    assert.ok(started.length > 10)
    for (const program of started) assert.ok(existsSync(join(BENCH_FOLDER, `${program}.ts`)), program)
  })
})
