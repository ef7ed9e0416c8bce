/** Charges customers. A NestJS application that uses this library's transport, by one line; NATS stores its events. */
import 'reflect-metadata'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { Controller, Module, type OnApplicationShutdown } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices'
import { connect } from 'elysia-microservices/client'
import { broker } from '../environment.ts'
import type { Reserved } from './stock.ts'

/** The contract of this service, for callers in other repositories. */
export interface Payments {
  'payments.total'(): { orders: number; charged: number }
}

/** The event of a payment. */
export interface Charged {
  readonly order: string
}

const client = connect({ transport: broker() })

@Controller()
export class PaymentsController implements OnApplicationShutdown {
  readonly #charged = new Map<string, number>()

  /** Charges each order once, even if the event is delivered several times. */
  @EventPattern('stock.reserved', { durable: true })
  async charge(@Payload() { order, amount }: Reserved): Promise<void> {
    this.#charged.set(order, amount)
    const charged: Charged = { order }
    await client.publish('payments.charged', charged, { id: order })
  }

  @MessagePattern('payments.total')
  total(): { orders: number; charged: number } {
    const amounts = [...this.#charged.values()]
    return { orders: amounts.length, charged: amounts.reduce((sum, amount) => sum + amount, 0) }
  }

  onApplicationShutdown(): Promise<void> {
    return client.close()
  }
}

@Module({ controllers: [PaymentsController] })
export class PaymentsModule {}

const app = await NestFactory.createMicroservice(PaymentsModule, {
  strategy: new MicroserviceServer({ name: 'payments', transport: broker() }),
  logger: ['error', 'warn']
})
app.enableShutdownHooks()
await app.listen()
