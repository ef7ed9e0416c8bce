/** Runs commands beside each other and shows how far they are; what a command says is shown if it fails. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { sleep, spawn } from 'bun'
import { type Counts, countsIn, withoutPassed } from './counts.ts'

/** One command of a gate. */
export interface Job {
  /** For people, and for `--only`: `unit/bun/tcp`. */
  readonly name: string
  readonly command: readonly string[]
  /** From the root of the repository. Default: the root. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  /** Whether it runs tests and says how many. If not, it counts as one. */
  readonly hasTests?: boolean
  /** Whether what it says is for people, though it succeeds. */
  readonly isReport?: boolean
  /** Seconds after which it hangs and is ended. Default: 600. */
  readonly limit?: number
}

const LIMIT = 600
/** Milliseconds. */
const MOMENT = 5_000
/** Where the whole output of each job is kept. */
const OUTPUTS = '.results'
/** Characters of a failed job that are shown, its last. */
const SHOWN = 20_000

const running = new Set<number>()
/** Ends what runs with all it has started; it has a moment to clean up. */
export async function endJobs(): Promise<void> {
  for (const pid of running) endGroup(pid, 'SIGTERM')
  for (let waited = 0; running.size > 0 && waited < MOMENT; waited += 50) await sleep(50)
  for (const pid of running) endGroup(pid, 'SIGKILL')
}

function endGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended by itself.
  }
}

/** Runs jobs in their order, several at a time. @returns what each counted, by its name */
export async function runJobs(jobs: readonly Job[], atATime: number): Promise<Map<string, Counts>> {
  mkdirSync(OUTPUTS, { recursive: true })
  const left = [...jobs]
  const counted = new Map<string, Counts>()
  const work = async () => {
    for (let job = left.shift(); job !== undefined; job = left.shift())
      counted.set(job.name, await run(job, () => `${counted.size + 1}/${jobs.length}`))
  }
  await Promise.all(Array.from({ length: atATime }, work))
  return counted
}

async function run(job: Job, place: () => string): Promise<Counts> {
  const { name, command, folder = '.', env = {}, limit = LIMIT } = job
  const file = `${OUTPUTS}/${name.replaceAll('/', '-')}.log`
  const began = performance.now()
  const child = spawn([...command], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    // A group of its own, which ends as one.
    detached: true
  })
  running.add(child.pid)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    endGroup(child.pid, 'SIGKILL')
  }, limit * 1_000)
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited
  ])
  clearTimeout(timer)
  running.delete(child.pid)
  // Ends the processes that it has left behind.
  endGroup(child.pid, 'SIGKILL')
  const output = `${stdout}\n${stderr}`
  rmSync(file, { force: true })
  writeFileSync(file, output)
  const counts = outcomeOf(job, code, output)
  const seconds = ((performance.now() - began) / 1_000).toFixed(1)
  // Of it and of all processes that it has waited for. What is less than the time is spent waiting.
  const cpu = (Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000).toFixed(1)
  const failed = counts.failed > 0
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
  const said = job.hasTests ? `  ${counts.passed} passed, ${counts.failed} failed${skipped}` : ''
  console.log(
    `${failed ? 'FAILED' : 'ok    '} ${place().padStart(7)}  ${seconds.padStart(6)} s ${cpu.padStart(6)} s CPU  ${name}${said}`
  )
  if (job.isReport && !failed) console.log(output.trim().slice(-SHOWN))
  if (failed) {
    console.log(withoutPassed(output).slice(-SHOWN))
    if (isLate) console.log(`It was ended after ${limit} s`)
    console.log(
      `---- ${name} failed; all it said: ${file}; again: bun scripts/test.ts nightly --only=${name}`
    )
  }
  return counts
}

/** A job's tests, counted. A runner that fails without a failed test, or that ran none, is a failure itself. */
function outcomeOf({ hasTests }: Job, code: number, output: string): Counts {
  if (!hasTests) return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 }
  const counts = countsIn(output)
  const isSilent = counts.failed === 0 && (code !== 0 || counts.passed === 0)
  return isSilent ? { ...counts, failed: 1 } : counts
}
