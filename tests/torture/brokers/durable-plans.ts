/** Plans of faults for durable events: the services that handle the events, and what is killed, deleted or moved. */

import { pause, until, within } from '@elysia-microservices/test-support'
import type { ServerProcess } from '../../support/server-process.ts'
import { PATTERN, type Plan, type Setting } from './durable-setting.ts'
import type { BrokerServer } from './engine.ts'
import { addPartitions } from './engines/kafka.ts'

async function killConsumer({ services }: Setting, n: number): Promise<void> {
  const service = services[n % services.length] as ServerProcess
  await service.stop('SIGKILL')
  await service.start()
}

async function killServer(setting: Setting, n: number): Promise<void> {
  const { servers, broker } = setting
  if (broker.failOver !== undefined) return broker.failOver(servers)
  const server = servers[n % servers.length] as BrokerServer
  await server.stop()
  await pause(Math.random() * 300)
  if (servers.length > 1) {
    const { size } = setting.done
    await until('Events are handled while a node is gone', () => setting.done.size > size)
  }
  await server.start()
  // A server that is killed again before clients have reconnected stores nothing, so killing it tests nothing.
  await pause(broker.settlesIn ?? 0)
}

async function restartConsumer({ services }: Setting, n: number): Promise<void> {
  const service = services[n % services.length] as ServerProcess
  await within(service.stop('SIGTERM'), 'The service ends after SIGTERM')
  await service.start()
}

/** Deletes the whole stream, or the consumer of the group, as an operator does. */
function deleteAt({ servers, broker }: Setting, what: 'stream' | 'group'): Promise<void> {
  return broker.delete((servers[0] as BrokerServer).url, what, PATTERN)
}

async function deleteStream(setting: Setting): Promise<void> {
  const { done } = setting
  await deleteAt(setting, 'stream')
  // The events so far may be lost with the stream. Events that are published from now on must be handled.
  for (let n = 0; n < setting.begun; n++) if (!done.has(n)) setting.deleted.add(n)
}

export const PLANS: readonly { readonly name: string; plan(isLong: boolean): Plan }[] = [
  {
    name: 'durable-plain',
    plan: (isLong) => ({
      title: 'durable events: three consumers under load, without a fault',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false, isOnce: true },
      ...{ faults: 0, fault: async () => {} }
    })
  },
  {
    name: 'durable-delete-stream',
    plan: (isLong) => ({
      title: 'durable events: the stream deleted under load, and made again',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false },
      ...{ faults: isLong ? 50 : 10, fault: deleteStream }
    })
  },
  {
    name: 'durable-delete-consumer',
    plan: (isLong) => ({
      title: 'durable events: the consumer of the group deleted under load',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false },
      ...{ faults: isLong ? 50 : 10, fault: (setting) => deleteAt(setting, 'group') }
    })
  },
  {
    name: 'durable-delete-consumer-ordered',
    plan: (isLong) => ({
      title: 'durable events in the order of their keys: the consumer of the group deleted under load',
      ...{ events: isLong ? 50_000 : 3_000, keys: 100, processes: 3, isOrdered: true },
      ...{ faults: isLong ? 30 : 6, fault: (setting) => deleteAt(setting, 'group') }
    })
  },
  {
    name: 'durable-kill-consumers',
    plan: (isLong) => ({
      title: 'durable events: consumers killed (SIGKILL), poison among them',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false },
      ...{ faults: isLong ? 50 : 10, poison: 5, fault: killConsumer }
    })
  },
  {
    name: 'durable-kill-server',
    plan: (isLong) => ({
      title: 'durable events: the NATS server killed and started again',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 2, isOrdered: false },
      ...{ faults: isLong ? 20 : 5, fault: killServer }
    })
  },
  {
    name: 'durable-kill-node',
    plan: (isLong) => ({
      title: 'durable events with 3 replicas: one node of three killed and returned',
      ...{ events: isLong ? 100_000 : 3_000, keys: 1_000, processes: 2, nodes: 3, isOrdered: false },
      ...{ faults: isLong ? 20 : 3 },
      fault: async (setting, n) => {
        await killServer(setting, n)
        // Waits until the server has received the events that it has missed: two servers that lack an event are no
        // majority.
        await pause(3_000)
      }
    })
  },
  {
    name: 'durable-ordered',
    plan: (isLong) => ({
      title: 'durable events in the order of their keys: consumers and server killed',
      ...{
        events: isLong ? 50_000 : 3_000,
        keys: isLong ? 1_000 : 100,
        processes: isLong ? 8 : 4,
        isOrdered: true
      },
      ...{ faults: isLong ? 30 : 6 },
      fault: (setting, n) => (n % 3 === 0 ? killServer(setting, n) : killConsumer(setting, n))
    })
  },
  {
    name: 'durable-long-handlers',
    plan: (isLong) => ({
      title: `durable events: handlers of ${isLong ? 60 : 3} s, signs of life every 0.5 s, the NATS server killed`,
      ...{ events: isLong ? 512 : 64, keys: 64, processes: 2, isOrdered: false },
      ...{ takes: isLong ? 60_000 : 3_000, faults: isLong ? 10 : 1 },
      fault: async (setting, n) => {
        await pause(isLong ? 15_000 : 500)
        await killServer(setting, n)
      }
    })
  },
  {
    name: 'durable-rolling-restart',
    plan: (isLong) => ({
      title: 'durable events: rolling restart of three consumers',
      ...{ events: isLong ? 50_000 : 3_000, keys: 100, processes: 3, isOrdered: false, isOnce: true },
      ...{ faults: isLong ? 30 : 6, fault: restartConsumer }
    })
  }
]

/** Stops and starts each process in turn, which moves partitions each time. */
async function rebalance({ services }: Setting, n: number): Promise<void> {
  const service = services[Math.ceil(n / 2) % services.length] as ServerProcess
  await pause(3_000)
  if (n % 2 === 0) await service.start()
  else await within(service.stop('SIGTERM'), 'The service ends after SIGTERM')
}

/** Stops all processes, deletes the group and starts them again: Kafka cannot delete a group that has members. */
async function deleteOffsets(setting: Setting): Promise<void> {
  await Promise.all(setting.services.map((service) => service.stop('SIGTERM')))
  await deleteAt(setting, 'group')
  await Promise.all(setting.services.map((service) => service.start()))
}

/** Plans that need an engine whose logs have partitions. */
export const PLANS_OF_PARTITIONS: typeof PLANS = [
  {
    name: 'durable-rebalance',
    plan: (isLong) => ({
      title: 'durable events in the order of their keys: a rebalance every 3 s',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: true, isOnce: true },
      ...{ faults: isLong ? 100 : 4, fault: rebalance }
    })
  },
  {
    name: 'durable-poison-first',
    plan: (isLong) => ({
      title: 'durable events: poison at the head of each partition, consumers killed (SIGKILL)',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false },
      ...{ faults: isLong ? 20 : 4, poisonFirst: 64, fault: killConsumer }
    })
  },
  {
    name: 'durable-delete-offsets',
    plan: (isLong) => ({
      title: 'durable events in the order of their keys: the offsets of the group deleted',
      ...{ events: isLong ? 20_000 : 2_000, keys: 100, processes: 3, isOrdered: true },
      ...{ faults: isLong ? 10 : 2, fault: deleteOffsets }
    })
  },
  {
    name: 'durable-add-partitions',
    plan: (isLong) => ({
      title: 'durable events: two partitions added at a time, under load',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false, isOnce: true },
      ...{ faults: isLong ? 20 : 4 },
      fault: ({ servers }) => addPartitions((servers[0] as BrokerServer).url, PATTERN, 2)
    })
  }
]
