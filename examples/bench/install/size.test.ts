import assert from 'node:assert/strict'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BenchError } from '../errors.ts'
import { closureOf } from './size.ts'

let folder = ''
before(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'sizes-')))
  const packages: Record<string, object> = {
    app: { dependencies: { a: '1', typed: '1' }, optionalDependencies: { elsewhere: '1', here: '1' } },
    a: { dependencies: { shared: '1' } },
    'a/node_modules/shared': {},
    shared: { dependencies: { a: '1' } },
    typed: {
      peerDependencies: { peer: '1', maybe: '1', typescript: '1' },
      peerDependenciesMeta: { maybe: { optional: true } }
    },
    peer: { dependencies: { shared: '1' } },
    here: {},
    maybe: {},
    typescript: {}
  }
  for (const [name, manifest] of Object.entries(packages)) {
    const path = join(folder, 'node_modules', name)
    await mkdir(path, { recursive: true })
    await writeFile(join(path, 'package.json'), JSON.stringify({ name, version: '1.0.0', ...manifest }))
  }
})
after(() => rm(folder, { recursive: true }))

describe('an installation', () => {
  it('has all dependencies of its packages, also nested ones, and no optional package that is not installed', () => {
    const found = [...closureOf(['app'], folder)].map((path) => path.slice(folder.length))
    assert.deepEqual(
      found.toSorted(),
      ['a', 'a/node_modules/shared', 'app', 'here', 'peer', 'shared', 'typed'].map(
        (name) => `/node_modules/${name}`
      )
    )
  })

  it('must exist', () => {
    assert.throws(
      () => closureOf(['nowhere'], folder),
      new BenchError('nowhere is not installed: `npm ci` installs it.')
    )
  })
})
