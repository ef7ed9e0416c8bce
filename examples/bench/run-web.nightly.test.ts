/** The suite of pages as a user runs it, with targets that need no further packages: every workload in a real page. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { obstacleToBrowser } from './process/browser.ts'
import { isMeasured } from './report/comparison.ts'
import { readStored } from './report/stored.ts'
import { run } from './test-support/command.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'web-'))
})
after(() => rm(folder, { recursive: true }))

describe('the suite of pages', () => {
  const obstacle = obstacleToBrowser()
  if (obstacle !== undefined && process.env['CI'] === undefined) console.log(`Left out: ${obstacle}`)
  else
    it('measures our client and our gateway in Chromium', async () => {
      const out = join(folder, 'web.json')
      const { code, stdout, stderr } = await run(
        'run-comparison.ts',
        ...['--suite=web', '--targets=websocket,gateway', '--runtimes=bun', '--concurrency=2'],
        ...['--runs=1', '--duration=0.5', '--warmup=0', '--patience=120', `--out=${out}`]
      )
      assert.equal(code, 0, `${stdout}${stderr}`)
      const { contests } = readStored(out, await readFile(out, 'utf8')).comparison
      assert.deepEqual(
        contests.map(({ task, concurrency }) => [task?.mode === 'suite' && task.workload, concurrency]),
        [
          ['request', 2],
          ['stream', 1],
          ['still', 1],
          ['http2', 32]
        ]
      )
      for (const { task, rounds } of contests) {
        const isHttp = task?.mode === 'suite' && task.workload === 'http2'
        const measured = rounds.flat().filter(isMeasured)
        assert.deepEqual(
          measured.map(({ target, errors }) => [target, errors]),
          isHttp
            ? [['gateway', 0]]
            : [
                ['websocket', 0],
                ['gateway', 0]
              ]
        )
      }
      assert.match(stdout, /in Chromium, HTTP\/1\.1 without TLS/)
    })
})
