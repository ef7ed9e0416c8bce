/**
 * gRPC's libraries of other languages call our services and answer our clients, on each runtime: fourteen checks each way. The last test
 * prints the table.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { isMissing } from '@elysia-microservices/test-support'
import { testsFolder } from '../workspace.ts'
import { CHECKS, type Result } from './grpc/checks.ts'
import { type End, OURS, PEERS } from './grpc/peers.ts'

/** Names of peers and runtimes to try, for one who looks for a fault: `GRPC_ONLY='grpc-go,Node 24'`. Default: all. */
const ONLY = process.env['GRPC_ONLY']?.split(',')
const isWanted = (name: string) => ONLY === undefined || ONLY.some((word) => name.includes(word))
const tried = <One extends End>(all: readonly One[]) => {
  const wanted = all.filter(({ name }) => isWanted(name))
  return ONLY === undefined || wanted.length > 0 ? wanted : all
}

const table: string[][] = [['peer', 'our runtime', 'it calls', 'it is called']]

function start(command: readonly string[]): ChildProcess {
  const [executable, ...parameters] = command
  // A program that reads its standard input to the end notices when its parent has ended.
  return spawn(executable as string, parameters, { cwd: testsFolder, stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Starts an end that answers, and resolves with its port. */
async function serve(end: End, role: readonly string[]): Promise<{ port: string; stop(): Promise<void> }> {
  const child = start([...(await end.prepare()), ...role])
  const exited = once(child, 'exit')
  const ended = exited.then(() => Promise.reject(new Error(`${end.name} has ended before it listened`)))
  const [line] = await Promise.race([once(createInterface({ input: child.stdout! }), 'line'), ended])
  ended.catch(() => {})
  return {
    port: String((JSON.parse(line as string) as { port: number }).port),
    async stop() {
      child.kill('SIGKILL')
      await exited
    }
  }
}

/** The results of an end that calls, by the name of the check. */
async function resultsOf(caller: End, port: string): Promise<Map<string, Result>> {
  const child = start([...(await caller.prepare()), ...(caller.call?.(port) ?? [])])
  const exited = once(child, 'exit')
  const results = new Map<string, Result>()
  for await (const line of createInterface({ input: child.stdout! })) {
    const result = JSON.parse(line) as Result
    results.set(result.check, result)
  }
  await exited
  return results
}

const names = Object.keys(CHECKS)

function testPair(title: string, answering: End, role: readonly string[], calling: End, checks: string[]) {
  describe(title, () => {
    let results = new Map<string, Result>()
    before(
      async () => {
        const { port, stop } = await serve(answering, role)
        results = await resultsOf(calling, port).finally(stop)
      },
      { timeout: 900_000 }
    )
    for (const check of checks)
      it(check, () => {
        const result = results.get(check)
        assert.ok(result !== undefined, 'the check was not done')
        assert.equal(result.error, undefined)
      })
    after(() => {
      const good = checks.filter((check) => results.get(check)?.check === check && !results.get(check)?.error)
      const column = title.startsWith('called by') ? 2 : 3
      const peer = column === 2 ? calling : answering
      const runtime = column === 2 ? answering : calling
      const row = table.find(([name, on]) => name === peer.name && on === runtime.name) ?? [
        peer.name,
        runtime.name,
        '',
        ''
      ]
      if (!table.includes(row)) table.push(row)
      row[column] = `${good.length} of ${checks.length}`
    })
  })
}

for (const peer of tried(PEERS)) {
  if (isMissing(`the checks of ${peer.name}`, peer.missing)) continue
  const checks = names.filter((name) => !peer.leftOut.includes(name))
  for (const runtime of tried(OURS)) {
    const role = peer.meets === 'app' ? ['app'] : (runtime.serve ?? [])
    testPair(`called by ${peer.name}, ours on ${runtime.name}`, runtime, role, peer, checks)
    if (peer.serve !== undefined)
      testPair(`calling ${peer.name}, ours on ${runtime.name}`, peer, peer.serve, runtime, checks)
  }
}

describe('the table of all peers', () => {
  it('is printed', () => {
    for (const row of table) console.log(`| ${row.join(' | ')} |`)
    assert.ok(table.length > 1)
  })
})
