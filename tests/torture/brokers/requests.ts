/** Services over each engine, while services, servers and callers are killed. */

import { pause, until, within } from '@elysia-microservices/test-support'
import { ServerProcess } from '../../support/server-process.ts'
import type { Scenario } from '../scenario.ts'
import { Peaks, residentMb } from '../support/memory.ts'
import type { Broker, BrokerServer } from './engine.ts'
import { tortured } from './engines/all.ts'
import { scenariosOfMqtt } from './mqtt.ts'
import { type InSetting, settingOver, underLoad } from './request-setting.ts'

/**
 * Megabytes by which the memory of a process may grow after the first tenth of the time: garbage collection is
 * random.
 */
const GROWTH = 128

const scenariosOver = (broker: Broker, inSetting: InSetting): readonly Scenario[] => [
  {
    name: `${broker.name}-kill-services`,
    run: (circumstances) =>
      inSetting(1, 2, async (setting) => {
        const kills = circumstances.length === 'long' ? 50 : 4
        await underLoad(setting, kills, circumstances, async (n) => {
          const service = setting.services[n % 2] as ServerProcess
          await service.stop('SIGKILL')
          await service.start()
        })
        return [await setting.row('one of two services killed (SIGKILL) under load', kills)]
      })
  },
  {
    name: `${broker.name}-kill-server`,
    run: (circumstances) =>
      inSetting(1, 2, async (setting) => {
        const kills = circumstances.length === 'long' ? 20 : 3
        let away = 0
        const begun = performance.now()
        const worstRecoveryMs = await underLoad(setting, kills, circumstances, async () => {
          const killed = performance.now()
          await setting.servers[0]?.stop()
          await pause(Math.random() * 500)
          await setting.servers[0]?.start()
          away += performance.now() - killed
        })
        const share = Math.round((away / (performance.now() - begun)) * 100)
        const row = await setting.row(`the ${broker.title} server killed and started again under load`, kills)
        const remark = `${row.remark}; the server was away ${share} % of the time`
        return [{ ...row, worstRecoveryMs, remark }]
      })
  },
  {
    name: `${broker.name}-kill-node`,
    run: (circumstances) =>
      inSetting(3, 3, async (setting) => {
        const kills = circumstances.length === 'long' ? 20 : 3
        await underLoad(setting, kills, circumstances, async (n) => {
          if (broker.failOver !== undefined) return broker.failOver(setting.servers)
          const node = setting.servers[n % 3] as BrokerServer
          await node.stop()
          await pause(500)
          await within(setting.ledger.nextSuccess(), 'A success while the node is gone')
          await node.start()
        })
        return [await setting.row('one node of a cluster of three killed and returned', kills)]
      })
  },
  {
    name: `${broker.name}-partition`,
    run: (circumstances) =>
      inSetting(
        3,
        3,
        async (setting) => {
          const times = circumstances.length === 'long' ? 10 : 1
          await underLoad(setting, times, circumstances, async (n) => {
            const node = setting.servers[n % 3] as BrokerServer
            node.signal('SIGSTOP')
            // Longer than client and service wait for a PING.
            await pause(5_000)
            node.signal('SIGCONT')
          })
          return [await setting.row('one node of three stands still for 5 s', times)]
        },
        1_000
      )
  },
  {
    name: `${broker.name}-rolling-restart`,
    run: (circumstances) =>
      inSetting(1, 3, async (setting) => {
        const rounds = circumstances.length === 'long' ? 20 : 2
        await underLoad(setting, rounds * 3, circumstances, async (n) => {
          const service = setting.services[n % 3] as ServerProcess
          await within(service.stop('SIGTERM'), 'The service ends after SIGTERM')
          await service.start()
        })
        const row = await setting.row('rolling restart of three services', rounds * 3)
        if (row.failed === 0) return [row]
        return [
          {
            ...row,
            broken: [...row.broken, `${row.failed} requests failed in rolling restarts: ${row.remark}`]
          }
        ]
      })
  },
  {
    name: `${broker.name}-dead-callers`,
    run: ({ length, progress }) =>
      inSetting(1, 1, async (setting) => {
        const kills = length === 'long' ? 20 : 1
        const { ledger } = setting
        const client = setting.client()
        for (let n = 1; n <= kills; n++) {
          const caller = new ServerProcess({
            program: 'torture/brokers/request-caller',
            arguments: () => [setting.urls.join(',')]
          })
          await within(caller.start(), 'The caller starts')
          await ledger.request(client, 'work')
          await caller.stop('SIGKILL')
          await until('No handler runs for a caller that is gone', async () => {
            const { open } = (await client.request('open', undefined)) as { open: number }
            return open === 0
          })
          progress(`${n} of ${kills} callers killed`)
        }
        return [await setting.row('callers killed in the middle of ten calls each', kills)]
      })
  },
  {
    name: `${broker.name}-slow-readers`,
    run: ({ length, progress }) =>
      inSetting(1, 1, async (setting) => {
        const seconds = length === 'long' ? 600 : 5
        const { ledger } = setting
        const client = setting.client(0)
        const read = { values: 0 }
        const calls = Array.from({ length: 20 }, (_, index) => {
          let expected = 0
          const call = client.stream('endless', index % 2 === 0 ? 50 : 20_000, {
            next(value) {
              if ((value as { n: number }).n !== expected++)
                ledger.losses.push('A value of a stream is missing')
              read.values++
              setTimeout(() => call.resume(), 20)
              return false
            },
            complete: () => ledger.losses.push('An endless stream has ended'),
            error: (error) => ledger.losses.push(`An endless stream has failed: ${error.message}`)
          })
          return call
        })
        const memory = { service: new Peaks(), caller: new Peaks(), engine: new Peaks() }
        const begun = performance.now()
        for (let part = 0; part < 1; part = (performance.now() - begun) / 1_000 / seconds) {
          await ledger.request(client, 'work')
          await pause(50)
          memory.service.add(part, residentMb(setting.services[0]?.pid))
          memory.caller.add(part, residentMb(process.pid))
          memory.engine.add(part, residentMb(setting.servers[0]?.pid))
          progress(
            `${read.values} values read, ${Math.round((1 - part) * seconds)} s left; ${memory.service}, ${memory.caller}, ${memory.engine}`
          )
        }
        for (const call of calls) call.cancel()
        await until('All streams are left', async () => {
          const { open } = (await client.request('open', undefined)) as { open: number }
          return open === 0
        })
        const row = await setting.row(`slow readers of 20 fast streams for ${seconds} s`, calls.length)
        // In a short run of a few seconds, the growth is only the start.
        const grown = Object.entries(memory).filter(([end, { growth, most = 0 }]) => {
          if (length !== 'long') return false
          return end === 'engine' && broker.heap !== undefined ? most > broker.heap : growth > GROWTH
        })
        return [
          {
            ...row,
            remark: `${read.values} values read; memory of the service: ${memory.service}, of the caller: ${memory.caller}, of its server: ${memory.engine}`,
            broken: [...row.broken, ...grown.map(([end, peaks]) => `The ${end} held more and more: ${peaks}`)]
          }
        ]
      })
  }
]

/** Plans for clusters in which each server has all connections. */
const OF_CLUSTERS = ['kill-node', 'partition']

export const requestsOverEngines: readonly Scenario[] = tortured('torture of requests').flatMap((broker) =>
  [
    ...scenariosOver(broker, settingOver(broker)),
    ...(broker.name === 'mqtt' ? scenariosOfMqtt(settingOver(broker)) : [])
  ].filter(({ name }) => {
    const isOfClusters = OF_CLUSTERS.some((one) => name.endsWith(one))
    return isOfClusters ? broker.hasCluster !== false : broker.hasCluster !== 'only'
  })
)
