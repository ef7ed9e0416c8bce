/**
 * Finds the files of which a program consists, and watches their edits. The files are found by reading imports. A
 * file of which only types are imported is not part of the program, so its edits restart nothing.
 */
import {
  type Dirent,
  existsSync,
  type FSWatcher,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  watch
} from 'node:fs'
import { dirname, extname, join, resolve, sep } from 'node:path'
import { foldersAbove } from './programs.ts'

/**
 * Matches `import … from 'x'`, `export … from 'x'`, `import 'x'`, `import('x')`, `require('x')`, but not `import
 * type`.
 */
const IMPORT =
  /(?:\b(?:import|export)\s+(?!type\b)(?:[\w$*\s{},]*?\bfrom\s*)?|\b(?:import|require)\s*\(\s*)(['"])([^'"\n]+)\1/g
const EXTENSIONS = ['.ts', '.tsx', '.mts', '.js', '.mjs', '.cjs', '.jsx', '.json']
/** Extensions in imports of TypeScript files, and the extensions of the files that they mean. */
const WRITTEN: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.mjs': ['.mts'],
  '.jsx': ['.tsx']
}
const CODE = /\.[cm]?[jt]sx?$/
/** Folders without sources of programs. */
const SKIPPED = new Set(['node_modules', 'coverage'])
/** Largest number of files of one program that are watched. */
const MAX_FILES = 5_000

/**
 * The files of a program: its entry, which may be missing at the moment, and the files that it imports, in its own
 * folder and in packages of the workspace.
 */
export function filesOf(entry: string | undefined, more: readonly string[]): Set<string> {
  const files = new Set<string>()
  // A link and the file to which it leads are in two folders, and an edit is noticed only in that of the file.
  const addFile = (file: string) => {
    files.add(file)
    files.add(realPathOf(file) ?? file)
  }
  const add = (path: string) => {
    if (files.size >= MAX_FILES || files.has(path)) return
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return
    if (stats.isDirectory()) for (const file of filesIn(path)) addFile(file)
    else addFile(path)
  }
  for (const path of more) {
    add(path)
    // A missing file may come.
    if (!existsSync(path)) files.add(path)
  }
  if (entry === undefined) return files
  addFile(entry)
  const waiting = [entry]
  const seen = new Set<string>()
  const addPackage = (folder: string) => {
    if (seen.has(folder)) return
    seen.add(folder)
    add(folder)
    for (const other of workspacePackagesOf(folder)) addPackage(other)
  }
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file) || files.size >= MAX_FILES) continue
    seen.add(file)
    add(file)
    // Runtimes resolve the imports of a file that is a link from the folder of the file to which it leads.
    const real = realPathOf(file) ?? file
    if (CODE.test(real)) waiting.push(...importsOf(real, addPackage))
  }
  return files
}

/** Watches the files of a program until it is told to stop. */
export class SourceWatch {
  readonly #files: () => Set<string>
  readonly #edited: (file: string) => void
  readonly #failed: (reason: string) => void
  readonly #watchers = new Map<
    string,
    { readonly watcher: FSWatcher; readonly identity: string | undefined }
  >()
  #states = new Map<string, string>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  constructor(files: () => Set<string>, edited: (file: string) => void, failed: (reason: string) => void) {
    this.#files = files
    this.#edited = edited
    this.#failed = failed
    this.#states = this.#read()
  }

  /** Reads the current state of the files. Called before a start: a program that is started now has all edits. */
  refresh(): void {
    this.#states = this.#read()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    for (const { watcher } of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  /** Reads the state of the files, and watches their folders. */
  #read(): Map<string, string> {
    const files = this.#files()
    // A folder that is missing at the moment is noticed in the folder above when it comes back.
    const folders = new Set(
      [...files].map((file) => foldersAbove(dirname(file)).find(existsSync) ?? dirname(file))
    )
    for (const [folder, { watcher, identity }] of this.#watchers) {
      // A watcher of a folder that was removed hears nothing of a new folder with the same name.
      if (folders.has(folder) && identityOf(folder) === identity) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    for (const folder of folders) this.#watch(folder)
    return new Map([...files].map((file) => [file, stateOf(file)]))
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return
    try {
      const identity = identityOf(folder)
      const watcher = watch(folder, (_event, name) => {
        if (this.#matters(folder, name)) this.#look()
      })
      watcher.on('error', () => this.#watchers.delete(folder))
      this.#watchers.set(folder, { watcher, identity })
    } catch (error) {
      this.#failed(`Edits in ${folder} cannot be watched: ${(error as Error).message}`)
    }
  }

  /**
   * Whether a change may be an edit. A log or a database beside the sources, which changes all the time, would otherwise
   * keep the files from ever being checked.
   */
  #matters(folder: string, name: string | null): boolean {
    if (name === null) return true
    const extension = extname(name)
    if (extension === '' || EXTENSIONS.includes(extension)) return true
    const path = join(folder, name)
    return this.#states.has(path) || [...this.#states.keys()].some((file) => file.startsWith(path + sep))
  }

  /** Checks the files after a short pause, because an editor writes a file in several steps. */
  #look(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#isStopped) return
      const before = this.#states
      this.#states = this.#read()
      // A new file is imported by a file that was edited, so it needs no check. A removed file may come back at
      // once.
      const edited = [...before].find(([file, state]) => {
        const now = this.#states.get(file) ?? stateOf(file)
        if (now === '') this.#states.set(file, state)
        return now !== state && now !== ''
      })
      if (edited !== undefined) this.#edited(edited[0])
    }, SETTLED)
  }
}

/** Milliseconds without a change in a folder after which the files are checked. */
const SETTLED = 50

/** Identifies a folder: a new folder may get the inode of a removed one, but not its birth time. */
function identityOf(folder: string): string | undefined {
  const stats = statSync(folder, { throwIfNoEntry: false })
  return stats && `${stats.ino} ${stats.birthtimeMs}`
}

/** Modification time and size of a file, which change with an edit; `''` if the file does not exist. */
function stateOf(file: string): string {
  try {
    const { mtimeMs, size } = statSync(file)
    return `${mtimeMs} ${size}`
  } catch {
    return ''
  }
}

/** The files in the same package that a file imports. @param addPackage called with the folders of workspace packages */
function importsOf(file: string, addPackage: (path: string) => void): string[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return []
  }
  const found: string[] = []
  for (const [, , specifier = ''] of text.matchAll(IMPORT)) {
    if (specifier.startsWith('.')) {
      const next = fileNamed(resolve(dirname(file), specifier))
      if (next !== undefined) found.push(next)
    } else if (!specifier.startsWith('node:') && !specifier.startsWith('#')) {
      const folder = workspaceFolder(specifier, file)
      if (folder !== undefined) addPackage(folder)
    }
  }
  return found
}

/** The file that an import means. */
function fileNamed(path: string): string | undefined {
  const extension = extname(path)
  const base = path.slice(0, path.length - extension.length)
  const candidates = [
    ...(WRITTEN[extension] ?? []).map((each) => base + each),
    path,
    ...EXTENSIONS.map((each) => path + each),
    ...EXTENSIONS.map((each) => join(path, `index${each}`))
  ]
  return candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile() === true)
}

/** The folder of a package that is a link into the workspace, whose files the user edits. */
function workspaceFolder(specifier: string, from: string): string | undefined {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  for (const folder of foldersAbove(dirname(from))) {
    const link = join(folder, 'node_modules', name)
    const real = realPathOf(link)
    if (real === undefined) continue
    return real.split(sep).includes('node_modules') ? undefined : real
  }
  return undefined
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** The folders of the workspace packages that a package depends on. */
function workspacePackagesOf(folder: string): string[] {
  const file = join(folder, 'package.json')
  let manifest: Readonly<Record<string, unknown>>
  try {
    manifest = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return []
  }
  const { dependencies, optionalDependencies, peerDependencies } = Object(manifest)
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
  return names.flatMap((name) => workspaceFolder(name, file) ?? [])
}

/** All files of a folder that may contain code. */
function filesIn(folder: string): string[] {
  let entries: Dirent[]
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch {
    // The folder was removed a moment ago.
    return []
  }
  return entries.flatMap((entry) => {
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesIn(path)
    return EXTENSIONS.includes(extname(entry.name)) ? [path] : []
  })
}
