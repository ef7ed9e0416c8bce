/** Who has paid. A Nest application as it was, on our transport by one line. */
import 'reflect-metadata'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { MessagePattern, Payload } from '@nestjs/microservices'
import { addressOf } from '../environment.ts'

/** What callers of other repositories know of this service. */
export interface Payments {
  'payments.charge'(charge: Charge): { charged: number }
  'payments.total'(): { orders: number; charged: number }
}

export interface Charge {
  readonly order: string
  readonly amount: number
}

@Controller()
export class PaymentsController {
  readonly #charged = new Map<string, number>()

  /** Charges once for each order, however often it is asked. */
  @MessagePattern('payments.charge')
  charge(@Payload() { order, amount }: Charge): { charged: number } {
    const before = this.#charged.get(order)
    if (before !== undefined) return { charged: before }
    this.#charged.set(order, amount)
    return { charged: amount }
  }

  @MessagePattern('payments.total')
  total(): { orders: number; charged: number } {
    const amounts = [...this.#charged.values()]
    return { orders: amounts.length, charged: amounts.reduce((sum, amount) => sum + amount, 0) }
  }
}

@Module({ controllers: [PaymentsController] })
export class PaymentsModule {}

const app = await NestFactory.createMicroservice(PaymentsModule, {
  strategy: new MicroserviceServer({ name: 'payments', ...addressOf('payments') }),
  logger: ['error', 'warn']
})
app.enableShutdownHooks()
await app.listen()
