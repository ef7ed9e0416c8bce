/** The processor cores for server and client, so that neither slows down the other. Only on Linux with `taskset`. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { which } from './runtime.ts'

export interface Pinning {
  /** The number of the core; `null`: not pinned. */
  readonly server: number | null
  readonly client: number | null
  /** The cores for load processes, if there are several. */
  readonly loads: readonly number[]
  /** Why something is not pinned. */
  readonly note: string | null
}

/** Chooses two cores that this process may use, if possible on different physical cores. */
export function planPinning(): Pinning {
  const unpinned = (note: string): Pinning => ({
    server: null,
    client: null,
    loads: [],
    note
  })
  if (process.platform !== 'linux') return unpinned('not pinned: pinning needs Linux')
  if (which('taskset') === undefined) return unpinned('not pinned: taskset not found')

  const [server, ...others] = allowedCpus()
  const siblings = new Set(
    cpuList(readOrEmpty(`/sys/devices/system/cpu/cpu${server}/topology/thread_siblings_list`))
  )
  const apart = others.filter((cpu) => !siblings.has(cpu))
  const loads = apart.length > 0 ? apart : others
  const [client] = loads
  if (server === undefined || client === undefined) return unpinned('not pinned: only one CPU may be used')
  return {
    server,
    client,
    loads,
    note: siblings.has(client) ? 'both CPUs are threads of one physical core' : null
  }
}

/**
 * The command that runs `command` on a core, or on a list of cores. `taskset` replaces itself by the command, so the
 * process id stays the same.
 */
export const pinned = (cpu: number | string | null, command: readonly string[]): string[] =>
  cpu === null ? [...command] : ['taskset', '-c', String(cpu), ...command]

/** Moves all threads of this process to a core. */
export function pinSelf(cpu: number): void {
  spawnSync('taskset', ['-a', '-c', '-p', String(cpu), String(process.pid)], {
    stdio: ['ignore', 'ignore', 'inherit']
  })
}

/** Reads the notation of the kernel: `0-2,5` means 0, 1, 2, 5. */
export const cpuList = (text: string): number[] =>
  text
    .trim()
    .split(',')
    .filter((range) => range !== '')
    .flatMap((range) => {
      const [first = Number.NaN, last = first] = range.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, index) => first + index)
    })

const allowedCpus = (): number[] =>
  cpuList(/^Cpus_allowed_list:\s*(.*)$/m.exec(readOrEmpty('/proc/self/status'))?.[1] ?? '')

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
