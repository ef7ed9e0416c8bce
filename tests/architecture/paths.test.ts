/**
 * In this repository the compiler and Bun read the sources of all packages: `paths` of tsconfig.base.json names the
 * source of each entry point.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { packageFolders, rootFolder } from '../workspace.ts'

interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string | { readonly default: string }>>
}

const read = <T>(file: string): T => JSON.parse(readFileSync(join(rootFolder, file), 'utf8')) as T

describe('paths of tsconfig.base.json', () => {
  it('lead to the sources of all entry points, and to nothing else', () => {
    const entries = [...packageFolders.values()].flatMap((folder) => {
      const { name, exports = {} } = read<Manifest>(`${folder}/package.json`)
      return Object.entries(exports).flatMap(([path, target]) =>
        typeof target === 'string'
          ? []
          : [
              [
                name + path.slice(1),
                [target.default.replace(/^\.\/(?:lib|dist)\/(.*)\.js$/, `./${folder}/src/$1.ts`)]
              ]
            ]
      )
    })
    const { compilerOptions } = read<{ compilerOptions: { paths: object } }>('tsconfig.base.json')
    assert.deepEqual(compilerOptions.paths, Object.fromEntries(entries))
  })
})
