import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { filesOf, SourceWatch } from './sources.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sources-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, text: string): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

function found(entry: string, more: readonly string[] = []): string[] {
  return [...filesOf(entry, more)].map((file) => relative(folder, file)).sort()
}

describe('filesOf', () => {
  it('finds what a program imports, in all ways, once', () => {
    const entry = write(
      'main.ts',
      `import './a.js'
import b, { type B } from "./b.ts"
export * from './c'
import {
  d
} from './d/index.js'
const e = await import('./e.mjs')
const f = require('./f.cjs')
import './main.ts'
import 'node:fs'
import './gone.ts'`
    )
    for (const path of ['a.ts', 'b.ts', 'c.ts', 'd/index.ts', 'e.mts', 'f.cjs', 'other.ts']) write(path, '')
    assert.deepEqual(found(entry), ['a.ts', 'b.ts', 'c.ts', 'd/index.ts', 'e.mts', 'f.cjs', 'main.ts'])
  })

  it('leaves out what is a type alone', () => {
    const entry = write(
      'main.ts',
      "import type { A } from './a.ts'\nexport type { B } from './b.ts'\nimport './c.ts'"
    )
    for (const path of ['a.ts', 'b.ts', 'c.ts']) write(path, '')
    assert.deepEqual(found(entry), ['c.ts', 'main.ts'])
  })

  it('follows packages of the workspace, and none that are installed', () => {
    const entry = write('apps/one/main.ts', "import 'shared/part'\nimport '@scope/kit'\nimport 'installed'")
    write('packages/shared/src/part.ts', '')
    write('packages/shared/node_modules/x/index.js', '')
    write('packages/kit/index.ts', '')
    write('node_modules/installed/index.js', '')
    mkdirSync(join(folder, 'node_modules/@scope'), { recursive: true })
    symlinkSync('../packages/shared', join(folder, 'node_modules/shared'))
    symlinkSync('../../packages/kit', join(folder, 'node_modules/@scope/kit'))
    assert.deepEqual(found(entry), [
      'apps/one/main.ts',
      'packages/kit/index.ts',
      'packages/shared/src/part.ts'
    ])
  })

  it('takes further files and folders', () => {
    const entry = write('main.ts', '')
    const more = [write('settings.json', '{}'), dirname(write('views/page.ts', ''))]
    assert.deepEqual(found(entry, more), ['main.ts', 'settings.json', 'views/page.ts'])
  })
})

describe('SourceWatch', () => {
  it('tells of edits, however an editor writes them, and of files that come with them', async () => {
    const entry = write('main.ts', "import './a.ts'")
    write('a.ts', '1')
    let heard = (_file: string) => {}
    const next = () => new Promise<string>((resolve) => (heard = resolve))
    const failed: string[] = []
    const watch = new SourceWatch(
      () => filesOf(entry, []),
      (file) => heard(relative(folder, file)),
      (reason) => failed.push(reason)
    )
    try {
      const first = next()
      write('a.ts', 'edited')
      assert.equal(await first, 'a.ts')
      const second = next()
      renameSync(write('.a.swp', 'edited in another way'), join(folder, 'a.ts'))
      assert.equal(await second, 'a.ts')
      const third = next()
      write('deep/b.ts', '1')
      write('main.ts', "import './a.ts'\nimport './deep/b.ts'")
      assert.equal(await third, 'main.ts')
      const fourth = next()
      write('deep/b.ts', 'edited')
      assert.equal(await fourth, 'deep/b.ts')
      assert.deepEqual(failed, [])
    } finally {
      watch.stop()
    }
  })
})
