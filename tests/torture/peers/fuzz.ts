/**
 * A million mutated frames of recorded conversations: most are passed to sessions without sockets, which is fast, and
 * some to a server process over sockets. The inputs of `tests/faults/fuzz.test.ts` are generated instead.
 */

import { randomFrom } from '@elysia-microservices/test-support'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import type { FuzzResult } from './fuzz-direct.ts'
import { Mutator } from './mutator.ts'
import { fileOf, run, withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { record } from './recordings.ts'
import { HonestClient } from './tally.ts'

const SEED = 20_261_125
/** The number of mutated frames, without sockets and with sockets. */
const AMOUNT = {
  short: { direct: 17_000, sockets: 3_000 },
  long: { direct: 850_000, sockets: 150_000 }
}
const ATTACKERS = 20
/** The most frames of a conversation that are mutated over sockets. */
const MOST = 6
/** Megabytes by which memory may grow after the first quarter of the time: garbage. */
const FLAT_MB = 80
/** The time limit of a run in milliseconds. */
const PATIENCE = 1_800_000
/** Milliseconds within which a server must have forgotten the last conversation. */
const FORGETS = 15_000

async function direct({ length, progress }: Circumstances): Promise<Row[]> {
  const frames = AMOUNT[length].direct
  progress(`${frames} frames without sockets`)
  const args = [fileOf('fuzz-direct'), String(frames), String(SEED)]
  const { server, client } = await run<FuzzResult>(process.execPath, args, PATIENCE)
  const rssLimitMb = server.settledMb + FLAT_MB
  return [
    {
      scenario:
        'mutated frames of recorded conversations, to sessions of a server without sockets, both protocols',
      server: 'ours',
      faults: server.mutated,
      ...server.honest.columns,
      peakRssMb: server.endMb,
      rssLimitMb,
      remark: `RSS ${server.settledMb} MB after a quarter, ${server.endMb} MB at the end (limit: ${FLAT_MB} MB more); seed ${SEED}`,
      broken: [
        ...server.honest.broken,
        ...(server.left === 0 ? [] : [`${server.left} connections, streams or requests are left`]),
        ...(server.endMb > rssLimitMb ? [`memory grew from ${server.settledMb} to ${server.endMb} MB`] : [])
      ]
    },
    {
      scenario: 'clients whose server says mutated frames, both protocols',
      server: 'ours',
      faults: client.mutated,
      ...client.calls.columns,
      remark: `every call must settle; seed ${SEED}`,
      broken: client.calls.broken
    }
  ]
}

async function overSockets({ length, progress }: Circumstances): Promise<Row> {
  const frames = AMOUNT[length].sockets
  const mutator = new Mutator(await record(), randomFrom(SEED))
  return withServer(
    'ours',
    { rsocket: { resume: { window: 100 } }, limits: { incompleteMessage: 2_000 } },
    async (server) => {
      const honest = [new HonestClient(server.port, 'nest'), new HonestClient(server.port, 'rsocket')]
      for (const client of honest) await client.answered(100)
      let conversations = 0
      const attackUntil = async (count: number) => {
        while (mutator.mutated < count) {
          if (conversations++ % 500 === 0) progress(`${mutator.mutated} of ${frames} frames over sockets`)
          // Each conversation uses another local address, because ports cannot be used again for a while.
          const peer = await RawPeer.connect(server.port, `127.0.0.${1 + (conversations % 32)}`)
          peer.read()
          for (const bytes of mutator.conversation(MOST).frames) await peer.sent(bytes)
          peer.close(conversations % 2 === 0 ? 'fin' : 'rst')
        }
      }
      const attack = (count: number) =>
        Promise.all(Array.from({ length: ATTACKERS }, () => attackUntil(count)))
      await attack(frames / 4)
      const settled = await server.figures()
      await attack(frames)
      const clean = ({ connections, streams, running, inFlight }: typeof settled) =>
        connections === honest.length &&
        streams === 0 &&
        running === 0 &&
        (inFlight ?? 0) <= 2 * honest.length
      const after = await server.until(clean, FORGETS)
      const [tally, second] = [await honest[0]!.stop(), await honest[1]!.stop()]
      tally.add(second)
      const rssLimitMb = settled.rssMb + FLAT_MB
      return {
        scenario: `mutated frames of recorded conversations, over ${conversations} connections, both protocols`,
        server: 'ours',
        faults: mutator.mutated,
        ...tally.columns,
        peakRssMb: after.peakRssMb,
        rssLimitMb,
        remark: `RSS ${settled.rssMb} MB after a quarter, ${after.rssMb} MB at the end (limit: ${FLAT_MB} MB more); seed ${SEED}`,
        broken: [
          ...tally.broken(true),
          ...(clean(after)
            ? []
            : [`${after.connections - honest.length} connections and ${after.streams} streams are left`]),
          ...(after.rssMb > rssLimitMb ? [`memory grew from ${settled.rssMb} to ${after.rssMb} MB`] : [])
        ]
      }
    }
  )
}

export const fuzz: Scenario = {
  name: 'mutated-frames',
  async run(circumstances) {
    return [...(await direct(circumstances)), await overSockets(circumstances)]
  }
}
