/** Records everything that is published on a RabbitMQ server, in order, with RabbitMQ's firehose. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type ChannelModel, connect } from 'amqplib'
import type { RabbitmqServerProcess } from './rabbitmq-server.ts'

/** A message as it was published. */
export interface Tapped {
  readonly exchange: string
  readonly key: string
  readonly properties: Readonly<Record<string, unknown>>
  readonly body: string
}

export class Tap {
  readonly messages: Tapped[] = []
  readonly #driver: ChannelModel

  private constructor(driver: ChannelModel) {
    this.#driver = driver
  }

  /** Opens a tap, which receives everything that is published from now on. @param hear is called with each message */
  static async open(server: RabbitmqServerProcess, hear: (message: Tapped) => void = () => {}): Promise<Tap> {
    await traceOn(server)
    const tap = new Tap(await connect(server.url))
    const channel = await tap.#driver.createChannel()
    const { queue } = await channel.assertQueue('', { exclusive: true })
    await channel.bindQueue(queue, 'amq.rabbitmq.trace', 'publish.#')
    await channel.consume(
      queue,
      (message) => {
        const headers = message?.properties.headers
        if (message === null || headers === undefined) return
        const tapped = {
          exchange: headers['exchange_name'],
          key: headers['routing_keys'][0],
          properties: headers['properties'],
          body: message.content.toString()
        }
        tap.messages.push(tapped)
        hear(tapped)
      },
      { noAck: true }
    )
    return tap
  }

  async close(): Promise<void> {
    await this.#driver.close()
  }
}

/** The command that turns on the firehose takes seconds, so it runs once for each server. */
const tracing = new WeakMap<RabbitmqServerProcess, Promise<unknown>>()

function traceOn(server: RabbitmqServerProcess): Promise<unknown> {
  const [program, ...args] = server.ctl('trace_on')
  const on = tracing.get(server) ?? promisify(execFile)(program, args)
  tracing.set(server, on)
  return on
}
