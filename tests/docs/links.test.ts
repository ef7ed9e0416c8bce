/** Every relative link, picture and included file of the documentation and the landing page is there, with its heading. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { rootFolder } from '../workspace.ts'
import { anchorsOf, DOCUMENTS } from './markdown.ts'

describe('the documentation', () => {
  for (const file of [...DOCUMENTS, 'tools/site/index.md'])
    it(`has links that lead somewhere in ${file}`, () => {
      const broken: string[] = []
      const text = readFileSync(join(rootFolder, file), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
      for (const [, target = ''] of text.matchAll(/(?:\]\(|<img [^>]*?src="|<!--@include: )([^)\s"]+)/g)) {
        if (/^https?:/.test(target)) continue
        // A file that is included has a region behind the #.
        const [path = '', anchor] = target.replace(/#\S+-->$/, '').split('#')
        const there = path === '' ? join(rootFolder, file) : join(rootFolder, dirname(file), path)
        const isFine = existsSync(there) && (anchor === undefined || anchorsOf(there).has(anchor))
        if (!isFine) broken.push(target)
      }
      assert.deepEqual(broken, [])
    })
})
