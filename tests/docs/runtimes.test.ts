/** docs/runtimes.md lists everything that tests skip on Deno. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { packageFolders, rootFolder } from '../workspace.ts'

/** The reasons that tests of packages pass to `differsOnDeno`. */
function reasons(): Set<string> {
  const files = [...packageFolders.values()].flatMap((folder) =>
    readdirSync(join(rootFolder, folder, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => join(rootFolder, folder, 'src', file))
  )
  return new Set(
    files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/differsOnDeno\('([^']+)'\)/g)].map(([, reason = '']) => reason)
    )
  )
}

describe('what differs on Deno', () => {
  const guide = readFileSync(join(rootFolder, 'docs/runtimes.md'), 'utf8')
  const all = reasons()
  it('is read from the tests', () => assert.ok(all.size > 0))
  for (const reason of all) it(`stands in the guide: ${reason}`, () => assert.ok(guide.includes(reason)))
})
