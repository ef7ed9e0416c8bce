import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { commandOf } from './runtime.ts'

it('names a folder that does not exist, instead of the program that would run in it', () => {
  const root = mkdtempSync(join(tmpdir(), 'runtime-'))
  try {
    writeFileSync(join(root, 'a.js'), '')
    for (const cwd of ['nowhere', 'a.js'])
      assert.throws(() => commandOf({ name: 'a', entry: 'a.js', cwd, after: [] }, root, []), {
        name: 'OptionError',
        message: `a: there is no folder ${join(root, cwd)}, which is its cwd`
      })
  } finally {
    rmSync(root, { recursive: true })
  }
})
