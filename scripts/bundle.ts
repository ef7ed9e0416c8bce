/**
 * Bundles a package's entry points: a program that imports a package reads a few files in place of hundreds, which
 * halves the time until it listens (docs/performance.md, "Start"). Run in the package's folder, behind `tsc -b`, which
 * makes the declarations. What is imported lazily stays in files of its own; other packages are not bundled.
 */
import { readFileSync, rmSync } from 'node:fs'
import { build } from 'esbuild'

const FOLDER = 'lib'

interface Package {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly bin?: Readonly<Record<string, string>>
}

const { exports, bin = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as Package
const bundled = Object.values(exports).flatMap((target) => (typeof target === 'string' ? [] : target.default))
const entryPoints = [...bundled, ...Object.values(bin)].map((file) =>
  file.replace(`./${FOLDER}/`, './src/').replace(/\.js$/, '.ts')
)

rmSync(FOLDER, { recursive: true, force: true })
await build({
  entryPoints,
  outbase: 'src',
  outdir: FOLDER,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  bundle: true,
  splitting: true,
  packages: 'external',
  chunkNames: 'chunks/[name]-[hash]',
  sourcemap: true,
  // The sources are in the repository; in every installation they would be two thirds of what is downloaded.
  sourcesContent: false,
  logLevel: 'warning'
})
