/**
 * The parts of a connection that amqplib does not handle: its socket, and a server that takes no commands any more.
 */
import type { Socket } from 'node:net'
import type { ChannelModel } from 'amqplib'

/** The socket of a connection, which is not part of the driver's API. */
export function socketOf(model: ChannelModel | undefined): Socket | undefined {
  return (model as { connection?: { stream?: Socket } } | undefined)?.connection?.stream
}

/**
 * Collects what the driver writes in one turn of the event loop into one system call: the driver writes each message
 * on its own.
 */
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

interface Frame {
  readonly id?: number
  readonly channel: number
  readonly fields?: { readonly replyText?: unknown }
}

/** The parts of the driver's connection that are not in its types. */
interface Frames {
  accept(frame: Frame): void
  releaseChannel(channel: number): void
  readonly channels: ({ readonly buffer: { end(): void } } | null | undefined)[]
}

const CHANNEL_CLOSE = (20 << 16) | 40

/**
 * Lets a handler that exceeds its `consumer_timeout` cost its channel alone. RabbitMQ closes such a channel twice: the
 * driver would close the whole connection for the second frame, or close the next channel of the same number. So the
 * number is not used again over this connection, and its frames are dropped.
 */
export function survivesTimeouts(model: ChannelModel): void {
  const connection = (model as unknown as { readonly connection: Frames }).connection
  const { accept, releaseChannel } = connection
  const used = new Set<number>()
  connection.accept = function (this: Frames, frame) {
    const isOpen = Boolean(this.channels[frame.channel])
    if (!isOpen && used.has(frame.channel)) return
    if (frame.id === CHANNEL_CLOSE && /timed out/.test(String(frame.fields?.replyText)))
      used.add(frame.channel)
    accept.call(this, frame)
  }
  connection.releaseChannel = function (this: Frames, channel) {
    if (!used.has(channel)) return releaseChannel.call(this, channel)
    this.channels[channel]?.buffer.end()
    this.channels[channel] = null
  }
}

/** Closes a connection at once, whatever is still under way. */
export function destroy(model: ChannelModel | undefined): void {
  socketOf(model)?.destroy()
}

/**
 * Adds a heartbeat to an address: the server must send a sign of life within half of `heartbeat`, and the driver
 * gives up when two are missing.
 */
export function withHeartbeat(url: string, heartbeat: number): string {
  const read = new URL(url)
  if (!read.searchParams.has('heartbeat'))
    read.searchParams.set('heartbeat', String(Math.max(1, Math.round(heartbeat / 1_000))))
  return read.href
}

/**
 * Closes a connection whose server still sends heartbeats, but takes no commands any more: a process of the server
 * that waits for a queue holds up all commands of the connection.
 * @param heartbeat milliseconds within which the server must answer
 * @param isOurs whether the connection is still in use
 */
export function watch(model: ChannelModel, socket: Socket, heartbeat: number, isOurs: () => boolean): void {
  let isBlocked = false
  let unanswered = 0
  let left = 0
  const look = () => {
    const isMoving = socket.writableLength !== left
    left = socket.writableLength
    // A server without free memory or disk space says so (`blocked`), and this connection waits for it.
    if (isBlocked || isMoving || !isOurs()) unanswered = 0
    // One missing answer may be the fault of this process, if it was busy for long.
    else if (++unanswered > 2) socket.destroy(new Error('RabbitMQ no longer reads from this connection'))
    if (unanswered > 1) return
    const answered = () => {
      unanswered = 0
    }
    ask(model).then(answered, () => {})
  }
  const timer = setInterval(look, heartbeat / 2)
  timer.unref()
  model.on('blocked', () => {
    isBlocked = true
  })
  model.on('unblocked', () => {
    isBlocked = false
  })
  model.on('close', () => clearInterval(timer))
}

/** Asks the server for something harmless: a channel, which is closed again. */
async function ask(model: ChannelModel): Promise<void> {
  const channel = await model.createConfirmChannel()
  channel.on('error', () => {})
  // Nothing waits for the channel to be closed.
  channel.close().catch(() => {})
}
