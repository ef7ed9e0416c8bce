/** The workflows of CI together run every job of their gates: nobody would notice a missing job. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { bun, rootFolder } from '../workspace.ts'

describe('the workflow', () => {
  for (const gate of ['test', 'nightly']) {
    it(`${gate} has all jobs of its gate`, () => {
      const workflow = readFileSync(join(rootFolder, `.github/workflows/${gate}.yml`), 'utf8')
      const only = [...workflow.matchAll(/\bonly: '?([^' }]+)/g)].flatMap(([, names = '']) =>
        names.split(',')
      )
      const script = ['tools/scripts/test.ts', gate, '--list']
      const jobs = execFileSync(bun, script, { cwd: rootFolder, encoding: 'utf8' }).trim().split('\n')
      assert.ok(jobs.length > 20)
      // Every job begins with the build and the installations that it needs; lint runs on each push.
      const left = jobs.filter((job) => !['build', 'lint', 'runtimes', 'servers', 'site'].includes(job))
      assert.deepEqual(
        left.filter((job) => !only.some((prefix) => job.startsWith(prefix))),
        []
      )
      for (const prefix of only)
        assert.ok(
          jobs.some((job) => job.startsWith(prefix)),
          prefix
        )
    })
  }
})
