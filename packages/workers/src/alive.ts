/** Says what keeps a process alive that was told to end, where the program has taken the end upon itself. */
import type { Logger } from '@elysia-microservices/transport/kit'

/** Milliseconds after which a process that is still there has most likely been forgotten. */
const FORGOTTEN = 5_000
/** Resources that are open in any process, and keep none alive by themselves: standard input and output, signals. */
const ALWAYS = new Set(['TTYWrap', 'PipeWrap', 'SignalWrap', 'Immediate', 'TickObject'])
/** Node's names of what keeps a process alive, in words. */
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

/** Looks after a while, and says in the log what is there. It keeps no process alive itself. */
export function tellIfAlive(signal: string, logger: Logger): void {
  const tell = () =>
    logger.warn(
      `${signal}: everything here stopped ${FORGOTTEN / 1_000} s ago, and the process lives on, because the program listens to ${signal} itself. Call process.exit() at the end of that listener, or close ${kept()}`
    )
  setTimeout(tell, FORGOTTEN).unref()
}

/** Names the open resources that keep the process alive. */
function kept(): string {
  // Bun has the function and answers with an empty list.
  const names = (process.getActiveResourcesInfo?.() ?? []).filter((name) => !ALWAYS.has(name))
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  if (counts.size === 0)
    return 'what keeps it alive (this runtime cannot name it): timers, clients, pools, servers'
  const parts = [...counts].map(([name, count]) => {
    const words = WORDS[name]
    return `${count} ${name}${words === undefined ? '' : ` (${words})`}`
  })
  return `what keeps it alive: ${parts.join(', ')}`
}
