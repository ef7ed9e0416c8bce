/** What every server of the bench does: read where to listen, say when it listens, stop when told to. */
import { parseArgs } from 'node:util'

export interface RunningServer {
  readonly port: number
  stop(): Promise<void>
}

/**
 * Starts a server for the flags `--host` (default 127.0.0.1) and `--port` (0: any free one).
 *
 * `--with-parent` ends the process when its stdin does: a bench that was killed hard leaves no server behind.
 */
export async function runServer(
  defaultPort: number,
  start: (host: string, port: number) => Promise<RunningServer>
): Promise<void> {
  const { values } = parseArgs({
    options: { host: { type: 'string' }, port: { type: 'string' }, 'with-parent': { type: 'boolean' } }
  })
  const host = values.host ?? '127.0.0.1'
  const server = await start(host, Number(values.port ?? defaultPort))

  const stop = () => void server.stop().then(() => process.exit(0))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  if (values['with-parent']) process.stdin.resume().once('end', () => process.exit(0))

  console.log(`listening on tcp://${host}:${server.port}`)
}
