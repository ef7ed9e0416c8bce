import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { filesOf, SourceWatch } from './sources.ts'

let folder = ''
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sources-')))
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

  it('finds the file to which a link leads, and what that file imports, for entries, imports, and files to watch', () => {
    write('real/main.ts', "import './beside.ts'")
    write('real/beside.ts', "import '../apps/part.ts'")
    write('real/inner.ts', "import './deep.ts'")
    write('real/deep.ts', '')
    write('real/data.json', '')
    write('elsewhere/kit/index.ts', "import '../next.ts'")
    write('elsewhere/next.ts', '')
    write('apps/part.ts', "import './link.ts'\nimport './kit/index.ts'")
    write('apps/beside.ts', '')
    symlinkSync('../real/main.ts', join(folder, 'apps/main.ts'))
    symlinkSync('../real/inner.ts', join(folder, 'apps/link.ts'))
    symlinkSync('../real/data.json', join(folder, 'apps/data.json'))
    symlinkSync('../elsewhere/kit', join(folder, 'apps/kit'))
    assert.deepEqual(found(join(folder, 'apps/main.ts'), [join(folder, 'apps/data.json')]), [
      'apps/data.json',
      'apps/kit/index.ts',
      'apps/link.ts',
      'apps/main.ts',
      'apps/part.ts',
      'elsewhere/kit/index.ts',
      'elsewhere/next.ts',
      'real/beside.ts',
      'real/data.json',
      'real/deep.ts',
      'real/inner.ts',
      'real/main.ts'
    ])
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

  it('follows a package of the workspace to the packages that it needs, also in circles', () => {
    const entry = write('apps/one/main.ts', "import 'domain'")
    write('packages/domain/package.json', '{ "dependencies": { "db": "*", "gone": "*" } }')
    write('packages/domain/index.ts', "export * from 'db'")
    write('packages/db/package.json', '{ "peerDependencies": { "domain": "*" } }')
    write('packages/db/index.ts', '')
    mkdirSync(join(folder, 'node_modules'))
    for (const name of ['domain', 'db'])
      symlinkSync(`../packages/${name}`, join(folder, 'node_modules', name))
    assert.deepEqual(
      found(entry).filter((file) => file.endsWith('.ts')),
      ['apps/one/main.ts', 'packages/db/index.ts', 'packages/domain/index.ts']
    )
  })

  it('has the entry also while it is missing', () => {
    assert.deepEqual(found(join(folder, 'gone/main.ts')), ['gone/main.ts'])
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

  it('tells of an entry whose folder was removed and made again, and of later edits there', async () => {
    const entry = write('dist/main.js', '1')
    let heard = () => {}
    const next = () => new Promise<void>((resolve) => (heard = resolve))
    const failed: string[] = []
    const watch = new SourceWatch(
      () => filesOf(entry, []),
      () => heard(),
      (reason) => failed.push(reason)
    )
    try {
      rmSync(dirname(entry), { recursive: true })
      watch.refresh()
      const again = next()
      write('dist/main.js', 'built again')
      await again
      rmSync(dirname(entry), { recursive: true })
      const atOnce = next()
      write('dist/main.js', 'built once more')
      await atOnce
      const later = next()
      write('dist/main.js', 'edited in the new folder')
      await later
      assert.deepEqual(failed, [])
    } finally {
      watch.stop()
    }
  })
})
