/**
 * Finds the toolchains of the peers, and installs missing packages through their ordinary package managers. The build
 * of a peer is kept beside its source and repeated when the source changes. If several test runs need it at the same
 * time, one builds and the others wait.
 */
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { testsFolder } from '../workspace.ts'

const run = promisify(execFile)
const peers = join(testsFolder, 'interop/peers')

/** The tools of a peer program. */
export interface Toolchain {
  /** The tools that are missing on this machine; `undefined`: none. */
  readonly missing: string | undefined
  /** Builds the peer, unless it is built already. Returns the command that runs it. */
  prepare(): Promise<readonly string[]>
}

/** The output of a program with these arguments; `undefined`: the program is missing or fails. */
function answer(program: string, ...parameters: string[]): string | undefined {
  const { status, stdout } = spawnSync(program, parameters, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

function missingOf(needed: Readonly<Record<string, string | undefined>>): string | undefined {
  const names = Object.keys(needed).filter((name) => needed[name] === undefined)
  return names.length === 0 ? undefined : names.join(' and no ')
}

/** Java with Maven. */
export function java(): Toolchain {
  const folder = join(peers, 'java')
  const target = join(folder, 'target')
  const compiler = answer('javac', '-version')
  const missing = missingOf({ 'JDK (javac)': compiler, 'Maven (mvn)': answer('mvn', '-version') })
  return {
    missing,
    async prepare() {
      await buildOnce(target, [compiler, folder], ['pom.xml', 'src'], folder, async () => {
        await run('mvn', ['-q', '-B', '-f', join(folder, 'pom.xml'), 'process-classes'])
      })
      const classes = `${join(target, 'classes')}:${join(target, 'lib', '*')}`
      // Options with which a small program starts fast.
      return ['java', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', classes, 'interop.Peer']
    }
  }
}

/** Python with venv. */
export function python(): Toolchain {
  const folder = join(peers, 'python')
  const environment = join(folder, '.venv')
  const version = answer('python3', '-c', 'import venv, ensurepip, sys; print(sys.executable, sys.version)')
  return {
    missing: missingOf({ 'Python with venv (python3)': version }),
    async prepare() {
      const interpreter = join(environment, 'bin/python')
      // A virtual environment only works for one interpreter and one folder.
      await buildOnce(environment, [version, folder], ['requirements.txt'], folder, async () => {
        await run('python3', ['-m', 'venv', '--clear', environment])
        const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r']
        await run(interpreter, [...install, join(folder, 'requirements.txt')])
      })
      return [interpreter, join(folder, 'peer.py')]
    }
  }
}

/** Node, with a program of this package: a JavaScript file, or a compiled one. */
export function node(program: string): Toolchain {
  return {
    missing: undefined,
    prepare: () => Promise.resolve(['node', join(testsFolder, program)])
  }
}

/**
 * Builds a folder, unless it was built from the same inputs.
 * @param output the folder to build; a file in it records the inputs
 * @param versions inputs besides the sources
 * @param sources files and folders in `folder`
 */
export async function buildOnce(
  output: string,
  versions: readonly unknown[],
  sources: readonly string[],
  folder: string,
  build: () => Promise<void>
): Promise<void> {
  const hash = createHash('sha256').update(JSON.stringify(versions))
  for (const file of sources.flatMap((source) => filesOf(join(folder, source)))) {
    hash.update(file).update(readFileSync(file))
  }
  const digest = hash.digest('hex')
  const marker = join(output, 'built-from')
  const isBuilt = () => existsSync(marker) && readFileSync(marker, 'utf8') === digest
  if (isBuilt()) return
  const unlock = await lock(`${output}.lock`)
  try {
    if (isBuilt()) return
    rmSync(marker, { force: true })
    await build()
    writeFileSync(marker, digest)
  } finally {
    unlock()
  }
}

/** A file, or all files in a folder. */
function filesOf(path: string): string[] {
  if (statSync(path).isFile()) return [path]
  const entries = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()
  return entries.map((entry) => join(path, entry)).filter((file) => statSync(file).isFile())
}

/**
 * Takes a lock. The lock is a folder, because creating a folder succeeds only once. A lock whose owner has ended is
 * removed.
 */
async function lock(path: string): Promise<() => void> {
  const owner = join(path, 'owner')
  while (true) {
    try {
      mkdirSync(path)
      writeFileSync(owner, String(process.pid))
      return () => rmSync(path, { recursive: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    if (isGone(owner)) rmSync(path, { recursive: true, force: true })
    else await pause(100)
  }
}

/** Whether the process whose id a file contains has ended. */
function isGone(owner: string): boolean {
  try {
    return !isRunning(Number(readFileSync(owner, 'utf8')))
  } catch {
    // The lock is being taken or released.
    return false
  }
}

function isRunning(pid: number): boolean {
  // A lock that is just being taken has no id yet.
  if (!(pid > 0)) return true
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
