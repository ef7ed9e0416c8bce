/** The files that docs/architecture.md names exist, and the page names every folder of the packages. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { packageFolders, rootFolder } from '../workspace.ts'

const PAGE = readFileSync(join(rootFolder, 'docs', 'architecture.md'), 'utf8')
const SOURCES = [...packageFolders.values()].map((folder) => join(rootFolder, folder, 'src'))

describe('docs/architecture.md', () => {
  it('names only files that exist', () => {
    const known = new Set<string>()
    for (const folder of SOURCES)
      for (const file of readdirSync(folder, { recursive: true }) as string[]) {
        known.add(file)
        known.add(basename(file))
      }
    const named = [...PAGE.matchAll(/([\w/-]+\.ts)\b/g)].map(([, name]) => name as string)
    assert.ok(named.length > 20)
    assert.deepEqual(
      named.filter((name) => !known.has(name)),
      []
    )
  })

  it('names every folder', () => {
    const folders = SOURCES.flatMap((source) =>
      readdirSync(source).filter((name) => statSync(join(source, name)).isDirectory() && name !== 'testing')
    )
    const missing = folders.filter((name) => !PAGE.includes(`${name}/`))
    assert.deepEqual(missing, [])
  })
})
