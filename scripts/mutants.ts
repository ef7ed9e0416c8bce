/**
 * `npm run mutants`: changes the sources of `transport` and `tcp` one place at a time (an operator, a boolean, a number,
 * a statement less) and runs the package's unit tests under Bun. What these do not notice is bundled, and goes through
 * the tests that stand on the package: of the packages above, conformance, faults, interop. A change that no test
 * notices survives: a test is missing, or the change makes no difference; what is known to make none
 * (`equivalent-mutants.ts`) is left out. Each source is restored behind its tests.
 *
 *   --count=40        how many changes, chosen at random
 *   --seed=1          which ones
 *   --files=rsocket   only sources whose path holds one of these texts, comma-separated
 *   --at=a.ts:7       only these lines, comma-separated: to look at survivors again
 *   --changed         only sources that differ from origin/main
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { Glob, spawn, spawnSync } from 'bun'
import { EQUIVALENT } from './equivalent-mutants.ts'
import { type Mutation, mutationsOf } from './mutations.ts'

interface Tests {
  readonly folder: string
  readonly below: string
}

const ABOVE: readonly Tests[] = [
  { folder: 'packages/elysia-microservices', below: './src' },
  { folder: 'tests', below: './conformance' },
  { folder: 'tests', below: './faults' },
  { folder: 'tests', below: './interop' }
]
/** Packages, and the tests that stand on them, the shortest first. */
const PACKAGES: Readonly<Record<string, readonly Tests[]>> = {
  'packages/transport': [{ folder: 'packages/tcp', below: './src' }, ...ABOVE],
  'packages/tcp': ABOVE
}
/** Milliseconds for the tests of a folder: what takes longer hangs, and is noticed. */
const PATIENCE = 240_000

interface Candidate extends Mutation {
  readonly file: string
  readonly folder: string
}

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
    files: { type: 'string', default: '' },
    at: { type: 'string' },
    changed: { type: 'boolean', default: false }
  }
})

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

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

/** Whether nobody could notice the change. */
function isEquivalent({ file, before, after }: Candidate): boolean {
  return EQUIVALENT.some(
    (known) => file.endsWith(known.file) && before.trim() === known.before && after.trim() === known.after
  )
}

/** Some of the candidates, each at most once. */
function chosen(candidates: Candidate[], count: number, random: () => number): Candidate[] {
  const left = [...candidates]
  const taken: Candidate[] = []
  while (taken.length < count && left.length > 0)
    taken.push(...left.splice(Math.floor(random() * left.length), 1))
  return taken
}

/** Whether tests succeed. */
async function pass({ folder, below }: Tests): Promise<boolean> {
  const options = ['--bail=1', '--timeout=20000', '--path-ignore-patterns=dist/**']
  const tests = spawn([process.execPath, 'test', below, ...options], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore']
  })
  const late = setTimeout(() => tests.kill('SIGKILL'), PATIENCE)
  const code = await tests.exited
  clearTimeout(late)
  return code === 0
}

/** Makes of a package's sources what other packages import. */
function bundle(folder: string): void {
  spawnSync([process.execPath, '../../scripts/bundle.ts'], { cwd: folder })
}

type Outcome = 'caught' | 'caught above' | 'SURVIVED'

/** Who notices the change. The nearest tests run first: most changes end there. */
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
    isBundled = true
    bundle(folder)
    for (const tests of PACKAGES[folder] ?? []) if (!(await pass(tests))) return 'caught above'
    return 'SURVIVED'
  } finally {
    restore()
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
  }
}

const candidates = Object.keys(PACKAGES)
  .flatMap((folder) =>
    sourcesOf(folder).flatMap((file) =>
      mutationsOf(readFileSync(file, 'utf8')).map((mutation) => ({ ...mutation, file, folder }))
    )
  )
  .filter((candidate) => isAsked(candidate) && !isEquivalent(candidate))
const picked = chosen(candidates, Number(values.count), randomOf(Number(values.seed)))
for (const folder of new Set(picked.map((mutation) => mutation.folder))) {
  for (const tests of [{ folder, below: './src' }, ...(PACKAGES[folder] ?? [])]) {
    if (await pass(tests)) continue
    console.error(`The tests ${tests.below} of ${tests.folder} fail as they are`)
    process.exit(1)
  }
}

const counts = { caught: 0, 'caught above': 0, SURVIVED: 0 }
const survivors: Candidate[] = []
for (const [index, mutation] of picked.entries()) {
  const outcome = await outcomeOf(mutation)
  counts[outcome]++
  if (outcome === 'SURVIVED') survivors.push(mutation)
  const { file, line, before, after } = mutation
  console.log(`${index + 1}/${picked.length} ${outcome} ${file}:${line}`)
  console.log(`    ${before.trim()}\n    ${after.trim() || '(nothing)'}`)
}
const percent = (count: number) => `${Math.round((100 * count) / Math.max(1, picked.length))} %`
const caught = picked.length - survivors.length
console.log(
  `${caught} of ${picked.length} caught (${percent(caught)}), ${counts.caught} by the package's own tests (${percent(counts.caught)}), seed ${values.seed}, ${candidates.length} places`
)
for (const { file, line, before, after } of survivors)
  console.log(`survived: ${file}:${line}\n    ${before.trim()}\n    ${after.trim() || '(nothing)'}`)
