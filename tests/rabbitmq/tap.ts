/** Everything that is published on a RabbitMQ server, in order, as its firehose shows it. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type ChannelModel, connect } from 'amqplib'
import type { RabbitmqServerProcess } from '../support/rabbitmq-server.ts'

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

  /** Opens one; it is on for all that comes after. */
  static async open(server: RabbitmqServerProcess): Promise<Tap> {
    const [program, ...args] = server.ctl('trace_on')
    await promisify(execFile)(program, args)
    const tap = new Tap(await connect(server.url))
    const channel = await tap.#driver.createChannel()
    const { queue } = await channel.assertQueue('', { exclusive: true })
    await channel.bindQueue(queue, 'amq.rabbitmq.trace', 'publish.#')
    await channel.consume(
      queue,
      (message) => {
        const headers = message?.properties.headers
        if (message === null || headers === undefined) return
        tap.messages.push({
          exchange: headers['exchange_name'],
          key: headers['routing_keys'][0],
          properties: headers['properties'],
          body: message.content.toString()
        })
      },
      { noAck: true }
    )
    return tap
  }

  async close(): Promise<void> {
    await this.#driver.close()
  }
}
