/**
 * A process beside `dev` that ends what `dev` has started if `dev` itself is killed: it hears of each program, and when
 * its input ends without a word, nobody else is left to end them. It imports nothing of this package.
 */

/** Milliseconds that they may take. */
const GRACE = 5_000
const LOOK = 50

/** Runs in that process. */
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
  // A terminal that is closed tells all of its processes; this one has work to do then.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
}

function end(groups: ReadonlySet<number>): void {
  for (const pid of groups) send(pid, 'SIGTERM')
  const late = performance.now() + GRACE
  const timer = setInterval(() => {
    const isLate = performance.now() > late
    // If a group's first process has gone, nobody waits for the rest of the group.
    for (const pid of groups) if (isLate || !send(pid, 0)) send(-pid, 'SIGKILL')
    if (isLate || ![...groups].some((pid) => send(-pid, 0))) clearInterval(timer)
  }, LOOK)
}

/** @returns whether somebody was there */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
