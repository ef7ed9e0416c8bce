/**
 * Finds the files of which a program consists, and watches their edits. The files are found by reading imports. A
 * file of which only types are imported is not part of the program, so its edits restart nothing.
 */
import { existsSync, type FSWatcher, readdirSync, readFileSync, realpathSync, statSync, watch } from 'node:fs'
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
 * The files of a program: its entry and the files that it imports, in its own folder and in packages of the
 * workspace.
 */
export function filesOf(entry: string | undefined, more: readonly string[]): Set<string> {
  const files = new Set<string>()
  const add = (path: string) => {
    if (files.size >= MAX_FILES || files.has(path)) return
    if (!existsSync(path)) return
    if (statSync(path).isDirectory()) for (const file of filesIn(path)) files.add(file)
    else files.add(path)
  }
  for (const path of more) add(path)
  if (entry === undefined) return files
  const waiting = [entry]
  const seen = new Set<string>()
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file) || files.size >= MAX_FILES) continue
    seen.add(file)
    add(file)
    if (CODE.test(file)) waiting.push(...importsOf(file, add))
  }
  return files
}

/** Watches the files of a program until it is told to stop. */
export class SourceWatch {
  readonly #files: () => Set<string>
  readonly #edited: (file: string) => void
  readonly #failed: (reason: string) => void
  readonly #watchers = new Map<string, FSWatcher>()
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
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  /** Reads the state of the files, and watches their folders. */
  #read(): Map<string, string> {
    const files = this.#files()
    const folders = new Set([...files].map((file) => dirname(file)))
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder) && existsSync(folder)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    for (const folder of folders) this.#watch(folder)
    return new Map([...files].map((file) => [file, stateOf(file)]))
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return
    try {
      const watcher = watch(folder, () => this.#look())
      watcher.on('error', () => this.#watchers.delete(folder))
      this.#watchers.set(folder, watcher)
    } catch (error) {
      this.#failed(`Edits in ${folder} cannot be watched: ${(error as Error).message}`)
    }
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

/** Modification time and size of a file, which change with an edit; `''` if the file does not exist. */
function stateOf(file: string): string {
  try {
    const { mtimeMs, size } = statSync(file)
    return `${mtimeMs} ${size}`
  } catch {
    return ''
  }
}

/** The files in the same package that a file imports. @param add called with the folders of workspace packages */
function importsOf(file: string, add: (path: string) => void): string[] {
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
      if (folder !== undefined) add(folder)
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
  return candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile())
}

/** The folder of a package that is a link into the workspace, whose files the user edits. */
function workspaceFolder(specifier: string, from: string): string | undefined {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  for (const folder of foldersAbove(dirname(from))) {
    const link = join(folder, 'node_modules', name)
    if (!existsSync(link)) continue
    const real = realpathSync(link)
    return real.split(sep).includes('node_modules') ? undefined : real
  }
  return undefined
}

/** All files of a folder that may contain code. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesIn(path)
    return EXTENSIONS.includes(extname(entry.name)) ? [path] : []
  })
}
