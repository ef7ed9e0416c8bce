/** Every relative link of the documentation leads to an existing file and heading. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { rootFolder } from '../workspace.ts'
import { anchorsOf, DOCUMENTS } from './markdown.ts'

describe('the documentation', () => {
  for (const file of DOCUMENTS)
    it(`has links that lead somewhere in ${file}`, () => {
      const broken: string[] = []
      const text = readFileSync(join(rootFolder, file), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target)) continue
        const [path = '', anchor] = target.split('#')
        const there = path === '' ? join(rootFolder, file) : join(rootFolder, dirname(file), path)
        const isFine = existsSync(there) && (anchor === undefined || anchorsOf(there).has(anchor))
        if (!isFine) broken.push(target)
      }
      assert.deepEqual(broken, [])
    })
})
