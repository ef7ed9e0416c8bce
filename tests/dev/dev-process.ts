/** `elysia-microservices dev` in a project of a test's own, as its user runs it. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Log } from '../support/log.ts'
import { until, within } from '../support/within.ts'
import { rootFolder, testsFolder } from '../workspace.ts'

/** Projects that are still there. Those of tests that fail go when this process ends. */
const projects = new Set<Project>()
process.once('exit', () => {
  for (const project of projects) project.remove()
})

export const PROGRAM = join(rootFolder, 'packages/cli/lib/main.js')

/** A folder with a few files, in which packages of the workspace are found. */
export class Project {
  readonly folder: string
  /** Where programs put what is to be gone at the end: sockets. */
  readonly temporary: string

  /** @param files texts by their paths */
  constructor(files: Readonly<Record<string, string>>) {
    const all = join(testsFolder, 'dist', 'dev')
    mkdirSync(all, { recursive: true })
    this.folder = mkdtempSync(join(all, 'project-'))
    this.temporary = mkdtempSync('/tmp/dev-')
    projects.add(this)
    this.write('package.json', JSON.stringify({ name: 'project', type: 'module' }))
    for (const [path, text] of Object.entries(files)) this.write(path, text)
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }

  remove(): void {
    projects.delete(this)
    for (const folder of [this.folder, this.temporary]) rmSync(folder, { recursive: true, force: true })
  }
}

/** How it is run. */
export interface DevOptions {
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** The command while it runs. */
export class DevProcess {
  readonly log = new Log()
  readonly errors = new Log()
  readonly child: ChildProcess
  readonly #project: Project
  readonly #closed: Promise<unknown>

  constructor(project: Project, { args = ['--no-page'], env = {} }: DevOptions = {}) {
    this.#project = project
    // The engines of the test machine are hidden from the projects under test.
    const { NATS_URL: _nats, REDIS_URL: _redis, DATABASE_URL: _database, ...inherited } = process.env
    const { FORCE_COLOR: _force, NO_COLOR: _no, NODE_TEST_CONTEXT: _test, ...plain } = inherited
    this.child = spawn(process.execPath, [PROGRAM, 'dev', ...args], {
      cwd: project.folder,
      env: { ...plain, TMPDIR: project.temporary, ...env },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    this.#closed = once(this.child, 'close')
    createInterface(this.child.stdout!).on('line', (line) => this.log.add(line))
    createInterface(this.child.stderr!).on('line', (line) => this.errors.add(line))
  }

  /** Waits until a line has the text. */
  async says(text: string): Promise<void> {
    await within(this.#saysOrEnds(text), `'${text}'`).catch((error: Error) =>
      assert.fail(this.#with(error.message))
    )
  }

  async #saysOrEnds(text: string): Promise<void> {
    const ended = this.#closed.then(() => {
      if (!this.log.lines.some((line) => line.includes(text))) throw new Error(`It ended before '${text}'`)
    })
    await Promise.race([this.log.has(text), ended])
  }

  /** How many lines have the text. */
  count(text: string): number {
    return this.log.lines.filter((line) => line.includes(text)).length
  }

  /** The number that a pattern finds in its latest line that has one. */
  number(pattern: RegExp): number {
    const found = this.log.lines.map((line) => pattern.exec(line)?.[1]).findLast((each) => each !== undefined)
    assert.ok(found !== undefined, this.#with(`no line is like ${pattern}`))
    return Number(found)
  }

  /** Ends it, where it still runs. */
  async endAnyway(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    await this.end('SIGTERM').catch((error: unknown) => {
      // Its guard ends what it has started.
      this.child.kill('SIGKILL')
      throw error
    })
  }

  /** Ends it by a signal. @returns its code */
  async end(signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> {
    this.child.kill(signal)
    return this.ended()
  }

  /** Waits for its end. @returns its code */
  async ended(): Promise<number | null> {
    await within(this.#closed, 'The end').catch((error: Error) => assert.fail(this.#with(error.message)))
    return this.child.exitCode
  }

  /** Fails if it has left something behind. @param ports that must be free */
  async leavesNothing(processes: readonly number[], ports: readonly number[]): Promise<void> {
    for (const pid of processes) await until(`process ${pid} is gone`, () => !isRunning(pid))
    for (const port of ports) await canListen(port)
    // Others keep what they have compiled; the data of an engine stays on purpose.
    const own = readdirSync(this.#project.temporary).filter((name) =>
      name.startsWith('elysia-microservices-dev')
    )
    assert.deepEqual(own, [])
  }

  #with(message: string): string {
    return [message, ...this.log.lines, ...this.errors.lines].join('\n')
  }
}

/** Whether a process runs; one that has ended stays until its parent asks for it, which the first of a container may never do. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}

async function canListen(port: number): Promise<void> {
  const server = net.createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
