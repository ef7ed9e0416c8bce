/**
 * Bundles a package's entry points: a program that imports a package reads a few files in place of hundreds, which
 * halves the time until it listens (docs/performance.md, "Start"). Run it in the package's folder after `tsc -b`,
 * which writes the declarations: what the entry points need of them is written beside the bundles. Modules that are
 * imported lazily stay in files of their own. Other packages are not bundled, except those in `INCLUDED`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec'
import { build, type Plugin, transform } from 'esbuild'
import { declarationsOf } from './declarations.ts'

const FOLDER = 'lib'
/**
 * Packages that are bundled into ours, because their installation has many files that few users need. Their licences
 * are included. Our own helpers for tests are not published.
 */
const INCLUDED = ['msgpackr', '@bufbuild/protobuf', 'protobufjs', '@elysia-microservices/test-support']
const TARGET = 'node20'
/** The folder into which `tsc -b` writes declarations. */
const COMPILED = 'dist'

/**
 * Imports of a chunk from which nothing is used. They are removed: chunks do nothing when they are loaded
 * (`sideEffects`), and a user's bundler would warn of each such import. The empty lines stay, because source maps
 * count lines.
 */
const BARE_IMPORT = /^import "\.[^"]+";$/gm

/**
 * A class that names itself, to which esbuild gives another name, `var OptionError = class _OptionError`. Node shows
 * that name wherever it shows an error or an object, so each class gets its own name back.
 */
const RENAMED = /\bvar ([\w$]+) = class (_\1)\b/g

interface Package {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly bin?: Readonly<Record<string, string>>
}

interface SourceMap {
  readonly mappings: string
  readonly sources: readonly string[]
}

const { exports, bin = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as Package
const targets = Object.values(exports).filter((target) => typeof target !== 'string')
const bundled = targets.map((target) => target.default)
const programs = Object.values(bin).map((file) => `./${file}`)
const entryPoints = [...bundled, ...programs].map((file) =>
  file.replace(`./${FOLDER}/`, './src/').replace(/\.js$/, '.ts')
)

/**
 * A comment that tells bundlers that a call does nothing but return a value. Without it a page keeps whatever calls a
 * function when it is loaded, such as the tables of options of a server.
 */
const HAS_HINT = /@__(?:PURE|NO_SIDE_EFFECTS)__/

/**
 * Leaves comments out of the bundles. Comments for users are in the declarations, and comments for developers in the
 * repository. esbuild keeps only the comments that its input has.
 */
const withoutComments: Plugin = {
  name: 'without-comments',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$|\/node_modules\/.*\.js$/ }, async ({ path }) => {
      const isOwn = path.endsWith('.ts')
      const source = readFileSync(path, 'utf8')
      const { code } = await transform(source, {
        loader: isOwn ? 'ts' : 'js',
        minify: !isOwn,
        sourcefile: path,
        sourcemap: 'inline',
        sourcesContent: false,
        target: TARGET,
        minifyWhitespace: !HAS_HINT.test(source)
      })
      return { contents: code, loader: 'js' }
    })
  }
}

const isIncluded = new RegExp(`^(?:${INCLUDED.join('|')})(?:/|$)`)

/**
 * Resolves the included packages to the files whose exports are all usable; packages with a scope have small entry
 * points.
 */
const includedPackages: Plugin = {
  name: 'included-packages',
  setup({ onResolve }) {
    onResolve({ filter: isIncluded }, ({ path, resolveDir }) => {
      if (path.startsWith('@')) return { path: Bun.resolveSync(path, resolveDir), sideEffects: false }
      const [name = '', entry = 'index'] = path.split('/')
      return { path: join(folderOf(name, resolveDir), `${entry}.js`), sideEffects: false }
    })
  }
}

/** The folder in which a package is installed. */
function folderOf(name: string, from: string): string {
  const place = join(from, 'node_modules', name)
  return existsSync(place) ? place : folderOf(name, dirname(from))
}

rmSync(FOLDER, { recursive: true, force: true })
const { metafile } = await build({
  entryPoints,
  outbase: 'src',
  outdir: FOLDER,
  platform: 'node',
  target: TARGET,
  format: 'esm',
  bundle: true,
  splitting: true,
  packages: 'external',
  // The neighbours are packages here, too, and not the sources to which `paths` of the tsconfig leads.
  tsconfigRaw: '{}',
  chunkNames: 'chunks/[name]-[hash]',
  sourcemap: true,
  // The maps contain no sources, which would be two thirds of each download. The sources are in the repository.
  sourcesContent: false,
  logLevel: 'warning',
  metafile: true,
  plugins: [includedPackages, withoutComments]
})
writeLicences(Object.keys(metafile.inputs))
// In this repository Bun reads the sources of all packages, by `paths` of the nearest tsconfig.json. Bundles import
// bundles, as they do where they are installed: the benchmark measures those.
writeFileSync(join(FOLDER, 'tsconfig.json'), '{}\n')

for (const name of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }))
  if (name.endsWith('.js')) await finish(join(FOLDER, name))

const types = targets.map((target) => target.types.replace(`./${FOLDER}/`, ''))
const declarations = declarationsOf(types, (file) => readFileSync(join(COMPILED, file), 'utf8'))
for (const [file, text] of declarations) {
  const copy = join(FOLDER, file)
  mkdirSync(dirname(copy), { recursive: true })
  writeFileSync(copy, text)
}

/** Finishes a bundle and its source map. */
async function finish(file: string): Promise<void> {
  const code = withOwnNames(readFileSync(file, 'utf8').replaceAll(BARE_IMPORT, ''))
  const flush = await withoutIndentation(code)
  writeFileSync(file, flush)
  const lines = flush.split('\n')
  shorten(
    `${file}.map`,
    code.split('\n').map((line, at) => line.length - (lines[at] as string).length)
  )
}

/**
 * Leaves out the indentation, which is a thirtieth of each download: a debugger formats a program itself, and stack traces
 * name the lines of the sources. A text of several lines stays as it is; a program that would become another one, too,
 * as texts are recognized by their backticks alone.
 */
async function withoutIndentation(code: string): Promise<string> {
  let isInText = false
  const lines = code.split('\n').map((line) => {
    const kept = isInText ? line : line.trimStart()
    if (line.split('`').length % 2 === 0) isInText = !isInText
    return kept
  })
  const flush = lines.join('\n')
  const [one, other] = await Promise.all(
    [code, flush].map((text) => transform(text, { minifyWhitespace: true }))
  )
  return one?.code === other?.code ? flush : code
}

/** Gives each class its own name back. Inside of the class that name stands for the class, too. */
function withOwnNames(code: string): string {
  let named = code
  for (const [, name, given] of code.matchAll(RENAMED))
    named = named.replaceAll(new RegExp(`(?<![\\w$.#])${given}(?![\\w$])`, 'g'), () => name as string)
  return named
}

/** Writes the licences of the packages that are bundled. @param inputs the files of the bundles */
function writeLicences(inputs: readonly string[]): void {
  const texts = INCLUDED.flatMap((name) => {
    const files = inputs.filter((file) => file.includes(`/node_modules/${name}/`))
    if (files.length === 0) return []
    const folder = folderOf(name, process.cwd())
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
    return [`${name} ${version}\n\n${licenceOf(folder, files)}\n`]
  })
  if (texts.length > 0) writeFileSync(join(FOLDER, 'LICENSES.txt'), texts.join('\n\n'))
}

/** The licence of a package: its licence file, or the comment at the top of its files. */
function licenceOf(folder: string, files: readonly string[]): string {
  const file = join(folder, 'LICENSE')
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const heads = files.map((each) => /^(?:\/\/.*\n)+/.exec(readFileSync(each, 'utf8'))?.[0] ?? '')
  return [...new Set(heads)]
    .join('\n')
    .replaceAll(/^\/\/ ?/gm, '')
    .trim()
}

/**
 * Reduces a source map to the file and line of each statement, which stack traces need. Columns and names are most of
 * a map, and whole maps would be a quarter of each download. Lines of other packages, which nobody has, are left out.
 * @param removed the characters that were removed at the beginning of each line
 */
function shorten(file: string, removed: readonly number[]): void {
  const { mappings, ...map } = JSON.parse(readFileSync(file, 'utf8')) as SourceMap
  const isForeign = map.sources.map((source) => source.includes('/node_modules/'))
  // A segment counts until the next one, also on later lines.
  let place: string | undefined
  const kept = decode(mappings).map((segments, at) => {
    if (place !== undefined) place = ''
    return segments.flatMap(([column, source, line]): SourceMapSegment[] => {
      const here = source === undefined || isForeign[source] ? undefined : `${source}:${line}`
      if (here === place) return []
      place = here
      const moved = Math.max(0, column - (removed[at] ?? 0))
      return here === undefined ? [[moved]] : [[moved, source as number, line as number, 0]]
    })
  })
  writeFileSync(file, JSON.stringify({ ...map, names: [], mappings: encode(kept) }))
}
