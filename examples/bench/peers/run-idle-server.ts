/** The common part of servers that only wait: `--patterns` says for how many patterns they have handlers. */
import { parseArgs } from 'node:util'
import { obeyParent } from './run-server.ts'

export interface IdleListen {
  readonly host: string
  /** The port; 0: any free port. */
  readonly port: number
  /** The names of the patterns. */
  readonly patterns: readonly string[]
}

/** Starts a server, and ends it with its parent. @param start resolves to the port on which it listens */
export async function runIdleServer(start: (listen: IdleListen) => Promise<number>): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '0' },
      patterns: { type: 'string', default: '1' },
      'with-parent': { type: 'boolean' }
    }
  })
  const { host, port } = values
  const patterns = Array.from({ length: Number(values.patterns) }, (_, n) => `pattern.of.${n}`)
  const listening = await start({ host, port: Number(port), patterns })
  if (values['with-parent'] === true) obeyParent()
  console.log(`listening on tcp://${host}:${listening}`)
}
