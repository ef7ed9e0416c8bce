/** Creates the load that the options ask for, with all connections established. */
import { BenchError } from '../errors.ts'
import type { BenchOptions } from '../options/bench-options.ts'
import { customPayload, customShape, makePayload, type Payload } from '../payload/payload.ts'
import { clients } from '../peers/clients.ts'
import type { ClientPlan, EchoClient, OpenEchoClient } from '../peers/echo-client.ts'
import { isOfBacklog } from '../task/task.ts'
import { Backlog } from './backlog.ts'
import { ClosedLoop } from './closed-loop.ts'
import { EmitLoop } from './emit-loop.ts'
import type { Load } from './load.ts'
import { describe, type Meter } from './meter.ts'
import { OpenLoop } from './open-loop.ts'
import { RawLoad } from './raw-load.ts'
import { StreamLoop } from './stream-loop.ts'

/** @throws BenchError if the server cannot be reached */
export async function openLoad(options: BenchOptions, port: number, meter: Meter): Promise<Load> {
  const { client, host, connections, concurrency, rate, custom, shape, task } = options
  const payload = shape === customShape ? customPayload(custom?.data) : makePayload(shape, options.payload)
  const load = clients[client].load
  if (load === null) {
    const pipeline = concurrency / connections
    return RawLoad.open({ host, port, connections, pipeline, payload: payload.value, meter })
  }
  const opened = await openClients(load, options, port, connections, payload)
  if (task.mode === 'stream') {
    const { values, pause } = task
    return new StreamLoop({ clients: opened, streams: concurrency, values, pause, meter })
  }
  if (task.mode === 'emit') {
    return new EmitLoop({ clients: opened, concurrency, batch: task.batch, payload: payload.value, meter })
  }
  if (task.mode === 'durable') {
    if (isOfBacklog(task)) return Backlog.open(opened[0]!, options, payload, meter)
    return new EmitLoop({ clients: opened, concurrency, batch: 1, payload: payload.value, meter })
  }
  return rate === null
    ? new ClosedLoop({ clients: opened, concurrency, payload, meter })
    : new OpenLoop({ clients: opened, rate, payload, meter })
}

/**
 * The clients of a load, one for each connection.
 *
 * @throws BenchError if the server cannot be reached
 */
export async function openClients(
  load: () => Promise<OpenEchoClient>,
  { client, host, method, protocol, codec, custom, task, concurrency: window }: BenchOptions,
  port: number,
  connections: number,
  payload: Payload
): Promise<EchoClient[]> {
  const open = await load()
  const { pattern = 'echo', headers, tls } = custom ?? {}
  const plan: ClientPlan = { method, protocol, codec, payload, pattern, headers, tls, task, window }
  return Promise.all(Array.from({ length: connections }, () => open(host, port, plan))).catch(
    (error: unknown) => {
      throw new BenchError(`The ${client} client cannot connect to ${host}:${port}: ${describe(error)}`)
    }
  )
}
