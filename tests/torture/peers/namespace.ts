/** A program in its own network namespace: delay and loss by netem, partitions by taking down its loopback device. */
import { spawnSync } from 'node:child_process'
import type { Length, Row } from '../scenario.ts'
import { AMOUNT, LIFETIME } from './links.ts'
import { partitions } from './partition.ts'
import { withServer } from './process.ts'
import { HonestClient } from './tally.ts'

const length = process.argv[2] as Length
const NOTHING = { requests: 0, succeeded: 0, failed: 0, lost: 0, hung: 0, doubled: 0 }
const NETEM = ['delay', '20ms', '5ms', 'loss', '2%']
/** The number of requests over the lossy link. */
const REQUESTS = { short: 50, long: 2_000 }

/** With the folders of `ip` and `tc`, which are not in every user's PATH. */
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` }

/** Runs a command. @returns why it failed; `undefined`: it succeeded */
function command(...words: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(words[0] as string, words.slice(1), { encoding: 'utf8', env })
  return status === 0 ? undefined : (error?.message ?? stderr.trim())
}

function must(...words: readonly string[]): void {
  const failure = command(...words)
  if (failure !== undefined) throw new Error(`${words.join(' ')}: ${failure}`)
}

async function lossy(): Promise<Row> {
  const scenario = 'link with 20 ± 5 ms and 2 % loss each way (netem in a network namespace), RSocket'
  const refusal = command('tc', 'qdisc', 'add', 'dev', 'lo', 'root', 'netem', ...NETEM)
  if (refusal !== undefined) {
    const remark = `not run: this machine's kernel does not allow it (tc: ${refusal})`
    return { scenario, server: 'ours', faults: 0, ...NOTHING, remark, broken: [] }
  }
  return withServer('ours', {}, async (server) => {
    const honest = new HonestClient(server.port, 'rsocket')
    await honest.answered(REQUESTS[length])
    const tally = await honest.stop()
    must('tc', 'qdisc', 'del', 'dev', 'lo', 'root')
    // The kernel does not report how many packets were lost, so the whole link counts as one fault.
    return { scenario, server: 'ours', faults: 1, ...tally.columns, broken: tally.broken(true) }
  })
}

async function parted(): Promise<Row> {
  return withServer('ours', {}, async (server) => {
    const link = {
      port: server.port,
      part: async () => must('ip', 'link', 'set', 'lo', 'down'),
      heal: async () => must('ip', 'link', 'set', 'lo', 'up')
    }
    const columns = await partitions(server, link, AMOUNT[length].partitions, LIFETIME[length], () => {})
    return {
      scenario: 'link partitioned by the kernel (network namespace), RSocket',
      server: 'ours',
      ...columns
    }
  })
}

must('ip', 'link', 'set', 'lo', 'up')
console.log(JSON.stringify([await lossy(), await parted()]))
process.exit()
