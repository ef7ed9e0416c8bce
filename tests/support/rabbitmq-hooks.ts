/**
 * The common set-up of tests for durable events over RabbitMQ: the server, its driver, a client, and the clean-up
 * after each test.
 */
import { after, afterEach, before } from 'node:test'
import { rabbitmq } from '@elysia-microservices/rabbitmq'
import { Log } from '@elysia-microservices/test-support'
import { type ChannelModel, connect as connectDriver } from 'amqplib'
import { connect, type UntypedStoringClient } from 'elysia-microservices/client'
import { type RabbitmqServerProcess, sharedRabbitmq } from './rabbitmq-server.ts'

/** The set-up that `rabbitmqForEach` creates. Its fields are set once the tests run. */
export class RabbitmqSetup {
  server!: RabbitmqServerProcess
  driver!: ChannelModel
  client!: UntypedStoringClient
  readonly log = new Log()
  /** Functions that run after each test, the last one first. */
  readonly cleanUps: (() => Promise<unknown>)[] = []

  /** Gives the tests a new client in place of one that a test has made useless. */
  async connectAgain(): Promise<void> {
    await this.client.close()
    this.connect()
  }

  connect(): void {
    this.client = connect({ transport: rabbitmq({ url: this.server.url }), logger: this.log.logger })
  }
}

/** Sets up the tests of the `describe` in which it is called. */
export function rabbitmqForEach(): RabbitmqSetup {
  const setup = new RabbitmqSetup()
  const { log, cleanUps } = setup
  before(async () => {
    setup.server = await sharedRabbitmq()
    setup.driver = await connectDriver(setup.server.url)
    setup.connect()
  })
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
    log.clear()
  })
  after(async () => {
    await setup.client.close()
    await setup.driver.close()
  })
  return setup
}
