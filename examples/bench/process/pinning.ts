/** Which CPU the server and the client run on, so that neither takes the other's time. Linux with `taskset` only. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { which } from './runtime.ts'

export interface Pinning {
  /** CPU number, or `null`: not pinned. */
  readonly server: number | null
  readonly client: number | null
  /** CPUs for load processes, where there are several. */
  readonly loads: readonly number[]
  /** Why something is not pinned. */
  readonly note: string | null
}

/** Chooses two CPUs that this process may use, of different physical cores where there are any. */
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

/** The command that runs `command` on `cpu`, or on a list of them. `taskset` becomes the command: the process id stays the same. */
export const pinned = (cpu: number | string | null, command: readonly string[]): string[] =>
  cpu === null ? [...command] : ['taskset', '-c', String(cpu), ...command]

/** Moves all threads of this process to `cpu`. */
export function pinSelf(cpu: number): void {
  spawnSync('taskset', ['-a', '-c', '-p', String(cpu), String(process.pid)], {
    stdio: ['ignore', 'ignore', 'inherit']
  })
}

/** `0-2,5` → 0, 1, 2, 5, the notation of the kernel. */
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
