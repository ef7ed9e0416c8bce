/**
 * Warns when a process lives on after a shutdown signal because the program listens to the signal itself, and names
 * what keeps the process alive.
 */
import type { Logger } from '@elysia-microservices/transport/kit'

/** Milliseconds after which the program has most likely forgotten to end its process. */
const FORGOTTEN = 5_000
/** Resources that every process has open and that keep no process alive: standard input and output, signals. */
const ALWAYS = new Set(['TTYWrap', 'PipeWrap', 'SignalWrap', 'Immediate', 'TickObject'])
/** Node's names of resources that keep a process alive, with their meaning in words. */
const WORDS: Readonly<Record<string, string>> = {
  Timeout: 'a timer or an interval',
  TCPSocketWrap: 'a connection: a client, a pool, an engine',
  TCPServerWrap: 'a port that is listened on',
  UDPWrap: 'a UDP socket',
  FSReqCallback: 'a file that is read or written',
  FSEvent: 'a folder that is watched',
  ProcessWrap: 'a child process',
  MessagePort: 'a worker thread',
  Worker: 'a worker thread'
}

/**
 * Writes a warning to the log after a while, if the process is still alive then. The timer itself keeps no process
 * alive.
 */
export function tellIfAlive(signal: string, logger: Logger): void {
  const tell = () =>
    logger.warn(
      `${signal}: all services and apps stopped ${FORGOTTEN / 1_000} s ago, but the process is still running, because the program listens to ${signal} itself. Call process.exit() at the end of that listener, or close ${kept()}`
    )
  setTimeout(tell, FORGOTTEN).unref()
}

/** Names the open resources that keep the process alive. */
function kept(): string {
  // Bun has `getActiveResourcesInfo()`, but the function returns an empty list there.
  const names = (process.getActiveResourcesInfo?.() ?? []).filter((name) => !ALWAYS.has(name))
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  if (counts.size === 0)
    return 'what keeps the process alive: timers, clients, pools, servers (this runtime does not say which)'
  const parts = [...counts].map(([name, count]) => {
    const words = WORDS[name]
    return `${count} ${name}${words === undefined ? '' : ` (${words})`}`
  })
  return `what keeps the process alive: ${parts.join(', ')}`
}
