/**
 * The use of processor and memory by a process, from Linux's /proc. On other systems, and for a process that has
 * ended: `null`.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks in /proc are 1/100 s for user programs, on every architecture on which Bun and Node run. */
const MICROSECONDS_PER_TICK = 10_000

/** The user and system time of all threads of a process in microseconds, in steps of 10,000. */
export function cpuMicroseconds(pid: number): number | null {
  const stat = readProc(pid, 'stat')
  if (stat === null) return null
  // The name of the process, in parentheses, may itself have blanks and parentheses. utime and stime are fields 14
  // and 15 of proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK
}

/** The memory of a process that is in RAM, in MiB. */
export const residentMegabytes = (pid: number): number | null => megabytes(pid, 'VmRSS')

/** The peak of the memory of a process in RAM, in MiB. */
export const peakMegabytes = (pid: number): number | null => megabytes(pid, 'VmHWM')

/** The ids of a process and of all its descendants. */
export function familyOf(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) =>
    (readProc(pid, `task/${thread}/children`) ?? '').split(' ').filter((id) => id !== '')
  )
  return [pid, ...children.flatMap((child) => familyOf(Number(child)))]
}

/** The processor time of all processes of a server: a gateway has a service behind it, a supervisor has workers. */
export const cpuOf = (pid: number): number | null => sum(pid, cpuMicroseconds)
export const residentOf = (pid: number): number | null => sum(pid, residentMegabytes)
export const peakOf = (pid: number): number | null => sum(pid, peakMegabytes)

/**
 * The processor time of the processes that a process has started, such as the server of an engine; `null`: there are
 * none.
 */
export function cpuOfChildren(pid: number): number | null {
  const [all, own] = [familyOf(pid).length > 1 ? cpuOf(pid) : null, cpuMicroseconds(pid)]
  return all === null || own === null ? null : all - own
}

function sum(pid: number, of: (pid: number) => number | null): number | null {
  const known = familyOf(pid)
    .map(of)
    .filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0)
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function megabytes(pid: number, field: string): number | null {
  const status = readProc(pid, 'status') ?? ''
  const kibibytes = new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]
  return kibibytes === undefined ? null : Number(kibibytes) / 1024
}

function readProc(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return null
  }
}
