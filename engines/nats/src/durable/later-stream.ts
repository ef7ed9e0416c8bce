/** The stream of events that wait for their time, with the schedules of nats-server 2.12. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { StorageType, type StreamConfig } from '@nats-io/jetstream'
import type { JetStream } from '../driver.ts'
import type { DurableStorage } from '../options/durable-options.ts'
import { isMissing, readableError } from './jetstream-errors.ts'
import { DUE, LATER, LATER_STREAM, WAKE } from './names.ts'
import type { ServerTime } from './server-time.ts'

/** The settings that a server before 2.12 does not know. */
const SETTINGS: Partial<StreamConfig> = {
  allow_msg_schedules: true,
  allow_msg_ttl: true,
  republish: { src: `${DUE}.>`, dest: `${WAKE}.>`, headers_only: true }
}

/**
 * Creates the stream if it is missing.
 * @param time is told the time of the server
 * @throws {OptionError} the server is too old
 */
export async function ensureLater(
  jetStream: JetStream,
  { storage, replicas }: DurableStorage,
  time: ServerTime
): Promise<void> {
  const ask = () => configOf(jetStream, time)
  let config = await ask()
  let failure: unknown
  const note = (error: unknown) => {
    failure = error
  }
  if (config === undefined) {
    const kept = storage === 'file' ? StorageType.File : StorageType.Memory
    const own = { storage: kept, num_replicas: replicas, ...SETTINGS }
    await jetStream
      .addStream({ name: LATER_STREAM, subjects: [`${LATER}.>`, `${DUE}.>`], ...own })
      .catch(note)
    config = await ask()
  }
  // A server that is too old has left out what it does not know; since then, it may have become newer.
  if (config !== undefined && config.allow_msg_schedules !== true) {
    await jetStream.updateStream(LATER_STREAM, SETTINGS).catch(note)
    config = await ask()
  }
  if (config?.allow_msg_schedules === true) return
  if (config === undefined && failure !== undefined) throw readableError(failure, TITLE)
  throw new OptionError(
    'options.at',
    'This NATS server cannot keep an event until a time (at, delay): update nats-server to 2.12 or later, or give service and client a store that can, beside the transport (options.store; docs/later.md lists them)',
    failure as Error
  )
}

const TITLE = `The stream '${LATER_STREAM}'`

/** The events of the future, as a process sees them that moves them. */
export interface Later {
  /** The subjects at which events are whose time has come, and that are not stored for their groups yet. */
  readonly due: readonly string[]
  /** No event waits, and none has come. */
  readonly isEmpty: boolean
}

/** Asks the server for the events of the future. @throws it does not answer */
export async function askLater(jetStream: JetStream): Promise<Later> {
  try {
    const { state } = await jetStream.stream(LATER_STREAM, `${DUE}.>`)
    return { due: Object.keys(state.subjects ?? {}), isEmpty: state.messages === 0 }
  } catch (error) {
    if (isMissing(error)) return { due: [], isEmpty: true }
    throw error
  }
}

/** Asks the server for its time. @throws it does not answer */
export async function askTime(jetStream: JetStream, time: ServerTime): Promise<void> {
  await configOf(jetStream, time)
}

async function configOf(jetStream: JetStream, time: ServerTime): Promise<StreamConfig | undefined> {
  const askedAt = performance.now()
  try {
    const { config, ts } = await jetStream.stream(LATER_STREAM)
    time.tell(ts, askedAt)
    return config
  } catch (error) {
    if (isMissing(error)) return undefined
    throw readableError(error, TITLE)
  }
}
