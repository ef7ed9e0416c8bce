/** Reads the imports of source files as text, including imports of types, which the compiler removes. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** One file and its imports: files of the same package as paths, everything else as written. */
export interface SourceFile {
  /** Relative to the package's `src`. */
  readonly file: string
  readonly text: string
  readonly imports: readonly string[]
}

/** The code in an example of a docstring, whose imports do not count. */
const EXAMPLE = /^ *\* ```[\s\S]*?^ *\* ```$/gm
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g

/** All source files below a folder, without tests and their helpers. */
export function sourcesOf(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts') && !/^testing\//.test(file))
    .sort()
    .map((file) => {
      const text = readFileSync(path.join(folder, file), 'utf8')
      const imports = [...text.replace(EXAMPLE, '').matchAll(IMPORT)].map(([, given = '']) =>
        given.startsWith('.') ? path.posix.normalize(path.posix.join(path.posix.dirname(file), given)) : given
      )
      return { file, text, imports: [...new Set(imports)] }
    })
}

/** The circles of imports: each as the list of its files, in order; an empty list if there are none. */
export function circlesIn(files: readonly SourceFile[]): string[][] {
  const byName = new Map(files.map((each) => [each.file, each]))
  const done = new Set<string>()
  const circles: string[][] = []
  const visit = (file: string, way: readonly string[]) => {
    const at = way.indexOf(file)
    if (at !== -1) circles.push([...way.slice(at), file])
    if (at !== -1 || done.has(file)) return
    for (const next of byName.get(file)?.imports ?? []) if (byName.has(next)) visit(next, [...way, file])
    done.add(file)
  }
  for (const { file } of files) visit(file, [])
  return circles
}

/** The room of a file: the first folder of its path, or the file itself. */
export function roomOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file
}
