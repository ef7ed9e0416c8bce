/** Faults that only MQTT has: connections that replace each other, retained events, lost subscriptions. */
import { until, within } from '@elysia-microservices/test-support'
import { amidCalls } from '../load/callers.ts'
import type { Row, Scenario } from '../scenario.ts'
import { type InSetting, type Setting, TIMEOUT, underLoad } from './request-setting.ts'

/** The number of retained events, each on a topic of its own. */
const KEPT = 10_000

export const scenariosOfMqtt = (inSetting: InSetting): readonly Scenario[] => [
  {
    name: 'mqtt-same-client-id',
    run: ({ length, progress }) =>
      inSetting(1, 1, async (setting) => {
        const wanted = length === 'long' ? 100 : 10
        let lost = 0
        const twins = Array.from({ length: 3 }, () => setting.client(TIMEOUT, { clientId: 'twin' }))
        for (const twin of twins) twin.onStatus(({ type }) => void (type === 'disconnected' && lost++))
        const isEnough = () => {
          progress(`${lost} of ${wanted} connections ended, ${setting.ledger.succeeded} requests succeeded`)
          return lost >= wanted
        }
        await amidCalls(setting.ledger, twins, 4, () => until('They end each other', isEnough, 300_000))
        await setting.ledger.settled()
        const [last, ...others] = twins
        for (const other of others) await other.close()
        await until('The one that is left succeeds', async () => {
          const { error } = await setting.ledger.request(last as (typeof twins)[0], 'echo')
          return error === undefined
        })
        return [await setting.row('three clients with one client id, which end each other', lost)]
      })
  },
  {
    name: 'mqtt-retained',
    run: (circumstances) =>
      inSetting(1, 1, async (setting) => {
        const starts = circumstances.length === 'long' ? 20 : 3
        const publisher = setting.client(0)
        for (let n = 0; n < KEPT; n += 500)
          await Promise.all(
            Array.from({ length: 500 }, (_, index) =>
              publisher.emit(`kept/${n + index}`, n + index, { headers: { 'mqtt-retain': 'true' } })
            )
          )
        const late = setting.newService('torture/brokers/retained-service')
        const broken: string[] = []
        await underLoad(setting, starts, circumstances, async () => {
          await late.start()
          const wrong = await keptIn(setting)
          if (wrong !== undefined) broken.push(wrong)
          await late.stop('SIGKILL')
        })
        const row = await setting.row(
          `a service that gets ${KEPT} retained events, started and killed`,
          starts
        )
        return [{ ...row, broken: [...row.broken, ...broken] }]
      })
  },
  {
    name: 'mqtt-runs',
    run: ({ length, progress }) =>
      inSetting(1, 1, async (setting) => {
        const runs = length === 'long' ? 50 : 5
        const { ledger } = setting
        for (let n = 1; n <= runs; n++) {
          const client = setting.client()
          const callers = Array.from({ length: 100 }, async () => {
            for (let call = 0; call < 20; call++) await ledger.request(client, 'echo')
          })
          await within(Promise.all(callers), 'All calls of a run have settled')
          await client.close()
          progress(`${n} of ${runs} runs`)
        }
        const row = await setting.row('a new client with 100 callers at once, again and again', runs)
        return [allSucceeded(row)]
      })
  }
]

/** Waits until a service has received all retained events. @returns what is missing; `undefined`: nothing */
async function keptIn(setting: Setting): Promise<string | undefined> {
  const client = setting.client()
  try {
    const seen = async () =>
      (await client.request('seen', undefined)) as { readonly distinct: number; readonly all: number }
    let had = await seen()
    await until('It has all', async () => {
      had = await seen()
      return had.distinct >= KEPT
    }).catch(() => {})
    return had.distinct === KEPT && had.all === KEPT
      ? undefined
      : `A service has had ${had.distinct} of ${KEPT} retained events, in ${had.all} messages`
  } finally {
    await client.close()
  }
}

function allSucceeded(row: Row): Row {
  if (row.failed === 0) return row
  return {
    ...row,
    broken: [...row.broken, `${row.failed} requests failed though nothing was killed: ${row.remark}`]
  }
}
