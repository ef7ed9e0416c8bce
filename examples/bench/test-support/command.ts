/** Runs the commands of the bench as a user does: as programs, whose output is not a terminal. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { cpuMicroseconds } from '../process/proc-stat.ts'

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly pid: number
  /** Resolves when the command has ended. */
  readonly finished: Promise<Finished>
}

/** Starts a command, such as `start('run-bench.ts', '--target=nest')`. */
export function start(program: string, ...flags: readonly string[]): Started {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dirname, '..', program), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const finish = async () => {
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    return { code, stdout, stderr }
  }
  return { pid: child.pid, finished: finish() }
}

export function run(program: string, ...flags: readonly string[]): Promise<Finished> {
  return start(program, ...flags).finished
}

/** Resolves when `condition` returns a value. For changes in other processes, which cause no event here. */
export async function until<T>(condition: () => T | undefined | false): Promise<T> {
  for (;;) {
    const value = condition()
    if (value !== undefined && value !== false) return value
    await wait(5)
  }
}

/** The ids of all processes that a process has started and whose command lines contain `program`. */
export function childrenOf(pid: number, program: string): number[] {
  const { stdout } = Bun.spawnSync(['pgrep', '-P', String(pid), '-f', program])
  return stdout.toString().trim().split('\n').map(Number)
}

/** The id of the process that a process has started and whose command line contains `program`, once there is one. */
export function childOf(pid: number, program = '(peers|others)/'): number | undefined {
  const { stdout } = Bun.spawnSync(['pgrep', '-P', String(pid), '-f', program])
  return Number.parseInt(stdout.toString(), 10) || undefined
}

/** Whether a process runs. A zombie does not count. */
export function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Resolves when a server has accepted a connection, and has used processor time since. */
export async function underLoad(server: number): Promise<void> {
  await until(() => hasConnection(server))
  const before = cpuMicroseconds(server)!
  await until(() => {
    const now = cpuMicroseconds(server)
    if (now === null) throw new Error('the server ended before it was under load')
    return now > before + 100_000
  })
}

function hasConnection(pid: number): boolean {
  const folder = `/proc/${pid}/fd`
  const open = new Set(readdirSync(folder).map((fd) => linkOf(`${folder}/${fd}`)))
  // In each row of proc_net_tcp(5), field 4 is the state (01: established) and field 10 the inode. The connections of
  // a server that listens on all addresses are in the second file.
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readFileSync(file, 'utf8').split('\n'))
  return rows
    .map((row) => row.trim().split(/\s+/))
    .some(([, , , state, , , , , , inode]) => state === '01' && open.has(`socket:[${inode}]`))
}

/** Reads a link. The file may be closed between the listing and this call. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
