/**
 * `bun tests/lives/mutants.ts`: puts the faults of `mutants.txt` one after the other into a copy of this repository, and
 * looks whether lives, or oracles, notice them. `--minutes=10` for each fault if all carriers were lived; a fault that
 * only some carriers have is looked for in those, for their share of the time. `--only=3,17` chooses by number.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Glob } from 'bun'
import { CARRIERS } from './carriers.ts'

interface Mutant {
  /** The carriers that have the fault, or `oracles`. */
  readonly where: string
  readonly file: string
  readonly from: string
  readonly to: string
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, only: { type: 'string' } }
})

/** Milliseconds beyond its time after which a program hangs: one life may take long. */
const HANGS = 120_000

/** Each begins with a line of its place, and what the last run has said; lines with - are replaced by those with +. */
function mutantsOf(text: string): Mutant[] {
  return text
    .trim()
    .split('\n\n')
    .map((part) => {
      const [place = '', ...lines] = part.split('\n')
      const [where = '', file = ''] = place.split(' ')
      const marked = (mark: string) =>
        lines
          .filter((line) => line[0] === mark)
          .map((line) => line.slice(2))
          .join('\n')
      return { where, file, from: marked('-'), to: marked('+') }
    })
}

/** A copy of the sources, with the installed packages of this one. */
function copyOf(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutants-'))
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8'
  })
  for (const file of files.trim().split('\n')) {
    if (!/^(packages|engines|tools|tests)\/|^(package|tsconfig.*)\.json$/.test(file)) continue
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  for (const folder of new Glob('{,*/,*/*/}node_modules').scanSync({ cwd: root, onlyFiles: false }))
    if (existsSync(join(copy, dirname(folder)))) symlinkSync(join(root, folder), join(copy, folder))
  return copy
}

/** Whatever is noticed must be the fault: without one, nothing is. */
function check(copy: string): void {
  for (const where of ['rsocket', 'oracles']) {
    const by = noticed(copy, where, 0.2)
    if (by !== undefined) throw new Error(`Without a fault, something is noticed: ${by}`)
  }
}

/** @returns what noticed the fault; `undefined`: nothing did */
function noticed(copy: string, where: string, minutes: number): string | undefined {
  const isOracle = where === 'oracles'
  const share = isOracle ? 1 / 2 : where.split(',').length / CARRIERS.length
  const from = Math.floor(Math.random() * 2 ** 31)
  const options = ['--first', `--from=${from}`, `--minutes=${minutes * share}`]
  // PostgreSQL takes long to open.
  if (!isOracle) options.push(`--carriers=${where}`, '--stores=sqlite')
  const program = isOracle ? 'tests/oracles/run.ts' : 'tests/lives/run.ts'
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [program, ...options], {
    cwd: copy,
    encoding: 'utf8',
    // The library has handlers of other signals.
    killSignal: 'SIGKILL',
    timeout: Math.ceil(minutes * share * 60_000) + HANGS
  })
  const lines = `${stdout}${stderr}`.trim().split('\n')
  if (signal !== null) return `a program that has not ended (${signal})`
  return status === 0
    ? undefined
    : (lines.find((line) => /^(\w+: )?seed/.test(line)) ?? lines.slice(-3).join(' '))
}

const copy = copyOf(ROOT)
const all = mutantsOf(readFileSync(new URL('mutants.txt', import.meta.url), 'utf8'))
const only = values.only?.split(',').map(Number)
let tried = 0
let seen = 0
try {
  check(copy)
  for (const [index, mutant] of all.entries()) {
    if (only?.includes(index + 1) === false) continue
    const path = join(copy, mutant.file)
    const before = readFileSync(path, 'utf8')
    if (before.split(mutant.from).length !== 2)
      throw new Error(`${mutant.file} has this not once: ${mutant.from}`)
    writeFileSync(
      path,
      before.replace(mutant.from, () => mutant.to)
    )
    const began = performance.now()
    const by = noticed(copy, mutant.where, Number(values.minutes))
    writeFileSync(path, before)
    tried++
    if (by !== undefined) seen++
    const time = `${Math.round((performance.now() - began) / 1_000)} s`
    const verdict = by === undefined ? 'survived' : `noticed by ${by.slice(0, 200)}`
    console.log(`${index + 1} ${mutant.file}: ${verdict} (${time})`)
  }
  console.log(`${seen} of ${tried} noticed`)
} finally {
  rmSync(copy, { recursive: true })
}
