/**
 * Measures the size of an installation on the disk: a package with all its dependencies, without the packages of the
 * bench.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import { OTHERS } from '../process/others.ts'

/** The size of one installation; bytes are the sizes of the files, not rounded up to blocks. */
export interface InstalledSize {
  readonly packages: number
  readonly files: number
  readonly bytes: number
  /** The compressed download size of its packages, if they belong to this project. */
  readonly packedBytes: number
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/**
 * The size of an installation of these packages, as they are installed here.
 *
 * @throws BenchError one of the packages, or one of their dependencies, is not installed
 */
export async function installedSize(names: readonly string[]): Promise<InstalledSize> {
  const found = new Set<string>()
  for (const name of names) {
    closureOf([name], folderOf(name, BENCH_FOLDER) === undefined ? OTHERS : BENCH_FOLDER, found)
  }
  const folders = onceEach([...found])
  const sizes = await Promise.all(folders.map(sizeOf))
  const sum = (of: (size: Sized) => number) => sizes.reduce((total, size) => total + of(size), 0)
  return {
    packages: folders.length,
    files: sum(({ files }) => files),
    bytes: sum(({ bytes }) => bytes),
    packedBytes: sum(({ packedBytes }) => packedBytes)
  }
}

/** Removes duplicates: a workspace may have a package in several folders, but an installation has it once. */
function onceEach(folders: readonly string[]): string[] {
  const versions = new Map(folders.map((folder) => [versionOf(folder), folder]))
  return [...versions.values()]
}

function versionOf(folder: string): string {
  const { name, version } = manifestOf(folder)
  return `${name}@${version}`
}

/** Not counted, because everyone who writes TypeScript has it. */
const NOT_COUNTED = ['typescript']

/** The folders of the packages and of all their dependencies. */
export function closureOf(names: readonly string[], from: string, found = new Set<string>()): Set<string> {
  for (const name of names) {
    const folder = folderOf(name, from)
    if (folder === undefined) throw new BenchError(`${name} is not installed: \`npm ci\` installs it.`)
    if (found.has(folder)) continue
    found.add(folder)
    const {
      dependencies,
      optionalDependencies = {},
      peerDependencies = {},
      peerDependenciesMeta = {}
    } = manifestOf(folder)
    const peers = Object.keys(peerDependencies).filter(
      (peer) => peerDependenciesMeta[peer]?.optional !== true && !NOT_COUNTED.includes(peer)
    )
    // Optional dependencies that are missing are for other platforms.
    const optional = Object.keys(optionalDependencies)
    const extras = optional.filter((extra) => folderOf(extra, folder) !== undefined)
    const needed = Object.keys(dependencies ?? {}).filter((one) => !optional.includes(one))
    closureOf([...needed, ...peers, ...extras], folder, found)
  }
  return found
}

/** The folder in which a program in `from` finds a package. */
function folderOf(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate)
    if (dirname(folder) === folder) return undefined
  }
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

interface Sized {
  readonly files: number
  readonly bytes: number
  readonly packedBytes: number
}

const isInstalled = (folder: string): boolean => folder.includes(`${sep}node_modules${sep}`)

/**
 * The size of a package. For packages of this project: the files that npm would publish, without sources and tests.
 */
async function sizeOf(folder: string): Promise<Sized> {
  if (!isInstalled(folder)) return packedSize(folder)
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(
    (entry) => entry.isFile() && !isInstalled(join(entry.parentPath, entry.name).slice(folder.length))
  )
  const sizes = await Promise.all(
    files.map(async (file) => (await stat(join(file.parentPath, file.name))).size)
  )
  return { files: files.length, bytes: sizes.reduce((sum, size) => sum + size, 0), packedBytes: 0 }
}

async function packedSize(folder: string): Promise<Sized> {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024
  })
  const [packed] = JSON.parse(stdout) as { size: number; unpackedSize: number; entryCount: number }[]
  return { files: packed!.entryCount, bytes: packed!.unpackedSize, packedBytes: packed!.size }
}
