/** Runs `elysia-microservices dev` in a project of a test's own, as its user would. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Log, until, within } from '@elysia-microservices/test-support'
import { rootFolder, testsFolder } from '../workspace.ts'

/** Projects whose folders exist. Those of failed tests are deleted when this process ends. */
const projects = new Set<Project>()
process.once('exit', () => {
  for (const project of projects) project.remove()
})
// A runner that gives up sends a signal, which would end this process without `exit`.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

export const PROGRAM = join(rootFolder, 'tools/cli/lib/main.js')

/** A folder with a few files, from which the packages of the workspace can be imported. */
export class Project {
  readonly folder: string
  /** A folder for sockets and other files that programs must delete before they end. */
  readonly temporary: string

  /** @param files the texts of files, by their paths */
  constructor(files: Readonly<Record<string, string>>) {
    const all = join(testsFolder, 'dist', 'dev')
    mkdirSync(all, { recursive: true })
    this.folder = mkdtempSync(join(all, 'project-'))
    this.temporary = mkdtempSync('/tmp/dev-')
    projects.add(this)
    this.write('package.json', JSON.stringify({ name: 'project', type: 'module' }))
    // As for users: without the paths of this repository, by which Bun would read the sources of all packages.
    this.write('tsconfig.json', '{}')
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

/** How dev is run. */
export interface DevOptions {
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** A running dev. */
export class DevProcess {
  readonly log = new Log()
  readonly errors = new Log()
  readonly child: ChildProcess
  readonly #project: Project
  readonly #closed: Promise<unknown>

  constructor(project: Project, { args = ['--no-page'], env = {} }: DevOptions = {}) {
    this.#project = project
    // Hides the engines of the test machine from the projects under test.
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

  /** Waits until dev has printed a line with the text. */
  async says(text: string): Promise<void> {
    await within(this.#saysOrEnds(text), `'${text}'`).catch((error: Error) =>
      assert.fail(this.#with(error.message))
    )
  }

  async #saysOrEnds(text: string): Promise<void> {
    const ended = this.#closed.then(() => {
      if (!this.log.lines.some((line) => line.includes(text)))
        throw new Error(`dev ended before it printed '${text}'`)
    })
    await Promise.race([this.log.has(text), ended])
  }

  /** How many lines contain the text. */
  count(text: string): number {
    return this.log.lines.filter((line) => line.includes(text)).length
  }

  /** The number that a pattern finds in the latest matching line. */
  number(pattern: RegExp): number {
    const found = this.log.lines.map((line) => pattern.exec(line)?.[1]).findLast((each) => each !== undefined)
    assert.ok(found !== undefined, this.#with(`no line is like ${pattern}`))
    return Number(found)
  }

  /** Ends dev if it still runs. */
  async endAnyway(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    await this.end('SIGTERM').catch((error: unknown) => {
      // dev's guard process ends everything that dev has started.
      this.child.kill('SIGKILL')
      throw error
    })
  }

  /** Ends dev by a signal. @returns its exit code */
  async end(signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> {
    this.child.kill(signal)
    return this.ended()
  }

  /** Waits until dev has ended. @returns its exit code */
  async ended(): Promise<number | null> {
    await within(this.#closed, 'The end').catch((error: Error) => assert.fail(this.#with(error.message)))
    return this.child.exitCode
  }

  /** Fails if dev has left anything behind. @param ports ports that must be free */
  async leavesNothing(processes: readonly number[], ports: readonly number[]): Promise<void> {
    for (const pid of processes) await until(`process ${pid} is gone`, () => !isRunning(pid))
    for (const port of ports) await canListen(port)
    // Compile caches of other programs are ignored; the data of an engine is kept on purpose.
    const own = readdirSync(this.#project.temporary).filter((name) =>
      name.startsWith('elysia-microservices-dev')
    )
    assert.deepEqual(own, [])
  }

  #with(message: string): string {
    return [message, ...this.log.lines, ...this.errors.lines].join('\n')
  }
}

/**
 * Whether a process runs. A process that has ended remains as a zombie until its parent waits for it, which the first
 * process of a container may never do.
 */
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
