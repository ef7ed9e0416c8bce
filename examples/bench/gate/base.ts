/**
 * The base commit, checked out, installed and built in a temporary folder; the checkout of the user is never changed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'

const ROOT = join(BENCH_FOLDER, '..', '..')
const BENCH = join('examples', 'bench')
/** Folders that an installation or a build creates. */
export const NOT_SOURCE = new Set(['node_modules', 'dist', 'results', '.turbo', '.results', '.fiber'])

export class BaseCheckout {
  /** The folder of the bench in the checkout. */
  readonly bench: string
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
    this.bench = join(folder, BENCH)
  }

  /**
   * Checks out and builds a commit.
   *
   * @param say is called with each step
   * @param root the clone from which the commit is checked out
   * @throws BenchError a step failed; the message has the output of the tool
   */
  static async create(commit: string, say: (what: string) => void, root = ROOT): Promise<BaseCheckout> {
    const name = (await run(root, 'git', 'rev-parse', '--verify', '--short=10', `${commit}^{commit}`)).trim()
    const folder = join(await realpath(await mkdtemp(join(tmpdir(), 'bench-gate-'))), name)
    open.set(folder, root)
    const checkout = new BaseCheckout(folder)
    say(`checking out ${name}`)
    await run(root, 'git', 'worktree', 'add', '--detach', folder, name)
    say('installing its packages')
    // With install scripts: without them, Bun is missing, which bundles the packages.
    await run(folder, 'npm', 'ci', '--no-audit', '--no-fund')
    say('building it')
    await run(folder, 'npm', 'run', 'build')
    return checkout
  }

  /**
   * Replaces the bench in the checkout with the one of this checkout: the library is compared, not the way of
   * measuring.
   */
  async takeBench(): Promise<void> {
    await this.#removeBench()
    for (const entry of await readdir(BENCH_FOLDER)) {
      if (NOT_SOURCE.has(entry)) continue
      await cp(join(BENCH_FOLDER, entry), join(this.bench, entry), {
        recursive: true,
        // The folders with installed packages are not copied.
        filter: (from) => basename(from) !== 'node_modules'
      })
    }
  }

  /** Restores the checkout's own bench, if the bench of this checkout cannot run with its packages. */
  async restoreBench(): Promise<void> {
    await this.#removeBench()
    await run(this.#folder, 'git', 'checkout', '--', BENCH)
  }

  async #removeBench(): Promise<void> {
    for (const entry of await readdir(this.bench)) {
      if (!NOT_SOURCE.has(entry)) await rm(join(this.bench, entry), { recursive: true })
    }
  }
}

/** The open checkouts by their clones, and the tool that is running. */
const open = new Map<string, string>()
let working: ChildProcess | undefined

/** Stops the running tool, and removes every open checkout. */
export async function removeCheckouts(): Promise<void> {
  working?.kill('SIGTERM')
  for (const [folder, root] of open) {
    open.delete(folder)
    await run(root, 'git', 'worktree', 'remove', '--force', folder).catch(() => '')
    await rm(join(folder, '..'), { recursive: true, force: true })
  }
}

function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    working = child
    let said = ''
    let complained = ''
    child.stdout.on('data', (chunk: Uint8Array) => {
      said += chunk
    })
    child.stderr.on('data', (chunk: Uint8Array) => {
      complained += chunk
    })
    const fail = (why: string) =>
      reject(new BenchError(`${[basename(command), ...args].join(' ')} failed: ${why.trim()}`))
    child.once('error', (error) => fail(error.message))
    child.once('close', (code) => {
      if (code === 0) resolve(said)
      else fail(complained || said)
    })
  })
}
