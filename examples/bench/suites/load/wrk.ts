/** The tool `wrk`, with a script in Lua that says what to send and what to print. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { BenchError } from '../../errors.ts'
import { makeHistogram } from '../../load/histogram.ts'
import type { Asked } from '../workloads.ts'
import { missesIn, requestBytes } from './requests.ts'
import type { HttpLoad, HttpTotals } from './tool.ts'

/** The output of the script: JSON on one line. */
interface Printed {
  readonly microseconds: number
  readonly requests: number
  readonly connect: number
  readonly read: number
  readonly write: number
  readonly timeout: number
  /** The number of answers with a status of 400 or more. */
  readonly status: number
  readonly mean: number
  /** Pairs of a latency in microseconds and the number of answers with this latency. */
  readonly latencies: readonly (readonly [number, number])[]
}

/** Longer than any measurement: wrk is stopped earlier. */
const FOREVER = '24h'
/** A later answer counts as an error, as with autocannon. */
const PATIENCE = '10s'
/** Milliseconds between two checks whether to stop wrk. */
const STEP = 20
/** Milliseconds until the signal is sent again. */
const AGAIN = 1_000
const SIGINT_BIT = 1n << 1n

export async function run(load: HttpLoad, seconds: number, over: AbortSignal): Promise<HttpTotals> {
  const { host, port, connections, cpus, asked } = load
  const folder = await mkdtemp(join(tmpdir(), 'bench-wrk-'))
  try {
    const script = join(folder, 'load.lua')
    await writeFile(script, scriptOf(load))
    const threads = Math.max(1, Math.min(cpus.length, connections))
    const wrk = [
      'wrk',
      `-t${threads}`,
      `-c${connections}`,
      `-d${FOREVER}`,
      `--timeout=${PATIENCE}`,
      `-s${script}`,
      `http://${host}:${port}`
    ]
    const [command, ...args] = cpus.length === 0 ? wrk : ['taskset', '-c', cpus.join(','), ...wrk]
    const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const ending = endAfter(child, seconds, over)
    const [output, complaints] = await Promise.all([text(child.stdout), text(child.stderr)])
    clearInterval(ending)
    const line = output.split('\n').find((one) => one.startsWith('{'))
    if (line === undefined)
      throw new BenchError(`wrk has printed no results: ${(complaints || output).trim()}`)
    return totalsOf(JSON.parse(line) as Printed, asked, connections)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/**
 * Ends wrk by SIGINT, after which it prints its results. A signal before wrk handles signals would kill it, and a
 * signal before it sleeps is ignored. So the time begins when wrk handles signals, and the signal is repeated until
 * wrk ends.
 */
function endAfter({ pid }: ChildProcess, seconds: number, over: AbortSignal) {
  let until: number | undefined
  let isTold = false
  return setInterval(() => {
    if (pid === undefined || !catchesInterrupts(pid)) return
    const now = performance.now()
    until ??= now + seconds * 1000
    const isDue = now >= until || (over.aborted && !isTold)
    if (!isDue) return
    // Not too often, so that wrk can print its results.
    isTold = true
    until = now + AGAIN
    try {
      process.kill(pid, 'SIGINT')
    } catch {
      // wrk has ended.
    }
  }, STEP)
}

/** Whether a process handles SIGINT: field SigCgt of proc(5). If this cannot be read, it is assumed. */
function catchesInterrupts(pid: number): boolean {
  try {
    const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return caught === undefined || (BigInt(`0x${caught}`) & SIGINT_BIT) !== 0n
  } catch {
    return process.platform !== 'linux'
  }
}

/** A single request is passed to `wrk` directly; with several, wrk asks the script for each next one. */
const scriptOf = ({ asked, host, port }: HttpLoad): string => `
local requests = {
${asked.map((one) => `  ${quoted(requestBytes(one, host, port))}`).join(',\n')}
}
local last = 0
request = function()
  last = last % #requests + 1
  return requests[last]
end
${asked.length === 1 ? singleOf(asked[0]!) : ''}
done = function(summary, latency)
  local counts = {}
  for i = 1, #latency do
    local value, count = latency(i)
    counts[i] = string.format('[%d,%d]', value, count)
  end
  local e = summary.errors
  io.write(string.format(
    '{"microseconds":%d,"requests":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d,"mean":%.3f,"latencies":[%s]}\\n',
    summary.duration, summary.requests, e.connect, e.read, e.write, e.timeout, e.status,
    #latency > 0 and latency.mean or 0, table.concat(counts, ',')))
end
`

const singleOf = ({ method, path, headers = {}, body }: Asked): string =>
  [
    'request = nil',
    `wrk.method, wrk.path = ${quoted(method)}, ${quoted(path)}`,
    ...Object.entries(headers).map(([name, value]) => `wrk.headers[${quoted(name)}] = ${quoted(value)}`),
    ...(body === undefined ? [] : [`wrk.body = ${quoted(body)}`])
  ].join('\n')

/** A text in Lua, which has decimal escapes. */
const quoted = (text: string): string =>
  `"${text.replaceAll(/[^\w /:.,;={}@?&-]/g, (character) => `\\${String(character.charCodeAt(0)).padStart(3, '0')}`)}"`

function totalsOf(printed: Printed, asked: readonly Asked[], connections: number): HttpTotals {
  const { requests, microseconds, status, connect, read, write, timeout } = printed
  const latencies = makeHistogram()
  for (const [value, count] of printed.latencies) latencies.recordValueWithCount(value, count)
  // Requests are sent in turn; those under way at the end of the time are missing.
  const expected = missesIn(asked, requests)
  const slack = expected === 0 ? 0 : connections + asked.length
  const wrong = Math.round(Math.max(0, Math.abs(status - expected) - slack))
  const failed = { connect, read, write, timeout, 'another status than the right one': wrong }
  const first = Object.entries(failed).find(([, count]) => count > 0)
  return {
    completed: Math.max(0, requests - wrong),
    seconds: microseconds / 1e6,
    errors: Object.values(failed).reduce((sum, count) => sum + count, 0),
    firstError: first === undefined ? null : `wrk counted ${first[1]} times: ${first[0]}`,
    average: requests === 0 ? null : printed.mean / 1000,
    latencies
  }
}
