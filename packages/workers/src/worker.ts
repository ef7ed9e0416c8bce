/** The worker's end of the channel to its supervisor. */
import { type Logger, OptionError, type TransportStats } from '@elysia-microservices/transport/kit'
import { type FromWorker, marked, type ToWorker, unmarked } from './messages.ts'
import { endByItself, markReplaced, UNDER_BUN } from './role.ts'
import { stopOnSignals } from './signals.ts'

/** Methods of a worker's service that its supervisor calls. */
export interface Supervised {
  /** Makes the service listen. */
  start(): Promise<void>
  /** Current figures of the service's transports. */
  stats(): readonly TransportStats[]
  /**
   * Answers a question of the same transport in the supervisor. @param index the position of the transport in the
   * service's list
   */
  answer(index: number, question: unknown): Promise<void>
  readonly logger: Logger
  /** Stops the service, and the app's HTTP server if there is an app. */
  stop(): Promise<unknown>
}

let isFollowing = false
let isLeaving = false

/**
 * Starts the service, tells the supervisor whether that succeeded, and answers the supervisor's messages. Stops the
 * service when the supervisor is gone.
 * @throws {OptionError} another service of this process has workers already
 */
export async function followSupervisor(service: Supervised): Promise<void> {
  if (isFollowing) throw secondService()
  isFollowing = true
  process.on('message', (received) => {
    const message = unmarked<ToWorker>(received)
    if (message?.type === 'stop') {
      if (message.isReplaced) markReplaced()
      leave()
    }
    if (message?.type === 'question') void answer(service, message)
  })
  stopOnSignals({
    signals: ['SIGTERM', 'SIGINT'],
    logger: service.logger,
    async stop() {
      isLeaving = true
      await service.stop()
      await disconnect()
    }
  })
  if (UNDER_BUN) {
    process.once('disconnect', leave)
    endByItself()
  } else await leaveWithCluster()
  if (!process.connected) leave()
  try {
    await service.start()
  } catch (error) {
    await tell({ type: 'failed', reason: reasonOf(error) })
    throw error
  }
  await tell({ type: 'ready' })
}

/** The error for a second service with workers in one process. */
export function secondService(): OptionError {
  return new OptionError(
    'options.workers',
    'A service of this process has workers already; compose services by use(), or start two programs'
  )
}

/** Emits SIGTERM in this process, so that the program's own listeners of the signal run too. */
function leave(): void {
  if (isLeaving) return
  isLeaving = true
  process.emit('SIGTERM', 'SIGTERM')
}

async function leaveWithCluster(): Promise<void> {
  const { default: cluster } = await import('node:cluster')
  const { worker } = cluster
  worker?.once('disconnect', () => {
    // Without this, cluster ends the process at once, whatever is in flight.
    worker.exitedAfterDisconnect = true
    leave()
  })
}

async function answer(
  service: Supervised,
  { id, question }: Extract<ToWorker, { type: 'question' }>
): Promise<void> {
  try {
    if (question.about === 'transport') await service.answer(question.index, question.question)
    await tell({ type: 'answer', id, stats: question.about === 'stats' ? service.stats() : undefined })
  } catch (error) {
    await tell({ type: 'no-answer', id, reason: reasonOf(error) })
  }
}

/**
 * Resolves when the message has been sent or cannot be sent. `process.send()` may never call back if the channel
 * closes meanwhile, so `disconnect` resolves the promise too.
 */
function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      process.off('disconnect', done)
      resolve()
    }
    if (!process.connected) return resolve()
    process.once('disconnect', done)
    process.send?.(marked(message), undefined, undefined, done)
  })
}

/**
 * Closes the channel. On Node, cluster's own way waits until this process has returned the connections that the
 * supervisor has handed over and this process has not accepted yet. Without that, they would stay open and never be
 * answered.
 */
async function disconnect(): Promise<void> {
  if (!process.connected) return
  const disconnected = new Promise((resolve) => process.once('disconnect', resolve))
  if (UNDER_BUN) process.disconnect()
  else (await import('node:cluster')).default.worker?.disconnect()
  await disconnected
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
