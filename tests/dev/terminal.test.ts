/** `elysia-microservices dev` in a terminal. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { freePort, until, within } from '@elysia-microservices/test-support'
import { DevProcess, PROGRAM, Project } from './dev-process.ts'
import { config, web } from './programs.ts'

/** Creates a project in which the program that opens a browser only writes down its arguments. */
async function projectWithBrowser(): Promise<Project> {
  const project = new Project({
    'microservices.config.ts': config({ page: { port: 0 }, services: { web: 'web.js' } }),
    'web.js': web(await freePort()),
    'bin/xdg-open': '#!/bin/sh\necho "$1" > opened.part && mv opened.part opened\n'
  })
  chmodSync(join(project.folder, 'bin/xdg-open'), 0o755)
  return project
}

const pathOf = (project: Project) => `${join(project.folder, 'bin')}:${process.env['PATH']}`

describe('dev --open', { skip: process.platform === 'linux' ? false : 'util-linux has the terminal' }, () => {
  it('opens the page in a browser, and ends at Ctrl-C', async () => {
    const project = await projectWithBrowser()
    // `exec` replaces the shell: a shell that waits for dev would be ended by the signal too, and dash would report
    // 130 whatever dev returns.
    const command = `exec '${process.execPath}' '${PROGRAM}' dev --open`
    const terminal = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      cwd: project.folder,
      env: { ...process.env, TMPDIR: project.temporary, PATH: pathOf(project) },
      stdio: ['pipe', 'pipe', 'inherit']
    })
    let shown = ''
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text
    })
    try {
      const opened = join(project.folder, 'opened')
      await until('the browser is opened', () => existsSync(opened))
      const url = readFileSync(opened, 'utf8').trim()
      assert.match(url, /^http:\/\/localhost:\d+\/console$/)
      assert.ok(shown.includes(url), shown)
      const exited = once(terminal, 'exit')
      terminal.stdin.write('\u0003')
      assert.deepEqual(await within(exited, 'The end'), [0, null], shown)
    } finally {
      terminal.kill('SIGKILL')
      project.remove()
    }
  })

  it('opens nothing without a terminal', async () => {
    const project = await projectWithBrowser()
    const dev = new DevProcess(project, { args: ['--open'], env: { PATH: pathOf(project) } })
    try {
      await dev.says('All services are ready')
      assert.equal(await dev.end(), 0, dev.log.lines.join('\n'))
      assert.ok(!existsSync(join(project.folder, 'opened')))
    } finally {
      await dev.endAnyway()
      project.remove()
    }
  })
})
