/**
 * `npm run mutants`: changes the sources of packages one place at a time (another operator, boolean or number, or one
 * statement less) and runs the package's unit tests under Bun. If these tests do not notice a change, the package is
 * bundled with the change, and the tests that depend on the package run: those of packages that import it,
 * conformance, faults, interop. A change that no test notices survives: a test is missing, or the change makes no
 * difference. The survivors are listed at the end for developers to judge, and do not make the run fail. Each source
 * is restored after its tests.
 *
 *   --minutes=20      how long: no further change is made after it
 *   --count=1000      how many changes at most, chosen at random
 *   --seed=1          which ones; default: others each day
 *   --packages=tcp    whose sources, comma-separated; default: transport,rsocket,tcp
 *   --files=balance   only sources whose path holds one of these texts, comma-separated
 *   --at=a.ts:7       only these lines, comma-separated: to look at survivors again
 *   --changed         only sources that differ from origin/main
 *   --check           only the package's own tests: would `npm run check` notice it?
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { Glob, spawn, spawnSync } from 'bun'
import { randomFrom } from '../test-support/src/random.ts'
import { type Mutation, mutationsOf } from './mutations.ts'
import { ROWS } from './release/packages.ts'

interface Tests {
  readonly folder: string
  readonly below: string
}

/** Test folders that use all packages, the shortest first. */
const ABOVE_ALL: readonly Tests[] = [
  { folder: 'tests', below: './conformance' },
  { folder: 'tests', below: './faults' },
  { folder: 'tests', below: './interop' }
]
/** Compiled tests, and tests that would take too much of the time. */
const LEFT_OUT = ['dist/**', '**/*.slow.test.ts', '**/*.nightly.test.ts']
/** The time limit for the tests of a folder in milliseconds: a change that makes tests hang counts as noticed. */
const PATIENCE = 240_000

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
}

interface Candidate extends Mutation {
  readonly file: string
  readonly folder: string
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    count: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 86_400_000)) },
    packages: { type: 'string', default: 'transport,rsocket,tcp' },
    files: { type: 'string', default: '' },
    at: { type: 'string' },
    changed: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false }
  }
})

function sourcesOf(folder: string): string[] {
  const all = [...new Glob(`${folder}/src/**/*.ts`).scanSync('.')].sort()
  const parts = values.files.split(',')
  const changed = spawnSync(['git', 'diff', '--name-only', 'origin/main']).stdout.toString().split('\n')
  return all.filter(
    (file) =>
      !file.endsWith('.test.ts') &&
      !file.includes('/testing/') &&
      parts.some((part) => file.includes(part)) &&
      (!values.changed || changed.includes(file))
  )
}

function isAsked({ file, line }: Candidate): boolean {
  return values.at === undefined || values.at.split(',').some((at) => `${file}:${line}`.endsWith(at))
}

/** Chooses some of the candidates at random, each at most once. */
function chosen(candidates: Candidate[], count: number, random: () => number): Candidate[] {
  const left = [...candidates]
  const taken: Candidate[] = []
  while (taken.length < count && left.length > 0)
    taken.push(...left.splice(Math.floor(random() * left.length), 1))
  return taken
}

/** Whether the tests pass. */
async function pass({ folder, below }: Tests): Promise<boolean> {
  const options = [
    '--bail=1',
    '--timeout=20000',
    // All tests of a package may be among those that are left out.
    '--pass-with-no-tests',
    ...LEFT_OUT.map((files) => `--path-ignore-patterns=${files}`)
  ]
  const tests = spawn([process.execPath, 'test', below, ...options], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore']
  })
  const late = setTimeout(() => tests.kill('SIGKILL'), PATIENCE)
  const code = await tests.exited
  clearTimeout(late)
  return code === 0
}

/** The tests that depend on a package: of the packages that import it, and of all packages together. */
function testsAbove(folder: string): Tests[] {
  const { name } = manifestOf(folder)
  const above = [...new Glob('{packages,engines}/*/package.json').scanSync('.')]
    .map(dirname)
    .filter((other) => manifestOf(other).dependencies?.[name] !== undefined)
    .sort()
  return [...above.map((other) => ({ folder: other, below: './src' })), ...ABOVE_ALL]
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Bundles a package, so that other packages use its changed sources. */
function bundle(folder: string): void {
  spawnSync([process.execPath, '../../tools/scripts/bundle.ts'], { cwd: folder })
}

type Outcome = 'caught' | 'caught above' | 'SURVIVED'

/** Runs the tests on a change, the tests of the package itself first: they notice most changes. */
async function outcomeOf({ file, folder, changed }: Candidate): Promise<Outcome> {
  const text = readFileSync(file, 'utf8')
  let isBundled = false
  const restore = () => {
    writeFileSync(file, text)
    if (isBundled) bundle(folder)
  }
  const interrupted = () => {
    restore()
    process.exit(1)
  }
  process.once('SIGINT', interrupted)
  process.once('SIGTERM', interrupted)
  try {
    writeFileSync(file, changed)
    const near = `./${dirname(file).slice(folder.length + 1)}/`
    if (near !== './src/' && !(await pass({ folder, below: near }))) return 'caught'
    if (!(await pass({ folder, below: './src' }))) return 'caught'
    if (values.check) return 'SURVIVED'
    isBundled = true
    bundle(folder)
    for (const tests of testsAbove(folder)) if (!(await pass(tests))) return 'caught above'
    return 'SURVIVED'
  } finally {
    restore()
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
  }
}

const candidates = values.packages
  .split(',')
  .flatMap((name) => ROWS.map((row) => `${row}/${name}`).filter((folder) => existsSync(folder)))
  .flatMap((folder) =>
    sourcesOf(folder).flatMap((file) =>
      mutationsOf(readFileSync(file, 'utf8')).map((mutation) => ({ ...mutation, file, folder }))
    )
  )
  .filter(isAsked)
const picked = chosen(candidates, Number(values.count), randomFrom(Number(values.seed)))
for (const folder of new Set(picked.map((mutation) => mutation.folder))) {
  for (const tests of [{ folder, below: './src' }, ...(values.check ? [] : testsAbove(folder))]) {
    if (await pass(tests)) continue
    console.error(`The tests ${tests.below} of ${tests.folder} fail without any change`)
    process.exit(1)
  }
}

const end = performance.now() + Number(values.minutes) * 60_000
const counts = { caught: 0, 'caught above': 0, SURVIVED: 0 }
const survivors: Candidate[] = []
let made = 0
for (const mutation of picked) {
  if (performance.now() > end) break
  const outcome = await outcomeOf(mutation)
  made++
  counts[outcome]++
  if (outcome === 'SURVIVED') survivors.push(mutation)
  console.log(`${made} ${outcome} ${mutation.file}:${mutation.line}`)
}
const percent = (count: number) => `${Math.round((100 * count) / Math.max(1, made))} %`
console.log(
  `${made - survivors.length} of ${made} caught (${percent(made - survivors.length)}), ${counts.caught} by the package's own tests (${percent(counts.caught)}), seed ${values.seed}, ${candidates.length} places`
)
for (const { file, line, before, after } of survivors)
  console.log(`survived: ${file}:${line}\n    ${before.trim()}\n    ${after.trim() || '(nothing)'}`)
