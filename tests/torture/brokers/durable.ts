/**
 * Durable events over each engine: consumers and servers are killed, and some events always fail. No event may be
 * lost.
 */
import { PATIENCE, pause, until, within } from '@elysia-microservices/test-support'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { floodOfEvents } from './durable-flood.ts'
import { PLANS, PLANS_OF_PARTITIONS } from './durable-plans.ts'
import { PATTERN, type Plan, Setting } from './durable-setting.ts'
import type { Broker } from './engine.ts'
import { tortured } from './engines/all.ts'

async function run(plan: Plan, broker: Broker, { progress }: Circumstances): Promise<readonly Row[]> {
  const setting = await Setting.start(plan, broker)
  /** Ends the publishing, also after a failure. */
  let isOver = false
  try {
    const { events, keys, faults, poison = 0, poisonFirst = 0, takes = 0 } = plan
    let failed = 0
    let published = 0
    const failures = new Set<string>()
    let hasFaults = true
    const every = poison === 0 ? Number.POSITIVE_INFINITY : Math.floor(events / poison)
    const publishing = (async () => {
      const window = new Set<Promise<unknown>>()
      for (let n = 0; !isOver && (n < events || (hasFaults && takes === 0)); n++) {
        setting.begun++
        const isPoison = n % every === every - 1
        const key = n < poisonFirst ? `poison${n}` : isPoison ? 'poison' : `k${n % keys}`
        const one = setting.client.publish(PATTERN, n, { key }).then(
          () => void published++,
          (error: Error) => {
            failed++
            failures.add(error.message)
          }
        )
        window.add(one)
        void one.finally(() => window.delete(one))
        if (window.size >= 64) await Promise.race(window)
        // About 4,000 per second: the events published during faults must also be handled in the end.
        if (n % 16 === 0) await pause(4)
      }
      await Promise.all(window)
    })()
    for (let n = 1; n <= faults; n++) {
      await pause(100 + Math.random() * 300)
      await plan.fault(setting, n)
      // On a busy machine the next fault could come before the clients have reconnected, and would test nothing.
      const before = published
      const isDone = () => takes > 0 && published + failed >= events
      await until('Events are published again', () => published > before || isDone(), 3 * PATIENCE)
      progress(`${n} of ${faults} faults, ${published} events published`)
    }
    hasFaults = false
    await within(publishing, 'All is published', 300_000)
    const { begun } = setting
    const healthy = () => {
      const { done } = setting
      return done.size + setting.gone(done)
    }
    const [server] = setting.servers
    const letters = () => broker.countDeadLetters(setting.client, server?.url ?? '')
    const poisoned = poisonFirst + (Number.isFinite(every) ? Math.floor(begun / every) : 0)
    const hung = await settled(() => begun - failed - poisoned - healthy(), PATIENCE + takes)
    let dead = -1
    await until('The poisoned ones are dead letters', async () => {
      // The client may not be connected again yet after the last fault.
      dead = await letters().catch(() => -1)
      return dead >= poisoned
    }).catch(() => {})
    return [rowOf(plan, setting, [...failures], { events: begun, failed, poisoned, dead, hung })]
  } finally {
    isOver = true
    await setting.end()
  }
}

/** Waits until nothing is left, or nothing has changed for the time. @returns what is left */
export async function settled(left: () => number, patience: number): Promise<number> {
  let now = left()
  for (let changedAt = performance.now(); now > 0 && performance.now() - changedAt < patience; ) {
    await pause(50)
    const before = now
    now = left()
    if (now !== before) changedAt = performance.now()
  }
  return now
}

function rowOf(
  { title, faults, isOrdered, isOnce = false }: Plan,
  setting: Setting,
  failures: readonly string[],
  {
    events,
    failed,
    poisoned,
    dead,
    hung
  }: Readonly<Record<'events' | 'failed' | 'poisoned' | 'dead' | 'hung', number>>
): Row {
  const { lines, deleted, broker, servers } = setting
  const done = new Map<number, number>()
  for (const { what, n } of lines) if (what === 'done' && n >= 0) done.set(n, (done.get(n) ?? 0) + 1)
  // Counted from the same lines, because handlers may still be running.
  const gone = setting.gone(done)
  const again = [...done.values()].reduce((sum, times) => sum + times - 1, 0)
  const broken: string[] = []
  if (failed > 0) broken.push(`${failed} events could not be published: ${failures.join('; ')}`)
  const knowsIds = broker.transport(servers.map(({ url }) => url)).traits?.stores?.once === true
  // If a process is killed between storing a dead letter and acknowledging its event, engines that know no ids get a
  // second dead letter.
  if (knowsIds ? dead !== poisoned : dead < poisoned)
    broken.push(`${dead} dead letters of ${poisoned} poisoned events`)
  if (isOnce && again > 0) broken.push(`${again} events ran twice, though nothing was killed`)
  if (isOrdered) broken.push(...disorder(lines))
  return {
    scenario: titleOver(broker, title),
    server: 'ours',
    ...{
      faults,
      requests: events,
      succeeded: done.size + Math.min(dead, poisoned) + gone,
      failed,
      hung,
      lost: 0,
      doubled: isOnce ? again : 0
    },
    remark: `${again} ran twice${dead > poisoned ? ` and ${dead - poisoned} were buried twice` : ''}, as at least once allows${deleted.size === 0 ? '' : `; ${gone} were deleted with the stream before they had been handled`}`,
    broken
  }
}

/** The title of a plan over an engine: titles name NATS or no engine. */
function titleOver({ name, title: engine }: Broker, title: string): string {
  if (name === 'nats') return title
  return title.replace('durable events', `durable events over ${engine}`).replaceAll('NATS', engine)
}

/** Sentences about events whose first run came before the end of an earlier event with the same key. */
function disorder(lines: Setting['lines']): string[] {
  const broken: string[] = []
  const byKey = new Map<string, { done: number; begun: number }>()
  for (const { what, key, n } of lines) {
    if (key.startsWith('poison') || key === 'first') continue
    const state = byKey.get(key) ?? { done: -1, begun: -1 }
    byKey.set(key, state)
    if (what === 'run' && n > state.begun) {
      if (state.begun > state.done) broken.push(`${n} of '${key}' began before the end of ${state.begun}`)
      state.begun = n
    }
    if (what === 'done') state.done = Math.max(state.done, n)
  }
  return broken.slice(0, 5)
}

/**
 * Plans that delete streams or groups. Only for engines where a group can be deleted while its events stay. Not for
 * RabbitMQ: in 3.10, a quorum queue that is deleted while many connections publish and declare it may be left without
 * a process, which closes every channel that uses it.
 */
const OF_LOGS = ['durable-delete-stream', 'durable-delete-consumer', 'durable-delete-consumer-ordered']

export const durableEvents: readonly Scenario[] = tortured('torture of durable events')
  .filter((broker) => broker.storesNothing !== true)
  .flatMap((broker) => [
    ...[...PLANS, ...(broker.hasPartitions ? PLANS_OF_PARTITIONS : [])]
      .filter(
        ({ name, plan }) =>
          broker.hasCluster !== (plan(false).nodes === undefined ? 'only' : false) &&
          (broker.hasLog || !OF_LOGS.includes(name)) &&
          !(broker.hasPartitions && name.startsWith('durable-delete-consumer'))
      )
      .map(
        ({ name, plan }): Scenario => ({
          name: broker.name === 'nats' ? name : `${broker.name}-${name}`,
          run: (circumstances) => run(plan(circumstances.length === 'long'), broker, circumstances)
        })
      ),
    ...(broker.name === 'nats' ? [{ name: 'durable-flood', run: floodOfEvents }] : [])
  ])
