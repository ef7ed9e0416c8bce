/** The connection of amqplib, as far as the driver leaves it to itself: its socket, and whether its server takes anything. */
import type { Socket } from 'node:net'
import type { ChannelModel, ConfirmChannel } from 'amqplib'

/** The socket of a connection, which the driver does not show. */
export function socketOf(model: ChannelModel | undefined): Socket | undefined {
  return (model as { connection?: { stream?: Socket } } | undefined)?.connection?.stream
}

/** The driver writes each message alone; what it writes in one turn leaves in one system call. */
export function gatherWrites(socket: Socket): void {
  const write = socket.write
  let isGathering = false
  socket.write = function (this: Socket, ...args: unknown[]) {
    if (!isGathering) {
      isGathering = true
      this.cork()
      process.nextTick(() => {
        isGathering = false
        this.uncork()
      })
    }
    return Reflect.apply(write, this, args)
  } as Socket['write']
}

/** Whatever it still waits for. */
export function destroy(model: ChannelModel | undefined): void {
  socketOf(model)?.destroy()
}

/** The server is asked for a sign of life twice in this time; the driver gives up after two that are missing. */
export function withHeartbeat(url: string, timeout: number): string {
  const read = new URL(url)
  if (!read.searchParams.has('heartbeat'))
    read.searchParams.set('heartbeat', String(Math.max(1, Math.round(timeout / 1_000))))
  return read.href
}

/** Runs a task on a channel of its own, which the server may close. */
export async function onChannelOf<Value>(
  model: ChannelModel,
  task: (channel: ConfirmChannel) => Promise<Value>
): Promise<Value> {
  const channel = await model.createConfirmChannel()
  channel.on('error', () => {})
  try {
    return await task(channel)
  } finally {
    // Nobody waits for it.
    channel.close().catch(() => {})
  }
}

/**
 * Ends a connection whose server gives signs of life and takes nothing any more: a process of it that waits for a queue
 * holds up all others.
 * @param timeout milliseconds in which it must answer
 * @param isOurs whether the connection is still the one that is used
 */
export function watch(model: ChannelModel, socket: Socket, timeout: number, isOurs: () => boolean): void {
  let isBlocked = false
  let unanswered = 0
  let left = 0
  const look = () => {
    const isMoving = socket.writableLength !== left
    left = socket.writableLength
    // One that has no memory or no disk left says so, and is waited for.
    if (isBlocked || isMoving || !isOurs()) unanswered = 0
    // Once may be our own turn that took so long.
    else if (++unanswered > 2) socket.destroy(new Error('RabbitMQ no longer reads from this connection'))
    if (unanswered > 1) return
    const answered = () => {
      unanswered = 0
    }
    onChannelOf(model, async () => {}).then(answered, () => {})
  }
  const timer = setInterval(look, timeout / 2)
  timer.unref()
  model.on('blocked', () => {
    isBlocked = true
  })
  model.on('unblocked', () => {
    isBlocked = false
  })
  model.on('close', () => clearInterval(timer))
}
