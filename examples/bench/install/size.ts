/** The size of an installation on the disk: a package with all that it needs, without the bench's own packages. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import { OTHERS } from '../process/others.ts'

/** Of one installation; bytes are of the files themselves, without what the file system rounds up. */
export interface InstalledSize {
  readonly packages: number
  readonly files: number
  readonly bytes: number
  /** Of the packages of this project among them: what is downloaded, compressed. */
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
 * @throws BenchError if one of them, or something that it needs, is not
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

/** A workspace may have the same package in several folders; an installation of its own has it once. */
function onceEach(folders: readonly string[]): string[] {
  const versions = new Map(folders.map((folder) => [versionOf(folder), folder]))
  return [...versions.values()]
}

function versionOf(folder: string): string {
  const { name, version } = manifestOf(folder)
  return `${name}@${version}`
}

/** Everybody who writes TypeScript has it already. */
const NOT_COUNTED = ['typescript']

/** The folders of the packages and of everything that npm installs with them. */
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
    // Optional ones are for other platforms, if they are not here.
    const optional = Object.keys(optionalDependencies)
    const extras = optional.filter((extra) => folderOf(extra, folder) !== undefined)
    const needed = Object.keys(dependencies ?? {}).filter((one) => !optional.includes(one))
    closureOf([...needed, ...peers, ...extras], folder, found)
  }
  return found
}

/** Where a program in `from` finds a package. */
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

/** A package of this project is what npm would publish of it, not its folder with sources and tests. */
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
