/**
 * A process that ends the programs of `dev` if `dev` itself is killed. `dev` reports each program to the guard;
 * when the guard's input ends without the report that all is over, the guard ends the programs. It imports nothing
 * of this package.
 */

/** Milliseconds that the programs may take to end. */
const GRACE = 5_000
const LOOK = 50

/** The main function of the guard's process. */
export function guard(): void {
  const groups = new Set<number>()
  let rest = ''
  process.stdin.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() as string
    for (const line of lines) {
      const pid = Number(line.slice(1))
      if (line.startsWith('+')) groups.add(pid)
      else groups.delete(pid)
    }
  })
  process.stdin.once('end', () => end(groups))
  // A closed terminal sends signals to all its processes, but the guard must go on then.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
}

function end(groups: ReadonlySet<number>): void {
  for (const pid of groups) send(pid, 'SIGTERM')
  const late = performance.now() + GRACE
  const timer = setInterval(() => {
    const isLate = performance.now() > late
    // If the first process of a group has ended, no one is waiting for the rest of the group, so it is killed at
    // once.
    for (const pid of groups) if (isLate || !send(pid, 0)) send(-pid, 'SIGKILL')
    if (isLate || ![...groups].some((pid) => send(-pid, 0))) clearInterval(timer)
  }, LOOK)
}

/** Sends a signal. @returns whether the process or group exists */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
