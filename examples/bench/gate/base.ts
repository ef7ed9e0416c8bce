/** The base commit as a checkout of its own in a temporary folder, installed and built; this one is never touched. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'

const ROOT = join(BENCH_FOLDER, '..', '..')
const BENCH = join('examples', 'bench')
/** Folders that belong to an installation, or were made by one. */
export const NOT_SOURCE = new Set(['node_modules', 'dist', 'results', '.turbo', '.results', '.fiber'])

export class BaseCheckout {
  /** Its folder of the bench. */
  readonly bench: string
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
    this.bench = join(folder, BENCH)
  }

  /**
   * Checks out and builds a commit.
   *
   * @param say is told what is being done
   * @param root the clone it is taken from
   * @throws BenchError if that fails, with what the tool said
   */
  static async create(commit: string, say: (what: string) => void, root = ROOT): Promise<BaseCheckout> {
    const name = (await run(root, 'git', 'rev-parse', '--verify', '--short=10', `${commit}^{commit}`)).trim()
    const folder = join(await realpath(await mkdtemp(join(tmpdir(), 'bench-gate-'))), name)
    open.set(folder, root)
    const checkout = new BaseCheckout(folder)
    say(`checking out ${name}`)
    await run(root, 'git', 'worktree', 'add', '--detach', folder, name)
    say('installing its packages')
    // With the scripts of packages: without its own, there is no Bun to bundle with.
    await run(folder, 'npm', 'ci', '--no-audit', '--no-fund')
    say('building it')
    await run(folder, join('node_modules', '.bin', 'turbo'), 'run', 'build', '--filter=elysia-microservices')
    return checkout
  }

  /** Puts this checkout's bench into it: what is compared is the library, not how it is measured. */
  async takeBench(): Promise<void> {
    await this.#removeBench()
    for (const entry of await readdir(BENCH_FOLDER)) {
      if (NOT_SOURCE.has(entry)) continue
      await cp(join(BENCH_FOLDER, entry), join(this.bench, entry), {
        recursive: true,
        // The folders of the other peers' packages are not copied.
        filter: (from) => basename(from) !== 'node_modules'
      })
    }
  }

  /** Gives its own bench back, where this one's cannot run on its packages. */
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

/** Checkouts that are there, by the clones they were taken from, and the tool that is at work on one. */
const open = new Map<string, string>()
let working: ChildProcess | undefined

/** Stops what is at work, and removes every checkout made here. */
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
