/** Takes orders and sees them through, while the services it needs come and go. Classes with Nest's decorators. */

import { tcp } from '@elysia-microservices/tcp'
import { telemetry } from '@elysia-microservices/telemetry'
import {
  Ctx,
  type DeclaredError,
  decoratorsOf,
  EventPattern,
  type MicroserviceError,
  microservice,
  Payload,
  type RpcContext
} from 'elysia-microservices'
import { connect, type Outcome } from 'elysia-microservices/client'
import { type Observable, ReplaySubject } from 'rxjs'
import { addressOf, broker } from '../environment.ts'
import { OUT_OF_STOCK } from '../errors.ts'
import type { Charged } from './payments.ts'
import type { stock as stockService } from './stock.ts'

export interface Order {
  /** Chosen by the customer's end, so that an order that is sent twice is one order. */
  readonly id: string
  readonly sku: string
  readonly count: number
}

/** How far an order is. */
export interface Progress {
  readonly step: 'placed' | 'reserved' | 'paid' | 'shipped'
}

type NotFound = DeclaredError<'NOT_FOUND', undefined>
type OutOfStock = DeclaredError<'OUT_OF_STOCK', { left: number }>

/** The contract of this service. */
export interface Orders {
  'orders.place'(order: Order): { id: string }
  'orders.progress'(order: { id: string }): Observable<Progress> | NotFound | OutOfStock
  'orders.left'(item: { sku: string }): { left: number } | NotFound
}

/** Milliseconds for one attempt of a step, and between two. */
const ATTEMPT = 1_000
const PAUSE = 200

const stock = connect<typeof stockService>({ ...addressOf('stock'), timeout: ATTEMPT })

const { MessagePattern, error } = decoratorsOf<Orders>()

class OrdersController {
  readonly #orders = new Map<string, ReplaySubject<Progress>>()
  /** Orders of which it is told that they are reserved. */
  readonly #told = new Set<string>()

  @MessagePattern('orders.place')
  place(@Payload() order: Order): { id: string } {
    if (!this.#orders.has(order.id)) {
      const steps = new ReplaySubject<Progress>()
      this.#orders.set(order.id, steps)
      // The customer is not kept waiting: what becomes of the order is told by its progress.
      void this.#fulfil(order, steps)
    }
    return { id: order.id }
  }

  /** Ends with the error of the service that could not do its part, if that is one of this contract. */
  @MessagePattern('orders.progress', {
    errors: { NOT_FOUND: {}, OUT_OF_STOCK },
    passes: ['NOT_FOUND', 'OUT_OF_STOCK']
  })
  progress(@Payload() { id }: { id: string }): Observable<Progress> {
    const steps = this.#orders.get(id)
    if (steps === undefined) throw error('NOT_FOUND', undefined, `There is no order ${id}`)
    return steps
  }

  /** A question that somebody waits for: it has the time that its caller has left, and no more. */
  @MessagePattern('orders.left', { errors: { NOT_FOUND: {} }, passes: ['NOT_FOUND'] })
  left(@Payload() item: { sku: string }, @Ctx() context: RpcContext): Promise<{ left: number }> {
    return stock.request('stock.left', item, { within: context, idempotent: true })
  }

  /** The last step of an order that this process has taken: it is paid, and can go. */
  @EventPattern('payments.charged', { durable: true })
  charged(@Payload() { order }: Charged): void {
    const steps = this.#orders.get(order)
    if (steps === undefined) return
    // Its event may be here before stock's answer: that is lost where stock is killed behind its transaction.
    this.#reserved(order, steps)
    steps.next({ step: 'paid' })
    steps.next({ step: 'shipped' })
    steps.complete()
  }

  /** Payments hear of what is reserved, and say when it is paid. */
  async #fulfil({ id, sku, count }: Order, steps: ReplaySubject<Progress>): Promise<void> {
    const reservation = { order: id, sku, count }
    steps.next({ step: 'placed' })
    const { error } = await untilAnswered(() =>
      stock.safeRequest('stock.reserve', reservation, { idempotent: true })
    )
    if (error === undefined) this.#reserved(id, steps)
    else steps.error(error)
  }

  #reserved(id: string, steps: ReplaySubject<Progress>): void {
    if (this.#told.has(id)) return
    this.#told.add(id)
    steps.next({ step: 'reserved' })
  }
}

/**
 * Asks until there is an answer, whatever that is. An answer that was lost may have been work that was done: that is no
 * harm where a service does for each order only once what it is asked.
 */
async function untilAnswered<Value, Failure extends MicroserviceError>(
  ask: () => Promise<Outcome<Value, Failure>>
): Promise<Outcome<Value, Failure>> {
  for (;;) {
    const outcome = await ask()
    // Busy, stopping, not there, too late: the same question may be answered later.
    if (outcome.error?.retryable !== true) return outcome
    await new Promise((resolve) => setTimeout(resolve, PAUSE))
  }
}

const orders = microservice({
  name: 'orders',
  transport: [tcp(addressOf('orders')), broker()],
  controllers: [OrdersController],
  shutdownOn: ['SIGTERM']
}).use(telemetry())
await orders.listen()
