/** What every server of the bench does: read where to listen, say when it listens, stop when told to. */
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { type ShapeName, shapeNames } from '../payload/payload.ts'
import { collectGarbage } from '../process/garbage.ts'

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
 * With `--with-parent` it obeys its stdin: see `obeyParent`.
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
  if (values['with-parent']) obeyParent()

  console.log(`listening on tcp://${host}:${server.port}`)
}

/**
 * Ends when stdin does: a bench that was killed hard leaves no server behind. The line `gc` collects garbage and is
 * answered with `collected` on stdout, or `not collected`.
 */
function obeyParent(): void {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', async (line) => {
    if (line === 'gc') console.log((await collectGarbage()) ? 'collected' : 'not collected')
  })
  lines.once('close', () => process.exit(0))
}
