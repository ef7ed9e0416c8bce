/** `elysia-microservices dev` in a terminal. */
import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
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

/** `dev` in a terminal. */
class Terminal {
  shown = ''
  readonly #child: ChildProcessByStdio<Writable, Readable, null>

  constructor(project: Project, args: string) {
    // `exec` replaces the shell: a shell that waits for dev would be ended by the signal too, and dash would report
    // 130 whatever dev returns.
    const command = `exec '${process.execPath}' '${PROGRAM}' dev ${args}`
    this.#child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      cwd: project.folder,
      env: { ...process.env, TMPDIR: project.temporary, PATH: pathOf(project) },
      stdio: ['pipe', 'pipe', 'inherit']
    })
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.shown += text
    })
  }

  /** Presses Ctrl-C, and waits for the end. */
  async end(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.stdin.write('\u0003')
    assert.deepEqual(await within(exited, 'The end'), [0, null], this.shown)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

describe('dev --open', { skip: process.platform === 'linux' ? false : 'util-linux has the terminal' }, () => {
  it('opens the page in a browser, and ends at Ctrl-C', async () => {
    const project = await projectWithBrowser()
    const terminal = new Terminal(project, '--open')
    try {
      const opened = join(project.folder, 'opened')
      await until('the browser is opened', () => existsSync(opened))
      const url = readFileSync(opened, 'utf8').trim()
      assert.match(url, /^http:\/\/localhost:\d+\/console$/)
      assert.ok(terminal.shown.includes(url), terminal.shown)
      await terminal.end()
    } finally {
      terminal.kill()
      project.remove()
    }
  })

  it('opens nothing if --no-open follows', async () => {
    const project = await projectWithBrowser()
    const terminal = new Terminal(project, '--open --no-open')
    try {
      await until('all is ready', () => terminal.shown.includes('All services are ready'))
      await terminal.end()
      assert.ok(!existsSync(join(project.folder, 'opened')))
    } finally {
      terminal.kill()
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
