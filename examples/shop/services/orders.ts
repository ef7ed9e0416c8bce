/** Takes orders and sees them through, while the services it needs come and go. Classes with Nest's decorators. */
import {
  Ctx,
  decoratorsOf,
  MicroserviceError,
  microservice,
  Payload,
  type RpcContext,
  RpcError
} from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { type Observable, ReplaySubject } from 'rxjs'
import { addressOf } from '../environment.ts'
import type { Payments } from './payments.ts'
import type { stock as stockService } from './stock.ts'

export interface Order {
  /** Chosen by the customer's end, so that an order that is sent twice is one order. */
  readonly id: string
  readonly sku: string
  readonly count: number
}

export type Step = 'placed' | 'reserved' | 'paid' | 'shipped' | 'refused'

/** What callers know of this service. */
export interface Orders {
  'orders.place'(order: Order): { id: string }
  'orders.progress'(order: { id: string }): Observable<Step>
  'orders.left'(item: { sku: string }): { left: number }
}

const PRICE = 3
/** Milliseconds for one attempt of a step, and between two. */
const ATTEMPT = 1_000
const PAUSE = 200

const stock = connect<typeof stockService>({ ...addressOf('stock'), timeout: ATTEMPT })
const payments = connect<Payments>({ ...addressOf('payments'), timeout: ATTEMPT })

const { MessagePattern } = decoratorsOf<Orders>()

class OrdersController {
  readonly #orders = new Map<string, ReplaySubject<Step>>()

  @MessagePattern('orders.place')
  place(@Payload() order: Order): { id: string } {
    if (!this.#orders.has(order.id)) {
      const steps = new ReplaySubject<Step>()
      this.#orders.set(order.id, steps)
      // The customer is not kept waiting: what becomes of the order is told by its progress.
      void this.#fulfil(order, steps)
    }
    return { id: order.id }
  }

  @MessagePattern('orders.progress')
  progress(@Payload() { id }: { id: string }): Observable<Step> {
    const steps = this.#orders.get(id)
    if (steps === undefined) throw new RpcError({ code: 'NOT_FOUND', message: `There is no order ${id}` })
    return steps
  }

  /** A question that somebody waits for: it has the time that its caller has left, and no more. */
  @MessagePattern('orders.left')
  async left(@Payload() item: { sku: string }, @Ctx() context: RpcContext): Promise<{ left: number }> {
    try {
      return await stock.request('stock.left', item, { within: context, idempotent: true })
    } catch (error) {
      // What another service says is not by itself what this one says.
      if (error instanceof RpcError && error.code === 'NOT_FOUND')
        throw new RpcError({ code: error.code, message: error.message })
      throw error
    }
  }

  async #fulfil({ id, sku, count }: Order, steps: ReplaySubject<Step>): Promise<void> {
    try {
      steps.next('placed')
      await untilAnswered(() =>
        stock.request('stock.reserve', { order: id, sku, count }, { idempotent: true })
      )
      steps.next('reserved')
      const charge = { order: id, amount: count * PRICE }
      await untilAnswered(() => payments.request('payments.charge', charge, { idempotent: true }))
      steps.next('paid')
      steps.next('shipped')
    } catch (error) {
      console.warn(`order ${id}: ${(error as Error).message}`)
      steps.next('refused')
    } finally {
      steps.complete()
    }
  }
}

/**
 * Asks until there is an answer, whatever that is. An answer that was lost may have been work that was done: that is no
 * harm where a service does for each order only once what it is asked.
 */
async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      // Busy, stopping, not there, too late: the same question may be answered later.
      if (!(error instanceof MicroserviceError && error.retryable)) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE))
    }
  }
}

const orders = microservice({
  name: 'orders',
  transport: 'tcp',
  ...addressOf('orders'),
  controllers: [OrdersController],
  shutdownOn: ['SIGTERM']
})
await orders.listen()
