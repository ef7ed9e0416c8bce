/** Runs commands in parallel and shows their progress. The output of a command is shown only if the command fails. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { sleep, spawn } from 'bun'
import { type Counts, countsIn, endInWords, failedTests, withoutPassed } from './counts.ts'

/** One command of a gate. */
export interface Job {
  /** The name for people and for `--only`, such as `unit/bun/tcp`. */
  readonly name: string
  readonly command: readonly string[]
  /** The folder as a path from the root of the repository. Default: the root. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  /** The names of jobs that must have succeeded, if they are among those that run. */
  readonly after?: readonly string[]
  /** Whether the command runs tests and prints how many. If not, it counts as one test. */
  readonly hasTests?: boolean
  /** Whether the output is shown even if the command succeeds. */
  readonly isReport?: boolean
  /** Seconds after which the command is ended. Default: 600. */
  readonly limit?: number
}

/** How a job has ended. */
export interface Outcome extends Counts {
  /** Seconds of processor time of the job, and of all processes that it has waited for. */
  readonly cpu: number
}

const LIMIT = 600
/** Milliseconds that a command has to clean up after SIGTERM. */
const MOMENT = 5_000
/** Milliseconds between two looks at the processors. */
const LOOK = 1_000
/** A share of the processors' time. If more of it is idle, the running jobs wait, and one more is started. */
const IDLE = 0.3
/** The folder in which the whole output of each job is kept. */
const OUTPUTS = '.results'
/** How many characters from the end of a failed job's output are shown. */
const SHOWN = 20_000
/** How many names of failed tests are listed before the output. */
const SHOWN_NAMES = 50

const running = new Set<number>()
/** Ends all running jobs with the processes that they have started; each has a moment to clean up. */
export async function endJobs(): Promise<void> {
  for (const pid of running) endGroup(pid, 'SIGTERM')
  for (let waited = 0; running.size > 0 && waited < MOMENT; waited += 50) await sleep(50)
  for (const pid of running) endGroup(pid, 'SIGKILL')
}

function endGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // The process has ended by itself.
  }
}

/**
 * Starts jobs in their order: some at a time, and one more whenever those that run leave the processors idle.
 * @param again the command that repeats a job, by its name
 * @param counted the outcomes of jobs that ran before
 * @returns the outcome of each job, by its name
 */
export async function runJobs(
  jobs: readonly Job[],
  { atATime, atMost }: { readonly atATime: number; readonly atMost: number },
  again: (name: string) => string,
  counted = new Map<string, Outcome>()
): Promise<Map<string, Outcome>> {
  mkdirSync(OUTPUTS, { recursive: true })
  const left = [...jobs]
  const all = counted.size + jobs.length
  const work = new Set<Promise<void>>()
  const start = (): boolean => {
    const isHeld = ({ after = [] }: Job) =>
      jobs.some(({ name }) => after.includes(name) && !counted.has(name))
    const next = left.findIndex((job) => !isHeld(job))
    const [job] = next === -1 ? [] : left.splice(next, 1)
    if (job === undefined) return false
    const failed = job.after?.find((name) => (counted.get(name)?.failed ?? 0) > 0)
    if (failed !== undefined) {
      console.log(`not run ${job.name}, because ${failed} has failed`)
      return start()
    }
    const done = run(job, () => `${counted.size + 1}/${all}`, again).then((counts) => {
      counted.set(job.name, counts)
      work.delete(done)
      fill()
    })
    work.add(done)
    return true
  }
  const fill = () => {
    while (work.size < atATime && start());
  }
  const idleShare = idleShares()
  const timer = setInterval(() => {
    if (idleShare() > IDLE && work.size < atMost) start()
  }, LOOK)
  fill()
  while (work.size > 0) await Promise.race(work)
  clearInterval(timer)
  return counted
}

/** A function that says how much of the processors' time was idle since it was called last. */
function idleShares(): () => number {
  const now = () => {
    const times = cpus().map(({ times }) => times)
    const idle = times.reduce((sum, { idle }) => sum + idle, 0)
    return { idle, all: times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle) }
  }
  let before = now()
  return () => {
    const { idle, all } = now()
    const share = (idle - before.idle) / Math.max(1, all - before.all)
    before = { idle, all }
    return share
  }
}

async function run(job: Job, place: () => string, again: (name: string) => string): Promise<Outcome> {
  const { name, command, folder = '.', env = {}, limit = LIMIT } = job
  const file = `${OUTPUTS}/${name.replaceAll('/', '-')}.log`
  const began = performance.now()
  const child = spawn([...command], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    // A process group of its own, so that all processes of the job can be ended together.
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
  // Ends the processes that the job has left behind.
  endGroup(child.pid, 'SIGKILL')
  const output = `${stdout}\n${stderr}`
  rmSync(file, { force: true })
  writeFileSync(file, output)
  const counts = outcomeOf(job, code, output)
  const seconds = ((performance.now() - began) / 1_000).toFixed(1)
  // If it is less than the elapsed time, the job has spent the difference waiting.
  const cpu = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000
  const failed = counts.failed > 0
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
  const said = job.hasTests ? `  ${counts.passed} passed, ${counts.failed} failed${skipped}` : ''
  console.log(
    `${failed ? 'FAILED' : 'ok    '} ${place().padStart(7)}  ${seconds.padStart(6)} s ${cpu.toFixed(1).padStart(6)} s CPU  ${name}${said}`
  )
  if (job.isReport && !failed) console.log(output.trim().slice(-SHOWN))
  if (failed) {
    const names = failedTests(output)
    if (names.length > 0) console.log(`Failed:\n  ${names.slice(0, SHOWN_NAMES).join('\n  ')}\n`)
    console.log(withoutPassed(output).slice(-SHOWN))
    if (isLate || (job.hasTests && names.length === 0))
      console.log(
        endInWords({
          code,
          signal: child.signalCode === null ? null : String(child.signalCode),
          limit: isLate ? limit : undefined,
          stdout,
          stderr
        })
      )
    console.log(`---- ${name} failed. Its whole output: ${file}. To repeat: ${again(name)}`)
  }
  return { ...counts, cpu }
}

/**
 * The counts of a job's tests. A runner that fails without a failed test, or that ran no test, counts as one failure.
 */
function outcomeOf({ hasTests }: Job, code: number, output: string): Counts {
  if (!hasTests) return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 }
  const counts = countsIn(output)
  const isSilent = counts.failed === 0 && (code !== 0 || counts.passed === 0)
  return isSilent ? { ...counts, failed: 1 } : counts
}
