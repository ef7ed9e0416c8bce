/** Texts for tasks that a peer cannot do: a measurement refuses them, and a comparison lists them in its table. */
import { type ClientName, clients } from '../peers/clients.ts'
import { type TargetName, targets } from '../peers/targets.ts'
import { ECHO, type Source, type Step, type Task } from '../task/task.ts'

/** Why a client cannot load a target over this many connections; `undefined`: it can. */
export function obstacleTo(
  target: TargetName,
  client: ClientName,
  connections: number,
  task: Task = ECHO
): string | undefined {
  const { asks, limit, load } = clients[client]
  if (!asks.includes(target)) return `the ${client} client does not speak its protocol`
  if (limit !== undefined && connections > limit.connections) {
    return `the ${client} client makes at most ${limit.connections} connections: ${limit.why}`
  }
  if (load === null && task.mode !== 'request') return `the ${client} client only sends requests`
  return obstacleIn(target, task)
}

const NAMES: Readonly<Record<Source, string>> = {
  sync: 'a generator',
  async: 'an async generator',
  observable: 'an Observable'
}

const STEPS: Readonly<Record<Step, string>> = {
  publish: 'publish events that are stored',
  transact: 'publish events in a transaction of a database',
  consume: 'take events that are stored',
  relay: 'publish events out of a database'
}

/** Why a target cannot do a task. */
function obstacleIn(target: TargetName, task: Task): string | undefined {
  const { does, server } = targets[target]
  const { durable = [] } = does
  if (task.mode === 'durable') {
    return durable.includes(task.step) ? undefined : `${target} does not ${STEPS[task.step]} here`
  }
  if (durable.length > 0) return `${target} is measured with --mode=durable only`
  if (task.mode === 'request' && !does.handlers.includes(task.handler)) {
    return server === null
      ? `what the handlers of ${target} do is not the bench's to say`
      : `${target} has no handlers that could wait`
  }
  if (task.mode === 'stream' && !does.streams.includes(task.generator)) {
    return does.streams.length === 0
      ? `${target} has no streams here`
      : `a handler of ${target} does not stream ${NAMES[task.generator]}`
  }
  if (task.mode === 'emit' && !does.events) return `${target} has no events in this bench`
  if (task.mode === 'start' && server === null) return `${target} is not started by the bench`
  return undefined
}
