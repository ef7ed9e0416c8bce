/** What every server of the bench does: read where to listen, say when it listens, stop when told to. */
import { parseArgs } from 'node:util'
import { type ShapeName, shapeNames } from '../payload/payload.ts'

export interface RunningServer {
  readonly port: number
  stop(): Promise<void>
}

export interface Listen {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** What it will echo, for a server that must know. */
  readonly shape: ShapeName
}

export type Start = (listen: Listen) => Promise<RunningServer>

/**
 * Starts a server for the flags `--host` (default 127.0.0.1), `--port` (0: any free one) and `--shape` (default flat).
 *
 * `--with-parent` ends the process when its stdin does: a bench that was killed hard leaves no server behind.
 */
export async function runServer(defaultPort: number, start: Start): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string' },
      port: { type: 'string' },
      shape: { type: 'string' },
      'with-parent': { type: 'boolean' }
    }
  })
  const host = values.host ?? '127.0.0.1'
  const shape = shapeNames.find((name) => name === (values.shape ?? 'flat'))
  if (shape === undefined) throw new Error(`--shape: expected ${shapeNames.join(' or ')}`)
  const server = await start({ host, port: Number(values.port ?? defaultPort), shape })

  const stop = () => void server.stop().then(() => process.exit(0))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  if (values['with-parent']) process.stdin.resume().once('end', () => process.exit(0))

  console.log(`listening on tcp://${host}:${server.port}`)
}
