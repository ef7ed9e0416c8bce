/**
 * The costs of a service that has nothing to do, and the time until it has started, by its patterns and connections;
 * beside NestJS: `bun run-idle.ts [--runtime=node] [--seconds=20] [--patterns=1,100] [--connections=0,1000]`.
 */
import { parseArgs } from 'node:util'
import { connect } from 'elysia-microservices/client'
import { silent } from './peers/elysia/ask-through.ts'
import { print, runCommand } from './process/main.ts'
import { planPinning } from './process/pinning.ts'
import { cpuMicroseconds, residentMegabytes } from './process/proc-stat.ts'
import type { Runtime } from './process/runtime.ts'
import { ServerProcess, stopServers } from './process/server-process.ts'
import { alignColumns } from './report/table.ts'

const { values } = parseArgs({
  options: {
    runtime: { type: 'string', default: 'bun' },
    seconds: { type: 'string', default: '20' },
    patterns: { type: 'string', default: '1,100,1000,10000' },
    connections: { type: 'string', default: '1,1000,10000' }
  }
})
const host = '127.0.0.1'
const seconds = Number(values.seconds)
const listOf = (text: string) => text.split(',').filter(Boolean).map(Number)
/** Connections that are opened at a time: the system's queue of connections that wait is not longer. */
const AT_ONCE = 100
/** Milliseconds until what a connection or a start leaves behind has been done. */
const SETTLED = 1_000

/** Each row has a server of its own. The first start of each only fills the system's file cache. */
const CASES = [
  [1, 0],
  ...listOf(values.patterns).map((patterns) => [patterns, 0] as const),
  ...listOf(values.connections).map((connections) => [1, connections] as const)
] as const

interface Connected {
  close(): Promise<void>
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

await runCommand(async () => {
  const rows = [['', 'patterns', 'connections', 'listening ms', 'MiB', 'CPU µs/s']]
  for (const [index, [patterns, connections]] of CASES.entries())
    for (const peer of ['elysia', 'nest'] as const) {
      const row = await measure(peer, patterns, connections)
      if (index > 0) rows.push(row)
      console.error(row.join(' '))
    }
  await print(`${alignColumns(rows).join('\n')}\n`)
  return 0
}, stopServers)

async function measure(peer: 'elysia' | 'nest', patterns: number, connections: number): Promise<string[]> {
  const begun = performance.now()
  const server = await ServerProcess.start({
    program: `peers/${peer}/server-idle`,
    runtime: values.runtime as Runtime,
    host,
    port: 0,
    cpu: planPinning().server,
    flags: [`--patterns=${patterns}`]
  })
  const listening = performance.now() - begun
  const clients = await open(peer, server.port, connections)
  await pause(SETTLED)
  await server.collectGarbage()
  const before = cpuMicroseconds(server.pid) ?? Number.NaN
  await pause(seconds * 1_000)
  const spent = ((cpuMicroseconds(server.pid) ?? Number.NaN) - before) / seconds
  const resident = residentMegabytes(server.pid) ?? Number.NaN
  await Promise.all(clients.map((client) => client.close()))
  await server.stop()
  return [peer, ...[patterns, connections, listening, resident, spent].map((each) => each.toFixed(0))]
}

async function open(peer: 'elysia' | 'nest', port: number, connections: number): Promise<Connected[]> {
  const protocol = peer === 'nest' ? 'nest' : 'rsocket'
  const clients: Connected[] = []
  while (clients.length < connections) {
    const more = Array.from({ length: Math.min(AT_ONCE, connections - clients.length) }, () =>
      connect({ transport: 'tcp', protocol, host, port, logger: silent })
    )
    await Promise.all(more.map((client) => client.connect()))
    clients.push(...more)
  }
  return clients
}
