/** Links with delay, loss, stalls and partitions: by the kernel if the machine allows it, and always by a proxy. */
import { spawnSync } from 'node:child_process'
import { Link, randomFrom } from '@elysia-microservices/test-support'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { partitions } from './partition.ts'
import { fileOf, run, withServer } from './process.ts'
import { HonestClient } from './tally.ts'

const SEED = 20_261_124
/** The number of stalls and of partitions. */
export const AMOUNT = { short: { stalls: 5, partitions: 1 }, long: { stalls: 300, partitions: 20 } }
/** The lifetime of a connection without keepalive, in milliseconds. */
export const LIFETIME = { short: 500, long: 2_000 }
/** The time limit of the program in a network namespace, in milliseconds. */
const PATIENCE = 600_000

async function slow({ length, progress }: Circumstances): Promise<Row[]> {
  const random = randomFrom(SEED)
  const { stalls } = AMOUNT[length]
  const rows: Row[] = []
  for (const protocol of ['rsocket', 'nest'] as const) {
    const row = await withServer('ours', {}, async (server): Promise<Row> => {
      const link = await Link.start(server.port)
      link.delay = () => 1 + random() * 30
      const honest = new HonestClient(link.port, protocol)
      for (let stall = 1; stall <= stalls; stall++) {
        progress(`${protocol}: stall ${stall} of ${stalls}`)
        await honest.answered(stall * 4)
        link.hold()
        await new Promise((resolve) => setTimeout(resolve, 50 + random() * 250))
        link.release()
      }
      const tally = await honest.stop()
      await link.stop()
      return {
        scenario: `link of 1 to 31 ms each way that stalls for 50 to 300 ms, ${stalls} times, ${protocol === 'nest' ? "Nest's wire" : 'RSocket'}`,
        server: 'ours',
        faults: stalls,
        ...tally.columns,
        remark: `through a proxy; slowest answer ${Math.round(honest.slowest)} ms`,
        broken: tally.broken(true)
      }
    })
    rows.push(row)
  }
  return rows
}

async function parted({ length, progress }: Circumstances): Promise<Row> {
  return withServer('ours', {}, async (server) => {
    const link = await Link.start(server.port)
    const columns = await partitions(
      server,
      {
        port: link.port,
        part: async () => link.hold(),
        // Bytes that were held back are lost, as after a partition that is longer than TCP's timeouts.
        heal: async () => link.cutAll()
      },
      AMOUNT[length].partitions,
      LIFETIME[length],
      progress
    )
    await link.stop()
    return { scenario: 'link partitioned, then cut, by a proxy, RSocket', server: 'ours', ...columns }
  })
}

/** Runs the same in a network namespace, which has its own loopback device. */
async function namespace({ length, progress }: Circumstances): Promise<readonly Row[]> {
  const probe = spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up'])
  if (probe.status === 0)
    return run('unshare', ['-n', process.execPath, fileOf('namespace'), length], PATIENCE, progress)
  return [
    {
      scenario: 'link partitioned in a network namespace',
      server: 'ours',
      faults: 0,
      requests: 0,
      succeeded: 0,
      failed: 0,
      lost: 0,
      hung: 0,
      doubled: 0,
      remark: 'not run: this machine does not allow network namespaces (unshare -n)',
      broken: []
    }
  ]
}

export const links: Scenario = {
  name: 'bad-links',
  async run(circumstances) {
    return [...(await slow(circumstances)), await parted(circumstances), ...(await namespace(circumstances))]
  }
}
